"""The commands of docs/tutorial.md, as they are printed."""

import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/tutorial.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Return language and text of each block; without one it is what a command prints."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def write(folder: Path, language: str, text: str) -> None:
    """Write the script, or the rows in place of those in the overlay."""
    if language == "python":
        (folder / "make_toys.py").write_text(text, encoding="utf-8")
        return
    overlay = folder / "toys.yaml"
    content = overlay.read_text(encoding="utf-8")
    changed = re.sub(r"^    rows:.*\n", lambda _: text, content, flags=re.MULTILINE)
    overlay.write_text(changed, encoding="utf-8")


def run_all(folder: Path, small: str = "") -> dict[str, str]:
    """Run the page in a folder, but the server; what each command printed.

    Args:
        folder: Where it runs.
        small: Lines that are added to the overlay once `init` has written it.
    """
    printed = {}
    for language, text in blocks():
        if language in ("python", "yaml"):
            write(folder, language, text)
        for command in text.splitlines() if language == "sh" else []:
            if not command.startswith("crossmodal serve"):
                made = subprocess.run(
                    command.split(), cwd=folder, check=True, stdout=subprocess.PIPE, text=True
                )
                printed[command] = made.stdout
            if command.startswith("crossmodal init"):
                with open(folder / "toys.yaml", "a", encoding="utf-8") as overlay:
                    overlay.write(small)
    return printed
