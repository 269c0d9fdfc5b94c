"""The page that searches, in a real browser, with small models on a folder of hostile names."""

import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.search.place import Place
from crossmodal.search.searcher import Searcher
from tests.browser.audit import WINDOWS, audit, opened
from tests.test_load import MODELS, contents, make_studio

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
CAPTIONS = ["a red circle", "the big square", f"a green circle {HOSTILE}", "a ' onload=alert(2) \""]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The server of two models in a thread, what they find, and contents to search by."""
    pytest.importorskip("uvicorn")
    from crossmodal.search.application import make_application

    root = tmp_path_factory.mktemp("studio")
    for studio in make_studio(root, {name: MODELS[name] for name in ("cca", "sisa")}):
        folder = root / "holiday"
        folder.mkdir()
        images = contents(studio, "image", [f"item{n}" for n in range(6)])
        for number, image in enumerate(images):
            (folder / f"{number} {HOSTILE.replace('/', '')}.png").write_bytes(image)
        (folder / "captions.txt").write_text("\n".join(CAPTIONS))
        clips = contents(studio, "speech", [f"item{n}#0" for n in range(4)])
        for number, clip in enumerate(clips):
            (folder / f"{number}.flac").write_bytes(clip)
        place = Place(folder, "test", Path("params.yaml"))
        models = [Path("models", name) for name in ("cca", "sisa")]
        searchers = [Searcher(model, root / "weights", place) for model in models]
        for searcher in searchers:
            searcher.prepare()
        notes = ["fitted on 24 pairs, which teach little", ""]
        app = make_application(searchers, ["127.0.0.1"], notes=notes, threads=1, approximate=False)
        with served(app) as url:
            yield SimpleNamespace(
                url=url,
                searchers=searchers,
                image=folder / sorted(path.name for path in folder.glob("*.png"))[2],
                clip=clips[0],
                folder=folder,
            )


@contextmanager
def served(app):
    """The address of a server in a thread."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


def shown(locator):
    """An expectation that is waited for."""
    return pytest.importorskip("playwright.sync_api").expect(locator)


def cards(page, model):
    """What the page shows of one model: ids or texts of its cards, in order."""
    section = page.locator(f'section[aria-label$="{model}"] li')
    section.first.wait_for()
    page.wait_for_selector('#results[aria-busy="false"]')
    return section


def test_a_sentence_finds_pictures(page, site):
    page.goto(site.url)
    page.keyboard.press("Tab")
    page.keyboard.type(CAPTIONS[2])
    page.keyboard.press("Enter")
    expected = site.searchers[0].search("text", CAPTIONS[2])
    found = cards(page, "cca")
    assert found.locator("img").count() == len(expected) == 6
    titles = [found.nth(n).locator("img").get_attribute("title") for n in range(6)]
    assert titles == [item.id for item in expected]
    shown(found.locator("img").first).to_have_js_property("complete", True)
    assert found.locator("img").first.evaluate("image => image.naturalWidth") > 0
    assert "not by text" in page.locator('section[aria-label$="sisa"]').inner_text()


def test_the_page_begins_with_what_is_searched(page, site):
    page.goto(site.url)
    section = page.locator('section[aria-label$="cca"]')
    shown(section.locator(".note")).to_have_text("fitted on 24 pairs, which teach little")
    shown(section.locator("h3")).to_have_text(["6 × image, for example", "4 × text, for example"])
    sample, _ = site.searchers[0].sample("text", 3)
    texts = section.locator("ol").nth(1).locator("p")
    shown(texts).to_have_text([item.text for item in sample])
    section.locator("ol").nth(1).locator("button").first.click()
    expected = site.searchers[0].search_like("text", sample[0].id, "text")
    page.wait_for_selector('#results[aria-busy="false"]')
    shown(section.locator("ol p")).to_have_text([item.text for item in expected])


