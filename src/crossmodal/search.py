"""Options that are searched: which combinations there are."""

import itertools
from typing import Any


def combinations(search: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination of the searched values; one empty combination without a search."""
    return [
        dict(zip(search, values, strict=True)) for values in itertools.product(*search.values())
    ]
