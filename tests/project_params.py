"""The project's own params.yaml: read once, as each check of all plug-ins takes seconds."""

from pathlib import Path

from crossmodal.config import params

PATH = Path(__file__).parents[1] / "params.yaml"
PARAMS = params.read(PATH)
