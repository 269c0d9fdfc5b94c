"""Lists the licences of all that the locks pin: `python tools/list_licences.py > docs/licences.md`.

It reads the metadata of what is installed, so all locks must be installed, CUDA's too, whatever
their markers say.
"""

import re
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
# where it is for, from what every installation has to what only few have
LOCKS = {
    "requirements.lock": "workflow",
    "requirements-cuda.lock": "CUDA",
    "requirements-dev.lock": "tests",
    "requirements-cluster.lock": "clusters",
    "requirements-docs.lock": "docs",
    "requirements-encoders.lock": "encoders",
    "requirements-mteb.lock": "mteb",
    "requirements-benchmarks.lock": "benchmarks",
}
# what is not in the metadata
STATED = {
    "cuda-toolkit": "NVIDIA's, as of the packages it names",
    "espeakng-loader": "not stated; it holds eSpeak NG, GPL-3.0-or-later",
}
HEADER = """# Licences of the dependencies

All that the locks pin, written by `python tools/list_licences.py`. None forbids use of this \
project: what is under the GPL or LGPL is installed beside it, and no part of its archives. \
NVIDIA's packages are proprietary; installations with `TORCH=cpu` are without them.

| package | version | licence | for | what it is |
|---|---|---|---|---|
"""


def main() -> None:
    """Print the page."""
    rows = [row(name, versions, purpose) for name, (versions, purpose) in sorted(pins().items())]
    print(HEADER + "\n".join(rows))


def pins() -> dict[str, tuple[list[str], str]]:
    """Versions of each pinned package, and the first lock's purpose."""
    found: dict[str, tuple[list[str], str]] = {}
    for lock, purpose in LOCKS.items():
        for name, version in re.findall(r"^([^=]+)==(\S+)", (ROOT / lock).read_text(), re.M):
            versions, _ = found.setdefault(name, ([], purpose))
            if version not in versions:
                versions.append(version)
    return found


def row(name: str, versions: list[str], purpose: str) -> str:
    """A line of the table."""
    distribution = metadata.distribution(name)
    what = (distribution.metadata["Summary"] or "").replace("|", "/").strip().rstrip(".")
    found = STATED.get(name) or licence(distribution)
    return f"| {name} | {', '.join(versions)} | {found} | {purpose} | {what} |"


def licence(distribution: metadata.Distribution) -> str:
    """SPDX expression, else classifiers, else the first line of the licence."""
    about = distribution.metadata
    classifiers = [c.split(" :: ")[-1] for c in about.get_all("Classifier") or () if "Licen" in c]
    classifiers = [c for c in classifiers if c != "OSI Approved"]
    texts = [about["License"] or ""]
    texts += [f.read_text() for f in distribution.files or () if f.stem in {"LICENSE", "LICENCE"}]
    texts = [text.strip() for text in texts if text.strip() not in {"", "UNKNOWN"}]
    found = about["License-Expression"] or ", ".join(classifiers) or texts[0].splitlines()[0]
    return found.replace("|", "/")


if __name__ == "__main__":
    main()
