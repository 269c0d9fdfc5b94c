"""Methods on arrays, in the manner of scikit-learn: `from crossmodal.methods import CCA`."""

from __future__ import annotations  # `help` shows ArrayLike, not what it stands for

import copy
import functools
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from crossmodal.config import plugins
from crossmodal.config.facts import default_values
from crossmodal.config.overlays import read_files
from crossmodal.config.sections import NAMES
from crossmodal.config.workflow_files import folder
from crossmodal.data.learnable import require_items
from crossmodal.errors import CrossmodalError
from crossmodal.learning.contract import embed, score
from crossmodal.learning.method import VECTORS, Method, Run
from crossmodal.learning.selection import selection_score
from crossmodal.models.estimator_arrays import (
    MODALITIES,
    held_out,
    label_columns,
    validation_arrays,
    vector_split,
    vector_view,
)
from crossmodal.training.gradient import GradientMethod

SEEDS = range(2**32)  # that all random generators take


class Estimator(BaseEstimator):
    """A method of vectors, fitted on arrays instead of files.

    Row i of the images and row i of the texts belong together. What `random_state` draws is the
    same in a run of the workflow with that seed.

    Args:
        random_state: Seed of all random numbers.
        options: Options of the method. What is not given has the default of its `Options`, else the
            value of its entry in params.yaml.

    Attributes:
        method_: The fitted method.
    """

    plugin: ClassVar[str]

    def __init__(self, *, random_state: int = 0, **options: Any) -> None:
        self.random_state = _checked_seed(random_state)
        self._options = _defaults(self.plugin) | options
        self._method()  # a wrong option is an error now

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all options, and the seed."""
        return {"random_state": self.random_state, **self._options}

    def set_params(self, **params: Any) -> Self:
        """Change options; what was learnt is kept until `fit`."""
        seed = _checked_seed(params.pop("random_state", self.random_state))
        self._method(**params)
        self.random_state = seed
        self._options |= params
        return self

    def fit(
        self,
        images: ArrayLike,
        texts: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        validation: tuple[ArrayLike, ...] | None = None,
    ) -> Self:
        """Learn a shared space.

        Args:
            images: Vectors (n, p).
            texts: Vectors (n, q).
            labels: Category of each row, (n,), or which labels it has, (n, C) bool.
            validation: Images, texts and labels that choose the epoch; without them, methods that
                are trained in epochs hold out every tenth row. Others make no use of them.

        Raises:
            CrossmodalError: If the arrays do not suit each other or the method.
        """
        method = self._method()
        labelled = method.task == "category" and labels is not None
        further = None if validation is None else validation_arrays(validation, labelled)
        (own, others), names = label_columns(labels, further and further[2])
        train = vector_split(images, texts, own, names)
        require_items(train)
        widths = {modality: view.vectors().shape[1] for modality, view in train.views.items()}
        if further:
            held = vector_split(*further[:2], others, names, widths)
        elif isinstance(method, GradientMethod):
            train, held = held_out(train)
        else:
            held = train
        method.fit(train, held, Run(seed=self.random_state, label=type(self).__name__))
        self.method_, self._widths = method, widths
        return self

    def transform(
        self, images: ArrayLike | None = None, texts: ArrayLike | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return embeddings (n, k) of images, of texts, or of both."""
        given = [(m, x) for m, x in zip(MODALITIES, (images, texts), strict=True) if x is not None]
        if not given:
            raise CrossmodalError("transform: give images, texts or both")
        method = self._fitted()
        rows = [embed(method, m, vector_view(x, m, self._widths)) for m, x in given]
        return rows[0] if len(rows) == 1 else (rows[0], rows[1])

    def similarity(self, images: ArrayLike, texts: ArrayLike) -> np.ndarray:
        """Return the score of each image for each text, (n, m), higher is better."""
        queries, gallery = self.transform(images), self.transform(texts=texts)
        rows = cast(np.ndarray, queries), cast(np.ndarray, gallery)
        return score(self._fitted(), *rows, MODALITIES)

    def score(self, images: ArrayLike, texts: ArrayLike, labels: ArrayLike | None = None) -> float:
        """Return how well each finds the other, by the measure that selects options.

        For methods of categories, and with labels, it is the mean of both mean average precisions,
        in 0..1; otherwise the sum of the six recalls at 1, 5 and 10, in percent.
        """
        method = self._fitted()
        (own,), names = label_columns(labels)
        split = vector_split(images, texts, own, names, self._widths)
        return float(selection_score(method, split))

    def _method(self, **changes: Any) -> Method:
        options = {key: _plain(value) for key, value in (self._options | changes).items()}
        name = type(self).__name__
        try:
            method = cast(Method, plugins.make("methods", self.plugin, options, name))
        except CrossmodalError as error:
            raise CrossmodalError(str(error).replace("params.yaml: ", "")) from None
        if not all("vector" in method.takes.get(modality, ()) for modality in MODALITIES):
            raise CrossmodalError(f"{name} takes more than vectors: use it in an experiment")
        return method

    def _fitted(self) -> Method:
        if not hasattr(self, "method_"):
            raise CrossmodalError(f"{type(self).__name__}: call `fit` first")
        return self.method_


@functools.cache  # pickle compares the class that it finds by name
def estimator(name: str) -> type[Estimator]:
    """Return the estimator of a method, by the name of its class.

    Raises:
        AttributeError: If there is no such method of vectors.
    """
    # the file of that name first: it alone is imported then
    for plugin in sorted(plugins.names("methods"), key=lambda file: not _alike(file, name)):
        method = plugins.load("methods", plugin)
        if method.__name__ == name:
            if method.takes != VECTORS:
                raise AttributeError(f"{name} takes more than vectors: use it in an experiment")
            about = {
                "plugin": plugin,
                "__init__": _init(plugin),
                "__doc__": method.__doc__,
                "__module__": "crossmodal.methods",
            }
            return type(name, (Estimator,), about)
    raise AttributeError(f"module 'crossmodal.methods' has no attribute {name!r}")


def _alike(file: str, name: str) -> bool:
    return file.replace("_", "") == name.lower()


def _init(plugin: str) -> Any:
    """Return an `__init__` in which scikit-learn, `help` and completion see all options."""

    def init(self: Estimator, **options: Any) -> None:
        Estimator.__init__(self, **options)

    fields = plugins.load("methods", plugin).Options.model_fields
    types = {"random_state": int} | {name: field.annotation for name, field in fields.items()}
    defaults = {"random_state": 0} | _defaults(plugin)
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=defaults.get(name, Parameter.empty),
            annotation=annotation,
        )
        for name, annotation in types.items()
    ]
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    cast(Any, init).__signature__ = Signature([own, *options])
    return init


def _plain(value: Any) -> Any:
    """Return a copy of an option; of a number of NumPy's, as grids have them, Python's."""
    return value.item() if isinstance(value, np.generic) else copy.deepcopy(value)


def _defaults(plugin: str) -> dict[str, Any]:
    """Return the options of a plug-in: as params.yaml has them, else their defaults."""
    values = default_values(plugins.load("methods", plugin).Options)
    entries = read_files([folder() / "params.yaml"])["methods"]
    for name, entry in entries.items():
        if plugin == entry.get("plugin", name) and "base" not in entry:
            return values | {k: v for k, v in entry.items() if k not in NAMES}
    return values


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed not in SEEDS:
        raise CrossmodalError(
            f"random_state: is {seed!r}; give a whole number from 0 to {SEEDS[-1]:,}"
        )
    return seed
