"""Datasets, features and methods by file name: a file is a plug-in, nothing is registered."""

import functools
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from crossmodal.config import plugin_files
from crossmodal.errors import CrossmodalError, unknown

BASES = {
    "datasets": ("crossmodal.data.dataset", "Dataset"),
    "features": ("crossmodal.data.feature", "Feature"),
    "methods": ("crossmodal.learning.method", "Method"),
}


def names(kind: str) -> list[str]:
    """Return the names of all plug-ins of a kind: 'datasets', 'features' or 'methods'."""
    return list(plugin_files.modules(kind))


def module(kind: str, name: str) -> str:
    """Return the name of the module that holds a plug-in.

    Raises:
        CrossmodalError: If there is no such plug-in.
    """
    modules = plugin_files.modules(kind)
    if name not in modules:
        raise CrossmodalError(f"{kind}: {unknown(name, modules)}")
    return modules[name]


class BrokenPluginError(CrossmodalError):
    """A plug-in's file cannot be imported, or does not define what it must."""


def load(kind: str, name: str) -> type[Any]:
    """Return the class of a plug-in.

    Raises:
        CrossmodalError: If there is no such file.
        BrokenPluginError: If it cannot be imported, or does not define exactly one whole plug-in.
    """
    where = module(kind, name)
    return _only_plugin(kind, sys.modules.get(where) or _imported(where))


def _imported(where: str) -> ModuleType:
    """Import the module that holds a plug-in."""
    try:
        return importlib.import_module(where)
    except Exception as error:  # whatever a user's file raises
        reason = str(error).partition("\n")[0]
        raise BrokenPluginError(
            f"{_place(where, error)}: {type(error).__name__}: {reason}"
        ) from error


@functools.cache  # a plan makes each plug-in hundreds of times
def _only_plugin(kind: str, imported: ModuleType) -> type:
    """Return the one class of a module that is a plug-in, after a check that it is complete."""
    where, base_name = BASES[kind]
    base = getattr(importlib.import_module(where), base_name)
    classes = [
        c
        for _, c in inspect.getmembers(imported, inspect.isclass)
        if issubclass(c, base) and c.__module__ == imported.__name__
    ]
    if len(classes) != 1:
        raise BrokenPluginError(
            f"{imported.__file__}: defines {len(classes)} subclasses of {base.__name__}; need one"
        )
    for defect in _defects(classes[0], base):
        line = inspect.getsourcelines(classes[0])[1]
        raise BrokenPluginError(f"{imported.__file__}, line {line}: {classes[0].__name__} {defect}")
    return classes[0]


def _place(where: str, error: Exception) -> str:
    """Return file and line of a plug-in where its import failed."""
    try:
        spec = importlib.util.find_spec(where)
    except ImportError:  # of a package that an entry point names
        spec = None
    file = spec.origin if spec else where
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else 1
    return f"{file}, line {line}"


def _defects(plugin: type, base: type) -> Iterator[str]:
    """Yield what a plug-in lacks, and attributes of it that are not allowed."""
    if missing := sorted(getattr(plugin, "__abstractmethods__", ())):
        yield f"does not define {', '.join(missing)}"
    parameters = inspect.signature(plugin).parameters.values()
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
        yield "has an __init__; describe its options in a class `Options(Strict)` inside of it"
    for name, hint in get_type_hints(base).items():
        value = getattr(plugin, name, None)
        (allowed,) = get_args(hint) if get_origin(hint) is ClassVar else (hint,)
        if get_origin(allowed) is Literal and isinstance(value, str):
            if value not in get_args(allowed):
                yield f"has {name} = {value!r}; allowed: {', '.join(get_args(allowed))}"
        elif get_origin(allowed) is Literal and value is None:
            yield f"has no {name}; allowed: {', '.join(get_args(allowed))}"


def summary(plugin: type) -> str:
    """Return the first line of the file that defines a plug-in."""
    return (inspect.getdoc(inspect.getmodule(plugin)) or "").partition("\n")[0]


def make(kind: str, name: str, options: Mapping[str, object], where: str) -> Any:
    """Return an instance of a plug-in, with its options checked.

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
    """Return a line for each error of a validation: key path, value, and what is allowed."""
    return "\n".join(_explain_one(each, schema, where) for each in error.errors())


def _explain_one(finding: ErrorDetails, schema: type[BaseModel], where: str) -> str:
    path = ".".join(filter(None, [where, *map(str, finding["loc"])]))
    if finding["type"] == "extra_forbidden":
        allowed = ", ".join(_keys(schema, finding["loc"][:-1])) or "no key"
        return f"params.yaml: {path}: unknown key; allowed here: {allowed}"
    if finding["type"] == "missing":
        return f"params.yaml: {path}: this key is missing; add it"
    if finding["type"] == "value_error":
        return f"params.yaml: {path}: {finding['ctx']['error']}"
    value = finding["input"]
    # YAML reads 1e-3, without a point, as text
    hint = "; write 1e-3 as 0.001" if finding["type"] == "float_type" and "e" in str(value) else ""
    return f"params.yaml: {path}: {finding['msg']}, but it is {value!r}{hint}"


def _keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the model at a location of a schema, inside of models and of dicts."""
    for step in location:
        field = _named(schema).get(str(step))
        inner = field.annotation if field else schema
        for candidate in (inner, *get_args(inner)):
            if inspect.isclass(candidate) and issubclass(candidate, BaseModel):
                schema = candidate
    return list(_named(schema))


def _named(schema: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by their names in params.yaml."""
    return {field.alias or name: field for name, field in schema.model_fields.items()}