def test_a_folder_of_pictures_alone(page, site, tmp_path):
    from crossmodal.search.application import make_application

    for path in site.folder.glob("*.png"):
        shutil.copy2(path, tmp_path)
    place, root = Place(tmp_path, "test", Path("params.yaml")), site.folder.parent
    searcher = Searcher(root / "models/cca", root / "weights", place)
    app = make_application([searcher], ["127.0.0.1"], notes=[""], threads=1, approximate=False)
    with served(app) as url:
        page.goto(url)
        section = page.locator('section[aria-label$="cca"]')
        shown(section.locator("h3")).to_have_text(["6 × image, for example"])
        shown(section.locator(".failed")).to_have_count(0)
        section.locator("button").first.click()
        page.wait_for_selector('#results[aria-busy="false"]')
        shown(section.locator("img")).to_have_count(5)


def test_more_like_a_result(page, site):
    page.goto(site.url)
    page.locator("#text").fill(CAPTIONS[0])
    page.keyboard.press("Enter")
    first = cards(page, "cca").first
    item = first.locator("img").get_attribute("title")
    first.get_by_role("button", name="More like this").click()
    shown(page.locator("#results section")).to_have_count(1)
    expected = [result.id for result in site.searchers[0].search_like("image", item, "image")]
    page.wait_for_selector('#results[aria-busy="false"]')
    images = page.locator("#results img")
    assert [images.nth(n).get_attribute("title") for n in range(len(expected))] == expected
    assert page.locator("#query img").get_attribute("title") == item


def test_more_like_a_result_is_approximate_where_searches_are(page, site):
    pytest.importorskip("faiss")
    from crossmodal.search.application import make_application

    searchers = site.searchers[:1]
    app = make_application(searchers, ["127.0.0.1"], notes=[""], threads=1, approximate=True)
    with served(app) as url:
        page.goto(url)
        page.locator("#text").fill(CAPTIONS[0])
        page.keyboard.press("Enter")
        first = cards(page, "cca").first
        for _ in range(2):  # without a comparison with all items, a score has no place among them
            shown(first.locator(".score")).to_be_visible()
            assert first.locator("meter").count() == 0
            first.get_by_role("button", name="More like this").click()
            shown(page.locator("#query img")).to_be_visible()
            page.wait_for_selector('#results[aria-busy="false"]')


def test_sentences_of_the_data_are_examples(page, site):
    page.goto(site.url)
    examples = page.locator("#examples button")
    shown(examples).to_have_count(3)
    sample, _ = site.searchers[0].sample("text", 3)
    assert examples.all_inner_texts() == [item.text for item in sample]
    examples.nth(1).click()
    assert page.locator("#text").input_value() == sample[1].text
    expected = site.searchers[0].search("text", sample[1].text)
    assert [image.get_attribute("title") for image in cards(page, "cca").locator("img").all()] == [
        item.id for item in expected
    ]


def test_a_result_says_why(page, site):
    page.goto(site.url)
    page.locator("#text").fill("a red square")
    page.keyboard.press("Enter")
    cards(page, "cca")
    page.locator("select").first.select_option("text")
    page.wait_for_selector("mark")
    best = site.searchers[0].search("text", "a red square", among="text")[0]
    first = page.locator('section[aria-label$="cca"] li').first
    assert sorted(first.locator("mark").all_inner_texts()) == sorted(
        word for word in best.text.split() if word in best.common
    )
    assert f"{best.z_score:.1f} sd" in first.inner_text()


def test_unknown_words_are_named(page, site):
    page.goto(site.url)
    page.locator("#text").fill(f"a red zebra {HOSTILE}")
    page.keyboard.press("Enter")
    section = page.locator('section[aria-label$="cca"]')
    shown(section.locator("> p:not(.note)")).to_have_text(
        "Unknown to the model: zebra, img, src, x, onerror, alert"
    )
    assert cards(page, "cca").count() == 6
    page.locator("#text").fill("zebra")
    page.keyboard.press("Enter")
    shown(section.locator(".failed")).to_contain_text("knows no word of 'zebra'")
    assert section.locator("li").count() == 0


