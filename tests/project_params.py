"""The project's own parameters: read once, as each check of all plug-ins takes seconds."""

from pathlib import Path

from crossmodal.config import params
from crossmodal.config.overlays import own_files, read_files

PATH = Path(__file__).parents[1] / "params.yaml"
FILES = own_files(PATH)
CONTENT = read_files([PATH])
PARAMS = params.read(PATH)
