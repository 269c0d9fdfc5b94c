"""Combinations of options with several values, and their names."""

import itertools
import json
import re

from crossmodal.config.fit import Options, Values


def combinations(values: Values) -> list[Options]:
    """Return every combination of the values; one empty combination without any."""
    return [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]


def member_name(name: str, options: Options) -> str:
    """Return the name of one experiment of a grid: 'sam-0_5-raw' for the values 0.5 and 'raw'."""
    texts = (json.dumps(value).strip('"') for value in options.values())
    return "-".join([name, *(re.sub(r"[^A-Za-z0-9]+", "_", text) for text in texts)])
