"""Completes pyproject.toml: version of git's tag, addresses, and the workflow's files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
# what `crossmodal run` and other workflows need, from the top of the project
WORKFLOW = (
    "Snakefile",
    "params.yaml",
    "rules/*.smk",
    "rules/report/*.rst",
    "experiments/**/*.yaml",
)
WORKFLOW += ("profiles/*/config.yaml", "envs/crossmodal.yaml", "docs/deviations.md")
TAG = re.compile(r"v(?P<version>[^-]+)-(?P<commits>\d+)-(?P<commit>g\w+)(?P<dirty>-dirty)?")


def version() -> str:
    """Return that of the tag, with the commit behind it; of an archive, that of its builder."""
    archive = ROOT / "PKG-INFO"
    if archive.exists():
        return re.search(r"^Version: (.*)$", archive.read_text(encoding="utf-8"), re.M)[1]
    command = ["git", "describe", "--tags", "--long", "--dirty", "--always", "--match", "v*"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except OSError:
        found = ""
    tag = TAG.fullmatch(found)
    if not tag:  # a clone without tags
        return f"0+g{found.replace('-', '.')}" if found else "0+unknown"
    if tag["commits"] == "0" and not tag["dirty"]:
        return tag["version"]
    return f"{tag['version']}.post{tag['commits']}+{tag['commit']}{'.dirty' * bool(tag['dirty'])}"


def urls() -> dict[str, str]:
    """Return addresses in the repository whose workflow on GitHub builds this; no file fixes it."""
    if "GITHUB_REPOSITORY" not in os.environ:
        return {}
    top = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"
    return {
        "Source": top,
        "Documentation": f"{top}/tree/HEAD/docs",
        "Changelog": f"{top}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{top}/issues",
    }


class BuildWithWorkflow(build_py):
    """Copies the workflow's files into the package that is built; an editable one needs none."""

    def run(self) -> None:
        """Build as usual, and copy."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "crossmodal/workflow_files")
        for path in (path for pattern in WORKFLOW for path in ROOT.glob(pattern)):
            copy = target / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


setup(version=version(), project_urls=urls(), cmdclass={"build_py": BuildWithWorkflow})
