"""What a team shares: which files DVC may have, and a pull that trusts nothing."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import yaml

from crossmodal.errors import CrossmodalError
from crossmodal.params import Params

IGNORE = Path(".dvcignore")
HEADER = (
    "# Written by the workflow: what DVC neither versions nor pushes, compiled modules and what a\n"
    "# dataset's licence forbids; see `redistribution`, `shares_features`, `shares_models` in\n"
    "# datasets/base.py.\n"
)
COMPILED = "__pycache__"  # or running a module would change the source that stages depend on


def ignored(params: Params) -> str:
    """Content of .dvcignore: raw data are closed unless a dataset opens them, the rest open.

    A prepared dataset's texts and media are raw data, and so are features that hold media; pages
    of examples show them. Its ids, labels and splits are not.
    """
    lines = [COMPILED, "/data/raw/*", "!/data/raw/weights"]
    lines += ["/data/prepared/*/captions.csv", "/data/prepared/*/media.zip", "/results/examples"]
    media = [feature for feature in sorted(params.features) if params.feature_of(feature).media]
    for name in sorted(params.datasets):
        dataset = params.dataset_of(name)
        experiments = [e for e, spec in params.experiments.items() if spec.dataset == name]
        if dataset.redistribution:
            plugin = params.plugin("datasets", name)["plugin"]
            lines += [f"!/data/raw/{plugin}", f"!/data/prepared/{name}/*"]
        else:
            lines += [f"/features/{name}/{feature}.h5" for feature in media]
        if not dataset.shares_features:
            lines += [f"/features/{name}"]
        if not dataset.shares_models:
            lines += [f"/{kind}/{e}" for kind in ("models", "embeddings") for e in experiments]
    return HEADER + "\n".join(dict.fromkeys(lines)) + "\n"


def pull(targets: list[str]) -> list[str]:
    """Pull outputs with DVC, and compare every file with dvc.lock, whatever DVC believes.

    Args:
        targets: Outputs as in dvc.yaml, `features` say; all if empty.

    Returns:
        The outputs that were pulled.

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
            f"{', '.join(wrong)}: not the file that dvc.lock names; its damaged copy in the cache "
            "was removed. Delete the file and pull again. If it comes back damaged, so it is in "
            "the remote: replace it there by the copy in .dvc/cache of the machine that made it"
        )
    return targets or list(locked)


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
    """Files, and their objects, that differ from a listing of the cache; damaged copies go."""
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
