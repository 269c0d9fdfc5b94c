"""Makes the pages that the site has besides docs/: those of the root, and the reference.

MkDocs runs it, by `make docs`; see mkdocs.yml.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mkdocs_gen_files
from typer.main import get_command

from crossmodal import api
from crossmodal.cli import app
from crossmodal.commands.describe import type_name
from crossmodal.config import plugins

ROOT = Path(__file__).parents[1]
# page of the site -> file of the root
PAGES = {
    "index.md": "README.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "config.md": "config/README.md",
}
FILES = ("LICENSE", "CITATION.cff")
KINDS = {
    "methods": "A method learns on the training split and embeds.",
    "features": "A feature turns pictures, texts or speech into arrays.",
    "datasets": "A dataset turns published files into items, captions, splits and media.",
}


def main() -> None:
    """Write the pages."""
    moved = {f"../{file}": page for page, file in PAGES.items()}
    for page, file in PAGES.items():
        text = (ROOT / file).read_text().replace("](docs/README.md", "](workflow.md")
        text = text.replace("](docs/", "](").replace("](../docs/", "](")
        write(page, renamed(text, {"README.md": "index.md"}))
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.name != "README.md":
            write(path.name, renamed(path.read_text(), moved))
    for file in FILES:
        write(file, (ROOT / file).read_text())
    for kind, introduction in KINDS.items():
        write(f"reference/{kind}.md", "\n".join(reference(kind, introduction)))
    write("reference/api.md", "\n".join(interface()))
    write("reference/commands.md", "\n".join(commands()))


def write(page: str, text: str) -> None:
    """Add a file to the site."""
    with mkdocs_gen_files.open(page, "w") as file:
        file.write(text)


def renamed(text: str, pages: dict[str, str]) -> str:
    """A page whose links follow what has moved."""
    for old, new in pages.items():
        text = re.sub(rf"\]\({re.escape(old)}(?=[#)])", f"]({new}", text)
    return text


def reference(kind: str, introduction: str) -> Iterator[str]:
    """Each plug-in of a kind: its docstring, and a table of its options."""
    yield f"# {kind.capitalize()}\n\n{introduction} Each is one file, `src/crossmodal/{kind}/`, "
    yield "and an entry of `params.yaml`; `crossmodal describe NAME` shows the values that hold.\n"
    for name in plugins.names(kind):
        plugin = plugins.load(kind, name)
        yield f"## {name}\n\n{plugins.summary(plugin)}\n\n{paragraphs(plugin)}\n"
        fields = plugin.Options.model_fields
        if fields:
            yield "| option | type | meaning |\n|---|---|---|"
            for option, field in fields.items():
                cells = (f"`{option}`", type_name(field.annotation), field.description or "")
                yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
            yield ""


def paragraphs(plugin: type) -> str:
    """A docstring without its indentation; its example is in a block."""
    text, _, example = inspect.cleandoc(plugin.__doc__ or "").partition("\nExample:\n")
    text = re.sub(r"\n +", "\n", text).strip()
    return f"{text}\n\n```python\n{inspect.cleandoc(example)}\n```" if example else text


def interface() -> Iterator[str]:
    """What plug-ins and users import."""
    yield "# What a plug-in imports\n\n`from crossmodal.api import ...`\n"
    for name in sorted(api.__all__):
        thing = getattr(api, name)
        module = getattr(thing, "__module__", "")
        if module.startswith("crossmodal."):
            yield f"::: {module}.{name}\n"
    yield "## A fitted model\n\n`crossmodal.load(folder)` gives a\n"
    yield "::: crossmodal.models.model.Model\n"


def leaves(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name and command of each command that does something."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def commands() -> Iterator[str]:
    """Each command with its arguments."""
    yield "# Commands\n"
    for name, command in leaves(get_command(app)):
        yield f"## {name}\n\n{command.help}\n\n| argument | meaning |\n|---|---|"
        for parameter in command.params:
            names = ", ".join(f"`{option}`" for option in parameter.opts)
            yield f"| {names} | {getattr(parameter, 'help', '') or ''} |"
        yield ""


main()
