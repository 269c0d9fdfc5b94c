"""What people call: `command(...)` above a declaration makes a new one."""

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
import yaml

from crossmodal.cli.binding import command
from crossmodal.config.overlays import own_files

PARAMS = Path("params.yaml")
app = typer.Typer()
cleaning = typer.Typer(help="Remove what can be made or downloaded again.")
app.add_typer(cleaning, name="clean")
runs = functools.partial(command, app)


def _keys(*sections: str) -> Iterator[str]:
    """Yield keys of some sections of the project's files, which may be unfinished."""
    for path in own_files(PARAMS):
        try:
            content = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
            yield from (str(key) for section in sections for key in content.get(section, ()))
        except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError):
            continue


def _datasets(incomplete: str) -> list[str]:
    return [key for key in _keys("datasets") if key.startswith(incomplete)]


def _entries(incomplete: str) -> list[str]:
    sections = ("experiments", "methods", "features", "datasets")
    return [key for key in _keys(*sections) if key.startswith(incomplete)]


Params = Annotated[Path, typer.Option("--params", help="The file that says what to run.")]
Overlays = Annotated[
    list[Path],
    typer.Option(
        "--configfile", help="A file laid over it, as for Snakemake; may be given several times."
    ),
]
Place = Annotated[
    Path | None,
    typer.Option(
        "--in", metavar="FOLDER", help="Search all files in a folder, not the model's dataset."
    ),
]
Split = Annotated[str, typer.Option(help="Split of the model's dataset to be searched.")]
Approximate = Annotated[
    bool, typer.Option("--approximate", help="Search the nearest part alone, by FAISS.")
]
Threads = Annotated[int, typer.Option(min=1, help="Processors to be used.")]
THREADS = os.cpu_count() or 1
Weights = Annotated[Path, typer.Option(help="Folder of networks' weights.")]
WEIGHTS = Path("data/raw/weights")


@runs("commands.init:init")
def init(
    folder: Annotated[
        Path, typer.Argument(help="Pictures, sound files and texts, or a CSV that names them.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Of what is made; by default the folder's name.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option(help="Leave out files that cannot be read, counted in tables.")
    ] = False,
    params: Params = PARAMS,
) -> None:
    """Begin with your own files: write a CSV of them and an overlay, and say what to run.

    Captions are the lines of a text of the same name, or the words of the file's name; labels are
    the names of sub-folders, but `train`, `val` and `test` are splits. A CSV that is there is used
    as it is. Nothing is overwritten; what is left out is listed, with the reason.
    """


@runs("commands.check:check")
def check(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="A key of `datasets`: check what was prepared of it, too.",
            autocompletion=_datasets,
        ),
    ] = None,
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Check params.yaml: unknown keys, wrong types, names that do not exist.

    Of a dataset: the size of its splits, and that no item and no image is in two of them.
    """


@runs("commands.describe:describe")
def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="An experiment, a group, a method, a feature ...", autocompletion=_entries
        ),
    ],
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Explain an entry of params.yaml: what holds for it, and where that is said.

    Of an experiment: its options and their addresses, which `dvc exp run -S` takes. Of a method,
    feature or dataset: the meaning, type and value of each option.
    """


