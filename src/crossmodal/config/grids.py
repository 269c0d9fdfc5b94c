"""Options with several values: which combinations there are, and what they are called."""

import itertools
import json
import re
from typing import Any


def combinations(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values; one empty combination without any."""
    return [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]


def member_name(name: str, options: dict[str, Any]) -> str:
    """Name of one experiment of a grid: 'sam-0_5-raw' for the values 0.5 and 'raw'."""
    texts = (json.dumps(value).strip('"') for value in options.values())
    return "-".join([name, *(re.sub(r"[^A-Za-z0-9]+", "_", text) for text in texts)])
