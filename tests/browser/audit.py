"""Checks of a page, such as Lighthouse and axe make: by script, and by Chromium's tree of names."""

from contextlib import contextmanager
from pathlib import Path

AUDIT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
SIZES = {"wide": (1280, 800), "telephone": (390, 844)}
WINDOWS = [(name, scheme) for name in SIZES for scheme in ("light", "dark")]
# roles that a screen reader tells by their names
NAMED = {
    *("button", "checkbox", "combobox", "dialog", "image", "img", "link"),
    *("meter", "region", "searchbox", "spinbutton", "textbox"),
}
PAINTED = "performance.getEntriesByName('first-contentful-paint').length"
BUSY = 1.0  # seconds of the processor, which other processes do not lengthen, until all is there
MOST_STOPS = 60  # of the tabulator
STOPS = "a[href], button, input, select, summary, textarea, audio[controls], [tabindex='0']"
TABBABLE = f"""() => [...document.querySelectorAll("{STOPS}")].map((node, place) => {{
  const open = document.querySelector("dialog[open]");
  const isShown = node.checkVisibility({{ visibilityProperty: true }});
  return isShown && !node.disabled && (!open || open.contains(node)) ? place : null;
}}).filter((place) => place !== null)"""
FROM_THE_TOP = """() => {
  document.activeElement.blur();
  const top = document.querySelector("dialog[open]") ?? document.body;
  top.tabIndex = -1;
  top.focus();
  top.removeAttribute("tabindex");
  scrollTo(0, 0);
}"""
FOCUSED = f"""() => {{
  const node = document.activeElement;
  const {{ outlineStyle, outlineWidth }} = getComputedStyle(node);
  const hasOutline = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const box = node.getBoundingClientRect();
  return {{
    place: [...document.querySelectorAll("{STOPS}")].indexOf(node),
    name: `<${{node.localName}}> ${{node.id || node.textContent.trim().slice(0, 30)}}`,
    isBody: node === document.body,
    isSeen: hasOutline || node.localName === "audio", // a player shows its own
    isInside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  }};
}}"""


@contextmanager
def opened(browser, address, window):
    """A page in a window, its faults of loading, and the bytes that it asked for."""
    name, scheme = window
    width, height = SIZES[name]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=width < 500
    )
    page, faults, sizes = context.new_page(), [], []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfinished", lambda request: sizes.append(len(request.response().body())))
    page.on("request", lambda request: faults.extend(_elsewhere(address, request.url)))
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_function(PAINTED)
    metrics = session.send("Performance.getMetrics")["metrics"]
    (busy,) = (metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    if busy > BUSY:
        faults.append(f"is there after {busy:.1f} s of the processor")
    yield page, faults, sizes
    context.close()


def _elsewhere(address, url):
    """A sentence on a request to another host than that of a page."""
    if url.startswith(("data:", "blob:")) or url.split("/")[:3] == address.split("/")[:3]:
        return []
    return [f"asks for {url}"]


def audit(page):
    """What is wrong on a page as it is now, as sentences."""
    return [*page.evaluate(AUDIT), *_unnamed(page), *_focus(page)]


def _unnamed(page):
    """Controls, pictures and regions without a name of their own."""
    session = page.context.new_cdp_session(page)
    session.send("Accessibility.enable")
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    roles = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in NAMED
    ]
    faults = [f"a {role} without a name" for role, name in roles if not name]
    regions = [name for role, name in roles if role == "region"]
    return faults + [f"two regions {name!r}" for name in {*regions} if regions.count(name) > 1]


def _focus(page):
    """Controls that the tabulator does not reach, reaches unseen, or out of their order."""
    faults, places = [], []
    page.evaluate(FROM_THE_TOP)
    expected = page.evaluate(TABBABLE)
    while len(places) < min(len(expected), MOST_STOPS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["isBody"]:
            break
        if places and focused["place"] == places[-1]:
            continue  # another control of the same player
        places.append(focused["place"])
        if not focused["isSeen"]:
            faults.append(f"focus cannot be seen: {focused['name']}")
        if not focused["isInside"]:
            faults.append(f"focus outside of the window: {focused['name']}")
    if places != expected[: len(places)] or len(places) < min(len(expected), MOST_STOPS):
        faults.append(f"focus goes to {places}, controls are {expected[:MOST_STOPS]}")
    return faults