@runs("commands.trial:trial")
def try_(
    name: Annotated[str, typer.Argument(help="A method or a feature.", autocompletion=_entries)],
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Run a method or a feature on 50 rendered items in seconds.

    What it does wrong is told with its file and line; nothing is kept.
    """


@runs("commands.inventory:inventory")
def datasets(params: Params = PARAMS, configfile: Overlays = ()) -> None:
    """List all datasets: which files exist, the licence, and what to do next."""


@command(cleaning, "commands.clean:clean_raw")
def raw(
    dataset: Annotated[
        str, typer.Argument(help="A key of `datasets`, prepared.", autocompletion=_datasets)
    ],
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Remove the published files of a dataset once it is prepared, to free their space.

    Refused unless what was prepared is complete and as it was made. Nothing runs again for it; what
    needs the files later downloads them.
    """


@runs("commands.listing:methods")
def methods(params: Params = PARAMS, configfile: Overlays = ()) -> None:
    """List all methods: what they retrieve, whether a seed matters, what each one is."""


@runs("commands.listing:features")
def features(params: Params = PARAMS, configfile: Overlays = ()) -> None:
    """List all features: what they describe, and what they are computed from."""


@runs("commands.listing:tables")
def tables(params: Params = PARAMS, configfile: Overlays = ()) -> None:
    """List all tables: what they show of which datasets, and the suites they belong to."""


@runs("commands.update:update")
def update(
    model: Annotated[Path, typer.Argument(help="Folder of a model; it stays as it is.")],
    dataset: Annotated[
        str,
        typer.Option(
            help="A key of `datasets`, prepared: its training pairs that the model has not seen.",
            autocompletion=_datasets,
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder of the new model.")],
    triplets: Annotated[
        int, typer.Option(min=1, help="Triplets to learn from after each lot, in each direction.")
    ],
    lot: Annotated[int, typer.Option(min=1, help="Pairs that come at a time.")] = 1,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="How many new pairs; by default all that are left.")
    ] = None,
    weights: Weights = WEIGHTS,
) -> None:
    """Go on learning from new pairs with a model of CMOLRS, fast-CMOLRS or full-SGD.

    The new model keeps random state, counts and a sample of what it has seen: in parts or at once,
    stopped and resumed, the result is the same.
    """


def _suites(incomplete: str) -> list[str]:
    return [key for key in _keys("suites") if key.startswith(incomplete)]


@runs("commands.plan:plan")
def plan(
    suite: Annotated[
        str | None,
        typer.Option(help="A key of `suites`; by default `suite`.", autocompletion=_suites),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Say what a suite takes before it runs: jobs, hours, memory and disk of each phase.

    Estimates follow from the sizes of data and options, and are corrected by finished fits.
    """


@runs("workflow.sharing:pull")
def pull(
    outputs: Annotated[
        list[str],
        typer.Argument(help="Outputs as in dvc.yaml, for example `features`; or all."),
    ] = (),
) -> None:
    """Pull what a colleague pushed, and check every file against dvc.lock.

    Afterwards `snakemake` and `dvc repro` run only what is not there or was made otherwise.
    """


@runs("commands.search:search")
def search(
    model: Annotated[Path, typer.Argument(help="Model folder: models/<experiment>/seed<n>.")],
    text: Annotated[str | None, typer.Option(help="The query: a sentence.")] = None,
    image: Annotated[Path | None, typer.Option(help="The query: an image file.")] = None,
    speech: Annotated[Path | None, typer.Option(help="The query: an audio file.")] = None,
    place: Place = None,
    split: Split = "test",
    among: Annotated[
        str | None,
        typer.Option(help="What is searched: image, text or speech; by default the other one."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of items to print.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
    approximate: Approximate = False,
    threads: Threads = THREADS,
    weights: Weights = WEIGHTS,
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Print the items that suit a text, an image or speech best, with scores.

    Items are embedded once, into .search/, and again when they or the model change.
    """


@runs("commands.words:words")
def words(
    model: Annotated[Path, typer.Argument(help="Model folder: models/<experiment>/seed<n>.")],
) -> None:
    """List the words that a model knows, the most frequent first.

    A query of other words finds nothing.
    """


@runs("commands.run_mteb:run_mteb")
def mteb(
    model: Annotated[Path, typer.Argument(help="Model folder: models/<experiment>/seed<n>.")],
    tasks: Annotated[
        list[str],
        typer.Option(
            help="One of mteb's tasks, a key of `datasets`, or the folder of a prepared dataset; "
            "may be given several times.",
            autocompletion=_datasets,
        ),
    ],
    split: Annotated[str, typer.Option(help="Split of prepared datasets.")] = "test",
    output: Annotated[Path, typer.Option(help="Folder of the results, in mteb's layout.")] = Path(
        "results/mteb"
    ),
    weights: Weights = WEIGHTS,
) -> None:
    """Measure a model by mteb's evaluator, in mteb's tasks or on a prepared dataset.

    mteb's result files are written; it needs `crossmodal-retrieval[mteb]`, and mteb's own tasks a
    network.
    """


@runs("commands.serve:serve")
def serve(
    models: Annotated[list[Path], typer.Argument(help="Model folders, side by side on the page.")],
    place: Place = None,
    split: Split = "test",
    approximate: Approximate = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any free one.")] = 8000,
    threads: Threads = THREADS,
    weights: Weights = WEIGHTS,
    params: Params = PARAMS,
    configfile: Overlays = (),
) -> None:
    """Serve a page that searches by sentences, pictures and speech, until it is interrupted."""


@runs("commands.why:why")
def why(
    path: Annotated[Path, typer.Argument(help="An output, for example results/tables/all.md.")],
) -> None:
    """Explain how an output came about: code, versions, device and inputs, down to raw files."""
