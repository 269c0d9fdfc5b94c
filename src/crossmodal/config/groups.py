"""Inheritance in params.yaml: entries with a `base`, and groups of experiments."""

from collections.abc import Mapping
from typing import Any

from crossmodal.config.experiment import Group, Settings
from crossmodal.errors import CrossmodalError, unknown

# address in params.yaml and what is said there, from the general to the particular
Layers = list[tuple[str, dict[str, Any]]]
MERGED = ("views", "options", "published")
STRUCTURE = {"base", "prefix", "variants", "rows", "of"}


def lineage(name: str, parents: Mapping[str, str | None], where: str) -> list[str]:
    """An entry after all that it is based on, the first one first.

    Args:
        name: The entry.
        parents: What each entry says that it is based on.
        where: Key path of the entries, for messages.

    Raises:
        CrossmodalError: If one of them is unknown, or based on itself.
    """
    found, names = [name], list(parents)
    while (parent := parents.get(found[0])) is not None:
        if parent not in names:  # a list or a mapping, which has no hash, too
            others = parents.keys() - {found[0]}
            raise CrossmodalError(f"params.yaml: {where}.{found[0]}: {unknown(parent, others)}")
        if parent in found:
            raise CrossmodalError(f"params.yaml: {where}.{parent}: it is based on itself")
        found.insert(0, parent)
    return found


def based(entries: dict[str, dict[str, Any]], where: str) -> dict[str, Layers]:
    """Return what is set for each entry of a section: by all its bases, then by itself."""
    parents = {name: entry.get("base") for name, entry in entries.items()}
    return {
        name: [(f"{where}.{a}", entries[a]) for a in lineage(name, parents, where)]
        for name in entries
    }


def expand(groups: dict[str, Group]) -> dict[str, dict[str, Layers]]:
    """The experiments that each entry of `experiments` stands for, with all that is said of each.

    Raises:
        CrossmodalError: If two entries make one experiment, or a `base` or `of` leads nowhere.
    """
    parents = {name: group.base for name, group in groups.items()}
    found: dict[str, dict[str, Layers]] = {}
    alone: dict[str, Layers] = {}
    maker: dict[str, str] = {}
    for name in groups:
        chain = {ancestor: groups[ancestor] for ancestor in lineage(name, parents, "experiments")}
        if not any(group.rows for group in chain.values()):
            alone[name] = _shared(chain)
            continue
        found[name] = _members(chain)
        for member in found[name]:
            if maker.setdefault(member, name) != name:
                raise CrossmodalError(
                    f"params.yaml: experiments.{name}: {member!r} is also of {maker[member]!r}"
                )
    if taken := maker.keys() & found.keys():
        name = min(taken)
        raise CrossmodalError(
            f"params.yaml: experiments.{name}: {maker[name]!r} has an experiment of that name; "
            "call the group otherwise, and set its `prefix` to keep the names of its experiments"
        )
    for name, layers in alone.items():
        if name in maker:  # changes one experiment of a group
            found[maker[name]][name] += layers
        else:
            found[name] = {name: [(f"experiments.{name}", {"label": "{method}"}), *layers]}
    return found


def merged(layers: Layers) -> dict[str, Any]:
    """What layers say together: views, options and published rows key by key, others as a whole."""
    found: dict[str, Any] = {}
    for _, said in layers:
        for key, value in said.items():
            both = key in MERGED and value is not None and found.get(key)
            found[key] = found[key] | value if both else value
    return found


def _members(chain: dict[str, Group]) -> dict[str, Layers]:
    """The experiments of a group, the last of a chain of bases."""
    name, group = list(chain.items())[-1]
    where, shared = f"experiments.{name}.rows", _shared(chain)
    rows, dropped = _parts(chain, "rows")
    variants, without = _parts(chain, "variants")
    parents = {row: next((s.of for _, s in said[::-1] if s.of), None) for row, said in rows.items()}
    found = {}
    for row in (row for row in rows if row not in dropped):
        like = lineage(row, parents, where)
        default = (f"{where}.{row}", {"label": "{method}", "method": like[0]})
        own = [(at, _said(settings)) for r in like for at, settings in rows[r]]
        for variant in [v for v in variants if v not in without] or [""]:
            between = [(at, _said(settings)) for at, settings in variants.get(variant, [])]
            member = "_".join(filter(None, [group.prefix or name, variant, row]))
            found[member] = [default, *shared, *between, *own]
    return found


def _shared(chain: dict[str, Group]) -> Layers:
    """What a chain of bases says of all its experiments."""
    return [(f"experiments.{name}", _said(group)) for name, group in chain.items()]


def _parts(chain: dict[str, Group], kind: str) -> tuple[dict[str, list[tuple[str, Any]]], set[str]]:
    """What a chain of bases says of each row or variant; and those that it drops."""
    found: dict[str, list[tuple[str, Any]]] = {}
    dropped: set[str] = set()
    for name, group in chain.items():
        for part, settings in getattr(group, kind).items():
            address = f"experiments.{name}.{kind}.{part}"
            if settings is not None:
                found.setdefault(part, []).append((address, settings))
                dropped.discard(part)
            elif part in found:
                dropped.add(part)
            else:
                raise CrossmodalError(f"params.yaml: {address}: there is nothing to leave out")
    return found, dropped


def _said(settings: Settings) -> dict[str, Any]:
    return settings.model_dump(exclude_unset=True, exclude=STRUCTURE)
