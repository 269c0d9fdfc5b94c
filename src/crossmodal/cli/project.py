"""Commands for data, params.yaml and its entries."""

from pathlib import Path
from typing import Annotated

import typer

from crossmodal.cli.arguments import (
    NO_FILES,
    PARAMS,
    Overlays,
    Params,
    complete_dataset,
    complete_entry,
)
from crossmodal.errors import CrossmodalError

DATA = "Data and configuration"
app = typer.Typer()


@app.command(
    rich_help_panel=DATA,
    short_help="Set up your own data",
    epilog="Example: crossmodal init photos",
)
def init(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of images, sound files and texts; or a table, or shards, of them."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the dataset and experiment; by default the folder's name."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option(help="Skip unreadable files; tables state their number.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Compare with a frozen dual encoder: clip, siglip, ORG/NAME of the Hugging Face "
            "hub, or a name of open_clip's, as ViT-B-32:laion2b_s34b_b79k."
        ),
    ] = None,
    image_features: Annotated[
        Path | None,
        typer.Option(
            help="Instead of a folder: a matrix of image features, .npy, .npz, .mat, .h5, .parquet "
            "or .safetensors; FILE:NAME where it has several.",
        ),
    ] = None,
    text_features: Annotated[Path | None, typer.Option(help="The same of texts.")] = None,
    speech_features: Annotated[Path | None, typer.Option(help="The same of speech.")] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            help="Ids of the matrices' rows: a .csv with a column `id`, and `labels`, `split`, "
            "`text` where you have them; a .txt or .npy; the name of an array or column in each "
            "matrix's file; or `order`: the same row of each is the same item."
        ),
    ] = None,
    params: Params = PARAMS,
) -> None:
    """Set up your own data: write a CSV of the files and a configuration, and print what to run.

    Captions are the lines of a text file of the same name, or the words of the file name. Labels
    are the names of sub-folders; `train`, `val` and `test` are splits. An existing CSV is used as
    it is, and so are Hugging Face folders, COCO's and Karpathy's JSON, Parquet, JSON Lines, Excel
    and the shards of WebDataset and img2dataset. No file is overwritten; skipped files are listed
    with the reason. Of matrices of features, the CSV has the ids.
    """
    given = {"image": image_features, "text": text_features, "speech": speech_features}
    arrays = {modality: path for modality, path in given.items() if path}
    if arrays and not folder:
        from crossmodal.commands.init_arrays import init_arrays

        init_arrays(arrays, ids, name, params)
    elif folder and not arrays:
        from crossmodal.commands.init import init as run

        run(folder, name, skip_bad, params, encoder)
    else:
        raise CrossmodalError("give a folder, or matrices of features with --ids, not both")


@app.command(
    rich_help_panel=DATA,
    short_help="Check params.yaml, or a prepared dataset",
    epilog="Example: crossmodal check",
)
def check(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Key of `datasets`: check the prepared dataset, too.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Check params.yaml for unknown keys, wrong types and undefined names.

    For a dataset, check the sizes of its splits, and that no item or image is in two splits.
    """
    from crossmodal.commands.check import check as run

    run(dataset, params, configfile)


@app.command(
    rich_help_panel=DATA,
    short_help="Print the options of an entry of params.yaml",
    epilog="Example: crossmodal describe scenes_sam",
)
def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="An experiment, a group of experiments, a method, a feature or a dataset.",
            autocompletion=complete_entry,
        ),
    ],
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Print the options of an entry of params.yaml, and where each value is set.

    For an experiment, print each option with its address for `dvc exp run -S`. For a method,
    feature or dataset, print the meaning, type and value of each option.
    """
    from crossmodal.commands.describe import describe as run

    run(name, params, configfile)


@app.command(
    "try",
    rich_help_panel=DATA,
    short_help="Run a method or a feature on 50 rendered items",
    epilog="Example: crossmodal try cca",
)
def try_(
    name: Annotated[
        str, typer.Argument(help="A method or a feature.", autocompletion=complete_entry)
    ],
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Run a method or a feature on 50 rendered items, in seconds.

    Errors are reported with file and line. Nothing is stored.
    """
    from crossmodal.commands.try_ import try_ as run

    run(name, params, configfile)


@app.command(
    rich_help_panel=DATA,
    short_help="List datasets with their files, licence, next step",
    epilog="Example: crossmodal datasets",
)
def datasets(params: Params = PARAMS, configfile: Overlays = NO_FILES) -> None:
    """List the datasets with their files, licence and next step."""
    from crossmodal.commands.datasets import datasets as run

    run(params, configfile)


@app.command(rich_help_panel=DATA, short_help="List methods", epilog="Example: crossmodal methods")
def methods(params: Params = PARAMS, configfile: Overlays = NO_FILES) -> None:
    """List the methods with their input, relevance, randomness and a summary."""
    from crossmodal.commands.listing import listing

    listing("methods", params, configfile)


@app.command(
    rich_help_panel=DATA, short_help="List features", epilog="Example: crossmodal features"
)
def features(params: Params = PARAMS, configfile: Overlays = NO_FILES) -> None:
    """List the features with their modality, shape, inputs and a summary."""
    from crossmodal.commands.listing import listing

    listing("features", params, configfile)


@app.command(rich_help_panel=DATA, short_help="List tables", epilog="Example: crossmodal tables")
def tables(params: Params = PARAMS, configfile: Overlays = NO_FILES) -> None:
    """List the tables with their datasets, number of rows, suites and title."""
    from crossmodal.commands.listing import listing

    listing("tables", params, configfile)
