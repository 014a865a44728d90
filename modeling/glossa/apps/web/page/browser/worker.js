// Loads the model and translates in a worker, one call after the other, so that the page stays responsive.
import { explain } from "./explain.js";
import { loadTranslator } from "./model.js";

const VERSION = 1; // of the folder layout
const TURN = 20; // milliseconds between checks for messages
const stopped = new Set();
let translator;
let queue = Promise.resolve();

addEventListener("message", ({ data }) => {
  if (data.kind === "stop") stopped.add(data.call);
  else queue = queue.then(() => answer(data));
});

async function answer({ call, kind, ...fields }) {
  const send = (item) => postMessage({ call, kind: "item", item });
  try {
    if (kind === "load") send(await load(fields.base, send));
    else if (kind === "explain") send(await explain(translator, fields));
    else if (kind === "translate") send(await translator.translate(fields.texts, fields.options, canceled(call)));
    else for await (const item of translator.stream(fields.texts, fields.options, canceled(call))) send(item);
    postMessage({ call, kind: "done" });
  } catch (error) {
    postMessage({ call, kind: "error", name: error.name, error: explained(error) });
  } finally {
    stopped.delete(call);
  }
}

function explained(error) {
  const memory = /memory|allocation/i.test(error.message) || error instanceof RangeError;
  if (memory && !/num_beams|target/.test(error.message)) {
    return "The browser has too little memory for this. Close other tabs, or translate a shorter text.";
  }
  return error.message;
}

// Returns a function that tests whether a call was stopped. Messages arrive only between tasks, so it yields often.
function canceled(call) {
  let last = performance.now();
  return async () => {
    if (performance.now() - last > TURN) {
      await new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          port1.close();
          resolve();
        };
        port2.postMessage(null);
      });
      last = performance.now();
    }
    return stopped.has(call);
  };
}

async function load(base, send) {
  const model = await (await answerOf(new URL("model.json", base))).json();
  if (model.version !== VERSION) throw new Error("This folder is from another version of Glossa. Export the model again.");
  const now = Object.keys(model.files).filter((name) => !model.files[name].later);
  const sizes = now.map((name) => model.files[name].stored);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let done = 0;
  const read = (name) =>
    unpacked(model, base, name, (bytes) => {
      done += bytes;
      send({ progress: [Math.min(done, total), total] });
    });
  // All files are loaded at once.
  const files = new Map(now.map((name) => [name, read(name)]));
  files.forEach((file) => file.catch(() => {})); // errors are raised where a file is awaited
  const runtime = (name) => new URL(`runtime/${name}`, base).href;
  const [ort, { Tokenizer }] = await Promise.all([import(runtime("ort.wasm.min.mjs")), import(runtime("tokenizers.min.mjs"))]);
  ort.env.wasm.numThreads = self.crossOriginIsolated ? Math.min(4, navigator.hardwareConcurrency) : 1;
  ort.env.wasm.wasmPaths = { mjs: runtime("ort-wasm-simd-threaded.mjs") };
  ort.env.wasm.wasmBinary = await files.get("runtime/ort-wasm-simd-threaded.wasm");
  ort.env.logLevel = "error";
  translator = await loadTranslator(model, (name) => files.get(name) ?? read(name), ort, Tokenizer);
  return model;
}

async function answerOf(url) {
  const response = await fetch(url).catch(() => null);
  if (response?.ok) return response;
  const status = response ? `status ${response.status}` : "no connection";
  throw new Error(`${url.pathname.split("/").at(-1)} did not load (${status}). Reload the page.`);
}

// Loads and decompresses a file. If the server declares the encoding, the browser has decompressed it.
async function unpacked(model, base, name, count) {
  const url = new URL(`${name}.gz`, base);
  const response = await answerOf(url);
  const parts = [];
  for await (const part of chunks(response.body)) {
    parts.push(part);
    count(part.length);
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  const found = bytes[0] === 0x1f && bytes[1] === 0x8b ? await gunzip(bytes, name) : bytes;
  if (found.length !== model.files[name].bytes) throw damaged(name);
  return found;
}

async function* chunks(body) {
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

async function gunzip(bytes, name) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer().catch(() => Promise.reject(damaged(name))));
}

const damaged = (name) => new Error(`${name} is damaged. Reload the page. If that does not help, export the model again.`);
