"""Experiments that DVC runs in folders of their own (`--temp`, `--queue`), made of what git has."""

from collections.abc import Iterable
from pathlib import Path

from crossmodal.config.params import Params
from crossmodal.errors import CrossmodalError

FOLDERS = ".dvc/tmp/exps"


def refuse_missing_data(params: Params, datasets: Iterable[str], features: Iterable[str]) -> None:
    """Refuse an experiment whose folder lacks data of the user, before its first job.

    Args:
        params: The checked params.yaml.
        datasets: Names of the datasets that the experiment needs.
        features: Names of the features.

    Raises:
        CrossmodalError: If data are missing, with the option of DVC that copies them.
    """
    if FOLDERS not in Path.cwd().as_posix():
        return
    paths = [path for name in datasets for path in params.dataset_of(name).own_paths()]
    paths += [Path(file) for name in features for file in params.feature_of(name).files]
    if missing := [str(path) for path in dict.fromkeys(paths) if not path.exists()]:
        options = " ".join(f"--copy-paths {path}" for path in missing)
        raise CrossmodalError(
            f"{', '.join(missing)}: not in the folder of this experiment, which has only what git "
            f"has; copy your data into it: dvc exp run {options} with --temp or --queue"
        )
