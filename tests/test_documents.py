"""The pages: short, without dead links, with examples that name what there is."""

import importlib
import re
import shutil
import sys
from copy import deepcopy
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.main import get_command

from crossmodal.cli import app
from crossmodal.config import params, plugins
from crossmodal.config.overlays import read_files
from crossmodal.io.files import read_json, write_json
from crossmodal.io.hub import model_of
from crossmodal.pretrained.sentence_transformer import OFFICIAL
from crossmodal.reporting.query_values import QueryValues, write_query_values
from tests.project_params import CONTENT, PARAMS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page, language):
    """Fenced examples of one language on a page."""
    return [text for found, text in BLOCK.findall(page.read_text()) if found == language]


def anchors(page):
    """What a link may name on a page: its headings, as GitHub spells them."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands():
    """Commands in examples and in running text that start with a program of this project."""
    for page in PAGES:
        text = page.read_text()
        lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
        for command in lines + re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)):
            words = command.split("#")[0].split()
            if words and words[0] in ("crossmodal", "make", "snakemake"):
                yield words


def arguments(program):
    return {word for words in commands() if words[0] == program for word in words[1:]}


def stated(section):
    """Keys of a section of the parameters, and those that examples of the pages add to it."""
    examples = [yaml.safe_load(block) for page in PAGES for block in blocks(page, "yaml")]
    return {key for content in (CONTENT, *examples) for key in content.get(section, {})}


def test_readme_is_short_with_commands_and_picture_first():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    first = "\n".join(lines[:40])
    for shown in ("make tables", "make test", "docs/pipeline.svg"):
        assert shown in first


@pages
def test_links_lead_somewhere(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pages
def test_paragraphs_have_at_most_120_words(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        assert paragraph.startswith("|") or len(paragraph.split()) <= 120, paragraph[:80]


def test_the_table_of_contents_names_every_page():
    linked = set(LINK.findall((ROOT / "docs/README.md").read_text()))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"} <= linked


@pages
def test_python_examples_compile(page):
    for source in blocks(page, "python"):
        compile(source, str(page), "exec")


def test_commands_of_the_pages_exist():
    named = {words[1] for words in commands() if words[0] == "crossmodal" and len(words) > 1}
    options = {"-h", "--help", "--version", "--install-completion"}
    assert named <= set(get_command(app).commands) | options


def test_params_networks_have_public_weights():
    options = [PARAMS.plugin("features", name)["options"] for name in PARAMS.features]
    named = {each["weights"] for each in options if "weights" in each}
    of_hub = {name for name in named if model_of(name)}
    assert named - of_hub == {"imagenet", "official", *OFFICIAL}


def test_the_overlays_of_the_page_on_encoders_are_valid(tmp_path):
    files = [tmp_path / f"{name}.yaml" for name in ("wavlm", "timm", "clip")]
    for path, text in zip(files, blocks(ROOT / "docs/encoders.md", "yaml"), strict=True):
        path.write_text(text)
    # the check of all of params.yaml, which takes long, is left out
    found = params.Params(**read_files([ROOT / "params.yaml", *files]))
    shown = [found.experiments[e] for e in found.tables["flickr8k_classes_clip"].experiments]
    assert [e.method for e in shown] == ["sam", "fast_cmolrs", "frozen"]
    assert shown[-1].row() == "CLIP ViT-B/32 (LAION-2B)"
    made = {
        name: plugins.make("features", *found.plugin("features", name).values(), name)
        for name in read_files(files)["features"]
    }
    read = made["dinov2_activations"]
    assert f"weights: imagenet     # {read.weights}\n" in files[1].read_text()
    assert read.weights in "".join(blocks(ROOT / "docs/encoders.md", "sh"))
    assert len(read.outline()) == 12 + 1


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for word in arguments("make") if "=" not in word}  # PYTHON=, TORCH=
    assert {"tables", "test"} <= named <= targets


def test_tables_and_suites_of_the_pages_exist():
    targets = arguments("snakemake")
    tables = {Path(word).stem for word in targets if word.startswith("results/tables/")}
    assert (
        {"all"} < tables <= stated("tables") | {"all", "dogs", "clip"}
    )  # of an overlay that init writes
    suites = {word.removeprefix("suite=") for word in targets if word.startswith("suite=")}
    assert {"sam"} < suites <= stated("suites")


def test_every_table_is_in_a_suite_and_in_the_table_of_tables():
    page = (ROOT / "docs/papers.md").read_text()
    shown = {table for tables in PARAMS.suites.values() for table in tables}
    assert [name for name in PARAMS.tables if name not in shown] == []
    assert [name for name in PARAMS.tables if f"`{name}`" not in page] == []


def test_parameters_that_the_pages_set_exist():
    address = r"-S (?:([\w./]+):)?([\w.]+)="
    addresses = [pair for page in PAGES for pair in re.findall(address, page.read_text())]
    assert len({file for file, _ in addresses}) > 2
    for file, path in addresses:
        value = yaml.safe_load((ROOT / (file or "params.yaml")).read_text())
        for key in path.split("."):
            value = value[key]


def test_the_table_of_phases_names_every_rule():
    table = (ROOT / "docs/workflow.md").read_text()
    phases = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.*?) \| ", table, re.MULTILINE)
    assert len(phases) == 5
    for phase, target, rules in phases:
        source = (ROOT / f"rules/{phase}.smk").read_text()
        found = re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)", source, re.MULTILINE)
        assert {target, *re.findall(r"\w+", rules)} == set(found)


TABLE = """## Scenes

