"""How fast the site of many experiments opens and filters in Chromium.

The page has 888 experiments of synthetic numbers, with curves of 40 points, in tables of 12 rows.
Beside the times, which other processes lengthen, stands the time of the processor that Chromium's
main thread takes to filter and to lay the page out.
Run: PYTHONPATH=. python benchmarks/site_page.py
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from crossmodal.reporting.site import to_html

EXPERIMENTS, ROWS, POINTS, ROUNDS = 888, 12, 40, 5
COLUMNS = [
    (direction, metric)
    for direction in ("image-to-text", "text-to-image")
    for metric in ("mAP", "R@1", "R@5", "R@10", "MedR")
]
OPENED = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
FILTERED = """(word) => {
  const start = performance.now();
  document.getElementById("words").value = word;
  document.getElementById("words").dispatchEvent(new Event("input", { bubbles: true }));
  document.body.offsetHeight; // lays the page out
  return performance.now() - start;
}"""
SHOW_NUMBERS = "() => { document.getElementById('all').open = true; }"


def main():
    """Print seconds until the page is open, and until its numbers are filtered."""
    command = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "index.html")
        path.write_text(to_html("crossmodal: all", content()))
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        opened, filtered, spent = [], [], []
        for _ in range(ROUNDS):
            page = browser.new_page()
            page.goto(path.as_uri())
            opened.append(page.evaluate(OPENED))
            page.evaluate(SHOW_NUMBERS)
            page.locator("#words").wait_for()
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            for word in ("method 7", "method 70", ""):
                before = busy(session)
                filtered.append(page.evaluate(FILTERED, word))
                spent.append(busy(session) - before)
            page.close()
        browser.close()
        print(f"{EXPERIMENTS} experiments, {path.stat().st_size / 2**20:.1f} MiB")
        print(f"opened in {min(opened):.0f} ms, filtered in {max(filtered):.0f} ms at most")
        print(f"processor time of a filter: {1e3 * max(spent):.0f} ms at most")


def busy(session):
    """Seconds of the processor that the main thread had."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def content():
    """What the page shows."""
    names = [f"experiment_{n}" for n in range(EXPERIMENTS)]
    experiments = {name: experiment(name, number) for number, name in enumerate(names)}
    tables = {
        f"table_{n}": {"title": f"Table {n}", "note": "Synthetic.", "papers": ["SAM"]}
        for n in range(-(-EXPERIMENTS // ROWS))
    }
    numbers = [
        number(name, place, direction, metric)
        for place, name in enumerate(names)
        for direction, metric in COLUMNS
    ]
    claims = {"rows": [], "tally": [["paper"]], "rule": "", "legend": "", "forest": "data:,"}
    return {
        "claims": claims,
        "tables": tables,
        "numbers": numbers,
        "experiments": experiments,
        "deviations": {"Everywhere": []},
    }


def experiment(name, number):
    """The facts of an experiment."""
    curve = [[step, 0.01 * step, 1.0, step] for step in range(POINTS)]
    made = {"device": "x86_64", "code": "0123", "versions": {"torch": "2"}}
    return {
        **{"label": f"method {number}", "dataset": "toy", "method": "sam", "plugin": "sam"},
        **{"views": {"image": "fc7", "text": "bow"}, "sections": ["Everywhere"], "made": made},
        **{"options": dict.fromkeys(map(str, range(12)), 1.0), "searched": [{}], "seeds": [0]},
        **{"validation": 0.5, "costs": {"training time (s)": 1.0}, "examples": f"{name}.html"},
        "curves": {"learning": curve, "precision_scope": curve},
    }


def number(name, place, direction, metric):
    """One number of an experiment."""
    return {
        **{"experiment": name, "row": f"method {place}", "dataset": "toy", "lower": False},
        **{"direction": direction, "metric": metric, "table": f"table_{place // ROWS}"},
        **{"published": 0.5, "reproduced": 0.4, "spread": 0.01, "error": 0.02, "seeds": 3},
        **{"difference": -0.1, "decimals": 3},
    }


if __name__ == "__main__":
    main()
