"""Targets of Snakemake: a name that params.yaml does not have is a typing error."""

from collections.abc import Iterable
from pathlib import PurePath

from crossmodal.config.params import Params
from crossmodal.errors import CrossmodalError, unknown

# folder -> section of params.yaml that has the names of its files and folders
NAMED = {
    "results/tables": "tables",
    "results/examples": "experiments",
    "models": "experiments",
    "embeddings": "experiments",
    "data/prepared": "datasets",
    "features": "datasets",
}


def refuse_unknown(targets: Iterable[str], params: Params) -> None:
    """Check the names in targets, of which Snakemake would only say that there is no rule.

    Raises:
        CrossmodalError: With similar names.
    """
    for target in targets:
        for folder, section in NAMED.items():
            path = PurePath(target)
            further = {"all", "claims"} if section == "tables" else set()
            names = {*getattr(params, section)} | further
            if path.is_relative_to(folder) and path != PurePath(folder):
                name = path.relative_to(folder).parts[0].partition(".")[0]
                if name not in names:
                    raise CrossmodalError(f"{target}: {section}: {unknown(name, names)}")
