"""Files of runs by name: `<experiment>/seed<n>`, or `<experiment>` for all its seeds."""

import re
from pathlib import Path

from crossmodal.config.workflow_files import program
from crossmodal.errors import CrossmodalError

NAME = re.compile(r"([\w-]+)(?:/seed(\d+))?")
EMBEDDINGS, METRICS = "embeddings/{}.h5", "results/runs/{}.npz"


def run_files(name: str, pattern: str) -> dict[int, Path]:
    """Return a file of each seed of a run, by seed.

    Args:
        name: `<experiment>/seed<n>` or `<experiment>`.
        pattern: `EMBEDDINGS` or `METRICS`.

    Raises:
        CrossmodalError: If the name is of another form, or there is no such file.
    """
    if not (match := NAME.fullmatch(name)):
        raise CrossmodalError(f"{name!r}: a run is named <experiment> or <experiment>/seed<n>")
    experiment, seed = match.groups()
    wanted = pattern.format(f"{experiment}/seed{seed or '*'}")
    paths = {int(path.stem.removeprefix("seed")): path for path in Path().glob(wanted)}
    if not paths:
        example = pattern.format(f"{experiment}/seed{seed or 0}")
        raise CrossmodalError(f"{example}: not there; `{program()} --cores 8 {example}` makes it")
    return dict(sorted(paths.items()))
