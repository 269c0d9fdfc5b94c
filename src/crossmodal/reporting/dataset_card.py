"""The card of a dataset on the hub: its splits, its features, and what was left out."""

from collections import Counter
from collections.abc import Mapping, Sequence

from crossmodal.data.dataset import Dataset
from crossmodal.data.prepared import SPLITS, Prepared
from crossmodal.reporting.cards import LIBRARY, languages, licence, page, rows

TABLES = {"items.csv": "items", "captions.csv": "captions", "splits.csv": "splits"}


def dataset_card(
    repository: str,
    dataset: tuple[str, Dataset],
    prepared: Prepared,
    files: Sequence[str],
    closed: Mapping[str, str],
) -> bytes:
    """Return the card.

    Args:
        repository: ORG/NAME.
        dataset: The dataset, and its name in params.yaml.
        prepared: Its items and splits.
        files: Names of what is beside the card.
        closed: What is left out, and why.
    """
    from huggingface_hub import DatasetCardData

    name, data = dataset
    terms, terms_name = licence(data.licence)
    head = DatasetCardData(
        license=terms,
        license_name=terms_name,
        language=languages(data),
        pretty_name=name,
        tags=[LIBRARY, "cross-modal-retrieval"],
        configs=[
            {"config_name": config, "data_files": file}
            for file, config in TABLES.items()
            if file in files
        ],
    )
    sizes = Counter(prepared.splits.values())
    features = [file for file in files if file.endswith(".safetensors")]
    parts = [
        f"# {repository.partition('/')[2]}",
        f"`{name}` as prepared for cross-modal retrieval by crossmodal.",
        "## Splits",
        rows(["split", "items"], [[split, f"{sizes[split]:,}"] for split in SPLITS]),
        "## Files",
        "`items.csv` has the items with category and labels, `splits.csv` the split of each; "
        "`croissant.json` describes all files.",
    ]
    if features:
        parts += [
            "Row i of a matrix `features` belongs to the i-th id of the CSV beside it; sequences "
            "are `values` from `offsets[i]` to `offsets[i + 1]`.",
            "\n".join(f"- `{file}`" for file in features),
        ]
    if closed:
        parts += ["Left out:", "\n".join(f"- `{what}`: {why}" for what, why in closed.items())]
    parts += ["## Licence", f"{data.licence}.", "## Citation", f"{data.citation}."]
    return page(head.to_yaml(), parts)
