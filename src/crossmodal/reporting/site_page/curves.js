// ---- curves

const KINDS = { learning: ["step", "validation score"], precision_scope: ["documents", "precision"] };
// told apart with any kind of colour vision (Okabe and Ito 2008); dashes where they are used up
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#808080"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

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
      dashes: DASHES[Math.floor(i / COLOURS.length) % DASHES.length],
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
  for (const value of ticks(x0, x1)) {
    const [x] = place([value, y0]);
    svg.append(drawn("text", { x, y: height - bottom + 18, "text-anchor": "middle" }, rounded(value)));
  }
  for (const value of ticks(y0, y1)) {
    const [, y] = place([x0, value]);
    svg.append(drawn("line", { class: "axis", x1: left, x2: width - 20, y1: y, y2: y }));
    svg.append(drawn("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, rounded(value)));
  }
  const middle = (height - bottom) / 2;
  svg.append(drawn("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, up));
  svg.append(drawn("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, across));
  for (const { points, colour, dashes } of lines) {
    // a method that does not learn step by step has a level
    const own = points.length === 1 ? [[x0, points[0][1]], [x1, points[0][1]]] : points;
    const path = own.map(place).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    svg.append(drawn("polyline", { class: "line", points: path, stroke: colour, "stroke-dasharray": dashes }));
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
    readout.textContent = `${near.line.label}: ${up} ${rounded(near.point[1])} at ${across} ${rounded(near.point[0])}`;
  });
  return svg;
}

// round numbers between two, four or so
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}

makeChoices();
draw();
