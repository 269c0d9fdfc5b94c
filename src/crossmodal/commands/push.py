"""Push a model, or a dataset's splits and features, to the Hugging Face hub."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.filesize import decimal

from crossmodal.commands.push_dataset import dataset_files
from crossmodal.config.params import Params, read
from crossmodal.data.prepared import PREPARED
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.hub_repository import CARD, Repository, publish, repository_of
from crossmodal.io.text_table import print_table
from crossmodal.models.fit_facts import Facts
from crossmodal.models.model import MODEL_FILES
from crossmodal.models.model_folder import read_facts, read_model
from crossmodal.models.origins import datasets_of, features_of
from crossmodal.reporting.model_card import measured, model_card
from crossmodal.workflow.licences import closed_model

MODELS, METRICS = Path("models"), Path("results/runs")
Contents = Mapping[str, Path | bytes]


def push(
    name: str,
    address: str,
    private: bool,
    dry_run: bool,
    params: Path,
    overlays: Sequence[Path] = (),
) -> None:
    """Send a model or a dataset, as far as licences open it, with a card.

    Args:
        name: Model folder, run, or a key of `datasets`.
        address: ORG/NAME of the repository.
        private: Whether others must not read it.
        dry_run: Say what would be sent, and send nothing.
        params: The project's params.yaml.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If there is no such model or dataset, its licence closes it, or the hub
            refuses.
    """
    project, folder = read(params, *overlays), _model_folder(name)
    repository = repository_of(address, "model" if folder else "dataset")
    if repository.revision:
        raise CrossmodalError(f"{address}: give ORG/NAME; a push makes the newest revision")
    with TemporaryDirectory() as scratch:
        if folder:
            contents, closed = _model_files(folder, repository, project), dict[str, str]()
        else:
            dataset = name.removeprefix(f"{PREPARED}/").rstrip("/")
            contents, closed = dataset_files(dataset, repository, project, Path(scratch))
        _print(repository, contents, closed)
        if dry_run:
            print("nothing was sent")
        else:
            print(publish(repository, contents, private))


def _model_folder(name: str) -> Path | None:
    """Return the folder of a fitted model; None if none is named so.

    Raises:
        CrossmodalError: If it is an experiment with several seeds.
    """
    for path in (Path(name), MODELS / name):
        if (path / "model.json").is_file():
            return path
        seeds = [file.parent for file in sorted(path.glob("seed*/model.json"))]
        if len(seeds) > 1:
            raise CrossmodalError(f"{name}: has several fits; give {listed(map(str, seeds))}")
        if seeds:
            return seeds[0]
    return None


def _model_files(folder: Path, repository: Repository, project: Params) -> Contents:
    """Return a model's files and its card.

    Raises:
        CrossmodalError: If a licence closes it, or none is known to open it.
    """
    experiment = folder.resolve().parent.name
    if experiment not in project.experiments:
        raise CrossmodalError(
            f"{folder}: {experiment} is no experiment of params.yaml, so that nothing says what "
            "the licence of its data allows; push models/<experiment>/seed<n>"
        )
    if reason := closed_model(project, experiment):
        raise CrossmodalError(f"{folder}: may not be shared: {reason}")
    _check_origin(folder, read_facts(folder), project, experiment)
    fitted, dataset = read_model(folder), project.experiments[experiment].dataset
    run = f"{experiment}/{folder.resolve().name}"
    numbers = measured(METRICS / f"{run}.json", read_facts(folder))
    data = (dataset, project.dataset_of(dataset))
    card = model_card(repository.name, run, fitted, data, numbers)
    return {CARD: card} | {file: folder / file for file in MODEL_FILES}


def _check_origin(folder: Path, facts: Facts, project: Params, experiment: str) -> None:
    """Refuse a model that was fitted on, or updated with, other data than params.yaml says."""
    spec = project.experiments[experiment]
    views = {*spec.views.values()}
    if datasets_of(facts) != {spec.dataset} or features_of(facts) != views:
        raise CrossmodalError(
            f"{folder}: was not fitted on {spec.dataset} with {', '.join(sorted(views))} alone, as "
            "params.yaml says; fit it again, so that its licence is known"
        )


def _print(repository: Repository, contents: Contents, closed: Mapping[str, str]) -> None:
    sizes = {
        file: len(content) if isinstance(content, bytes) else content.stat().st_size
        for file, content in contents.items()
    }
    rows = [(file, decimal(size)) for file, size in sizes.items()]
    total = decimal(sum(sizes.values()))
    print_table(f"{repository.kind} {repository.name}, {total}", ("file", "bytes"), rows)
    for file, reason in closed.items():
        print(f"left out: {file}: {reason}")
