// All that is shown is put into the page as text, never as markup.
"use strict";

const { claims, tables, numbers, experiments, deviations } = JSON.parse(document.getElementById("data").textContent);
const part = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function drawn(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// ---- claims

function fill(table, header, rows) {
  const cells = (name, values) => values.map((textContent) => element(name, { textContent }));
  table.tHead.append(element("tr", {}, ...cells("th", header)));
  table.tBodies[0].append(...rows.map((values) => element("tr", {}, ...cells("td", values))));
}

function showClaims() {
  fill(part("tally"), claims.tally[0], claims.tally.slice(1));
  const rows = claims.rows.map((row) => {
    const verdict = `${row.verdict}${row.marks}${row.needed && ` (${row.needed})`}`;
    return [row.paper, `${row.claim} (${row.place})`, row.metric, row.reported, row.dataset, row.rows, row.measured, verdict];
  });
  fill(part("scorecard"), ["paper", "claim", "metric", "reported", "dataset", "rows", "measured", "verdict"], rows);
  part("rule").textContent = claims.rule;
  part("legend").textContent = claims.legend;
  part("forest").src = claims.forest;
}

// ---- numbers

const show = (value) => (value === null ? "" : String(Number(value.toPrecision(4))));
for (const number of numbers) {
  number.title = tables[number.table].title;
  number.papers = tables[number.table].papers;
  number.modalities = number.direction.includes("-to-") ? number.direction.split("-to-") : [];
}

const COLUMNS = [
  ["row", "method"],
  ["dataset", "dataset"],
  ["direction", "direction"],
  ["metric", "metric"],
  ["published", "published"],
  ["reproduced", "reproduced"],
  ["difference", "difference"],
  ["seeds", "seeds"],
  ["title", "table"],
];
const NUMERIC = new Set(["published", "reproduced", "difference", "seeds"]);
const FILTERS = {
  table: (n) => [n.title],
  dataset: (n) => [n.dataset],
  paper: (n) => n.papers,
  modality: (n) => n.modalities,
  metric: (n) => [n.metric],
};
const state = { sort: "reproduced", down: true };

function makeFilters() {
  const search = element("input", { type: "search", id: "words", placeholder: "SAM" });
  part("filters").append(element("label", {}, "method contains", search));
  for (const [name, of] of Object.entries(FILTERS)) {
    const values = [...new Set(numbers.flatMap(of))].sort();
    const options = values.map((value) => element("option", { value, textContent: value }));
    const all = element("option", { value: "", textContent: "all" });
    part("filters").append(element("label", {}, name, element("select", { name }, all, ...options)));
  }
  const download = element("button", { type: "button", id: "csv", textContent: "Download as CSV" });
  download.addEventListener("click", save);
  part("filters").append(download);
  part("filters").addEventListener("input", list);
  part("filters").addEventListener("submit", (event) => event.preventDefault());
}

function chosen() {
  const words = part("words").value.toLowerCase();
  const wanted = Object.keys(FILTERS).map((name) => [name, part("filters").elements[name].value]);
  const kept = numbers.filter(
    (number) =>
      number.row.toLowerCase().includes(words) &&
      wanted.every(([name, value]) => !value || FILTERS[name](number).includes(value)),
  );
  return kept.sort(compare);
}

function compare(a, b) {
  const [x, y] = [a[state.sort], b[state.sort]];
  if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last
  const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
  return state.down ? -order : order;
}

function makeHeader() {
  const cells = COLUMNS.map(([key, name]) => {
    const button = element("button", { type: "button", textContent: name });
    button.addEventListener("click", () => {
      state.down = state.sort === key ? !state.down : NUMERIC.has(key);
      state.sort = key;
      list();
    });
    const cell = element("th", { scope: "col", className: NUMERIC.has(key) ? "number" : "" }, button);
    cell.dataset.key = key;
    return cell;
  });
  part("board").tHead.append(element("tr", {}, ...cells));
}

function list() {
  for (const cell of part("board").tHead.querySelectorAll("th")) {
    const own = cell.dataset.key === state.sort;
    cell.setAttribute("aria-sort", own ? (state.down ? "descending" : "ascending") : "none");
  }
  const rows = chosen();
  part("board").tBodies[0].replaceChildren(...rows.map(line));
  part("status").textContent = `${rows.length} of ${numbers.length} numbers`;
}

function line(number) {
  const cells = COLUMNS.map(([key]) => {
    if (!NUMERIC.has(key)) return element("td", { textContent: number[key] });
    const cell = element("td", { className: "number", textContent: show(number[key]) });
    if (key === "reproduced" && number.spread !== null) {
      cell.append(element("small", { textContent: ` ± ${show(number.spread)}` }));
    }
    if (key === "reproduced" && number.error !== null) {
      cell.append(element("small", { textContent: ` (${show(number.error)})` }));
    }
    return cell;
  });
  if (experiments[number.experiment]) {
    const button = element("button", { type: "button", textContent: number.row });
    button.addEventListener("click", () => explain(number));
    cells[0].replaceChildren(button);
  }
  return element("tr", {}, ...cells);
}

function save() {
  const keys = [...COLUMNS.map(([key]) => key), "spread", "error", "experiment"];
  // a leading sign would make a formula of a text in a spreadsheet
  const text = (value) => `"${String(value).replace(/^[=+@-]/, "'$&").replace(/"/g, '""')}"`;
  const field = (value) => (value === null ? "" : typeof value === "number" ? value : text(value));
  const lines = chosen().map((number) => keys.map((key) => field(number[key])).join(","));
  const content = new Blob([[keys.join(","), ...lines].join("\n") + "\n"], { type: "text/csv" });
  const link = element("a", { href: URL.createObjectURL(content), download: "crossmodal.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- where a number comes from

function explain(number) {
  const facts = experiments[number.experiment];
  const said = {
    experiment: number.experiment,
    method: `${facts.plugin} ${JSON.stringify(facts.options)}`,
    chosen: facts.searched.map((options) => JSON.stringify(options)).join(" "),
    "made of": Object.entries(facts.views).map(([modality, name]) => `${modality}: ${name}`).join(", "),
    "validation score": show(facts.validation),
    seeds: facts.seeds.join(", "),
    cost: Object.entries(facts.costs).map(([name, value]) => `${name}: ${show(value)}`).join(", "),
    machine: facts.made.device,
    code: facts.made.code,
    versions: Object.entries(facts.made.versions).map((found) => found.join(" ")).join(", "),
  };
  const list = element("dl");
  for (const [name, value] of Object.entries(said)) {
    list.append(element("dt", { textContent: name }), element("dd", { textContent: value }));
  }
  const close = element("button", { type: "button", textContent: "Close", autofocus: true });
  close.addEventListener("click", () => part("facts").close());
  const examples = element("a", { href: facts.examples, textContent: "Queries and their first results" });
  const why = element("h3", { textContent: "Why it may differ from what was published" });
  const title = element("h2", { textContent: `${number.row}, ${number.dataset}` });
  part("facts").replaceChildren(close, title, list, element("p", {}, examples), why);
  for (const heading of facts.sections) {
    const rows = deviations[heading].map((cells) =>
      element("tr", {}, ...cells.map((cell) => element("td", { textContent: cell }))),
    );
    const table = element("div", { className: "wide" }, element("table", {}, element("tbody", {}, ...rows)));
    part("facts").append(element("details", {}, element("summary", { textContent: heading }), table));
  }
  part("facts").showModal();
}

// ---- curves

const KINDS = { learning: ["step", "validation score"], precision_scope: ["documents", "precision"] };
const COLOURS = ["#2458b8", "#c2571a", "#2e8540", "#8e44ad", "#b3261e", "#00838f", "#7a5c00", "#d81b80"];

function makeChoices() {
  const options = Object.entries(tables).map(([value, { title }]) => element("option", { value, textContent: title }));
  const kinds = Object.keys(KINDS).map((value) => element("option", { value, textContent: value.replace("_", "-") }));
  const pick = (name, entries) => element("label", {}, name, element("select", { name }, ...entries));
  part("choices").append(pick("table", options), pick("kind", kinds));
  part("choices").addEventListener("input", draw);
}

function draw() {
  const { table, kind } = Object.fromEntries(new FormData(part("choices")));
  const names = [...new Set(numbers.filter((n) => n.table === table).map((n) => n.experiment))];
  const lines = names
    .filter((name) => experiments[name])
    .map((name, i) => ({
      label: experiments[name].label,
      colour: COLOURS[i % COLOURS.length],
      points: experiments[name].curves[kind].filter(([, y]) => y !== null),
    }))
    .filter(({ points }) => points.length);
  const key = lines.map(({ label, colour }) => {
    const swatch = element("span");
    swatch.style.background = colour;
    return element("li", {}, swatch, label);
  });
  const readout = element("p", { className: "soft", id: "readout", textContent: "Point at a curve." });
  part("chart").replaceChildren(chart(lines, KINDS[kind], readout), readout, element("ul", { className: "key" }, ...key));
}

function chart(lines, [across, up], readout) {
  const [width, height, left, bottom, top] = [900, 360, 60, 40, 20];
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${up} by ${across}` });
  const range = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return low < high ? [low, high] : [low - 1, high + 1];
  };
  if (!lines.length) return svg;
  const [x0, x1] = range(lines.flatMap(({ points }) => points.map(([x]) => x)));
  const [y0, y1] = range(lines.flatMap(({ points }) => points.map(([, y]) => y)));
  const place = ([x, y]) => [
    left + ((x - x0) / (x1 - x0)) * (width - left - 20),
    height - bottom - ((y - y0) / (y1 - y0)) * (height - bottom - top),
  ];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const [x, y] = place([x0 + share * (x1 - x0), y0 + share * (y1 - y0)]);
    svg.append(drawn("line", { class: "axis", x1: left, x2: width - 20, y1: y, y2: y }));
    svg.append(drawn("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, show(y0 + share * (y1 - y0))));
    svg.append(drawn("text", { x, y: height - bottom + 18, "text-anchor": "middle" }, show(x0 + share * (x1 - x0))));
  }
  svg.append(drawn("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, across));
  for (const { points, colour } of lines) {
    const path = points.map(place).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    svg.append(drawn("polyline", { class: "line", points: path, stroke: colour }));
    if (points.length === 1) {
      const [cx, cy] = place(points[0]);
      svg.append(drawn("circle", { cx, cy, r: 4, fill: colour }));
    }
  }
  const mark = drawn("circle", { r: 5, fill: "none", "stroke-width": 2, visibility: "hidden" });
  svg.append(mark);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
    const all = lines.flatMap((line) => line.points.map((point) => ({ line, point, spot: place(point) })));
    const far = ({ spot }) => Math.hypot(spot[0] - at[0], spot[1] - at[1]);
    const near = all.reduce((best, one) => (far(one) < far(best) ? one : best));
    const [cx, cy] = near.spot;
    for (const [name, value] of Object.entries({ cx, cy, stroke: near.line.colour, visibility: "visible" })) {
      mark.setAttribute(name, value);
    }
    readout.textContent = `${near.line.label}: ${up} ${show(near.point[1])} at ${across} ${show(near.point[0])}`;
  });
  return svg;
}

// ---- tables

for (const { title, note } of Object.values(tables)) {
  part("tables").append(element("h3", { textContent: title }), element("p", { textContent: note }));
}
showClaims();
makeFilters();
makeHeader();
list();
makeChoices();
draw();
