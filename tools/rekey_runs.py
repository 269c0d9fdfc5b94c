"""Give the runs in docs/runs the digests that they have since `current_options` renames options.

`python tools/rekey_runs.py`, after the same names were changed in params.yaml and experiments/. A
run whose digest is that of its experiment by the earlier names gets that by the names of today.
"""

from pathlib import Path
from typing import Any

from kept_runs import write_runs

from crossmodal.config import params
from crossmodal.config.params import Params
from crossmodal.io.files import digest, read_json
from crossmodal.models.earlier_options import SCALINGS, current_options

RUNS = Path("docs/runs")


def earlier_job(job: dict[str, Any]) -> dict[str, Any]:
    """Return the job of a fit as it was before options were renamed."""
    if job["plugin"] not in SCALINGS:
        return job
    names = {new: old for old, new in SCALINGS[job["plugin"]].items()}
    job = job | {"options": {**job["options"]}, "search": {**job["search"]}}
    if "scaling" in job["options"]:
        value = job["options"].pop("scaling")
        job["options"]["input_norm"] = names.get(value, value)
    if "scaling" in job["search"]:
        values = job["search"].pop("scaling")
        job["search"]["input_norm"] = [names.get(value, value) for value in values]
    return job


def rekey(run: dict[str, Any], description: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Return a run with the names of today, if its digest is that by the earlier ones."""
    job, *data = description
    if run["of"] != digest(earlier_job(job), *data):
        return run
    model = run["model"]
    plugin = model["plugin"]
    renamed = {key: current_options(plugin, model[key]) for key in ("options", "searched")}
    renamed["search"] = [
        entry | {"searched": current_options(plugin, entry["searched"])}
        for entry in model["search"]
    ]
    return run | {"of": digest(*description), "model": model | renamed}


def main(stated: Params, folder: Path = RUNS) -> None:
    """Re-key all runs of a folder."""
    for file in sorted(folder.glob("*.json")):
        runs = read_json(file)
        if file.stem in stated.experiments:
            description = stated.description(file.stem)
            write_runs(file, {path: rekey(run, description) for path, run in runs.items()})


if __name__ == "__main__":
    main(params.read(Path("params.yaml")))
