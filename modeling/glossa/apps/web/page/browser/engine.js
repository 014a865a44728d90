// The translation engine of the page: the model in this folder, in a web worker.
import { load } from "./browser/glossa.js";

const WAIT = 60; // milliseconds without a key before text is translated
const LONGEST = 100_000; // characters of a text
const ALTERNATIVES = 4;

let translator;

export async function start(progress) {
  translator = await load("./", { progress });
  keepForOffline();
  const { source, targets, target, facts } = translator.model;
  return {
    languages: [{ code: source, targets }],
    settings: {
      wait: WAIT,
      charLimit: LONGEST,
      alternatives: ALTERNATIVES,
      explanation: true,
      stops: true,
      language: { source: { code: source }, target: { code: target } },
      note: facts.note,
    },
  };
}

export const stream = ({ q, target }, signal) => translator.stream(q, { target, signal });

export async function alternatives({ q, target }, count) {
  const options = { target, num_return_sequences: count, num_beams: Math.max(count, translator.model.search.num_beams) };
  const [found] = await translator.translate([q], options);
  return found.map((one) => one.text).filter(Boolean);
}

export const explain = ({ q, target, prefix }) => translator.explain(q, { target, prefix });

// Makes the page available without a connection, but stores nothing in a frame of another site.
function keepForOffline() {
  if (window.top === window && navigator.serviceWorker) navigator.serviceWorker.register("offline.js").catch(() => {});
}
