"""Inheritance in params.yaml: entries with a `base`, and groups of experiments."""

from collections.abc import Iterator, Mapping
from typing import Any

from crossmodal.config.experiment import Group, Row, Settings
from crossmodal.errors import CrossmodalError, unknown

# address in params.yaml and what is said there, from the general to the particular
Layers = list[tuple[str, dict[str, Any]]]
Part = tuple[str, Row]  # address of a row or of a variant, and its settings
MERGED = ("views", "options", "published")
STRUCTURE = {"base", "prefix", "variants", "rows", "of"}


def lineage(name: str, parents: Mapping[str, str | None], where: str) -> list[str]:
    """Return an entry after all that it is based on, the first one first.

    Args:
        name: The entry.
        parents: What each entry says that it is based on.
        where: Key path of the entries, for messages.

    Raises:
        CrossmodalError: If one of them is unknown, or based on itself.
    """
    chain, names = [name], list(parents)
    while (parent := parents.get(chain[0])) is not None:
        if parent not in names:  # a list or a mapping, which has no hash, too
            others = parents.keys() - {chain[0]}
            raise CrossmodalError(f"params.yaml: {where}.{chain[0]}: {unknown(parent, others)}")
        if parent in chain:
            raise CrossmodalError(f"params.yaml: {where}.{parent}: it is based on itself")
        chain.insert(0, parent)
    return chain


def based(entries: dict[str, dict[str, Any]], where: str) -> dict[str, Layers]:
    """Return what is set for each entry of a section: by all its bases, then by itself."""
    parents = {name: entry.get("base") for name, entry in entries.items()}
    return {
        name: [(f"{where}.{a}", entries[a]) for a in lineage(name, parents, where)]
        for name in entries
    }


def expand(groups: dict[str, Group]) -> dict[str, dict[str, Layers]]:
    """Return the experiments of each entry of `experiments`, with all layers of settings.

    Raises:
        CrossmodalError: If an experiment is made twice, a group makes none, or a `base` or `of`
            leads nowhere.
    """
    parents = {name: group.base for name, group in groups.items()}
    members: dict[str, dict[str, Layers]] = {}
    alone: dict[str, Layers] = {}
    maker: dict[str, str] = {}
    for name in groups:
        chain = {ancestor: groups[ancestor] for ancestor in lineage(name, parents, "experiments")}
        if not any(group.rows for group in chain.values()):
            alone[name] = _alone(chain)
            continue
        members[name] = {}
        for member, layers in _members(chain):
            if member in maker:
                raise CrossmodalError(
                    f"params.yaml: experiments.{name}: {member!r} is also of {maker[member]!r}; "
                    "rename a row or a variant"
                )
            maker[member], members[name][member] = name, layers
        if not members[name]:
            raise CrossmodalError(
                f"params.yaml: experiments.{name}: all of its rows are left out; keep one"
            )
    if taken := maker.keys() & members.keys():
        name = min(taken)
        raise CrossmodalError(
            f"params.yaml: experiments.{name}: {maker[name]!r} has an experiment of that name; "
            "call the group otherwise, and set its `prefix` to keep the names of its experiments"
        )
    for name, layers in alone.items():
        if name in maker:  # changes one experiment of a group
            members[maker[name]][name] += layers
        else:
            members[name] = {name: [(f"experiments.{name}", {"label": "{method}"}), *layers]}
    return members


def merged(layers: Layers) -> dict[str, Any]:
    """Merge layers: views, options and published rows key by key, others as a whole."""
    settings: dict[str, Any] = {}
    for _, layer in layers:
        for key, value in layer.items():
            both = key in MERGED and value is not None and settings.get(key)
            settings[key] = settings[key] | value if both else value
    return settings


def _alone(chain: dict[str, Group]) -> Layers:
    """Return the settings of an entry without rows, the last of a chain of bases."""
    for name, group in chain.items():
        if group.variants or group.prefix:
            raise CrossmodalError(
                f"params.yaml: experiments.{name}: `variants` and `prefix` are of groups; give it "
                "`rows`, or leave them out"
            )
    return _shared(chain)


def _members(chain: dict[str, Group]) -> Iterator[tuple[str, Layers]]:
    """Yield the experiments of a group, the last of a chain of bases."""
    name, group = list(chain.items())[-1]
    where, shared = f"experiments.{name}.rows", _shared(chain)
    rows, dropped = _parts(chain, "rows")
    variants, without = _parts(chain, "variants")
    parents = {
        row: next((s.of for _, s in reversed(layers) if s.of), None) for row, layers in rows.items()
    }
    for row in (row for row in rows if row not in dropped):
        like = lineage(row, parents, where)
        default = (f"{where}.{row}", {"label": "{method}", "method": like[0]})
        own = [(at, _stated(settings)) for r in like for at, settings in rows[r]]
        for variant in [v for v in variants if v not in without] or [""]:
            between = [(at, _stated(settings)) for at, settings in variants.get(variant, [])]
            member = "_".join(filter(None, [group.prefix or name, variant, row]))
            yield member, [default, *shared, *between, *own]


def _shared(chain: dict[str, Group]) -> Layers:
    """Return the settings that a chain of bases has for all its experiments."""
    return [(f"experiments.{name}", _stated(group)) for name, group in chain.items()]


def _parts(chain: dict[str, Group], kind: str) -> tuple[dict[str, list[Part]], set[str]]:
    """Return the layers of each row or variant of a chain of bases, and the dropped ones."""
    layers: dict[str, list[Part]] = {}
    dropped: set[str] = set()
    for name, group in chain.items():
        for part, settings in getattr(group, kind).items():
            address = f"experiments.{name}.{kind}.{part}"
            if settings is not None:
                layers.setdefault(part, []).append((address, settings))
                dropped.discard(part)
            elif part in layers:
                dropped.add(part)
            else:
                raise CrossmodalError(
                    f"params.yaml: {address}: there is nothing to leave out; write {{}} for a "
                    f"{kind.removesuffix('s')} without settings of its own"
                )
    return layers, dropped


def _stated(settings: Settings) -> dict[str, object]:
    return settings.model_dump(exclude_unset=True, exclude=STRUCTURE)
