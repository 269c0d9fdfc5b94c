// Items and results as tiles of equal size.

export function element(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

// the picture, player or text of an item
export function medium(model, modality, item, name, training = false) {
  if (modality === "text") return element("q", { textContent: item.text || item.id });
  const asked = new URLSearchParams({ id: item.id, ...(training && { training }) });
  const src = `media/${model.number}/${modality}?${asked}`;
  if (modality === "speech") return element("audio", { src, controls: true, preload: "none" });
  return element("img", { src, alt: name, loading: "lazy", title: item.id });
}

export function tile(model, modality, item, { training = false, button = null }) {
  const created = element("li");
  if (item.rank) created.append(scores(item));
  const text = item.text || item.id;
  if (modality !== "text") created.append(medium(model, modality, item, text, training));
  created.append(caption(text, item.id, item.common || []));
  if (item.labels.length) {
    created.append(element("span", { className: "labels", textContent: item.labels.join(", ") }));
  }
  if (button) created.append(button);
  return created;
}

// the rank, and how far the score is above the mean of all items' scores
function scores(item) {
  const top = element("div", { className: "top", title: `score ${item.score.toPrecision(4)}` });
  top.append(element("span", { className: "rank", textContent: `${item.rank}` }));
  if (item.z_score === null) {
    top.append(element("span", { className: "score", textContent: item.score.toPrecision(4) }));
    return top;
  }
  const meter = element("meter", { min: 0, max: 6, value: Math.max(0, item.z_score) });
  const text = `${item.z_score.toFixed(1)} sd`;
  const title = "standard deviations above the mean score of all items";
  meter.ariaLabel = `${text}, ${title}`;
  top.append(element("span", { className: "score", title }, meter, ` ${text}`));
  return top;
}

// the text, with the words that it shares with the query
function caption(text, title, common) {
  const created = element("p", { title });
  const words = common.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  const parts = words.length ? text.split(pattern) : [text];
  parts.forEach((part, place) => {
    created.append(place % 2 ? element("mark", { textContent: part }) : part);
  });
  return created;
}
