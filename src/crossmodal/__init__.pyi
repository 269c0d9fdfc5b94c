from crossmodal.metrics.evaluation import evaluate as evaluate
from crossmodal.models.model import load as load
from crossmodal.reporting.comparison import compare as compare

__all__ = ["compare", "evaluate", "load"]
