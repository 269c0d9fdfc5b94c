"""How fast the page answers searches of 8,000 pictures in Chromium, after the first.

The pictures are noise, 320 by 240 pixels, with 8,000 lines of text beside them. The model is SAM
with 512 dimensions; it embeds the queries, while embeddings of the gallery are random, since to
compute them is not what is measured. A search is answered when its tiles are on the page; the
pictures of those that the window shows come a while later. Beside the times, which other processes
lengthen, stands the time of the processor that a search takes in the server.
Run: PYTHONPATH=. python benchmarks/search_page.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from benchmarks.serve import SERVER
from tests.test_load import SAM, WORDS, make_studio

ITEMS, DISTINCT, SIZE, ROUNDS, WIDTH = 8_000, 100, (320, 240), 20, 512
MODEL = ("sam", {"image": "fc7", "text": "bow"}, SAM | {"dims": WIDTH})
RANDOM = f"""
import numpy as np
import crossmodal.search.folder_gallery as galleries
rng = np.random.default_rng(0)
galleries.embed_items = lambda model, modality, items, label: rng.standard_normal(
    (len(items), {WIDTH}), np.float32
)
"""
SEARCHED = """async (words) => {
  const results = document.getElementById("results");
  const start = performance.now();
  document.getElementById("text").value = words;
  document.getElementById("form").requestSubmit();
  await new Promise((done) => {
    const isDone = () => results.getAttribute("aria-busy") === "false" && done();
    new MutationObserver(isDone).observe(results, { attributeFilter: ["aria-busy"] });
  });
  document.body.offsetHeight; // lays the page out
  const answered = performance.now() - start;
  const images = [...results.querySelectorAll("img")];
  const inWindow = images.filter((image) => image.getBoundingClientRect().top < innerHeight);
  await Promise.all(inWindow.map((image) => image.decode()));
  return [answered, performance.now() - start, images.length];
}"""


def main():
    """Print milliseconds until searches are answered, and until their pictures are there."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for _ in make_studio(root, {"sam": MODEL}, ("layers", "fc7", "bow")):
            measure(write_pictures(root / "pictures"), root / "models/sam", root / "weights")


def write_pictures(folder):
    """Write pictures, and as many lines of text; return the folder."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(DISTINCT):
        noise = rng.integers(0, 256, (15, 20, 3), np.uint8)
        Image.fromarray(noise).resize(SIZE).save(folder / f"{number:04}.jpg")
    for number in range(DISTINCT, ITEMS):
        (folder / f"{number:04}.jpg").hardlink_to(folder / f"{number % DISTINCT:04}.jpg")
    lines = (" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(ITEMS))
    (folder / "captions.txt").write_text("\n".join(lines))
    return folder


def measure(folder, model, weights):
    """Serve the folder, and search it."""
    command = [sys.executable, "-c", RANDOM + SERVER, str(model), str(folder), str(weights)]
    begin = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(filter(None, (re.search(r"http\S+", line) for line in server.stdout)))[0]
            print(
                f"indexes of {ITEMS:,} pictures and lines built in {perf_counter() - begin:.0f} s"
            )
            search(address, server.pid)
        finally:
            server.terminate()


def processor_seconds(process):
    """Seconds that a process had of a processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def search(address, server):
    """Search by sentences of two words, in a browser."""
    installed = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.locator("section.model li").first.wait_for()
        queries = [f"{one} {other}" for one in WORDS for other in WORDS if one < other][:ROUNDS]
        first = page.evaluate(SEARCHED, queries[0])
        before = processor_seconds(server)
        others = [page.evaluate(SEARCHED, query) for query in queries[1:]]
        spent = processor_seconds(server) - before
        browser.close()
    answered, complete, results = np.transpose(others)
    assert (results == first[2]).all()
    print(f"first: {first[0]:.0f} ms, with pictures {first[1]:.0f} ms")
    for what, times in {"answered": answered, "with pictures": complete}.items():
        print(
            f"{ROUNDS - 1} others, {what}: median {np.median(times):.0f}, worst {times.max():.0f}"
        )
    print(f"processor time of the server: {1e3 * spent / len(others):.0f} ms a search")


if __name__ == "__main__":
    main()