Relevant is what is alike.

**image-to-text**

|  | seeds | R@1 published | R@1 reproduced | difference | MedR |
| --- | ---: | ---: | ---: | ---: | ---: |
| SH | 3 | 1.5 | 2.5 ± 0.1 | +1.0 | 7.0 |

**both**

|  | seeds | rsum |
| --- | ---: | ---: |
| SH | 3 | 99.0 |

![Map](../figures/scenes/map.svg)
"""


@pytest.fixture
def quote(monkeypatch):
    """What quotes tables and figures."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("quote")


def tables(name):
    """A table `scenes`, and no other."""
    return TABLE if name == "scenes" else None


def test_a_table_is_quoted_without_its_title_and_figures(quote):
    page = "# A\n<!-- quote scenes -->\nold\n<!-- end of quote -->\nb\n"
    body = TABLE[TABLE.index("Relevant") : TABLE.index("![Map]")]
    expected = f"# A\n<!-- quote scenes -->\n\n{body}<!-- end of quote -->\nb\n"
    assert quote.quote(page, tables) == expected
    assert quote.quote(expected, tables) == expected


def test_one_direction_of_a_table_is_quoted(quote):
    page = "<!-- quote scenes both -->\nold\n<!-- end of quote -->\n"
    body = TABLE[TABLE.index("Relevant") : TABLE.index("![Map]")]
    one = body[: body.index("**image-to-text**")] + body[body.index("**both**") :]
    expected = f"<!-- quote scenes both -->\n\n{one}<!-- end of quote -->\n"
    assert quote.quote(page, tables) == expected


def test_a_direction_that_a_table_lacks_is_named(quote):
    with pytest.raises(SystemExit, match="scenes has no direction average"):
        quote.quote("<!-- quote scenes average -->\n<!-- end of quote -->\n", tables)


def test_a_table_without_runs_is_named_in_one_line(quote):
    page = "<!-- quote other both -->\nold\n<!-- end of quote -->\n"
    left_out = "<!-- quote other both -->\n\nNo run of `other` is kept.\n\n<!-- end of quote -->\n"
    assert quote.quote(page, tables) == left_out
    assert quote.quote(left_out, tables) == left_out


def test_listed_tables_are_linked_or_said_to_have_no_run(quote):
    page = "<!-- quote tables -->\n- SAM: `scenes`, `other`\n- `scenes`\n<!-- end of quote -->\n"
    text = quote.quote(page, tables)
    link = "[Scenes](tables/scenes.md)"
    assert f"\n- SAM: {link}\n- {link}\n\nNo run is kept of `other`.\n" in text
    assert quote.quote(text, tables) == text
    assert quote.quoted(text) == {"scenes", "other"}


def test_a_listed_table_that_gets_its_first_run_is_linked(quote):
    page = "<!-- quote tables -->\nNo run is kept of `scenes`.\n<!-- end of quote -->\n"
    assert "\n- [Scenes](tables/scenes.md)\n<!--" in quote.quote(page, tables)


