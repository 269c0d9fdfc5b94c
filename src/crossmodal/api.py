"""All that a plug-in imports: base classes, what they are given, and the types of options."""

from pydantic import Field, model_validator

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile, Ragged
from crossmodal.data.prepared import Caption, Item, Items, Prepared
from crossmodal.data.split import Split, View
from crossmodal.data.writer import Writer
from crossmodal.device import device
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Direction, Method, Run
from crossmodal.plugin import Count, NotNegative, Positive, Share, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches

__all__ = [
    "Caption",
    "Count",
    "CrossmodalError",
    "Dataset",
    "Direction",
    "Feature",
    "FeatureFile",
    "Field",
    "GradientMethod",
    "Item",
    "Items",
    "Method",
    "NotNegative",
    "Positive",
    "Prepared",
    "Ragged",
    "Run",
    "Share",
    "Source",
    "Split",
    "Strict",
    "View",
    "Writer",
    "device",
    "model_validator",
    "shuffled_batches",
]
