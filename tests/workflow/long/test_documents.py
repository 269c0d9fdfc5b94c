"""What the documents show is what the commands say."""

import re
import shutil
from pathlib import Path

from crossmodal.io.files import read_json
from tests.project_params import CONTENT

ROOT = Path(__file__).parents[3]
RESOURCE = re.compile(r"""(?:src|href)=["']https?://|url\(["']?https?://|@import""")


def edges(text):
    """Names at both ends of each arrow of a mermaid flow chart."""
    names = dict(re.findall(r"(\w+)\[(\w+)\]", text))
    arrows = re.findall(r"^\s*(\w+) --> (\w+)$", text, re.MULTILINE)
    return {(names.get(a, a), names.get(b, b)) for a, b in arrows}


def test_documented_rule_graph_is_snakemakes(fresh):
    fresh.write_params(CONTENT)
    drawn = edges(fresh.run("--rulegraph", "mermaid-js", "--config", "suite=real"))
    assert len(drawn) > 10
    document = (ROOT / "docs/workflow.md").read_text()
    assert edges(document.split("```mermaid\n")[1].split("```")[0]) == drawn


def test_report_is_one_offline_page_with_all_results(finished, tmp_path):
    page = tmp_path / "report.html"
    finished.run("--report", str(page))
    text = page.read_text(encoding="utf-8")
    for name in ("small.md", "small.csv", "learning.svg", "precision_scope.svg"):
        assert f'"{name}"' in text
    for category in ("Tables", "Figures", "Learning curves", "Precision-scope curves"):
        assert f'"{category}"' in text
    for caption in (
        "published next to reproduced numbers",
        "a PDF lies beside it",
        "Holm-corrected",
    ):
        assert caption in text
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not RESOURCE.search(markup)


def test_the_site_says_where_the_numbers_of_real_runs_come_from(project):
    (project.folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/deviations.md", project.folder / "docs")
    project.run("results/site/index.html")
    text = (project.folder / "results/site/index.html").read_text(encoding="utf-8")
    made = read_json(project.folder / "results/runs/sam/seed0.json")["model"]["made"]
    assert made["code"] in text
    assert f'"torch":"{made["versions"]["torch"]}"' in text
