"""What a team shares: which files DVC may version, and `dvc pull` with checksum verification."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

import yaml

from crossmodal.config.params import Params
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import UNFINISHED

IGNORE = Path(".dvcignore")
HEADER = (
    "# Written by the workflow: what DVC neither versions nor pushes, which is compiled modules,\n"
    "# unfinished files, and all that no licence opens; see `redistribution`, `shares_features`,\n"
    "# `shares_models` in data/dataset.py and `invertible` in data/feature.py.\n"
)
COMPILED = "__pycache__"  # or running a module would change the source that stages depend on
CLOSED = (
    "/data/raw/*",
    "!/data/raw/weights",
    "/data/prepared/*/captions.csv",
    "/data/prepared/*/media.zip",
    "/results/examples",
)


def ignored(params: Params, before: str = "") -> str:
    """Content of .dvcignore: what params.yaml does not name is closed, whatever it was.

    A prepared dataset's texts and media are raw data, and so are features from which they can be
    recovered; pages of examples show them. Its ids, labels and splits are not. What has a broken
    plug-in stays closed.

    Args:
        params: The checked params.yaml.
        before: The content until now: models that it closes stay so when params.yaml drops them.
    """
    lines = [*CLOSED]
    datasets = {name: params.dataset_of(name) for name in sorted(params.usable("datasets"))}
    shared = [name for name, dataset in datasets.items() if dataset.shares_features]
    features = [f for f in sorted(params.usable("features")) if not params.feature_of(f).invertible]
    lines += ["/features/*", *(f"!/features/{name}" for name in shared)]
    lines += ["/features/*/*.h5", *(f"!/features/*/{name}.h5" for name in features)]
    for name, dataset in datasets.items():
        if dataset.redistribution:
            plugin = params.plugin("datasets", name)["plugin"]
            lines += [
                f"!/data/raw/{plugin}",
                f"!/data/prepared/{name}/*",
                f"!/features/{name}/*.h5",
            ]
    lines += _closed_models(params, before)
    lines += [COMPILED, f"{UNFINISHED}*"]  # last, so that nothing opens them
    return HEADER + "\n".join(dict.fromkeys(lines)) + "\n"


def _closed_models(params: Params, before: str) -> list[str]:
    """Models and embeddings that may not be shared; experiments without a name any more, too."""
    dropped = [
        line
        for line in before.splitlines()
        if line.startswith(("/models/", "/embeddings/"))
        and PurePath(line).name not in params.experiments
    ]
    usable = params.usable("datasets")
    closed = [
        name
        for name, spec in params.experiments.items()
        if spec.dataset not in usable or not params.dataset_of(spec.dataset).shares_models
    ]
    return dropped + [f"/{kind}/{name}" for kind in ("models", "embeddings") for name in closed]


def pull(targets: Sequence[str]) -> None:
    """Pull outputs with DVC, and verify the checksum of every file against dvc.lock.

    Args:
        targets: Outputs as in dvc.yaml, for example `features`; all if empty.

    Raises:
        CrossmodalError: If an output is unknown, DVC fails, or a file is not the one in dvc.lock.
    """
    locked = _locked()
    for target in targets:
        if target not in locked:
            raise CrossmodalError(
                f"{target}: not an output in dvc.lock; outputs: {', '.join(locked) or 'none'}"
            )
    if subprocess.run([sys.executable, "-m", "dvc", "pull", *targets]).returncode:
        raise CrossmodalError("dvc pull failed, see above; nothing was taken over")
    wrong = [path for t in targets or locked for path in _wrong_files(Path(t), locked[t])]
    if wrong:
        raise CrossmodalError(
            f"{', '.join(wrong)}: not the file that dvc.lock names; its corrupt copy in the cache "
            "was removed. Delete the file and pull again. If it is corrupt again, so it is in "
            "the remote: replace it there by the copy in .dvc/cache of the machine that made it"
        )
    print(f"{', '.join(targets or locked)}: as in dvc.lock")


def _locked() -> dict[str, str]:
    """Hash of each output directory in dvc.lock."""
    try:
        lock = yaml.safe_load(Path("dvc.lock").read_text(encoding="utf-8"))
    except OSError as error:
        raise CrossmodalError(
            f"dvc.lock: {error.strerror}; whoever made the artefacts runs `dvc repro` and "
            "`dvc push`, and commits dvc.lock"
        ) from error
    outputs = (out for stage in lock["stages"].values() for out in stage.get("outs", []))
    return {out["path"]: out["md5"] for out in outputs}


def _wrong_files(folder: Path, directory: str) -> list[str]:
    """Files, and their objects, that differ from a listing of the cache; removes corrupt copies."""
    wrong = []
    listing = _cached(directory)
    for entry in json.loads(listing.read_text(encoding="utf-8")):
        path = folder / entry["relpath"]
        if not path.is_file() or _md5(path) != entry["md5"]:
            cached = _cached(entry["md5"])
            wrong.append(f"{path} ({'/'.join(cached.parts[-4:])})")
            if cached.is_file() and _md5(cached) != entry["md5"]:
                cached.unlink()
    return wrong


def _cached(name: str) -> Path:
    """An object of DVC's cache."""
    from dvc.repo import Repo

    with Repo() as repo:
        return Path(repo.cache.local.oid_to_path(name))


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
