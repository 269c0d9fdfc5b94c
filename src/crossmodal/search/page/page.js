// Queries and their results. All that comes from outside is put into the page as text, never as
// markup.
import { listen } from "./input.js";
import { element, medium, tile } from "./tile.js";

const part = (id) => document.getElementById(id);
const EXAMPLES = 3;
const state = { models: [], query: null, round: 0, preview: null };

function say(text, failed = false) {
  part("status").textContent = text;
  part("status").classList.toggle("failed", failed);
}

async function answer(address, options) {
  const response = await fetch(address, options);
  const content = await response.json().catch(() => ({}));
  if (!response.ok) {
    const detail = content.detail;
    throw new Error(typeof detail === "string" ? detail : `the server answers ${response.status}`);
  }
  return content;
}

// ---- models, and what they search

async function listModels() {
  state.models = await answer("models");
  state.models.forEach((model, number) => {
    model.number = number;
    model.chosen = element("input", { type: "checkbox", checked: number < 3 });
    model.chosen.addEventListener("change", () => search());
    part("models").append(element("label", {}, model.chosen, ` ${model.name}`));
  });
  const speaking = chosen().find((model) => model.held.includes("text"));
  if (speaking) listExamples(speaking).catch(() => {}); // the gallery says why
  search(); // by what was asked in the meantime
  if (state.query) return;
  const sections = await Promise.all(chosen().map(gallery));
  if (!state.query) part("results").replaceChildren(...sections);
}

// sentences of the data, which search when they are clicked
async function listExamples(model) {
  const { items } = await answer(`items/${model.number}/text?count=${EXAMPLES}`);
  for (const { text } of items) {
    const [sentence] = text.split(" · "); // an item's text has all of its captions
    const button = element("button", { type: "button", textContent: sentence });
    button.addEventListener("click", () => {
      part("text").value = sentence;
      ask("text", sentence);
    });
    part("examples").append(button);
  }
  part("examples").hidden = false;
}

function chosen() {
  return state.models.filter((model) => model.chosen.checked);
}

// some items of each modality, each of which is an example of a query
async function gallery(model) {
  const section = modelSection(model);
  for (const modality of model.held) { // a folder may have pictures alone
    const count = modality === "image" ? 4 * EXAMPLES : EXAMPLES;
    try {
      const { items, total } = await answer(`items/${model.number}/${modality}?count=${count}`);
      const title = `${total.toLocaleString("en")} × ${modality}, for example`;
      section.append(element("h3", { textContent: title }));
      section.append(element("ol", {}, ...items.map((item) => itemTile(model, modality, item))));
    } catch (error) {
      section.append(element("p", { className: "failed", textContent: error.message }));
    }
  }
  return section;
}

function modelSection(model) {
  const head = element("div", {}, element("h2", { textContent: model.name }));
  const section = element("section", { className: "model", ariaLabel: model.name }, head);
  if (model.note) section.append(element("p", { className: "note", textContent: model.note }));
  return section;
}

function itemTile(model, modality, item, more = {}) {
  const targets = model.searches[modality];
  const within = targets.includes(modality);
  const text = within ? "More like this" : "Search by this";
  const button = element("button", { type: "button", textContent: text });
  button.addEventListener("click", () => {
    if (within) model.among = modality;
    ask(modality, { like: item, model }, item.text || item.id);
  });
  const offered = targets.length && !more.training;
  return tile(model, modality, item, { ...more, button: offered ? button : null });
}

// ---- a query

function ask(modality, content, name) {
  state.query = { modality, content };
  if (state.preview) URL.revokeObjectURL(state.preview);
  state.preview = content instanceof Blob ? URL.createObjectURL(content) : null;
  part("query").replaceChildren(preview(modality, content, name));
  part("query").hidden = false;
  scrollTo({ top: 0 });
  search();
}

function preview(modality, content, name) {
  if (content.like) return medium(content.model, modality, content.like, name);
  if (modality === "text") return element("q", { textContent: content });
  if (modality === "image") return element("img", { src: state.preview, alt: `query: ${name}` });
  return element("audio", { src: state.preview, controls: true });
}

async function search() {
  if (!state.query || !state.models.length) return;
  const round = ++state.round;
  const { like, model: only } = state.query.content;
  const models = like ? [only] : chosen();
  say(models.length ? "Searching ..." : "Choose a model.", !models.length);
  part("results").setAttribute("aria-busy", true);
  const sections = await Promise.all(models.map(resultSection));
  if (round !== state.round) return; // a later query was faster
  part("results").replaceChildren(...sections);
  part("results").setAttribute("aria-busy", false);
  if (models.length) say(`Searched with ${models.length} model${models.length > 1 ? "s" : ""}.`);
}

function post(model, parameters) {
  const { modality, content } = state.query;
  const asked = new URLSearchParams({ by: modality, ...parameters });
  if (content.like) asked.set("like", content.like.id);
  const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return answer(`search/${model.number}?${asked}`, {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: content.like ? "" : body,
  });
}

async function resultSection(model) {
  const { modality, content } = state.query;
  const section = modelSection(model);
  const targets = model.searches[modality] || [];
  if (!targets.length) {
    const searches = Object.entries(model.searches).filter(([, targets]) => targets.length);
    const can = searches.map(([query]) => query).join(" and ");
    section.append(element("p", { textContent: `Searches by ${can}, not by ${modality}.` }));
    return section;
  }
  const among = targets.includes(model.among) ? model.among : targets[0];
  if (targets.length > 1) section.firstChild.append(chooser(model, targets, among));
  const count = Math.min(100, Math.max(1, part("count").valueAsNumber || 12));
  try {
    const { items, unknown } = await post(model, { among, count });
    if (unknown.length) {
      section.append(element("p", { textContent: `Unknown to the model: ${unknown.join(", ")}` }));
    }
    section.append(element("ol", {}, ...items.map((item) => itemTile(model, among, item))));
    if (!content.like) section.append(training(model, among));
  } catch (error) {
    section.append(element("p", { className: "failed", textContent: error.message }));
  }
  return section;
}

function chooser(model, targets, among) {
  const select = element("select");
  for (const target of targets) {
    select.append(element("option", { value: target, textContent: target, selected: target === among }));
  }
  select.addEventListener("change", () => {
    model.among = select.value;
    search();
  });
  return element("label", {}, "among ", select);
}

// the items that the model learnt from which suit the query best, when they are asked for
function training(model, among) {
  const summary = element("summary", { textContent: "Nearest training items" });
  const details = element("details", { className: "training" }, summary);
  details.addEventListener("toggle", async () => {
    if (details.children.length > 1) return;
    try {
      const { items } = await post(model, { among, count: EXAMPLES, training: true });
      const tiles = items.map((item) => itemTile(model, among, item, { training: true }));
      details.append(element("ol", {}, ...tiles));
    } catch (error) {
      details.append(element("p", { className: "failed", textContent: error.message }));
    }
  });
  return details;
}

// ---- input

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = part("text").value.trim();
  if (text) ask("text", text);
});
part("count").addEventListener("change", () => search());
listen(ask, say);
listModels().catch((error) => say(error.message, true));
