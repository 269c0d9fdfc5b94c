"""Images that a web page shows, fetched one by one: where no archive of them is published."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from crossmodal.errors import CrossmodalError
from crossmodal.io.downloads import fetch
from crossmodal.io.files import replacing
from crossmodal.io.progress import track
from crossmodal.io.relative_names import defect


def pack_images(page: Path, output: Path, address: str) -> None:
    """Pack the JPEG images of a page as a zip archive; equal images give equal bytes.

    Args:
        page: The page. What was received lies beside it, so that the next call goes on there.
        output: The archive, of names that start at the page's own folder.
        address: Of the page; images that lie elsewhere are left out.

    Raises:
        CrossmodalError: If the page shows none, or one cannot be fetched.
    """
    base = urljoin(address, ".")
    names = _Images(page, base).names
    if not names:
        raise CrossmodalError("shows no images")
    for name in track(names, len(names), output.name):
        image = page.parent / "images" / name
        if not image.exists():
            image.parent.mkdir(parents=True, exist_ok=True)
            try:
                fetch(base + quote(name), image)
            except CrossmodalError as error:
                raise CrossmodalError(f"{name}: {error}") from error
    with replacing(output) as temporary, ZipFile(temporary, "w", ZIP_STORED) as archive:
        for name in names:
            archive.writestr(ZipInfo(name), (page.parent / "images" / name).read_bytes())


class _Images(HTMLParser):
    """Names of the images in a page's own folder, in its order."""

    def __init__(self, page: Path, base: str) -> None:
        super().__init__()
        self.base = base
        self.names: list[str] = []
        self.feed(page.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an image."""
        address = urljoin(self.base, dict(attrs).get("src") or "")
        name = unquote(address.removeprefix(self.base))
        own = address.startswith(self.base) and not defect(name) and name.endswith(".jpg")
        if tag == "img" and own and name not in self.names:
            self.names.append(name)
