"""Matlab files as their publishers made them."""

from pathlib import Path
from typing import Any

import scipy.io

from crossmodal.errors import CrossmodalError


def read_matlab(path: Path, names: list[str]) -> dict[str, Any]:
    """Return variables of a Matlab file; matrices as arrays, structures as dicts.

    Raises:
        CrossmodalError: If the file is corrupt or lacks one of the variables.
    """
    try:
        variables = scipy.io.loadmat(path, variable_names=names, simplify_cells=True)
    except Exception as error:  # SciPy's parser raises anything on corrupt files
        raise CrossmodalError(f"{path}: not a Matlab file ({error}); get it again") from error
    for name in names:
        if name not in variables:
            raise CrossmodalError(f"{path}: no matrix {name!r}; get the file again")
    return variables
