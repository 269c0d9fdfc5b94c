"""The pages: short, without dead links, with examples that name what there is."""

import importlib
import re
import shutil
import sys
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from crossmodal.cli import app
from crossmodal.config import params, plugins
from crossmodal.config.overlays import read_files
from crossmodal.io.files import read_json, write_json
from crossmodal.pretrained.sentence_transformer import OFFICIAL
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
    assert named == {"imagenet", "official", *OFFICIAL}


def test_the_overlays_of_the_page_on_encoders_are_valid(tmp_path):
    files = [tmp_path / "timm.yaml", tmp_path / "clip.yaml"]
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
    assert f"weights: imagenet     # {read.weights}\n" in files[0].read_text()
    assert read.weights in "".join(blocks(ROOT / "docs/encoders.md", "sh"))
    assert len(read.outline()) == 12 + 1


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for word in arguments("make") if "=" not in word}  # PYTHON=, TORCH=
    assert {"tables", "test"} <= named <= targets


def test_tables_and_suites_of_the_pages_exist():
    targets = arguments("snakemake")
    tables = {Path(word).stem for word in targets if word.startswith("results/tables/")}
    assert {"all"} < tables <= stated("tables") | {"all"}
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


def none(name):
    """No row is of old runs."""
    return set()


def test_a_table_is_quoted_without_its_title_and_figures(quote):
    page = "# A\n<!-- quote scenes -->\nold\n<!-- end of quote -->\nb\n"
    body = TABLE[TABLE.index("Relevant") : TABLE.index("![Map]")]
    expected = f"# A\n<!-- quote scenes -->\n\n{body}<!-- end of quote -->\nb\n"
    assert quote.quote(page, tables, none) == expected
    assert quote.quote(expected, tables, none) == expected


def test_one_direction_of_a_table_is_quoted(quote):
    page = "<!-- quote scenes both -->\nold\n<!-- end of quote -->\n"
    body = TABLE[TABLE.index("Relevant") : TABLE.index("![Map]")]
    one = body[: body.index("**image-to-text**")] + body[body.index("**both**") :]
    expected = f"<!-- quote scenes both -->\n\n{one}<!-- end of quote -->\n"
    assert quote.quote(page, tables, none) == expected


def test_a_direction_that_a_table_lacks_is_named(quote):
    with pytest.raises(SystemExit, match="scenes has no direction average"):
        quote.quote("<!-- quote scenes average -->\n<!-- end of quote -->\n", tables, none)


def test_a_table_that_was_not_made_stays_as_it_is_quoted(quote):
    page = "<!-- quote other -->\nold\n<!-- end of quote -->\n"
    assert quote.quote(page, tables, none) == page


def test_single_numbers_are_filled_in(quote):
    rows = (
        "| method | table | metric | published | reproduced |\n| --- | --- | --- | ---: | ---: |\n"
        "| SH | `scenes` | image-to-text {} |\n| SH | `scenes` | both {} |\n"
        "| SH | `other` | both rsum | 1 | 2 |\n"
    )
    page = "<!-- quote rows -->\n" + rows + "<!-- end of quote -->\n"
    filled = quote.quote(page.format("R@1 | 0 | 0", "rsum | 0 | 0"), tables, none)
    assert filled == page.format("R@1 | 1.5 | 2.5 ± 0.1", "rsum |  | 99.0")


@pytest.mark.parametrize("row", ["MH | `scenes` | both rsum", "SH | `scenes` | both R@5"])
def test_a_row_that_its_table_lacks_is_named(quote, row):
    with pytest.raises(SystemExit, match=r"scenes has no"):
        quote.quote(f"<!-- quote rows -->\n| {row} |  |  |\n<!-- end of quote -->\n", tables, none)


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


def write_run(value, experiment="scenes_multi_cca", kind="intra_modal"):
    """Metrics of a run."""
    metrics = {"mAP": value, "mAP@50": value, "queries": 9, "gallery": 8}
    test = dict.fromkeys(("image-to-image", "text-to-text"), metrics)
    test |= {"average": test["image-to-image"]}
    controls = dict.fromkeys(("random", "constant", "perfect"), test)
    spread = {way: {"mAP": 0.01, "mAP@50": 0.01} for way in test}
    run = {"test": test, "controls": controls, "spread_of_chance": spread, "test_items": 9}
    facts = {"plugin": "cca", "options": {}, "relevance": "labels", "seed": 0}
    run |= {"precision_scope": {}, "model": facts}
    write_json(Path(f"results/{kind}/{experiment}/seed0.json"), run)


