"""Datasets, features and methods by file name: a file is a plug-in, nothing is registered."""

import functools
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from crossmodal.errors import CrossmodalError, unknown
from crossmodal.plugin import Plugin

BASES = {
    "datasets": ("crossmodal.data.dataset", "Dataset"),
    "features": ("crossmodal.data.feature", "Feature"),
    "methods": ("crossmodal.learning.method", "Method"),
}


def names(kind: str) -> list[str]:
    """File names of all plug-ins of a kind: 'datasets', 'features' or 'methods'."""
    package = importlib.import_module(f"crossmodal.{kind}")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if _may_be_plugin(m.name))


def _may_be_plugin(name: str) -> bool:
    """What several plug-ins share lies beside them, in files whose names begin with _."""
    return not name.startswith("_")


def module(kind: str, name: str) -> str:
    """Name of the module that holds a plug-in."""
    return f"crossmodal.{kind}.{name}"


class BrokenPluginError(CrossmodalError):
    """A plug-in's file cannot be imported, or does not define what it must."""


def load(kind: str, name: str) -> type[Plugin]:
    """The class of a plug-in.

    Raises:
        CrossmodalError: If there is no such file.
        BrokenPluginError: If it cannot be imported, or does not define exactly one whole plug-in.
    """
    found = sys.modules.get(module(kind, name)) if _may_be_plugin(name) else None
    return _only_plugin(kind, found or _imported(kind, name))


def _imported(kind: str, name: str) -> ModuleType:
    """The module that holds a plug-in."""
    if name not in names(kind):
        raise CrossmodalError(f"{kind}: {unknown(name, names(kind))}")
    try:
        return importlib.import_module(module(kind, name))
    except Exception as error:  # whatever a user's file raises
        reason = str(error).partition("\n")[0]
        raise BrokenPluginError(
            f"{_place(kind, name, error)}: {type(error).__name__}: {reason}"
        ) from error


@functools.cache  # a plan makes each plug-in hundreds of times
def _only_plugin(kind: str, found: ModuleType) -> type:
    """The one class of a module that is a plug-in, once it is seen to be whole."""
    where, base_name = BASES[kind]
    base = getattr(importlib.import_module(where), base_name)
    classes = [
        c
        for _, c in inspect.getmembers(found, inspect.isclass)
        if issubclass(c, base) and c.__module__ == found.__name__
    ]
    if len(classes) != 1:
        raise BrokenPluginError(
            f"{found.__file__}: defines {len(classes)} subclasses of {base.__name__}; need one"
        )
    for defect in _defects(classes[0], base):
        line = inspect.getsourcelines(classes[0])[1]
        raise BrokenPluginError(f"{found.__file__}, line {line}: {classes[0].__name__} {defect}")
    return classes[0]


def _place(kind: str, name: str, error: Exception) -> str:
    """File and line of a plug-in where its import failed."""
    file = importlib.util.find_spec(module(kind, name)).origin
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else 1
    return f"{file}, line {line}"


def _defects(plugin: type, base: type) -> Iterator[str]:
    """What a plug-in lacks, or says of itself that cannot be."""
    if missing := sorted(getattr(plugin, "__abstractmethods__", ())):
        yield f"does not define {', '.join(missing)}"
    parameters = inspect.signature(plugin).parameters.values()
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
        yield "has an __init__; describe its options in a class `Options(Strict)` inside of it"
    for name, hint in get_type_hints(base).items():
        said = getattr(plugin, name, None)
        (allowed,) = get_args(hint) if get_origin(hint) is ClassVar else (hint,)
        if get_origin(allowed) is Literal and isinstance(said, str):
            if said not in get_args(allowed):
                yield f"has {name} = {said!r}; allowed: {', '.join(get_args(allowed))}"
        elif get_origin(allowed) is Literal and said is None:
            yield f"has no {name}; allowed: {', '.join(get_args(allowed))}"


def summary(plugin: type) -> str:
    """First line of the file that defines a plug-in."""
    return (inspect.getdoc(inspect.getmodule(plugin)) or "").partition("\n")[0]


def make(kind: str, name: str, options: dict[str, Any], where: str) -> Any:
    """An instance of a plug-in, with its options checked.

    Args:
        kind: 'datasets', 'features' or 'methods'.
        name: File name of the plug-in.
        options: Exactly the fields of its `Options`.
        where: Key path of `options` in params.yaml, for messages.

    Raises:
        CrossmodalError: If a key is unknown or missing, or a value has the wrong type or range.
    """
    plugin = load(kind, name)
    try:
        return plugin(**options)
    except ValidationError as error:
        raise CrossmodalError(explain(error, plugin.Options, where)) from None
    except ValueError as error:
        raise CrossmodalError(f"params.yaml: {where}: {error}") from None


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
    if finding["type"] == "value_error":
        return f"params.yaml: {path}: {finding['ctx']['error']}"
    found = finding["input"]
    # YAML reads 1e-3, without a point, as text
    hint = "; write 1e-3 as 0.001" if finding["type"] == "float_type" and "e" in str(found) else ""
    return f"params.yaml: {path}: {finding['msg']}, but it is {found!r}{hint}"


def _keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Keys of the model at a location of a schema: models inside of models and of dicts."""
    for step in location:
        field = _named(schema).get(str(step))
        inner = field.annotation if field else schema
        for candidate in (inner, *get_args(inner)):
            if inspect.isclass(candidate) and issubclass(candidate, BaseModel):
                schema = candidate
    return list(_named(schema))


def _named(schema: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields of a model by their names in params.yaml."""
    return {field.alias or name: field for name, field in schema.model_fields.items()}
