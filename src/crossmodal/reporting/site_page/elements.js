// All that is shown is put into the page as text, never as markup.
"use strict";

const { claims, tables, numbers, experiments, deviations } = JSON.parse(document.getElementById("data").textContent);
for (const number of numbers) {
  for (const name of ["reproduced", "difference"]) if (number[name] === "inf") number[name] = Infinity;
}
const part = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

function drawn(name, attributes = {}, text = "") {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.textContent = text;
  return created;
}

// by number of decimals; ties to even, as in the tables
const formats = [0, 1, 2, 3].map(
  (decimals) =>
    new Intl.NumberFormat("en", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
      useGrouping: false,
      roundingMode: "halfEven",
    }),
);

// a number with the decimals that tables have, and a sign if it is a difference
function show(value, decimals, sign = "") {
  if (value === null) return "";
  const digits = formats[decimals].format(value).replace("-", "\u2212");
  return (sign && value > 0 ? sign : "") + digits;
}

const rounded = (value) => String(Number(value.toPrecision(4)));

// what is open, sorted and filtered is in the address, so that a link shows the same
const address = new URLSearchParams(location.hash.slice(1));

function remember(name, value) {
  if (value) address.set(name, value);
  else address.delete(name);
  history.replaceState(null, "", `#${address}`);
}
