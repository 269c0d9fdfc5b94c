"""Lists of texts in a cell of a table."""

import ast
import json
import re
from contextlib import suppress

EMPTY_LIST = re.compile(r"\s*\[\s*\]\s*")
JSON_LIST = re.compile(r'\s*\[\s*"')  # begins a list of texts
PYTHON_TEXT = r"""(?:'(?:[^'\\]|\\[\\'"nrtxuU])*'|"(?:[^"\\]|\\[\\'"nrtxuU])*")"""
PYTHON_LIST = re.compile(rf"\s*\[\s*{PYTHON_TEXT}(?:\s*,\s*{PYTHON_TEXT})*\s*\]\s*")


def list_of_texts(cell: str) -> list[str]:
    """Return the texts of a cell with a list of them, as JSON or pandas; none of another cell.

    An empty list is one empty text.
    """
    if EMPTY_LIST.fullmatch(cell):
        return [""]
    for is_list, read in (
        (JSON_LIST.match(cell), json.loads),
        (PYTHON_LIST.fullmatch(cell), ast.literal_eval),
    ):
        with suppress(ValueError, SyntaxError, RecursionError):
            value = read(cell.strip()) if is_list else None
            if isinstance(value, list) and all(isinstance(v, str) for v in value):
                return value
    return []
