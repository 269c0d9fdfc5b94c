"""Print the options of an entry of params.yaml, where each is set, and its meaning."""

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import Annotated, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from crossmodal.config import plugins
from crossmodal.config.experiment import Settings
from crossmodal.config.groups import Layers, based
from crossmodal.config.overlays import origins, read_files
from crossmodal.config.params import Params, read
from crossmodal.data.changes import Changes
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.text_table import print_table

Row = tuple[str, ...]  # of a table
Written = dict[str, dict[str, dict[str, object]]]  # section -> name -> key -> value
SETTINGS = ("label", "dataset", "relevance", "method", "seeds", "searched_by", "gpus")
GROUP = ("experiment", "row", "method", "dataset")
EXPERIMENT = ("option", "value", "where", "meaning")
ENTRY = ("option", "type", "value", "where", "meaning")
LAYERS = ("layer", "first column", "end")
TYPES: dict[type, str] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "true | false",
    NoneType: "null",
}


def describe(name: str, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print each entry of a name.

    Args:
        name: An experiment, a group of experiments, a method, a feature or a dataset.
        path: params.yaml.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If there is no such entry; the message has those of similar names.
    """
    files = [path, *overlays]
    params, written = read(*files), read_files(files)
    kinds = [kind for kind in plugins.BASES if name in getattr(params, kind)]
    members = [e for e in params.experiments if is_of(params, e, name)]
    if name in params.experiments:
        of = params.layers_of(name)[0][0].split(".")[1]
        rows = [*_placed(experiment(params, written, name), files)]
        print_table(f"{name}, of experiments.{of}", EXPERIMENT, rows)
        file = origins(files)(f"experiments.{of}")
        value, where = next(row[1:3] for row in rows if row[0] == "seeds")
        if file in overlays:  # which DVC does not read
            print(f"to change a value: edit {file}\n")
        else:
            print(f"to change a value: dvc exp run -S {where}={value}")
            print(_alone(params, name, _relative(file, path)))
    elif members:
        rows = [*group(params, members)]
        print_table(f"experiments.{name}: {len(members)} experiments", GROUP, rows)
        print()
    for kind in kinds:
        plugin = plugins.load(kind, params.plugin(kind, name)["plugin"])
        title = f"{kind}.{name}: {plugins.summary(plugin)}"
        print_table(title, ENTRY, _placed(entry(params, written, kind, name), files))
        print()
        if kind == "features":
            _print_layers(params, name)
    if not (members or kinds):
        names = {n for kind in (*plugins.BASES, "experiments") for n in getattr(params, kind)}
        reason = unknown(name, names | params.groups.keys())
        raise CrossmodalError(f"experiments, methods, features, datasets: {reason}")


def is_of(params: Params, experiment: str, name: str) -> bool:
    """Return whether an experiment has a name, or belongs to the group or grid of that name."""
    at = params.layers_of(experiment)[0][0].split(".")
    of_grid = params.experiments[experiment].grid and experiment.startswith(f"{name}-")
    return name in (experiment, at[1]) or bool(of_grid)


def group(params: Params, members: list[str]) -> Iterator[Row]:
    """Yield name, row, method and dataset of each experiment of a group."""
    for name in members:
        spec = params.experiments[name]
        yield name, spec.row(), spec.method, spec.dataset


def experiment(params: Params, written: Written, name: str) -> Iterator[Row]:
    """Yield key, value, address and meaning of each setting of an experiment."""
    spec, layers, fit = params.experiments[name], params.layers_of(name), params.fit(name)
    fields = Settings.model_fields
    own = params.methods[spec.method]
    called = f"methods.{spec.method}.{'published' if 'published' in own else 'label'}"
    for key in SETTINGS:
        value = getattr(spec, key)
        at = _origin(layers, key) or key
        yield key, _text(params.seeds if value is None else value), at, _meaning(fields[key])
    for kind in ("views", "search", "published"):
        for key, value in dict(getattr(spec, kind) or {}).items():
            if value:
                at = _origin(layers, kind, key) or called  # of `published.method` alone
                yield f"{kind}.{key}", _text(value), at, _meaning(fields[kind])
    changes = spec.changes.model_dump(exclude_unset=True) if spec.changes else {}
    for key, value in changes.items():
        at = _origin(layers, "changes", key)
        yield f"changes.{key}", _text(value), at, _meaning(Changes.model_fields[key])
    options = plugins.load("methods", fit.plugin).Options.model_fields
    method = [
        (at, {"options": values})
        for at, values in based(written["methods"], "methods")[spec.method]
    ]
    for key, value in fit.options.items():
        at = _origin(layers, "grid", key) or _origin(layers, "options", key)
        at = at or _origin(method, "options", key, "") or f"+methods.{spec.method}.{key}"
        yield f"options.{key}", _text(value), at, _meaning(options[key])


def entry(params: Params, written: Written, kind: str, name: str) -> Iterator[Row]:
    """Yield option, type, value, address and meaning of a method, feature or dataset."""
    job = params.plugin(kind, name)
    fields = plugins.load(kind, job["plugin"]).Options.model_fields
    layers = [(at, {"": values}) for at, values in based(written[kind], kind)[name]]
    for option, value in job["options"].items():
        field, at = fields[option], _origin(layers, "", option, "") or f"+{kind}.{name}.{option}"
        yield option, type_name(field.annotation), _text(value), at, _meaning(field)


def _print_layers(params: Params, name: str) -> None:
    """Print the layers that a feature, or one that it is computed from, reads of its network."""
    feature = params.instance("features", name)
    if hasattr(feature, "outline"):
        rows = ((each.name, str(each.start), str(each.stop)) for each in feature.outline())
        print_table(f"layers of {feature.options.backbone}", LAYERS, rows)
        print()
    for source in feature.of:
        _print_layers(params, source)


def type_name(annotation: object) -> str:
    """Return the type of a value, in words of YAML."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin is Annotated:
        return type_name(inner[0])
    if origin in (list, tuple):
        return f"list of {type_name(inner[0])}"
    if origin is dict:
        return f"{type_name(inner[0])}: {type_name(inner[1])}"
    if inner:
        return " | ".join(map(type_name, inner))
    fields = getattr(annotation, "model_fields", None)
    if fields:
        return f"map of {', '.join(fields)}"
    return TYPES.get(annotation, "any") if isinstance(annotation, type) else "any"


def _placed(rows: Iterable[Row], files: Sequence[Path]) -> Iterator[Row]:
    """Yield rows with addresses that `dvc exp run -S` takes, with the file if not params.yaml."""
    origin = origins(files)
    for *row, at, meaning in rows:
        path = origin(at)
        yield *row, at if path == files[0] else f"{_relative(path, files[0])}:{at}", meaning


def _relative(path: Path, params: Path) -> Path:
    """Return the path from the folder of params.yaml, or as it is outside of it."""
    return path.relative_to(params.parent) if path.is_relative_to(params.parent) else path


def _alone(params: Params, name: str, path: Path) -> str:
    """Return the command that changes one experiment of a group only."""
    if params.experiments[name].grid or name in params.groups:
        return ""
    address = f"{path}:+experiments.{name}.options.<option>=<value>"
    return f"to change it alone: dvc exp run -S {address}\n"


def _origin(layers: Layers, key: str, part: str = "", below: str | None = None) -> str:
    """Return the address of the last layer that sets a value; empty if none does."""
    for address, values in reversed(layers):
        if key in values and (not part or part in (values[key] or {})):
            path = [address, key if below is None else below, part]
            return ".".join(filter(None, path))
    return ""


def _text(value: object) -> str:
    """Return a value in YAML, where an exponent without a point would be text."""
    if isinstance(value, float):
        return f"{Decimal(str(value)):f}"
    return value if isinstance(value, str) else json.dumps(value)


def _meaning(field: FieldInfo) -> str:
    return field.description or ""
