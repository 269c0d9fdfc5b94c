// ---- where a number comes from

function explain(number) {
  const facts = experiments[number.experiment];
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const pairs = (of) => Object.entries(of).map(([name, value]) => `${name}: ${text(value)}`).join(", ");
  const costs = Object.entries(facts.costs).map(([name, value]) => [name, Number(rounded(value))]);
  const lines = {
    experiment: number.experiment,
    method: facts.plugin,
    options: pairs(facts.options),
    "chosen on validation items": facts.searched.map(pairs).filter(Boolean).join("; "),
    features: pairs(facts.views),
    "validation score": rounded(facts.validation),
    seeds: facts.seeds.join(", "),
    cost: pairs(Object.fromEntries(costs)),
    device: facts.made.device,
    code: facts.made.code,
    versions: pairs(facts.made.versions),
  };
  const list = element("dl");
  for (const [name, value] of Object.entries(lines).filter(([, value]) => value)) {
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
  remember("row", number.experiment);
  part("facts").showModal();
}

// the name of a row, which opens its facts
function rowName(number) {
  if (!experiments[number.experiment]) return number.row;
  const button = element("button", { type: "button", textContent: number.row });
  button.addEventListener("click", () => explain(number));
  return button;
}

part("facts").addEventListener("close", () => remember("row", ""));
const linked = numbers.find(({ experiment }) => experiment && experiment === address.get("row"));
if (linked && experiments[linked.experiment]) explain(linked);
