"""Commands for fitted models."""

from pathlib import Path
from typing import Annotated

import typer

from crossmodal.cli.arguments import (
    NO_FILES,
    PARAMS,
    THREADS,
    WEIGHTS,
    Approximate,
    Gallery,
    Json,
    Model,
    Overlays,
    Params,
    Processors,
    Split,
    Weights,
    complete_dataset,
)

PANEL = "Fitted models"
app = typer.Typer()


@app.command(
    rich_help_panel=PANEL,
    short_help="Continue training on new pairs",
    epilog="Example: crossmodal update models/scenes_cmolrs/seed0 --dataset new --output new "
    "--triplets 100",
)
def update(
    model: Annotated[Path, typer.Argument(help="Model folder; it is not changed.")],
    dataset: Annotated[
        str,
        typer.Option(
            help="Key of `datasets`, prepared: its training pairs that are new to the model.",
            autocompletion=complete_dataset,
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder of the new model.")],
    triplets: Annotated[
        int, typer.Option(min=1, help="Triplets drawn after each batch, in each direction.")
    ],
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs in a batch.")] = 1,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Number of new pairs; by default all.")
    ] = None,
    weights: Weights = WEIGHTS,
) -> None:
    """Continue training on new pairs, with a model of CMOLRS, fast-CMOLRS or full-SGD.

    The new model stores the random state, counts and a sample of the pairs. Training in parts, or
    after an interruption, gives the same result as training at once.
    """
    from crossmodal.commands.update import update as run

    run(model, dataset, output, triplets, batch_size, pairs, weights)


@app.command(
    rich_help_panel=PANEL,
    short_help="Search by a text, image or recording",
    epilog='Example: crossmodal search models/scenes_sam/seed0 --text "a tree"',
)
def search(
    model: Model,
    text: Annotated[str | None, typer.Option(help="Query: a sentence.")] = None,
    image: Annotated[Path | None, typer.Option(help="Query: an image file.")] = None,
    speech: Annotated[Path | None, typer.Option(help="Query: an audio file.")] = None,
    item: Annotated[
        str | None, typer.Option(help="Query: an item of the model's dataset, by its id.")
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(metavar="FILE[:ROW]", help="Query: a row of features in a file, from 0."),
    ] = None,
    folder: Gallery = None,
    split: Split = "test",
    among: Annotated[
        str | None,
        typer.Option(help="Modality to search: image, text or speech; by default the other one."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of results.")] = 10,
    as_json: Json = False,
    approximate: Approximate = False,
    threads: Processors = THREADS,
    weights: Weights = WEIGHTS,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Print the best results for a text, image or speech query, with scores.

    An item, or a row of features, is of the modality that is not searched: the model's first one,
    unless --among names that.

    Items that the workflow has not embedded are embedded into .search/, and again after a change
    of the items or the model.
    """
    from crossmodal.commands.search import search as run
    from crossmodal.search.place import Place

    run(
        model,
        {"text": text, "image": image, "speech": speech, "item": item, "row": row},
        Place(folder, split, params, configfile),
        among=among,
        count=count,
        as_json=as_json,
        approximate=approximate,
        threads=threads,
        weights=weights,
    )


@app.command(
    rich_help_panel=PANEL,
    short_help="List the words that a model knows",
    epilog="Example: crossmodal words models/scenes_sam/seed0",
)
def words(model: Model) -> None:
    """List the vocabulary of a model, the most frequent words first.

    A query without any of these words has no results.
    """
    from crossmodal.commands.words import words as run

    run(model)


@app.command(
    rich_help_panel=PANEL,
    short_help="Evaluate a model with mteb",
    epilog="Example: crossmodal mteb models/scenes_fne_sh/seed0 --tasks scenes",
)
def mteb(
    model: Annotated[
        str, typer.Argument(help="Model folder, models/<experiment>/seed<n>, or hf://ORG/NAME.")
    ],
    tasks: Annotated[
        list[str],
        typer.Option(
            help="A task of mteb, a key of `datasets`, or the folder of a prepared dataset; may be "
            "repeated.",
            autocompletion=complete_dataset,
        ),
    ],
    split: Annotated[str, typer.Option(help="Split of prepared datasets.")] = "test",
    output: Annotated[Path, typer.Option(help="Folder of the results, in mteb's layout.")] = Path(
        "results/mteb"
    ),
    weights: Weights = WEIGHTS,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    r"""Evaluate a model with mteb, on tasks of mteb or on prepared datasets.

    Writes mteb's result files. Needs `crossmodal-retrieval\[mteb]`; tasks of mteb are downloaded.
    """
    from crossmodal.commands.mteb import mteb as run

    run(model, tasks, split, output, weights, params, configfile)


@app.command(
    rich_help_panel=PANEL,
    short_help="Push a model or a dataset to the Hugging Face hub",
    epilog="Example: crossmodal push scenes_sam/seed0 my-team/scenes-sam",
)
def push(
    name: Annotated[
        str,
        typer.Argument(
            help="A model folder, <experiment>/seed<n>, or a key of `datasets`.",
            autocompletion=complete_dataset,
        ),
    ],
    repository: Annotated[str, typer.Argument(help="Repository: <organisation>/<name>.")],
    private: Annotated[
        bool, typer.Option("--private", help="Make the repository a private one.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, with its size.")
    ] = False,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Push a model, or a dataset's splits and features, to the Hugging Face hub, with a card.

    What no licence opens is not sent, by the rules of `.dvcignore`. `crossmodal.load` reads a model
    back: crossmodal.load("hf://my-team/scenes-sam").
    """
    from crossmodal.commands.push import push as run

    run(name, repository, private, dry_run, params, configfile)


@app.command(
    rich_help_panel=PANEL,
    short_help="Serve a web page that searches",
    epilog="Example: crossmodal serve models/scenes_sam/seed0",
)
def serve(
    models: Annotated[list[Path], typer.Argument(help="Model folders, shown side by side.")],
    folder: Gallery = None,
    split: Split = "test",
    approximate: Approximate = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine has access.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8000,
    threads: Processors = THREADS,
    weights: Weights = WEIGHTS,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Serve a web page for text, image and speech queries, until it is interrupted."""
    from crossmodal.commands.serve import serve as run
    from crossmodal.search.place import Place

    run(
        models,
        Place(folder, split, params, configfile),
        host=host,
        port=port,
        approximate=approximate,
        threads=threads,
        weights=weights,
    )