def test_a_picture_finds_itself_and_captions_that_stay_text(page, site):
    page.goto(site.url)
    page.set_input_files("#file", site.image)
    expected = site.searchers[0].search("image", site.image)
    assert cards(page, "cca").locator("p").all_inner_texts() == [item.text for item in expected]
    assert page.locator('img[src="x"]').count() == 0
    page.locator("select").select_option("image")
    page.wait_for_selector("section li:first-child img")
    first = page.locator('section[aria-label$="cca"] li img').first
    assert first.get_attribute("title") == site.image.name


def test_speech_finds_pictures(page, site, tmp_path):
    clip = tmp_path / "clip.flac"
    clip.write_bytes(site.clip)
    page.goto(site.url)
    page.set_input_files("#file", clip)
    expected = site.searchers[1].search("speech", clip)
    first = cards(page, "sisa").first.locator("img")
    assert first.get_attribute("title") == expected[0].id


def test_speech_is_recorded(page, site):
    page.goto(site.url)
    page.click("text=Record speech")
    page.wait_for_timeout(500)
    page.click("text=Stop and search")
    assert cards(page, "sisa").locator("img").count() == 6
    assert page.locator("#query audio").count() == 1


def test_a_picture_is_taken(page, site):
    page.goto(site.url)
    page.click("text=Take a picture")
    shown(page.locator("video")).not_to_have_js_property("videoWidth", 0)
    page.locator("#query button").click()
    assert cards(page, "sisa").locator("audio").count() == 4
    assert page.locator("#query img").evaluate("image => image.naturalWidth") > 0


def test_a_picture_is_pasted(page, site):
    page.goto(site.url)
    page.evaluate(
        """([bytes, name]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
            dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
        }""",
        [list(site.image.read_bytes()), site.image.name],
    )
    assert cards(page, "sisa").locator("audio").count() == 4


def test_models_stand_side_by_side_or_are_left_out(page, site):
    page.goto(site.url)
    page.set_input_files("#file", site.image)
    cards(page, "cca")
    assert cards(page, "sisa").locator("audio").count() == 4
    page.get_by_role("checkbox", name="cca").uncheck()
    shown(page.locator("#results section")).to_have_count(1)
    page.locator("#count").fill("2")
    page.locator("#count").press("Enter")
    shown(page.locator("#results li")).to_have_count(2)


def test_who_asks_before_the_models_are_listed_is_answered(page, site):
    held = []
    page.route("**/models", lambda route: held.append(route))
    page.goto(site.url)
    page.locator("#text").fill(CAPTIONS[0])
    page.keyboard.press("Enter")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    assert cards(page, "cca").count() == 6


def test_what_cannot_be_read_is_said(page, site, tmp_path):
    page.goto(site.url)
    wrong = tmp_path / "wrong.png"
    wrong.write_bytes(b"no picture")
    page.set_input_files("#file", wrong)
    page.wait_for_selector("section .failed")
    assert "none of the formats" in page.locator("section .failed").first.inner_text()
    other = tmp_path / "a.txt"
    other.write_text("text")
    page.set_input_files("#file", other)
    assert "neither" in page.locator("#status").inner_text()


def test_a_file_is_dropped(page, site):
    page.goto(site.url)
    page.evaluate(
        """async ([bytes, name]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        [list(site.image.read_bytes()), site.image.name],
    )
    assert cards(page, "cca").count() == 4


@pytest.mark.parametrize("window", WINDOWS)
def test_search_page_passes_the_audit(browser, site, window):
    with opened(browser, site.url, window) as (page, faults, sizes):
        page.locator("section.model li").first.wait_for()
        assert sum(sizes) < 100_000
        assert not audit(page)
        page.locator("#text").fill(f"{CAPTIONS[0]} zebra")
        page.keyboard.press("Enter")
        shown(page.locator("#status")).to_have_text("Searched with 2 models.")
        assert not audit(page)
        page.set_input_files("#file", site.image)
        cards(page, "sisa")
        page.get_by_text("Nearest training items").first.click()
        assert not audit(page)
        page.locator("#text").fill("zebra")
        page.keyboard.press("Enter")
        page.wait_for_selector("section .failed")
        assert not audit(page)
    assert all("400" in fault for fault in faults)  # Chromium tells of an answer that refuses
