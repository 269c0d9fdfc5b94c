"""Costs of a run: time and memory of its training."""

from crossmodal.reporting.run_metrics import Directions, RunMetrics, Values

TIME, MEMORY = "training time (s)", "peak memory (MB)"
COSTS = {TIME, MEMORY}
SECONDS = "seconds "  # begins columns of a learning curve, before the direction


def costs(run: RunMetrics) -> Directions:
    """Return the time and memory that one run took to train, by direction, or of `both` together.

    Args:
        run: Metrics of the run, as `evaluate` wrote them. A method that logs the `seconds` it has
            learnt, or those of each direction, is timed without its validation, any other one with
            it.
    """
    model = run["model"]
    logged = model["last_epoch"]
    memory: Values = {MEMORY: model["peak_memory_mb"]}
    timed = {k.removeprefix(SECONDS): {TIME: v} for k, v in logged.items() if k.startswith(SECONDS)}
    if timed:
        return timed | {"both": memory}
    return {"both": {TIME: logged.get("seconds", model["fit_seconds"])} | memory}
