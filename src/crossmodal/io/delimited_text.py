"""Tables in text files as programs save them: any usual separator, encoding and line end."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from crossmodal.errors import CrossmodalError

SAVE = "save it as 'CSV UTF-8 (comma delimited)'"
QUOTES = "a field that begins with a quote runs on; end it with one, and double those within it"
SEPARATORS = ",;\t|"
SEPARATOR_LINE = re.compile(r"\"?sep=([^\"\r\n])\"?\1*(?:\r\n?|\n)", re.IGNORECASE)  # of Excel
EXTRA_RETURNS = re.compile(r"\r{2,}\n")  # of text that was translated twice


def read_records(path: Path, columns: set[str]) -> list[tuple[int, list[str]]]:
    """Return number and stripped fields of the rows that are not empty.

    Args:
        path: The file, in UTF-8 or UTF-16.
        columns: Names that the header may hold, in lower case; they tell the separator.

    Raises:
        CrossmodalError: If it is no such file, or its quotes do not match.
    """
    text = EXTRA_RETURNS.sub("\r\n", _decode(path))
    hint = SEPARATOR_LINE.match(text)
    separator = hint[1] if hint else _separator(text, columns)
    return [*_records(path, text[hint.end() :] if hint else text, separator)]


def _decode(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; put your CSV there") from error
    if b"\0\0" in content[:4]:  # of a mark, or beside a letter of ASCII
        raise CrossmodalError(f"{path}: is UTF-32; {SAVE}")
    encoding = _encoding(content)
    try:
        return content.decode(encoding).removeprefix("\ufeff")  # Excel marks its files
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding).count("\n") + 1
        reason = f"line {line} is not {encoding.upper()}; {SAVE}"
        raise CrossmodalError(f"{path}: {reason}") from error


def _encoding(content: bytes) -> str:
    """Return the encoding by the mark of UTF-16, or by the zeros beside its letters of ASCII."""
    if content.startswith(codecs.BOM_UTF16_LE) or content[1:2] == b"\0":
        return "utf-16-le"
    if content.startswith(codecs.BOM_UTF16_BE) or content[:1] == b"\0":
        return "utf-16-be"
    return "utf-8"


def _separator(text: str, columns: set[str]) -> str:
    """Return the separator by which the header names the most columns, or has the most at all."""

    def counts(separator: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = next((record for record in reader if any(map(str.strip, record))), [])
        return sum(field.strip().casefold() in columns for field in header), len(header)

    return max(SEPARATORS, key=counts)


def _records(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    number, stream = 0, io.StringIO(text, newline="")
    reader = csv.reader(stream, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for number, record in enumerate(reader, 1):
            fields = [field.strip() for field in record]
            if separator in "\t|" and any(separator in f and "\n" in f for f in fields):
                raise CrossmodalError(f"{path}: row {number}: {QUOTES}")
            if any(fields):
                yield number, fields
    except csv.Error as error:
        place = f"row {number + 1}, line {reader.line_num}"
        raise CrossmodalError(f"{path}: {place}: {QUOTES}") from error
