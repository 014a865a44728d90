// The translation engine of the page: a server. An exported folder has browser/engine.js instead.
//
// Both have `start(progress)`, which returns { languages, settings }, and `stream`. The page hides features that
// `settings` does not have, and does not call them.
import { element } from "./common.js";

export const settings = {
  wait: 350, // milliseconds without a key before text is translated
  detection: true,
  explanation: true,
  glossary: true,
  alternatives: 0,
  requests: true, // the page docs/ describes the requests
  memory: false, // translations may use a translation memory
};

export async function start() {
  const [languages, own] = await Promise.all(
    ["languages", "frontend/settings"].map(async (path) => (await fetch(path)).json()),
  ).catch(() => {
    throw new Error("The server does not respond. Reload the page when it is running.");
  });
  return { languages, settings: { ...settings, ...own } };
}

// Yields { sentences }, their number, then { text, before, translatedText, ... } for each, in order.
export const stream = (fields, signal) => lines("translate_stream", { ...fields, confidence: true }, signal);

export const detect = (q, signal) => post("detect", { q }, signal);

export const explain = (fields) => post("explain", fields);

export const suggest = (fields) => post("suggest", fields);

export const takeBack = (fields) => post("take_back", fields);

// A version that changes with the memories of this key.
export const memoryVersion = async (signal) => (await post("memory_version", {}, signal)).version;

export async function translateFile(form) {
  if (element("key").value) form.append("api_key", element("key").value);
  const response = await fetch("translate_file", { method: "POST", body: form });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function ask(path, fields, signal) {
  const key = element("key").value;
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(key ? { ...fields, api_key: key } : fields),
    signal,
  });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({ error: `The server returned status ${response.status}.` }));
  throw new Error(answer.error);
}

async function post(path, fields, signal) {
  return (await ask(path, fields, signal)).json();
}

// The JSON lines of a response, as they arrive.
async function* lines(path, fields, signal) {
  const reader = (await ask(path, fields, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}
