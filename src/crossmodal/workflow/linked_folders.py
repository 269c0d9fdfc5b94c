"""Output folders that are links, to a larger disk for example."""

from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.workflow.records import OUTPUTS

PLACES = (*OUTPUTS, "data/raw", "data/prepared", "logs")


def refuse_links(for_dvc: bool) -> None:
    """Refuse links of output folders that no job could write through.

    Args:
        for_dvc: Whether DVC is to keep what is made; it follows the links of outputs alone.

    Raises:
        CrossmodalError: If a link leads nowhere, or is one that DVC cannot follow.
    """
    for place in map(Path, PLACES):
        if place.is_symlink() and not place.exists():
            raise CrossmodalError(
                f"{place}: a link to {place.readlink()}, which is not there; mount its disk, or "
                "let the link lead to a folder"
            )
    if for_dvc and Path("data").is_symlink():
        raise CrossmodalError(
            "data: a link, below which DVC keeps no outputs; make it a folder, and link data/raw "
            "and data/prepared"
        )
