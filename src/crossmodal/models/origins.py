"""Origin of a model: datasets and features, by the files that its fit read."""

from pathlib import Path

from crossmodal.models.fit_facts import Facts


def datasets_of(facts: Facts) -> set[str]:
    """Return the names of the datasets that it was fitted on, and updated with, if recorded."""
    fitted_on = {path.parent.name for path in _read(facts) if path.name == "items.csv"}
    return fitted_on | facts.get("seen", {}).keys()


def features_of(facts: Facts) -> set[str]:
    """Return the names of the features that were read."""
    return {path.stem for path in _read(facts) if path.suffix == ".h5"}


def _read(facts: Facts) -> list[Path]:
    provenance = facts.get("made")
    return [Path(path) for path in provenance["inputs"]] if provenance else []
