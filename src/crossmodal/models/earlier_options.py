"""Options of methods as earlier versions named them."""

from collections.abc import Mapping

# `scaling` of methods whose option was `input_norm`, where its value had another name
SCALINGS: dict[str, dict[object, str]] = {
    **{name: {"raw": "centre", "l2": "l2-centre"} for name in ("cfa", "kcca", "lgcfl", "pls")},
    "three_view_cca": {"raw": "centre", "l2": "l2-centre"},
    **{name: {"centre": "centre-scale"} for name in ("acmr", "ccl", "cmdn", "corr_ae", "dcca")},
    "deep_sm": {"centre": "centre-scale"},
    "matchmap": {},
}
# options that went, with the value that holds since
REMOVED: dict[str, dict[str, object]] = {
    "corr_ae": {"reconstructs": "own"},
    "deep_sm": {"loss": "cross_entropy", "temperature": 1.0},
    "kcca": {"kernel": "rbf"},
    "lgcfl": {"dragging": True},
    "matchmap": {"accumulate": 1},
    "vase": {"accumulate": 1, "same_image_negatives": True, "second_cosine": False},
    "w2vv": {"output": "relu"},
}


def current_options(plugin: str, options: Mapping[str, object]) -> dict[str, object]:
    """Return a method's options by their names and values of today.

    Args:
        plugin: File name of the method.
        options: Its options as this or an earlier version wrote them.
    """
    removed = REMOVED.get(plugin, {})
    current = {k: v for k, v in options.items() if k not in removed or v != removed[k]}
    if plugin in SCALINGS and "input_norm" in current:
        value = current.pop("input_norm")
        current["scaling"] = SCALINGS[plugin].get(value, value)
    return current
