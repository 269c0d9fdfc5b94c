"""JSON files whose shape is checked: what others may have changed, or a power cut damaged."""

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from crossmodal.errors import CrossmodalError
from crossmodal.io.relative_names import LONGEST_PART

T = TypeVar("T")
MARKS = (b"<<<<<<<", b"=======", b">>>>>>>")  # of git, at the begin of a line


def read_shaped(
    path: Path, shape: TypeAdapter[T], remedy: str = "delete it, or pull it again"
) -> T | None:
    """Return the content of a JSON file of a stated shape; None if there is no file.

    Args:
        path: The file.
        shape: Its shape.
        remedy: What to do with a file of another one.

    Raises:
        CrossmodalError: If it has another one.
    """
    try:
        return shape.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{str(key)[:LONGEST_PART]}: " for key in first["loc"])
        reason = conflict(path) or f"{path}: {where}{first['msg']}; {remedy}"
        raise CrossmodalError(reason) from error


def recall(path: Path, shape: TypeAdapter[T], default: T) -> T:
    """Return what an earlier process noted; a default if the file is missing or damaged."""
    try:
        return shape.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return default


def conflict(path: Path) -> str:
    """Return a message if a file has the marks of a merge conflict; else nothing."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:  # what reads the file says more
        return ""
    marked = any(line.startswith(MARKS) for line in lines)
    return f"{path} has conflict marks: see docs/sharing.md" if marked else ""
