"""Write params.schema.json, which editors read to complete keys: python tools/make_schema.py."""

import json
from pathlib import Path
from typing import Any

from crossmodal.config import plugins
from crossmodal.config.sections import Sections
from crossmodal.io.files import write_text

ROOT = Path(__file__).parents[1]
TEXT = {"type": "string"}
LISTED = ("Table", "Figure", "Cited")  # lists in them may be a line of text
NAMES = {
    "base": {"description": "Entry of this section whose keys hold where nothing else is set."},
    "label": {"description": "Name in rows of tables."},
    "published": {"description": "Name in rows of published tables, where it is another."},
}
JOBS = {
    "type": "integer",
    "minimum": 1,
    "description": "Number of jobs that extract the feature, each a part of it; by default 1.",
}
SHARD_SIZE = {
    "type": ["string", "integer"],
    "description": "Bytes of a shard of the media, such as 1GB; by default, all are in one file.",
}
FURTHER: dict[str, dict[str, Any]] = {
    "features": {"jobs": JOBS},
    "datasets": {"max_shard_size": SHARD_SIZE},
}


def schema() -> dict[str, Any]:
    """Return the JSON schema of params.yaml and of each file in experiments/."""
    made = Sections.model_json_schema()
    definitions = made["$defs"]
    for part in (made, *definitions.values()):
        part.pop("required", None)  # it may be in another file, or in the base
    for name in LISTED:
        properties = definitions[name]["properties"]
        for key, value in properties.items():
            if value.get("type") == "array" or key == "methods":
                text = {"description": value.pop("description", ""), "anyOf": [TEXT, value]}
                properties[key] = text if key != "methods" else text | {"anyOf": [TEXT, value, {}]}
        if name in ("Table", "Figure"):
            properties["base"] = TEXT | NAMES["base"]
    suites = made["properties"]["suites"]
    suites["additionalProperties"] = {"anyOf": [TEXT, suites["additionalProperties"]]}
    for kind in plugins.BASES:
        made["properties"][kind]["patternProperties"] = {".": _entry(kind, definitions)}
    return {"title": "params.yaml and experiments/ of crossmodal", **made}


def _entry(kind: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an entry of a section: the options of all its plug-ins."""
    options: dict[str, list[Any]] = {}
    for name in plugins.names(kind):
        own = plugins.load(kind, name).Options.model_json_schema()
        definitions |= own.pop("$defs", {})
        for key, value in own.get("properties", {}).items():
            if value not in options.setdefault(key, []):
                options[key].append(value)
    properties = {key: v[0] if len(v) == 1 else {"anyOf": v} for key, v in sorted(options.items())}
    named = {key: TEXT | value for key, value in NAMES.items()}
    named |= FURTHER.get(kind, {})
    named["plugin"] = {"enum": plugins.names(kind), "description": f"File in {kind}/."}
    return {"type": "object", "additionalProperties": False, "properties": named | properties}


if __name__ == "__main__":
    write_text(ROOT / "params.schema.json", json.dumps(schema(), indent=1) + "\n")
