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
showClaims();
