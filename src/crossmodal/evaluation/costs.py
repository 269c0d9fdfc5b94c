"""What a run cost: time and memory of its training."""

from typing import Any

TIME, MEMORY = "training time (s)", "peak memory (MB)"
COSTS = {TIME, MEMORY}


def costs(run: dict[str, Any]) -> dict[str, float]:
    """Time and memory that one run took to train.

    Args:
        run: Metrics of the run, as `evaluate` wrote them. A method that logs the `seconds` it has
            learnt is timed without its validation, any other one with it.
    """
    model = run["model"]
    seconds = model["last_epoch"].get("seconds", model["fit_seconds"])
    return {TIME: seconds, MEMORY: model["peak_memory_mb"]}
