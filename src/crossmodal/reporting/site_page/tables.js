// ---- tables: methods by metrics and directions

function showTables() {
  const first = address.get("table") in tables ? address.get("table") : Object.keys(tables)[0];
  for (const [name, { title, note }] of Object.entries(tables)) {
    const summary = element("summary", {}, element("h3", { textContent: title }));
    const details = element("details", {}, summary, element("p", { className: "soft", textContent: note }));
    details.dataset.table = name;
    details.addEventListener("toggle", () => {
      if (details.open) {
        remember("table", name);
        if (details.children.length < 3) details.append(matrix(name));
      }
    });
    details.open = name === first;
    part("tables").append(details);
  }
}

function matrix(table) {
  const own = numbers.filter((number) => number.table === table);
  const columns = [...new Map(own.map((n) => [`${n.direction}\n${n.metric}`, n])).values()];
  const rows = new Map();
  for (const number of own) {
    const key = `${number.experiment}\n${number.row}`;
    if (!rows.has(key)) rows.set(key, { name: number, cells: new Map() });
    rows.get(key).cells.set(`${number.direction}\n${number.metric}`, number);
  }
  const body = element("tbody");
  const head = element("thead");
  const sort = (column) => {
    body.replaceChildren(...sorted([...rows.values()], column).map((row) => matrixRow(row, columns)));
    for (const cell of head.querySelectorAll("[data-column]")) {
      const isOwn = column && cell.dataset.column === keyOf(column);
      cell.setAttribute("aria-sort", isOwn ? (column.lower ? "ascending" : "descending") : "none");
    }
  };
  head.append(...headers(columns, (column) => {
    remember("sort", keyOf(column));
    sort(column);
  }));
  sort(columns.find((column) => keyOf(column) === address.get("sort")));
  const label = `${tables[table].title}, scrollable`;
  const region = element("div", { className: "wide matrix", tabIndex: 0, role: "region", ariaLabel: label });
  region.append(element("table", {}, head, body));
  return region;
}

const keyOf = ({ direction, metric }) => `${direction} ${metric}`;

// the best first; rows without the number last, in their order
function sorted(rows, column) {
  if (!column) return rows;
  const value = ({ cells }) => cells.get(`${column.direction}\n${column.metric}`)?.reproduced ?? null;
  return rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return column.lower ? x - y : y - x;
  });
}

// directions above, and their metrics, which sort
function headers(columns, sort) {
  const above = element("tr", {}, element("td"));
  for (const direction of new Set(columns.map((column) => column.direction))) {
    const colSpan = columns.filter((column) => column.direction === direction).length;
    above.append(element("th", { textContent: direction, colSpan, scope: "colgroup" }));
  }
  const below = element("tr", {}, element("th", { textContent: "method", scope: "col" }));
  for (const column of columns) {
    const button = element("button", { type: "button", textContent: column.metric });
    button.addEventListener("click", () => sort(column));
    const cell = element("th", { scope: "col", className: "number" }, button);
    cell.dataset.column = keyOf(column);
    below.append(cell);
  }
  return [above, below];
}

function matrixRow({ name, cells }, columns) {
  const row = element("tr", {}, element("th", { scope: "row" }, rowName(name)));
  for (const { direction, metric } of columns) row.append(matrixCell(cells.get(`${direction}\n${metric}`)));
  return row;
}

// reproduced with its errors; published and the difference below
function matrixCell(number) {
  const cell = element("td", { className: "number" });
  if (!number) return cell;
  cell.append(...reproduced(number));
  if (number.published !== null) {
    const difference = number.difference === null ? "" : `, ${show(number.difference, number.decimals, "+")}`;
    const text = `published ${show(number.published, number.decimals)}${difference}`;
    cell.append(element("br"), element("small", { textContent: text }));
  }
  return cell;
}

function reproduced({ reproduced: value, spread, error, decimals }) {
  const parts = [show(value, decimals)];
  if (spread !== null) parts.push(element("small", { textContent: ` ± ${show(spread, decimals)}` }));
  if (error !== null) parts.push(element("small", { textContent: ` (${show(error, decimals)})` }));
  return parts;
}

showTables();
