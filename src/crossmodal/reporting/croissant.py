"""Croissant: a dataset's files, columns and terms as JSON-LD, which search engines read.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html; its names are of schema.org.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from crossmodal.data.dataset import Dataset
from crossmodal.data.prepared import CAPTION_COLUMNS, ITEM_COLUMNS, SPLIT_COLUMNS
from crossmodal.io.files import JsonObject

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".zip": "application/zip",
    ".safetensors": "application/octet-stream",
}
# columns of a table, the first of which is its key; and the columns that name a row of another
TABLES = {"items": ITEM_COLUMNS, "captions": CAPTION_COLUMNS, "splits": SPLIT_COLUMNS}
REFERENCES = {"captions/item": "items/id", "splits/item": "items/id"}


def croissant(
    name: str, address: str, dataset: Dataset, files: Mapping[str, tuple[int, str]]
) -> JsonObject:
    """Return the description of a dataset.

    Args:
        name: In params.yaml.
        address: Where it is read: its page on the hub.
        dataset: Its licence and citation.
        files: Bytes and SHA-256 of each file.
    """
    tables = [table for table in TABLES if f"{table}.csv" in files]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": name,
        "description": f"Items, splits and features of {name} for cross-modal retrieval",
        "license": dataset.licence,
        "citeAs": dataset.citation,
        "url": address,
        "distribution": [_file(address, file, *facts) for file, facts in files.items()],
        "recordSet": [_table(table) for table in tables],
    }


def _file(address: str, name: str, size: int, sha256: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": f"{address}/resolve/main/{name}",
        "contentSize": f"{size} B",
        "encodingFormat": FORMATS[PurePosixPath(name).suffix],
        "sha256": sha256,
    }


def _table(table: str) -> dict[str, Any]:
    """Return a CSV as a set of records."""
    columns = TABLES[table]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "key": {"@id": f"{table}/{columns[0]}"},
        "field": [_field(table, column) for column in columns],
    }


def _field(table: str, column: str) -> dict[str, Any]:
    source = {"fileObject": {"@id": f"{table}.csv"}, "extract": {"column": column}}
    field = {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "dataType": "sc:Text",
        "source": source,
    }
    if target := REFERENCES.get(f"{table}/{column}"):
        field["references"] = {"field": {"@id": target}}
    return field
