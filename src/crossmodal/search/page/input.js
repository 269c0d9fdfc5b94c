// Pictures and recordings as queries: chosen, dropped, pasted, photographed or recorded.
import { element } from "./tile.js";

const RATE = 16000;
const part = (id) => document.getElementById(id);

export function listen(ask, say) {
  const take = (file) => {
    if (!file) return;
    const modality = { image: "image", audio: "speech" }[file.type.split("/")[0]];
    if (!modality) say(`${file.name}: is neither a picture nor a recording`, true);
    else ask(modality, file, file.name);
  };
  for (const id of ["file", "capture"]) {
    part(id).addEventListener("change", () => take(part(id).files[0]));
  }
  for (const kind of ["dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      document.body.classList.toggle("dropping", kind === "dragover");
      if (kind === "drop") take(event.dataTransfer.files[0]);
    });
  }
  addEventListener("paste", (event) => take(event.clipboardData.files[0]));
  part("camera").addEventListener("click", () => photograph(ask, say));
  part("record").addEventListener("click", () => record(ask, say));
}

// ---- the camera

async function photograph(ask, say) {
  // browsers open cameras to pages of this machine or of https alone; telephones have their own way
  if (!navigator.mediaDevices) return part("capture").click();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    const video = element("video", { srcObject: stream, muted: true, autoplay: true, playsInline: true });
    const button = element("button", { type: "button", textContent: "Search by this" });
    part("query").replaceChildren(video, button);
    part("query").hidden = false;
    button.addEventListener("click", () => {
      const canvas = element("canvas", { width: video.videoWidth, height: video.videoHeight });
      canvas.getContext("2d").drawImage(video, 0, 0);
      stream.getTracks().forEach((track) => track.stop());
      canvas.toBlob((blob) => ask("image", blob, "photograph"), "image/jpeg", 0.9);
    });
  } catch (error) {
    say(`no picture: ${error.message}`, true);
  }
}

// ---- the microphone

let recorder = null;

async function record(ask, say) {
  if (recorder) return recorder.stop();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const parts = [];
    recorder = new MediaRecorder(stream);
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", async () => {
      stream.getTracks().forEach((track) => track.stop());
      recording(false);
      ask("speech", await asWav(new Blob(parts)), "recording");
    });
    recorder.start();
    recording(true);
  } catch (error) {
    recording(false);
    say(`no recording: ${error.message}`, true);
  }
}

function recording(runs) {
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
