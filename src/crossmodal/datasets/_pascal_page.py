"""The page of Pascal Sentences: photographs, and the captions beside them."""

import re
from html.parser import HTMLParser
from pathlib import Path

from crossmodal.errors import CrossmodalError


class Page(HTMLParser):
    """Captions by `<category>/<file>.jpg`, in the page's order.

    A photograph is in one cell of a table, its captions are in the cells that follow.
    """

    FILE = re.compile(r"([a-z]+/[^/]+\.jpg)$")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.captions: dict[str, list[str]] = {}
        self._cell, self._file = "", ""
        try:
            # some dashes and quotation marks are not UTF-8
            self.feed(path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise CrossmodalError(f"{path}: {error}; get the file again") from error
        if not self.captions:
            raise CrossmodalError(f"{path}: shows no photographs; get the page again")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a photograph, or a cell."""
        if tag == "img" and (match := self.FILE.search(dict(attrs).get("src") or "")):
            self._file = match[1]
            if self._file in self.captions:
                raise CrossmodalError(
                    f"{self.path}: {self._file!r} occurs twice; get the page again"
                )
            self.captions[self._file] = []
        if tag == "td":
            self._cell = ""

    def handle_data(self, data: str) -> None:
        """Collect the text of a cell."""
        self._cell += data

    def handle_endtag(self, tag: str) -> None:
        """End a cell, whose text is a caption of the last photograph."""
        if tag == "td":
            text = " ".join(self._cell.split())
            if text and self._file:
                self.captions[self._file].append(text)
            self._cell = ""
