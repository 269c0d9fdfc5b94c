"""Files of a user's folder that are not read: by kind, with what makes readable ones of them."""

import shlex
from importlib.util import find_spec
from pathlib import Path

from crossmodal.io.suffixes import PICTURES

FFMPEG = 'ffmpeg -nostdin -i "$1" "${1%.*}.wav"'
MAGICK = 'magick "$1" "${1%.*}.png"'
PANDOC = 'pandoc -t plain -o "${1%.*}.txt" "$1"'
KINDS = {
    ".m4a .m4b .aac .wma .amr .ac3 .mka .ape .wv .ra .3gp .weba .gsm .dss": FFMPEG,
    ".mp4 .mov .m4v .avi .mkv .webm .wmv .mpg .mpeg .flv .mts .m2ts .3g2 .ogv": FFMPEG,
    ".psd .dng .cr2 .cr3 .nef .arw .orf .rw2 .raf .jp2 .jxl .tga .pcx .xcf .svg .ico": MAGICK,
    ".docx .odt .rtf .md .html .htm .epub .tex .rst": PANDOC,
    ".doc": 'soffice --convert-to txt:Text --outdir "${1%/*}" "$1"',
    ".pdf": 'pdftotext "$1"',
}
COMMAND = {suffix: command for suffixes, command in KINDS.items() for suffix in suffixes.split()}
TABLES = (".xls", ".ods", ".xml", ".arrow", ".feather")
ITSELF = (".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")  # that formats read
READERS = {".parquet": "pyarrow", ".xlsx": "openpyxl"}
NAME_IT = "give such a file itself, which reads it or says why not"
SHAPE = "save it as CSV, Excel's .xlsx or Parquet, and give that file"


def reason(folder: Path, path: Path) -> str:
    """Return why a file of a folder is not read and what to do: 'what; advice'."""
    suffix = path.suffix.lower()
    if suffix in PICTURES["HEIF"]:
        return f'{suffix}, not read yet; `pip install "crossmodal-retrieval[heic]"` reads them'
    if suffix in COMMAND:
        return f"{suffix}, not read; convert them: {_for_each(folder, suffix)}"
    if suffix == ".csv":
        return f"CSVs of another shape or in a sub-folder, not read; {NAME_IT}"
    if suffix in READERS and not find_spec(READERS[suffix]):
        return f'{suffix}, not read; `pip install "crossmodal-retrieval[formats]"` reads tables'
    if suffix in ITSELF:
        return f"{suffix}, not read; {NAME_IT}"
    return f"{suffix}, not read; {SHAPE}" if suffix in TABLES else "files of other kinds, not read"


def _for_each(folder: Path, suffix: str) -> str:
    """Return a command for all files with a suffix, whatever they are called."""
    place = shlex.quote(f"./{folder}" if str(folder).startswith("-") else str(folder))
    return f"find -L {place} -iname '*{suffix}' -exec sh -c '{COMMAND[suffix]}' - {{}} ';'"


def listed(left_out: dict[str, list[Path]]) -> list[str]:
    """Return a line for each reason: how many files, two of them, and what to do."""
    return [_line(*why.partition("; "), paths) for why, paths in left_out.items() if paths]


def _line(what: str, separator: str, advice: str, paths: list[Path]) -> str:
    examples = ", ".join(repr(path.as_posix()) for path in paths[:2])
    return f"{len(paths)} {what}, such as {examples}{separator}{advice}"
