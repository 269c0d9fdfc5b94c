"""Arguments and options that several commands share, and completion of their values."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
import yaml

from crossmodal.config.overlays import own_files
from crossmodal.config.workflow_files import params_file

PARAMS = params_file()
NO_FILES: list[Path] = []
THREADS = os.cpu_count() or 1
WEIGHTS = Path("data/raw/weights")


def completion(*sections: str) -> Callable[[str], list[str]]:
    """Return a function that completes keys of some sections of the project's YAML files."""

    def complete(incomplete: str) -> list[str]:
        return [key for key in _keys(sections) if key.startswith(incomplete)]

    return complete


def _keys(sections: tuple[str, ...]) -> Iterator[str]:
    for path in own_files(PARAMS):
        try:
            content = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
            yield from (str(key) for section in sections for key in content.get(section, ()))
        except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError):
            continue  # a file that is being edited


def read_spec(text: str) -> str:
    """Return the text, or that of stdin where it is `-`."""
    return sys.stdin.read() if text == "-" else text


complete_dataset = completion("datasets")
complete_entry = completion("experiments", "methods", "features", "datasets")

# of commands for people
Params = Annotated[Path, typer.Option("--params", help="The project's params.yaml.")]
Overlays = Annotated[
    list[Path],
    typer.Option(
        "--configfile",
        help="YAML file whose values override params.yaml, as for Snakemake; may be repeated.",
    ),
]
Model = Annotated[Path, typer.Argument(help="Model folder: models/<experiment>/seed<n>.")]
Gallery = Annotated[
    Path | None,
    typer.Option(
        "--in", metavar="FOLDER", help="Search the files of a folder, not the model's dataset."
    ),
]
Split = Annotated[str, typer.Option(help="Split of the model's dataset to search.")]
Approximate = Annotated[
    bool, typer.Option("--approximate", help="Use approximate nearest-neighbour search (FAISS).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Processors = Annotated[int, typer.Option("--threads", min=1, help="Number of threads.")]

# of the steps
Spec = Annotated[
    str,
    typer.Argument(
        parser=read_spec,
        metavar="SPEC",
        help="Plug-in and options as JSON, as Snakemake prints it; -: read from stdin.",
    ),
]
Output = Annotated[Path, typer.Argument(help="Output file; it appears only once it is complete.")]
Dataset = Annotated[Path, typer.Option("--dataset", help="Folder of the prepared dataset.")]
Features = Annotated[Path, typer.Option("--features", help="Folder of the dataset's features.")]
Weights = Annotated[Path, typer.Option("--weights", help="Folder of the networks' weights.")]
Embeddings = Annotated[Path, typer.Option("--embeddings", help="Embedding file of the run.")]
Runs = Annotated[list[Path], typer.Argument(help="Metrics: <experiment>/seed<n>.json.")]
Fitted = Annotated[Path, typer.Option("--model", help="model.safetensors of the run.")]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Threads = Annotated[
    int, typer.Option(min=1, help="Number of threads; results do not depend on it.")
]