def test_drawn_figures_are_copied_beside_their_page(quote, pages):
    Path("results/figures").mkdir(parents=True)
    Path("results/figures/accuracy.svg").write_text("<svg/>")
    quote.main(PARAMS, pages)
    assert [path.name for path in pages.parent.glob("*.*g")] == ["accuracy.svg"]
    assert "old" in pages.read_text()
    assert not Path("docs/runs").exists()


def test_tables_are_made_of_runs_that_are_here_and_of_those_kept(quote, pages):
    write_run(0.25)
    quote.main(PARAMS, pages)
    shutil.rmtree("results")
    write_run(0.75, "scenes_multi_pls")
    quote.main(PARAMS, pages)
    rows = [r for r in pages.read_text().splitlines() if r.startswith(("| CCA |", "| PLS |"))]
    assert {row.split("|")[3].strip(" *") for row in rows} == {"0.250", "0.750"}
    assert "old" not in pages.read_text()
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
    assert [path.name for path in Path("docs/runs").iterdir()] == ["scenes_multi_pls.json"]
    assert "0.250" not in pages.read_text()


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


def test_a_run_counts_with_all_its_readouts(quote, pages):
    for kind in ("runs", "posteriors"):
        write_run(0.25, "flickr8k_all_cca", kind=kind)
    write_run(0.75, "flickr8k_all_pls", kind="runs")
    assert [*sys.modules["kept_runs"]._runs(PARAMS, "flickr8k_classes_all")] == [
        f"results/{kind}/flickr8k_all_cca/seed0.json" for kind in ("runs", "posteriors")
    ]


def test_a_table_that_would_lose_quoted_runs_stays_as_it_is(quote, pages, capsys):
    write_run(0.25)
    write_run(0.75, "scenes_multi_pls")
    quote.main(PARAMS, pages)
    before = pages.read_text()
    shutil.rmtree("results")
    shutil.rmtree("docs/runs")
    write_run(0.5)
    quote.main(PARAMS, pages)
    assert pages.read_text() == before
    assert "scenes_intra_modal stays as it is quoted: no runs of PLS" in capsys.readouterr().err
    assert [p.name for p in Path("docs/runs").iterdir()] == ["scenes_multi_cca.json"]  # for later


def test_quoted_tables_are_those_of_the_runs_that_are_kept(quote, pages):
    runs = sys.modules["kept_runs"]
    page = (ROOT / "docs/results.md").read_text()
    tables = {name for _, name, *_ in quote.QUOTE.findall(page)} - {"rows"}
    quoted = {Path(path).parent.name for t in tables for path in runs._paths(PARAMS, t)}
    Path("docs/runs").mkdir()
    for file in (ROOT / "docs/runs").glob("*.json"):
        shutil.copyfile(file, f"docs/runs/{file.name}")
        assert file.stem in quoted, f"{file}: no page quotes it; remove it"
        dropped = read_json(file).keys() - runs._counting(PARAMS, file.stem).keys()
        assert not dropped, f"{dropped}: params.yaml or a default says something else; `make quote`"
    made = (partial(make, PARAMS) for make in (runs.make_table, runs.never_kept))
    assert quote.quote(page, *made) == page


def test_the_readme_quotes_what_the_page_of_results_quotes():
    results = (ROOT / "docs/results.md").read_text()
    rows = (ROOT / "README.md").read_text().split("<!-- quote rows -->")[1].split("<!-- end")[0]
    for row in rows.strip().splitlines()[2:]:
        method, table, metric, published, reproduced = (
            cell.strip(" `") for cell in row.split("|")[1:-1]
        )
        direction = metric.split()[0]
        quoted = results.split(f"<!-- quote {table} -->")[1].split("<!-- end")[0]
        lines = quoted.split(f"**{direction}**\n\n")[1].split("\n\n")[0].splitlines()
        line = next(line for line in lines if line.startswith(f"| {method} |"))
        cells = {cell.strip(" *") for cell in line.split("|")}
        assert {published, reproduced} <= cells | {""}, row
