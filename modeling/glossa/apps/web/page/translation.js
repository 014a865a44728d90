// Translates lines sentence by sentence, and shows the sentences as they arrive.
import { element, show } from "./common.js";
import * as engine from "./engine.js";
import { showMatches } from "./matches.js";

const MOST_LINES = 500; // cached translations of unchanged lines
const MOST_TEXTS = 64; // lines in a request; a server allows no more
const DOUBT = 0.3; // sentences with a lower confidence are underlined
const UNSURE = 0.5; // words of such a sentence with a lower probability are named,
const MOST_WORDS = 3; // at most this many
const HINT = "Underlined sentences may need a correction.";
const known = new Map(); // sentences by languages, glossary and line
const output = element("output");
let version; // of the translation memories for these sentences

// Translates lines. Each new sentence calls `changed` with the sentences of all lines so far.
export async function translateLines(texts, request, signal, changed) {
  const current = request.memory ? await engine.memoryVersion(signal) : undefined;
  if (current !== version) known.clear();
  version = current;
  const key = (line) => JSON.stringify([request.source, request.target, request.glossary, line]);
  const rows = texts.map((line) => (line.trim() ? known.get(key(line)) ?? [] : []));
  const wanted = texts.map((_, row) => row).filter((row) => texts[row].trim() && !rows[row].length);
  if (wanted.length < texts.length) changed(rows);
  for (let start = 0; start < wanted.length; start += MOST_TEXTS) {
    const some = wanted.slice(start, start + MOST_TEXTS);
    let missing = 0;
    let next = 0; // the lines before this one are complete
    const finish = (end) => {
      for (; next < end; next += 1) remember(key(texts[some[next]]), rows[some[next]]);
    };
    for await (const one of engine.stream({ ...request, q: some.map((row) => texts[row]) }, signal)) {
      if (one.error) throw new Error(one.error);
      if ("sentences" in one) {
        missing = one.sentences;
        continue;
      }
      finish(one.text);
      missing -= 1;
      rows[some[one.text]] = [...rows[some[one.text]], one];
      changed(rows);
    }
    if (missing) throw new Error("The connection was lost. Change the text to translate it again.");
    finish(some.length);
  }
}

function remember(key, sentences) {
  if (known.size >= MOST_LINES) known.delete(known.keys().next().value);
  known.set(key, sentences);
}

export const joined = (sentences) => sentences.map((one) => one.before + one.translatedText).join("");

// Shows the sentences of each line. Sentences on the page stay, so that screen readers read only new ones.
export function showSentences(rows) {
  rows.forEach((sentences, row) => {
    const line = output.children[row] ?? output.appendChild(newLine(row));
    if (!line.shown.every((one, index) => one === sentences[index])) {
      line.replaceChildren(...newLine(row).childNodes);
      line.shown = [];
    }
    line.append(...sentences.slice(line.shown.length).flatMap((one, index) => drawn(one, row, line.shown.length + index)));
    line.shown = sentences;
  });
  while (output.children.length > rows.length) output.lastChild.remove();
  show("doubt", output.querySelector(".doubtful") !== null);
  element("doubt").textContent = HINT;
  const missing = new Set(rows.flat().flatMap((one) => one.missingTerms ?? []));
  showMissing([...missing]);
  showMatches(rows.flat());
}

export function showMissing(terms) {
  show("missing", terms.length > 0);
  element("missing").textContent = `Terms that the translation lacks: ${terms.join(", ")}`;
}

function newLine(row) {
  const line = document.createElement("span");
  line.append(row ? "\n" : "");
  line.shown = [];
  return line;
}

function drawn(one, row, index) {
  const doubtful = one.problem || (typeof one.confidence === "number" && one.confidence < DOUBT);
  const sentence = document.createElement(doubtful ? "mark" : "span");
  sentence.dataset.row = row;
  sentence.dataset.sentence = index;
  sentence.append(...words(one.translatedText, row));
  if (doubtful) {
    const note = document.createElement("span");
    note.id = `note-${row}-${index}`;
    note.hidden = true;
    note.textContent = doubt(one);
    sentence.className = "doubtful";
    sentence.tabIndex = 0;
    sentence.setAttribute("aria-describedby", note.id);
    sentence.append(note);
  }
  return one.before ? [document.createTextNode(one.before), sentence] : [sentence];
}

const bare = (word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || word;

function doubt(one) {
  if (one.problem) return `This sentence may need a correction: ${one.problem}.`;
  const percent = (share) => (share < 0.01 ? "less than 1%" : `${Math.round(100 * share)}%`);
  const unsure = (one.words ?? []).filter(([, share]) => typeof share === "number" && share < UNSURE);
  const worst = unsure.sort((first, second) => first[1] - second[1]).slice(0, MOST_WORDS);
  const named = worst.map(([word, share]) => `${bare(word)} (${percent(share)})`).join(", ");
  const words = named ? ` The model hesitated at: ${named}.` : "";
  return `This sentence may need a correction: the probability that it needs none is ${percent(one.confidence)}.${words}`;
}

// Words that can be clicked, and the space between them.
function words(text, row) {
  let position = -1;
  return text.split(/(\s+)/).map((part) => {
    if (!part.trim()) return document.createTextNode(part);
    position += 1;
    const word = document.createElement("span");
    word.className = "word";
    word.textContent = part;
    word.dataset.row = row;
    word.dataset.word = position;
    return word;
  });
}

// Shows the note on the sentence under the pointer or with the focus.
for (const [name, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  output.addEventListener(name, (event) => {
    const note = event.target.closest(".doubtful")?.querySelector("[hidden]");
    if (note) element("doubt").textContent = on ? note.textContent : HINT;
  });
}
