"""Specifications of jobs up to metrics: what a job depends on besides its files.

Snakemake hands them to the steps as JSON, and runs a job again when its specification changes.
"""

import json
from typing import Self

from pydantic import ValidationError

from crossmodal.config.fit import Fit, Options, Unlabelled, non_defaults
from crossmodal.data.split import Relevance
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict


class Spec(Strict):
    """A specification; what is at its default need not be stated.

    Attributes:
        code: Hash of the source that the job runs; empty where a step is called by hand.
    """

    code: str = ""

    def to_json(self) -> str:
        """Return the fields that differ from their default, as JSON."""
        return json.dumps(non_defaults(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the specification that a JSON text holds.

        Raises:
            CrossmodalError: If a key is unknown or lacking, or a value has another type.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["SPEC", *map(str, first["loc"])])
            raise CrossmodalError(f"{place}: {first['msg']}") from None


class PrepareSpec(Spec):
    """A dataset and its options.

    Attributes:
        plugin: File of the dataset.
        options: Its options.
        files: Digest of the user's own files.
    """

    plugin: str
    options: Options
    files: str = ""


class ComputeSpec(Spec):
    """A job whose numbers depend on the arithmetic.

    Attributes:
        deterministic: Use deterministic algorithms alone; None: nothing here uses a GPU.
        portable: Computed with the vector instructions that all x86-64 processors have in common.
    """

    deterministic: bool | None = None
    portable: bool = False


class ExtractSpec(ComputeSpec):
    """A feature and its options.

    Attributes:
        plugin: File of the feature.
        options: Its options.
        language: Language of the dataset's texts, BCP 47.
        files: Digest of the user's own files.
    """

    plugin: str
    options: Options
    language: str = "en"
    files: str = ""


class TrainSpec(Fit, ComputeSpec):
    """A fit.

    Attributes:
        of: Digest of all that is set for the method, features and dataset.
    """

    of: str = ""


class EmbedSpec(ComputeSpec):
    """Embeddings of a fit.

    Attributes:
        views: Modality -> feature.
        relevance: What is relevant.
        changes: Changes of the dataset's categories.
        fit: Digest of the fit, whose model may be newer than a result.
    """

    views: dict[str, str]
    relevance: Relevance
    changes: Unlabelled = None
    fit: str = ""


class EvaluateSpec(Spec):
    """Metrics of a fit.

    Attributes:
        fit: Digest of the fit.
    """

    fit: str = ""
