"""Files of a dataset that `crossmodal push` sends: what licences open, and its descriptions."""

import json
from pathlib import Path

from safetensors.numpy import save_file

from crossmodal.config.params import Params
from crossmodal.data.feature_file import Ragged
from crossmodal.data.feature_reader import read_features
from crossmodal.data.media import SHARDS
from crossmodal.data.prepared import PREPARED, REMARKS, Prepared, is_prepared
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.files import sha256, write_csv
from crossmodal.io.hub_repository import CARD, Repository
from crossmodal.reporting.croissant import croissant
from crossmodal.reporting.dataset_card import dataset_card
from crossmodal.workflow.licences import closed_feature, closed_media

FEATURES = Path("features")
CROISSANT = "croissant.json"
OPEN, MEDIA = ("items.csv", "splits.csv", REMARKS), ("captions.csv", "media.zip")


def dataset_files(
    name: str, repository: Repository, params: Params, scratch: Path
) -> tuple[dict[str, Path | bytes], dict[str, str]]:
    """Return what is sent by its name, and why each other file is not.

    Args:
        name: A key of `datasets`.
        repository: Where it goes.
        params: The project's.
        scratch: A folder for features as tensors.

    Raises:
        CrossmodalError: If there is no such dataset, or it is not prepared.
    """
    if name not in params.usable("datasets"):
        raise CrossmodalError(
            f"no model folder or fitted experiment, and as a dataset "
            f"{unknown(name, params.usable('datasets'))}"
        )
    if not is_prepared(name):
        raise CrossmodalError(f"{PREPARED / name}: is not prepared; make it first")
    folder, about = PREPARED / name, params.dataset_of(name)
    files = {file: folder / file for file in OPEN if (folder / file).exists()}
    closed = {}
    if reason := closed_media(params, name):
        closed = dict.fromkeys(MEDIA, reason)
    else:
        files |= {file: folder / file for file in MEDIA}
        shards = sorted((folder / SHARDS).glob("*.zip"))
        files |= {str(path.relative_to(folder)): path for path in shards}
    for path in sorted((FEATURES / name).glob("*.h5")):
        if reason := _closed(params, name, path.stem):
            closed[f"features/{path.stem}"] = reason
        else:
            files |= _tensors(path, scratch)
    facts = {file: (path.stat().st_size, sha256(path)) for file, path in files.items()}
    described = json.dumps(
        croissant(name, repository.page, about, facts), indent=2, ensure_ascii=False
    )
    card = dataset_card(repository.name, (name, about), Prepared(folder), [*files], closed)
    return {CARD: card, CROISSANT: f"{described}\n".encode(), **files}, closed


def _closed(params: Params, dataset: str, feature: str) -> str:
    if feature not in params.usable("features"):
        return "params.yaml does not name it"
    if params.feature_of(feature).shape == "files":
        return "media.zip has its files"
    return closed_feature(params, dataset, feature)


def _tensors(path: Path, scratch: Path) -> dict[str, Path]:
    """Write a feature file as tensors, and ids and items of its rows as CSV."""
    content = read_features(path)
    rows = content.features
    if isinstance(rows, Ragged):
        arrays = {"values": rows.values, "offsets": rows.offsets}
    else:
        arrays = {"features": rows}
    tensors, ids = (scratch / f"{path.stem}.{suffix}" for suffix in ("safetensors", "csv"))
    save_file(arrays, tensors)
    write_csv(ids, ["id", "item"], zip(content.ids, content.items, strict=True))
    return {f"features/{file.name}": file for file in (tensors, ids)}
