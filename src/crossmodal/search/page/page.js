// All that comes from outside is put into the page as text, never as markup.
"use strict";

const RATE = 16000;
const part = (id) => document.getElementById(id);
const shown = { models: [], query: null, round: 0, preview: null };

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

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

// ---- models

async function listModels() {
  shown.models = await answer("models");
  shown.models.forEach((model, number) => {
    model.number = number;
    model.chosen = element("input", { type: "checkbox", checked: number < 3 });
    model.chosen.addEventListener("change", () => search());
    part("models").append(element("label", {}, model.chosen, ` ${model.name}`));
  });
  search(); // by what was asked in the meantime
}

// ---- a query

function ask(modality, content, name) {
  shown.query = { modality, content };
  if (shown.preview) URL.revokeObjectURL(shown.preview);
  shown.preview = modality === "text" ? null : URL.createObjectURL(content);
  const preview = {
    text: () => element("q", { textContent: content }),
    image: () => element("img", { src: shown.preview, alt: `query: ${name}` }),
    speech: () => element("audio", { src: shown.preview, controls: true }),
  }[modality]();
  part("query").replaceChildren(preview);
  part("query").hidden = false;
  search();
}

async function search() {
  if (!shown.query || !shown.models.length) return;
  const round = ++shown.round;
  const chosen = shown.models.filter((model) => model.chosen.checked);
  say(chosen.length ? "Searching ..." : "Choose a model.", !chosen.length);
  part("results").setAttribute("aria-busy", true);
  const sections = await Promise.all(chosen.map((model) => section(model)));
  if (round !== shown.round) return; // a later query was faster
  part("results").replaceChildren(...sections);
  part("results").setAttribute("aria-busy", false);
  if (chosen.length) say(`Searched with ${chosen.length} model${chosen.length > 1 ? "s" : ""}.`);
}

async function section(model) {
  const { modality, content } = shown.query;
  const head = element("div", {}, element("h2", { textContent: model.name }));
  const made = element("section", { className: "model", ariaLabel: model.name }, head);
  const targets = model.searches[modality] || [];
  if (!targets.length) {
    const can = Object.keys(model.searches).join(" and ");
    made.append(element("p", { textContent: `Searches by ${can}, not by ${modality}.` }));
    return made;
  }
  const among = targets.includes(model.among) ? model.among : targets[0];
  if (targets.length > 1) head.append(chooser(model, targets, among));
  const count = Math.min(100, Math.max(1, part("count").valueAsNumber || 12));
  const asked = new URLSearchParams({ by: modality, among, count });
  try {
    const { items, unknown } = await answer(`search/${model.number}?${asked}`, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: modality === "text" ? new TextEncoder().encode(content) : content,
    });
    if (unknown.length) {
      made.append(element("p", { textContent: `Unknown to the model: ${unknown.join(", ")}` }));
    }
    made.append(element("ol", {}, ...items.map((item) => card(model, among, item))));
  } catch (error) {
    made.append(element("p", { className: "failed", textContent: error.message }));
  }
  return made;
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

// ---- results

function card(model, modality, item) {
  const top = element("div", { className: "top" });
  top.append(element("span", { className: "rank", textContent: `${item.rank}` }));
  top.append(element("span", { className: "score", textContent: item.score.toPrecision(4) }));
  const made = element("li", {}, top);
  const address = `media/${model.number}/${modality}?${new URLSearchParams({ id: item.id })}`;
  const text = item.text || item.id;
  if (modality === "image") {
    made.append(element("img", { src: address, alt: text, loading: "lazy", title: item.id }));
    if (item.text) made.append(folded(item));
    else made.append(element("p", { textContent: item.id }));
  } else {
    if (modality === "speech") {
      made.append(element("audio", { src: address, controls: true, preload: "none" }));
    }
    made.append(element("p", { textContent: text, title: item.id }));
  }
  if (item.labels.length) {
    made.append(element("span", { className: "labels", textContent: item.labels.join(", ") }));
  }
  return made;
}

function folded(item) {
  const summary = element("summary", { textContent: "captions" });
  return element("details", {}, summary, element("p", { textContent: item.text }));
}

// ---- input

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = part("text").value.trim();
  if (text) ask("text", text);
});
part("count").addEventListener("change", () => search());
part("file").addEventListener("change", () => take(part("file").files[0]));

function take(file) {
  if (!file) return;
  const modality = { image: "image", audio: "speech" }[file.type.split("/")[0]];
  if (!modality) say(`${file.name}: is neither a picture nor a recording`, true);
  else ask(modality, file, file.name);
}

for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", kind === "dragover");
    if (kind === "drop") take(event.dataTransfer.files[0]);
  });
}

let recorder = null;

part("record").addEventListener("click", async () => {
  if (recorder) return recorder.stop();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const parts = [];
    recorder = new MediaRecorder(stream);
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", async () => {
      stream.getTracks().forEach((track) => track.stop());
      recorded(false);
      ask("speech", await asWav(new Blob(parts)), "recording");
    });
    recorder.start();
    recorded(true);
  } catch (error) {
    recorded(false);
    say(`no recording: ${error.message}`, true);
  }
});

function recorded(runs) {
  if (!runs) recorder = null;
  part("record").setAttribute("aria-pressed", runs);
  part("record").textContent = runs ? "Stop and search" : "Record speech";
}

// browsers record in formats that the server does not read
async function asWav(blob) {
  const samples = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await blob.arrayBuffer());
  const channel = samples.getChannelData(0);
  const view = new DataView(new ArrayBuffer(44 + 2 * channel.length));
  const write = (offset, text) => [...text].forEach((c, i) => view.setUint8(offset + i, c.charCodeAt(0)));
  write(0, "RIFF");
  view.setUint32(4, 36 + 2 * channel.length, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // bytes of the format
  view.setUint16(20, 1, true); // whole numbers
  view.setUint16(22, 1, true); // one channel
  view.setUint32(24, RATE, true);
  view.setUint32(28, 2 * RATE, true); // bytes a second
  view.setUint16(32, 2, true); // bytes a sample
  view.setUint16(34, 16, true); // bits a sample
  write(36, "data");
  view.setUint32(40, 2 * channel.length, true);
  channel.forEach((value, i) => {
    view.setInt16(44 + 2 * i, 32767 * Math.max(-1, Math.min(1, value)), true);
  });
  return new Blob([view], { type: "audio/wav" });
}

listModels().catch((error) => say(error.message, true));
