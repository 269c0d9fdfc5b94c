"""Pages of examples in a real browser, with pictures, captions and players."""

import pytest

from crossmodal.steps.show_examples import show_examples
from crossmodal.workflow.report_specs import ExamplesSpec
from tests.browser.audit import WINDOWS, audit, opened
from tests.test_load import MODELS, make_studio

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """The page of two models of images and texts, and that of images and speech."""
    root = tmp_path_factory.mktemp("studio")
    for studio in make_studio(root, {name: MODELS[name] for name in ("cca", "sam", "sisa")}):
        written = {}
        for name, models in {"cca": ["cca", "sam"], "sisa": ["sisa"]}.items():
            path = root / f"{name}.html"
            spec = ExamplesSpec(labels=models, dataset="toy", relevance="category")
            embeddings = [studio.root / f"{model}.h5" for model in models]
            show_examples(spec, path, embeddings, studio.root / "prepared")
            written[name] = path.as_uri()
        yield written


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["cca", "sisa"])
def test_example_page_passes_the_audit(browser, addresses, name, window):
    with opened(browser, addresses[name], window) as (page, faults, sizes):
        assert not audit(page)
        assert not faults
        assert sum(sizes) < 1_000_000


@pytest.mark.parametrize("window", WINDOWS)
def test_thumbnails_have_equal_size(browser, addresses, window):
    with opened(browser, addresses["cca"], window) as (page, *_):
        sizes = page.locator("img").evaluate_all(
            "images => images.map((i) => [i.clientWidth, i.clientHeight])"
        )
        widths, heights = zip(*sizes, strict=True)
        assert max(widths) - min(widths) <= 1
        assert max(heights) - min(heights) <= 1
        assert min(widths) >= 64


def test_relevance_has_a_colour_and_a_mark(browser, addresses):
    for scheme in ("light", "dark"):
        with opened(browser, addresses["cca"], ("wide", scheme)) as (page, *_):
            looks = {}
            for kind, mark in (("right", "\u2713"), ("wrong", "\u2717")):
                cells = page.locator(f"td.{kind}")
                assert all(text.startswith(mark) for text in cells.all_inner_texts())
                looks[kind] = cells.first.evaluate(
                    "cell => [getComputedStyle(cell).borderTopColor, "
                    "getComputedStyle(cell).borderTopStyle]"
                )
            assert looks["right"][0] != looks["wrong"][0]
            assert [style for _, style in looks.values()] == ["solid", "dashed"]


def test_speech_is_played(browser, addresses):
    with opened(browser, addresses["sisa"], ("wide", "light")) as (page, *_):
        player = page.locator("audio").first
        player.evaluate("player => { player.muted = true; return player.play(); }")
        assert player.evaluate("player => player.duration") > 0.05
        assert player.evaluate("player => player.error") is None


def test_queries_that_flip_stand_in_pairs(browser, addresses):
    with opened(browser, addresses["cca"], ("wide", "light")) as (page, *_):
        headings = page.get_by_role("heading", name="alone").all_inner_texts()
        assert len(headings) == 4
        for heading in headings:
            count = int(heading.split()[-2])
            table = page.locator(f"h3:has-text('{heading}') + *").first
            assert table.locator("tr:has(td)").count() == 2 * min(count, 10)
