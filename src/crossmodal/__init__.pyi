from crossmodal.metrics.evaluation import evaluate as evaluate
from crossmodal.models.model import load as load

__all__ = ["evaluate", "load"]
