"""Datasets, features and methods by file name: a file is a plug-in, nothing is registered."""

import functools
import importlib
import inspect
import pkgutil
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from crossmodal.errors import CrossmodalError

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
BASES = {"datasets": "Dataset", "features": "Feature", "methods": "Method"}


def names(kind: str) -> list[str]:
    """File names of all plug-ins of a kind: 'datasets', 'features' or 'methods'."""
    package = importlib.import_module(f"crossmodal.{kind}")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name != "base")


def module(kind: str, name: str) -> str:
    """Name of the module that holds a plug-in."""
    return f"crossmodal.{kind}.{name}"


def load(kind: str, name: str) -> type:
    """The class of a plug-in.

    Raises:
        CrossmodalError: If there is no such file, or it does not define exactly one plug-in.
    """
    if name not in names(kind):
        raise CrossmodalError(f"{kind}: {name!r} is unknown; known: {', '.join(names(kind))}")
    found = importlib.import_module(module(kind, name))
    base = getattr(importlib.import_module(f"crossmodal.{kind}.base"), BASES[kind])
    classes = [
        c
        for _, c in inspect.getmembers(found, inspect.isclass)
        if issubclass(c, base) and c.__module__ == found.__name__
    ]
    if len(classes) != 1:
        raise CrossmodalError(
            f"{found.__file__}: defines {len(classes)} subclasses of {base.__name__}; need one"
        )
    return classes[0]


def make(kind: str, name: str, options: dict[str, Any], where: str) -> Any:
    """An instance of a plug-in, its options checked against the signature of its `__init__`.

    Args:
        kind: 'datasets', 'features' or 'methods'.
        name: File name of the plug-in.
        options: Exactly the arguments of its `__init__`.
        where: Key path of `options` in params.yaml, for messages.

    Raises:
        CrossmodalError: If a key is unknown or missing, or a value has the wrong type or range.
    """
    plugin = load(kind, name)
    schema = _schema(plugin)
    try:
        schema.model_validate(options)
        return plugin(**options)
    except ValidationError as error:
        raise CrossmodalError(explain(error, schema, where)) from None
    except ValueError as error:
        raise CrossmodalError(f"params.yaml: {where}: {error}") from None


@functools.cache
def _schema(plugin: type) -> type[BaseModel]:
    """The arguments of a plug-in's `__init__`, all of them required."""
    hints = get_type_hints(plugin.__init__, include_extras=True)
    names = list(inspect.signature(plugin.__init__).parameters)[1:]
    fields: dict[str, Any] = {n: (hints[n], ...) for n in names if n in hints}
    return create_model(plugin.__name__, __config__=STRICT, **fields)


def explain(error: ValidationError, schema: type[BaseModel], where: str = "") -> str:
    """Every finding of a validation as one line: key path, what was found, what is allowed."""
    return "\n".join(_explain_one(finding, schema, where) for finding in error.errors())


def _explain_one(finding: Any, schema: type[BaseModel], where: str) -> str:
    path = ".".join(filter(None, [where, *map(str, finding["loc"])]))
    if finding["type"] == "extra_forbidden":
        known = ", ".join(_keys(schema, finding["loc"][:-1])) or "no key"
        return f"params.yaml: {path}: unknown key; allowed here: {known}"
    if finding["type"] == "missing":
        return f"params.yaml: {path}: this key is missing; add it"
    found = finding["input"]
    # YAML reads 1e-3, without a point, as text
    hint = "; write 1e-3 as 0.001" if finding["type"] == "float_type" and "e" in str(found) else ""
    return f"params.yaml: {path}: {finding['msg']}, but it is {found!r}{hint}"


def _keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Keys of the model at a location of a schema: models inside of models and of dicts."""
    for step in location:
        field = schema.model_fields.get(str(step))
        inner = field.annotation if field else schema
        for candidate in (inner, *get_args(inner)):
            if inspect.isclass(candidate) and issubclass(candidate, BaseModel):
                schema = candidate
    return list(schema.model_fields)
