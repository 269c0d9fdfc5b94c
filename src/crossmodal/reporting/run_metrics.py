"""Metrics of a run: the JSON files that the steps of evaluation write and tables read."""

from pathlib import Path
from typing import Annotated, NotRequired

from pydantic import GetPydanticSchema, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import readable, write_json
from crossmodal.io.provenance import Provenance
from crossmodal.models.fit_facts import Facts

# a whole number stays one
Number = Annotated[float, GetPydanticSchema(lambda _, handler: handler(int | float))]
Values = dict[str, Number]  # by metric
Directions = dict[str, Values]  # by direction, '<query>-to-<gallery>', 'average' or 'both'


class RunMetrics(TypedDict):
    """Metrics of a run; those of a readout by class posteriors lack all that is not required.

    Attributes:
        model: Facts of the fit.
        made: Provenance of these metrics.
        test: Metrics of the test split.
        validation: Metrics of the validation split; intra-modal metrics have none.
        precision_scope: Direction -> number of documents -> precision on the test split; relevant
            is what shares a label or, without labels, the item.
        precision_by_chance: Direction -> share of relevant documents.
        controls: Scorer -> metrics on the test split.
        test_items: Number of test items.
        spread_of_chance: Standard errors of random scores' metrics.
    """

    model: Facts
    made: NotRequired[Provenance]
    test: Directions
    validation: NotRequired[Directions]
    precision_scope: NotRequired[dict[str, dict[int, float]]]
    precision_by_chance: NotRequired[Values]
    controls: NotRequired[dict[str, Directions]]
    test_items: NotRequired[int]
    spread_of_chance: NotRequired[Directions]


Runs = dict[str, list[RunMetrics]]  # of each experiment, by seed
FILE = TypeAdapter(RunMetrics)


def write_metrics(path: Path, metrics: RunMetrics) -> None:
    """Write the metrics of a run atomically."""
    write_json(path, metrics)


def read_metrics(path: Path) -> RunMetrics:
    """Read the metrics of a run.

    Raises:
        CrossmodalError: If the file is missing, damaged, or has a value of another type.
    """
    try:
        return FILE.validate_json(readable(path).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise CrossmodalError(f"{path}: {place}: {first['msg']}; make it again") from error
