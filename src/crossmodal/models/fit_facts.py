"""Facts of a fit, as model.json, embeddings and metrics hold them."""

from typing import Annotated, NotRequired

from pydantic import GetPydanticSchema
from typing_extensions import TypedDict  # that of Python 3.11 is not checked by pydantic

from crossmodal.config.fit import Options
from crossmodal.data.split import Relevance
from crossmodal.io.provenance import Provenance

# a whole number stays one when it is read
Number = Annotated[float, GetPydanticSchema(lambda _, handler: handler(int | float))]


class Candidate(TypedDict):
    """A combination of options that was tried.

    Attributes:
        searched: The options.
        validation: Its score on the validation split.
        diverged: Why it has none.
    """

    searched: Options
    validation: NotRequired[float]
    diverged: NotRequired[str]


class Seen(TypedDict):
    """Pairs of a dataset that a model was updated with: their number, and a digest of their ids."""

    pairs: int
    ids: str


# no class, since the key of the files is a participle
Origin = TypedDict("Origin", {"made": NotRequired[Provenance]})  # noqa: UP013


class Facts(Origin):
    """Facts of a fit.

    Attributes:
        plugin: File of the method.
        options: Its options, the chosen ones among them.
        relevance: What is relevant.
        seed: Of the run.
        searched: Options that were chosen on the validation split.
        validation: Score on the validation split.
        last_epoch: Last row of the learning curve; empty for a method without one.
        plateau: See `learning.plateau`.
        fit_seconds: Time of the fit.
        peak_memory_mb: Peak memory of its process.
        peak_gpu_memory_mb: Peak of its GPU's memory; 0 without one.
        search: Every combination that was tried.
        remarks: Remarks on the data, see `Writer.remark`.
        updated: Model folder that this model was updated from.
        seen: Pairs that it was updated with, by dataset.
    """

    plugin: str
    options: Options
    relevance: Relevance
    seed: int
    searched: NotRequired[Options]
    validation: NotRequired[float]
    last_epoch: NotRequired[dict[str, Number]]
    plateau: NotRequired[dict[str, Number]]
    fit_seconds: NotRequired[float]
    peak_memory_mb: NotRequired[int]
    peak_gpu_memory_mb: NotRequired[int]
    search: NotRequired[list[Candidate]]
    remarks: NotRequired[list[str]]
    updated: NotRequired[str]
    seen: NotRequired[dict[str, Seen]]
