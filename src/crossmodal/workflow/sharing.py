"""Files that DVC may version, and `dvc pull` with checksum verification."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Literal

from pathspec import GitIgnoreSpec
from pydantic import AfterValidator, BaseModel, Field, model_validator

from crossmodal.config.params import Params
from crossmodal.config.yaml_text import read_yaml
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import UNFINISHED
from crossmodal.io.relative_names import defect
from crossmodal.io.shaped_json import conflict
from crossmodal.workflow.licences import closed_model, own_files
from crossmodal.workflow.listings import LISTING, RULES, fetch_listing, wrong_files
from crossmodal.workflow.records import OUTPUTS

IGNORE, LOCK = Path(RULES), Path("dvc.lock")
HEADER = (
    "# Written by the workflow: what DVC neither versions nor pushes, which is compiled modules,\n"
    "# unfinished files, and all that no licence opens; see `redistribution`, `shares_features`,\n"
    "# `shares_models` in data/dataset.py and `invertible` in data/feature.py.\n"
)
COMPILED = "__pycache__"  # or running a module would change the source that stages depend on
PARTS = "/features/*/*.parts/*.zip"  # which an interrupted run left
CLOSED = (
    "/data/raw/*",
    "!/data/raw/weights",
    "/data/prepared/*/captions.csv",
    "/data/prepared/*/media.zip",
    "/data/prepared/*/media",
    "/results/examples",
)


def _checked(name: str) -> str:
    if reason := defect(name):
        raise ValueError(f"the name {reason}")
    if PurePath(name).parts[0] not in OUTPUTS:
        raise ValueError(f"{name} is none of the output folders {', '.join(OUTPUTS)}")
    return name


class Output(BaseModel, extra="forbid"):
    """An output folder in dvc.lock, and the hash of the listing of its files; never code.

    It has no other keys: DVC would write the files that `files` names, whatever the listing says.
    """

    path: Annotated[str, AfterValidator(_checked)]
    hash: Literal["md5"] = "md5"
    md5: str = Field(pattern=LISTING)
    size: int = 0
    nfiles: int = 0


class Stage(BaseModel):
    """A stage in dvc.lock."""

    outs: list[Output] = []


class Lock(BaseModel):
    """Content of dvc.lock, as far as it is read."""

    stages: dict[str, Stage]

    @model_validator(mode="after")
    def _check_paths(self) -> "Lock":
        paths = [out.path for stage in self.stages.values() for out in stage.outs]
        if twice := {path for path in paths if paths.count(path) > 1}:  # DVC may pull the other
            raise ValueError(f"{', '.join(sorted(twice))}: an output of two stages")
        return self


def ignored(params: Params, before: str = "") -> str:
    """Return the content of .dvcignore, which excludes all that params.yaml does not name.

    A prepared dataset's texts and media are raw data, and so are features from which they can be
    recovered; pages of examples show them. Its ids, labels and splits are not. Features that are a
    user's own files, and models of these, and what has a broken plug-in stay closed.

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
    lines += [f"/features/*/{name}.h5" for name in own_files(params)]
    lines += _closed_models(params, before)
    lines += [PARTS, COMPILED, f"{UNFINISHED}*"]  # last, so that nothing opens them
    return HEADER + "\n".join(dict.fromkeys(lines)) + "\n"


def refuse_upload(params: Params, outputs: Iterable[Path]) -> None:
    """Check that a storage which others may read gets nothing that .dvcignore closes.

    Raises:
        CrossmodalError: If it would.
    """
    rules = GitIgnoreSpec.from_lines(x for x in ignored(params).splitlines() if x != PARTS)
    refused = sorted(str(path) for path in outputs if _matches(rules, _feature_of(path)))
    if refused:
        raise CrossmodalError(
            f"{', '.join(refused[:3])}{' ...' * (len(refused) > 3)}: no licence opens these files "
            f"({len(refused)}), so that they are not uploaded; if none but those who hold the "
            "datasets' licences can read the storage, say `private_storage: true` in params.yaml"
        )


def _matches(rules: GitIgnoreSpec, path: Path) -> bool:
    """Return whether a path or one of its folders is closed, whose files no line opens."""
    folders = (f"{parent}/" for parent in path.parents[:-1])
    return rules.match_file(path) or any(map(rules.match_file, folders))


def _feature_of(path: Path) -> Path:
    """Return the feature file of one of its parts; any other path as it is."""
    return path.parent.with_suffix(".h5") if path.parent.suffix == ".parts" else path


def _closed_models(params: Params, before: str) -> list[str]:
    """Return models and embeddings that may not be shared, those without a name too."""
    dropped = [
        line
        for line in before.splitlines()
        if line.startswith(("/models/", "/embeddings/"))
        and PurePath(line).name not in params.experiments
    ]
    closed = [name for name in params.experiments if closed_model(params, name)]
    return dropped + [f"/{kind}/{name}" for kind in ("models", "embeddings") for name in closed]


def pull(targets: Sequence[str]) -> None:
    """Pull outputs with DVC, and verify the checksum of every file against dvc.lock.

    Raises:
        CrossmodalError: If an output is unknown, DVC fails, or a file is not the one in dvc.lock.
    """
    locked = _locked()
    for target in targets:
        if target not in locked:
            raise CrossmodalError(
                f"{target}: not an output in dvc.lock; outputs: {', '.join(locked) or 'none'}"
            )
    wanted = {target: locked[target] for target in targets or locked}
    listings = {target: fetch_listing(name) for target, name in wanted.items()}
    # these alone: DVC writes wherever a listing says, and `.dvc` files have others
    if subprocess.run([sys.executable, "-m", "dvc", "pull", *wanted]).returncode:
        raise CrossmodalError("dvc pull failed, see above; nothing was taken over")
    wrong = [p for target, files in listings.items() for p in wrong_files(Path(target), files)]
    if wrong:
        raise CrossmodalError(
            f"{', '.join(wrong)}: not the file that dvc.lock names; its corrupt copy in the cache "
            "was removed. Delete the file and pull again. If it is corrupt again, so it is in "
            "the remote: replace it there by the copy in .dvc/cache of the machine that made it"
        )
    print(f"{', '.join(wanted)}: as in dvc.lock")


def _locked() -> dict[str, str]:
    """Hash of the listing of each output folder in dvc.lock."""
    if marks := conflict(LOCK):
        raise CrossmodalError(marks)
    if not LOCK.exists():
        raise CrossmodalError(
            f"{LOCK}: No such file; whoever made the artefacts runs `dvc repro` and `dvc push`, "
            "and commits dvc.lock"
        )
    try:
        lock = Lock.model_validate(read_yaml(LOCK))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise CrossmodalError(
            f"{LOCK}: not as DVC writes it ({reason}); check it out again, or run `dvc repro`"
        ) from error
    return {out.path: out.md5 for stage in lock.stages.values() for out in stage.outs}
