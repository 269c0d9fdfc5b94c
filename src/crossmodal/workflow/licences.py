"""Rules on what no licence opens, for `.dvcignore` and for `crossmodal push`.

Each function returns the reason why something stays closed; empty where it may be shared.
"""

from crossmodal.config.params import Params

MEDIA = "the licence of {} does not let its texts and media be passed on: {}"
FEATURES = "{} does not let its features be shared: {}"
MODELS = "{} does not let models of it be shared: {}"
OWN = "{} is a user's own file"
INVERTIBLE = "from {} text, image or sound comes back, and " + MEDIA
BROKEN = "{} cannot be used, so that nothing says what its licence allows"


def closed_media(params: Params, dataset: str) -> str:
    """Return why texts and media of a dataset may not be shared."""
    data = params.dataset_of(dataset)
    return "" if data.redistribution else MEDIA.format(dataset, data.licence)


def closed_feature(params: Params, dataset: str, feature: str) -> str:
    """Return why a feature of a dataset may not be shared."""
    data, facts = params.dataset_of(dataset), params.feature_of(feature)
    if facts.files:
        return OWN.format(feature)
    if not data.shares_features:
        return FEATURES.format(dataset, data.licence)
    closed = facts.invertible and not data.redistribution
    return INVERTIBLE.format(feature, dataset, data.licence) if closed else ""


def closed_model(params: Params, experiment: str) -> str:
    """Return why models and embeddings of an experiment may not be shared."""
    spec = params.experiments[experiment]
    if f"datasets.{spec.dataset}" in params.broken:
        return BROKEN.format(spec.dataset)
    dataset = params.dataset_of(spec.dataset)
    if not dataset.shares_models:
        return MODELS.format(spec.dataset, dataset.licence)
    own = [name for name in spec.views.values() if _is_own(params, name)]
    return OWN.format(own[0]) if own else ""


def own_files(params: Params) -> list[str]:
    """Return the features that are a user's own files."""
    return [name for name in sorted(params.features) if _is_own(params, name)]


def _is_own(params: Params, feature: str) -> bool:
    usable = f"features.{feature}" not in params.broken
    return usable and bool(params.feature_of(feature).files)
