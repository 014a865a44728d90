// Translate with the model of an exported folder, from any page:
//
//     import { load } from "./browser/glossa.js";
//     const translator = await load("./");
//     const [first] = await translator.translate(["A man sleeps."], { num_beams: 4 });
//
// The types are in glossa.d.ts.

// A WebAssembly module with one vector instruction. Browsers that do not support it cannot run the model.
const WITH_VECTORS = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

export async function load(folder = "./", { progress } = {}) {
  if (typeof DecompressionStream === "undefined" || !WebAssembly.validate(Uint8Array.from(WITH_VECTORS))) {
    throw new Error("This browser is too old for the model. Use a browser from 2023 or later.");
  }
  const calls = new Calls(new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
  const base = new URL(folder, document.baseURI).href;
  return new BrowserTranslator(calls, await calls.last("load", { base }, null, progress));
}

class BrowserTranslator {
  constructor(calls, model) {
    Object.assign(this, { calls, model });
  }

  translate(texts, { signal, ...options } = {}) {
    return this.calls.last("translate", { texts, options }, signal);
  }

  stream(texts, { signal, ...options } = {}) {
    return this.calls.all("stream", { texts, options }, signal);
  }

  explain(sentence, { target = this.model.target, prefix = [] } = {}) {
    return this.calls.last("explain", { sentence, target, prefix });
  }

  close() {
    this.calls.worker.terminate();
  }
}

// Calls to the worker. Each has a number, and ends with the message "done" or an error.
class Calls {
  constructor(worker) {
    this.worker = worker;
    this.open = new Map();
    this.number = 0;
    worker.addEventListener("message", ({ data }) => this.open.get(data.call)?.(data));
    worker.addEventListener("error", (event) => this.fail(event.message ?? "it did not start"));
    worker.addEventListener("messageerror", () => this.fail("a message was lost"));
  }

  fail(reason) {
    const error = `The translator stopped: ${reason}. Reload the page.`;
    for (const receive of this.open.values()) receive({ kind: "error", error });
  }

  async last(kind, fields, signal, progress = () => {}) {
    for await (const item of this.all(kind, fields, signal)) {
      if (item?.progress) progress(...item.progress);
      else return item;
    }
    throw new Error("The translator returned nothing. Reload the page.");
  }

  async *all(kind, fields, signal) {
    signal?.throwIfAborted();
    const call = ++this.number;
    const waiting = [];
    let wake = () => {};
    const stop = () => {
      this.worker.postMessage({ call, kind: "stop" });
      waiting.push({ kind: "error", name: "AbortError", error: "The translation was stopped." });
      wake();
    };
    this.open.set(call, (message) => {
      waiting.push(message);
      wake();
    });
    signal?.addEventListener("abort", stop);
    this.worker.postMessage({ call, kind, ...fields });
    try {
      for (;;) {
        while (!waiting.length) await new Promise((resolve) => (wake = resolve));
        const message = waiting.shift();
        if (message.kind === "done") return;
        if (message.kind === "error") throw Object.assign(new Error(message.error), { name: message.name ?? "Error" });
        yield message.item;
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      this.open.delete(call);
    }
  }
}
