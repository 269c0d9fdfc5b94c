// ---- all numbers, with filters

const MOST = 50; // rows, until all are asked for
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
const state = { sort: null, down: true, all: false };

function makeFilters() {
  const search = element("input", { type: "search", id: "words", placeholder: "SAM" });
  part("filters").append(element("label", {}, "method contains", search));
  for (const [name, of] of Object.entries(FILTERS)) {
    const values = [...new Set(numbers.flatMap(of))].sort();
    const options = values.map((value) => element("option", { value, textContent: value }));
    const all = element("option", { value: "", textContent: "all" });
    part("filters").append(element("label", {}, name, element("select", { name: `only ${name}` }, all, ...options)));
  }
  const download = element("button", { type: "button", id: "csv", textContent: "Download as CSV" });
  download.addEventListener("click", save);
  part("filters").append(download);
  for (const control of part("filters").elements) {
    const key = control.name || control.id;
    if (key !== "csv" && address.has(key)) control.value = address.get(key);
  }
  part("filters").addEventListener("input", ({ target }) => {
    remember(target.name || target.id, target.value);
    state.all = false;
    list();
  });
  part("filters").addEventListener("submit", (event) => event.preventDefault());
}

function chosen() {
  const words = part("words").value.toLowerCase();
  const values = Object.keys(FILTERS).map((name) => [name, part("filters").elements[`only ${name}`].value]);
  const wanted = values.filter(([, value]) => value);
  const kept = numbers.filter(
    (number) =>
      number.row.toLowerCase().includes(words) &&
      wanted.every(([name, value]) => FILTERS[name](number).includes(value)),
  );
  return state.sort ? kept.sort(compare) : kept;
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
  const shown = state.all ? rows : rows.slice(0, MOST);
  part("board").tBodies[0].replaceChildren(...shown.map(line));
  part("rest").hidden = shown.length === rows.length;
  part("status").textContent = `${rows.length} of ${numbers.length} numbers`;
}

function line(number) {
  const cells = COLUMNS.map(([key]) => {
    if (key === "row") return element("td", {}, rowName(number));
    if (!NUMERIC.has(key)) return element("td", { textContent: number[key] });
    const cell = element("td", { className: "number" });
    if (key === "reproduced") cell.append(...reproduced(number));
    else if (key === "seeds") cell.textContent = number.seeds ?? "";
    else cell.textContent = show(number[key], number.decimals, key === "difference" ? "+" : "");
    return cell;
  });
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

function showNumbers() {
  if (part("filters").children.length) return;
  makeFilters();
  makeHeader();
  list();
}

part("rest").addEventListener("click", () => {
  state.all = true;
  list();
});
part("all").addEventListener("toggle", showNumbers);
part("all").open = part("all").open || [...address.keys()].some((key) => key === "words" || key.startsWith("only "));
