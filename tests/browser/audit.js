// What a reader with a keyboard, a telephone, a screen reader or weak eyes meets on the page.
() => {
  const faults = [];
  const name = (node) => {
    const own = node.id ? `#${node.id}` : (node.innerText || node.alt || "").trim().slice(0, 30);
    return `<${node.localName}> ${own}`;
  };
  const isShown = (node) =>
    node.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    node.getClientRects().length > 0;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isShown);
  // an open dialog makes the rest of the page inert
  const dialog = document.querySelector("dialog[open]");
  const within = (nodes) => (dialog ? nodes.filter((node) => dialog.contains(node)) : nodes);

  // ---- the document
  if (!document.documentElement.lang) faults.push("no lang");
  if (!document.title.trim()) faults.push("no title");
  const viewport = document.querySelector("meta[name=viewport]")?.content ?? "";
  if (!viewport.includes("width=device-width")) faults.push("no meta viewport");
  if (/user-scalable=no|maximum-scale/.test(viewport)) faults.push("the page cannot be magnified");
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) faults.push(`is ${scrollWidth} px wide, the window ${innerWidth}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) {
    if (ids.filter((other) => other === id).length > 1) faults.push(`id ${id} twice`);
  }

  // ---- landmarks and headings
  for (const landmark of ["main", "header"]) {
    const count = all(landmark).length;
    if (count !== 1) faults.push(`${count} × <${landmark}>`);
  }
  const outside = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = outside.nextNode()); ) {
    const node = text.parentElement;
    if (text.data.trim() && isShown(node) && !node.closest("main, header, dialog")) {
      faults.push(`outside of landmarks: ${name(node)}`);
    }
  }
  const levels = all("main h1, main h2, main h3, main h4, header h1").map((node) => +node.localName[1]);
  if (levels.filter((level) => level === 1).length !== 1) faults.push("not one h1");
  levels.forEach((level, place) => {
    if (level > (place ? levels[place - 1] : 0) + 1) faults.push(`h${level} after h${levels[place - 1] ?? 0}`);
  });

  // ---- contrast, WCAG 1.4.3
  const numbers = (colour) => {
    const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const over = (top, below) => top.rgb.map((value, i) => value * top.alpha + below[i] * (1 - top.alpha));
  const background = (node) => {
    if (!node) return [255, 255, 255];
    const own = numbers(getComputedStyle(node).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, background(node.parentElement));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    const node = text.parentElement;
    if (!text.data.trim() || !isShown(node) || node.closest("script, style, noscript")) continue;
    const style = getComputedStyle(node);
    const below = background(node);
    const ink = over(numbers(node.closest("svg") ? style.fill : style.color), below);
    const [dark, light] = [luminance(ink), luminance(below)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${name(node)}`);
  }

  // ---- sizes of targets, WCAG 2.5.8: 24 px, or a circle of 24 px that meets no other target
  const targets = within(all("a[href], button, input, select, summary, textarea")).map((node) => {
    const label = node.labels?.[0] ?? node; // a click on the label counts
    const boxes = label.contains(node) ? label.getBoundingClientRect() : node.getBoundingClientRect();
    return { node, box: boxes };
  });
  const isSmall = ({ box }) => Math.min(box.width, box.height) < 24;
  const isNear = ({ box }, { box: other }) => {
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const dx = Math.max(other.left - x, 0, x - other.right);
    const dy = Math.max(other.top - y, 0, y - other.bottom);
    return Math.hypot(dx, dy) < 12;
  };
  for (const target of targets.filter(isSmall)) {
    if (target.node.closest("p")) continue; // in a sentence
    if (targets.some((other) => other.node !== target.node && isNear(target, other))) {
      const { width, height } = target.box;
      faults.push(`target of ${width.toFixed(0)} × ${height.toFixed(0)} px: ${name(target.node)}`);
    }
  }

  // ---- pictures keep their place while they load
  for (const image of all("img")) {
    if (!image.hasAttribute("alt")) faults.push(`no alt: ${name(image)}`);
  }
  return faults;
}
