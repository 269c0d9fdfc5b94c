"""Write docs/costs.md: what each suite of params.yaml takes. Run: python docs/costs.py."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from crossmodal.config import params
from crossmodal.steps.plan import COLUMNS, phases, table_rows

ROOT = Path(__file__).parents[1]
HEAD = (
    "# What the suites take\n\n"
    "Estimates for a folder in which nothing is there yet, on one core of a server of 2020 or, for "
    "jobs that use one, on a data-centre GPU; `crossmodal plan --suite S` says so of a folder "
    "as it is, corrected by the fits that its machine has finished. Hours of jobs that run beside "
    "each other are added. Raw files count once for each plug-in. Written by `python "
    "docs/costs.py`.\n"
)


def main() -> None:
    """Write the page."""
    found = params.read(ROOT / "params.yaml")
    text = HEAD
    with TemporaryDirectory() as empty:
        os.chdir(empty)
        for suite in found.suites:
            found.suite = suite
            rows = [COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 1)], *table_rows(phases(found))]
            table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
            text += f"\n## {suite}\n\n{table}\n"
        os.chdir(ROOT)
    (ROOT / "docs/costs.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