def test_whole_tables_have_a_page_each(quote, tmp_path, monkeypatch):
    monkeypatch.setattr(quote, "PAGES", tmp_path)
    (tmp_path / "gone.md").write_text("old")
    quote.write_tables({"scenes": TABLE, "other": None})
    (page,) = tmp_path.iterdir()
    assert page.read_text().startswith("# Scenes\n\n`scenes`, of [all results](../results.md).")
    assert page.read_text().endswith("| SH | 3 | 99.0 |\n")


@pytest.fixture
def pages(quote, tmp_path, monkeypatch):
    """A page that quotes `scenes_intra_modal`, in a folder without runs."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "docs/page.md"
    page.parent.mkdir()
    page.write_text(
        "![By accuracy](accuracy.svg) ![By steps](steps.svg) ![Other](other.png)\n"
        "<!-- quote scenes_intra_modal -->\nold\n<!-- end of quote -->\n"
    )
    return page


def write_run(value, experiment="scenes_multi_cca", kind="intra_modal", **made):
    """Metrics of a run."""
    metrics = {"mAP": value, "mAP@50": value, "queries": 9, "gallery": 8}
    test = dict.fromkeys(("image-to-image", "text-to-text"), metrics)
    test |= {"average": test["image-to-image"]}
    controls = dict.fromkeys(("random", "constant", "perfect"), test)
    spread = {way: {"mAP": 0.01, "mAP@50": 0.01} for way in test}
    run = {"test": test, "controls": controls, "spread_of_chance": spread, "test_items": 9}
    facts = {"plugin": "cca", "options": {}, "relevance": "labels", "seed": 0}
    run |= {"precision_scope": {}, "model": facts | made}
    path = Path(f"results/{kind}/{experiment}/seed0.json")
    write_json(path, run)
    rank = np.arange(9.0)
    values = {"AP": np.linspace(0, 2 * value, 9), "AP@50": np.full(9, value), "rank": rank}
    queries = QueryValues(np.array([*"abcdefghi"]), np.arange(9), values)
    directions = dict.fromkeys(("image-to-image", "text-to-text"), queries)
    write_query_values(path.with_suffix(".npz"), directions)


def test_drawn_figures_are_copied_beside_their_page(quote, pages):
    Path("results/figures").mkdir(parents=True)
    Path("results/figures/accuracy.svg").write_text("<svg/>")
    quote.main(PARAMS, pages)
    assert [path.name for path in pages.parent.glob("*.*g")] == ["accuracy.svg"]
    assert "No run of `scenes_intra_modal` is kept." in pages.read_text()
    assert not Path("docs/runs").exists()


def test_the_scorecards_figure_is_of_kept_runs_too(quote, pages):
    figure, here = pages.parent / "claims.svg", Path("results/figures/claims.svg")
    here.parent.mkdir(parents=True)
    here.write_text("of the runs here")
    figure.write_text("of kept runs, too")
    pages.write_text("![Claims](claims.svg)\n")
    quote.main(PARAMS, pages)
    assert figure.read_text() == "of kept runs, too"


def test_tables_are_made_of_runs_that_are_here_and_of_those_kept(quote, pages):
    write_run(0.25)
    quote.main(PARAMS, pages)
    shutil.rmtree("results")
    write_run(0.75, "scenes_multi_pls")
    quote.main(PARAMS, pages)
    rows = [r for r in pages.read_text().splitlines() if r.startswith(("| CCA |", "| PLS |"))]
    numbers = {row.split("|")[3].strip(" *") for row in rows}
    # errors over test items are those of the kept values per query
    assert all(re.fullmatch(r"0\.[27]50 \(0\.[01]\d\d\)", number) for number in numbers), numbers
    assert len(numbers) == 2
    assert "\nold\n" not in pages.read_text()
    for row in ("cca", "pls"):
        kept = read_json(Path(f"docs/runs/scenes_multi_{row}.json"))
        run = kept[f"results/intra_modal/scenes_multi_{row}/seed0.json"]
        assert "precision_scope" not in run


def test_a_kept_run_of_other_params_is_dropped(quote, pages):
    write_run(0.25)
    write_run(0.75, "scenes_multi_pls")
    quote.main(PARAMS, pages)
    shutil.rmtree("results")
    changed = deepcopy(PARAMS)
    changed.methods["cca"]["ridge"] += 1
    quote.main(changed, pages)
    assert {path.stem for path in Path("docs/runs").iterdir()} == {"scenes_multi_pls"}
    assert "0.250" not in pages.read_text()


def test_a_kept_run_names_its_commit_and_marks_earlier_code(quote, pages, monkeypatch):
    runs = sys.modules["kept_runs"]
    monkeypatch.setattr(runs, "commit_of", lambda code, method: f"commit of {code} {method}")
    today = runs.code("crossmodal.steps.train", "crossmodal.methods.cca")
    made = {"versions": {}, "threads": 1, "device": "x86_64", "inputs": {}}
    write_run(0.25, made=made | {"code": today})
    write_run(0.75, "scenes_multi_pls", made=made | {"code": "0123"})
    quote.main(PARAMS, pages)
    assert "| CCA | 1" in pages.read_text()
    assert "| PLS † | 1" in pages.read_text()
    (run,) = read_json(Path("docs/runs/scenes_multi_pls.json")).values()
    assert (run["commit"], run["model"]["made"]["code"]) == ("commit of 0123 cca", "0123")


def test_commits_are_found_by_the_code_that_they_train_with(quote):
    commits = sys.modules["commits"]
    head = commits._git("rev-parse", "HEAD").strip()
    code = commits._hashes(head)["cca"]
    assert commits.commit_of(code, "cca") == head
    assert code != commits._hashes(head)["sam"]


@pytest.mark.parametrize("counts", [True, False])
def test_a_kept_run_with_another_option_does_not_count(quote, pages, counts):
    write_run(0.25)
    quote.main(PARAMS, pages)
    file = Path("docs/runs/scenes_multi_cca.json")
    ((path, run),) = read_json(file).items()
    fit = PARAMS.fit("scenes_multi_cca")
    option = next(name for name in fit.options if name not in fit.search)
    # as of an earlier default, which no digest has
    run["model"]["options"] = {option: fit.options[option] if counts else "other"}
    write_json(file, {path: run})
    assert bool(sys.modules["kept_runs"]._counting(PARAMS, "scenes_multi_cca")) == counts


def _runs_of(table):
    """Runs of a table that count, here and kept."""
    runs = sys.modules["kept_runs"]
    return runs._runs(PARAMS, runs._paths(PARAMS, table))


def test_a_run_counts_with_all_its_readouts(quote, pages):
    for kind in ("runs", "posteriors"):
        write_run(0.25, "flickr8k_all_cca", kind=kind)
    write_run(0.75, "flickr8k_all_pls", kind="runs")
    assert [*_runs_of("flickr8k_classes_all")] == [
        f"results/{kind}/flickr8k_all_cca/seed0.json" for kind in ("runs", "posteriors")
    ]


def test_quoted_tables_are_those_of_the_runs_that_are_kept(quote, pages):
    runs = sys.modules["kept_runs"]
    quoting = re.search(r"tools/quote\.py (.+)", (ROOT / "Makefile").read_text())[1].split()
    texts = [(ROOT / page).read_text() for page in quoting]
    names = {name for text in texts for name in quote.quoted(text)}
    quoted = {Path(path).parent.name for name in names for path in runs._paths(PARAMS, name)}
    shutil.copytree(ROOT / "docs/runs", "docs/runs")
    for file in Path("docs/runs").glob("*.json"):
        assert file.stem in quoted, f"{file}: no page quotes it; remove it"
        before = read_json(file)
        dropped = before.keys() - runs._counting(PARAMS, file.stem).keys()
        assert not dropped, f"{dropped}: params.yaml or a default says something else; `make quote`"
        for path, run in before.items():
            assert run["commit"], f"{path}: no commit has the code that fitted it"
    made = cache(partial(quote.make, PARAMS))
    # whether code has changed since is said of the day of the quotation
    unmarked = partial(re.sub, r"(; )?†( fitted by code that has changed since)?| †", "")
    for text in texts:
        assert unmarked(quote.quote(text, made)) == unmarked(text)
        for name in quote.listed(text):
            assert (ROOT / f"docs/tables/{name}.md").exists() == (made(name) is not None)


def test_the_page_of_results_is_short():
    assert len((ROOT / "docs/results.md").read_text().splitlines()) <= 300
