// The page, which translates while the user types. See translation.js and history.js; explain.js shows the model.
import { explain, hide } from "./explain.js";
import { element, message, show, store, stored, wantedTheme } from "./common.js";
import * as engine from "./engine.js";
import * as history from "./history.js";
import { joined, showMissing, showSentences, translateLines } from "./translation.js";

let languages = [];
let settings = {};
let latest = 0; // number of the newest request; older ones are ignored
let running = null; // aborts the requests of an older text
let timer = 0;
let saved = null; // the last suggestion that a memory saved
let shown = { rows: [], source: "" }; // the translation on the page: the sentences of each line

const text = element("text");
const output = element("output");
const source = element("source");
const target = element("target");
const glossary = element("glossary");

function fill(select, codes, first) {
  const before = select.value;
  const name = (code) => languages.find((one) => one.code === code)?.name ?? names.get(code) ?? code;
  const options = codes.map((code) => new Option(name(code), code));
  select.replaceChildren(...(first ? [new Option(first, "auto")] : []), ...options);
  if ([...select.options].some((one) => one.value === before)) select.value = before;
}

const names = new Map();
const spoken = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code.replace("_", "-"));
  } catch {
    return code;
  }
};

function showTargets() {
  const chosen = languages.find((one) => one.code === source.value);
  const all = [...new Set(languages.flatMap((one) => one.targets))];
  fill(target, chosen ? chosen.targets : all);
}

async function start() {
  setTheme(wantedTheme());
  element("key").value = stored("key") ?? "";
  glossary.value = stored("glossary") ?? "";
  countTerms();
  text.value = textInAddress();
  try {
    ({ languages, settings } = await engine.start(showProgress));
  } catch (error) {
    message(error.message);
    return;
  } finally {
    show("loading", false);
  }
  for (const one of languages) for (const code of [one.code, ...one.targets]) names.set(code, spoken(code));
  fill(source, languages.map((one) => one.code), settings.detection ? "Detect language" : "");
  source.value = stored("source") ?? settings.language.source.code;
  if (!source.value) source.selectedIndex = 0;
  showTargets();
  target.value = stored("target") ?? settings.language.target.code;
  if (!target.value) target.selectedIndex = 0;
  show("key-line", settings.keyRequired);
  show("open", settings.filesTranslation);
  if (settings.filesTranslation) text.placeholder = "Type or paste text, or drop a document";
  show("improve", settings.suggestions);
  show("explain", settings.explanation);
  show("terms", settings.glossary);
  show("requests", settings.requests);
  show("swap", languages.some((one) => one.targets.includes(source.value)) || settings.detection);
  showNote(settings.note ?? []);
  element("file").accept = (settings.supportedFilesFormat ?? []).join(",");
  history.show(restore);
  changed();
}

// The text in the address, such as `#text=A%20man%20sleeps.`
function textInAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("text") ?? text.value;
}

function showProgress(done, total) {
  show("loading", true);
  element("loaded").max = total;
  element("loaded").value = done;
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  element("loaded-words").textContent = `Loading the model: ${megabytes(done)} of ${megabytes(total)} MB`;
}

// Shows paragraphs about the model.
function showNote(paragraphs) {
  const shownParagraphs = paragraphs.map((words) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = words;
    return paragraph;
  });
  element("note").replaceChildren(...shownParagraphs);
  show("about", paragraphs.length > 0);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  element("theme").setAttribute("aria-pressed", String(theme === "dark"));
  store("theme", theme);
}

function changed() {
  const length = text.value.length;
  const limit = settings.charLimit ? ` / ${settings.charLimit.toLocaleString("en")}` : "";
  element("count").textContent = `${length.toLocaleString("en")}${limit}`;
  element("clear").disabled = !length;
  clearTimeout(timer);
  running?.abort();
  output.classList.add("old");
  if (settings.language) timer = setTimeout(translate, settings.wait);
}

async function translate() {
  const number = ++latest;
  const given = text.value;
  message("");
  hide();
  show("undo", false);
  if (!given.trim()) {
    showTranslation({ rows: [], source: "" });
    return;
  }
  if (given.length > settings.charLimit) {
    message(`The text has ${given.length.toLocaleString("en")} characters; ${settings.charLimit.toLocaleString("en")} are allowed.`);
    return;
  }
  running = new AbortController();
  element("status").textContent = "Translating …";
  show("stop", settings.stops === true);
  const lines = given.split("\n");
  const found = { rows: [], source: source.value, text: lines };
  try {
    // Detect the language of the whole text, which is more certain than that of a short line.
    if (source.value === "auto") {
      const [best] = await engine.detect(given.slice(0, 5000), running.signal);
      if (!best) throw new Error("The language was not recognized. Choose it.");
      found.source = best.language;
      element("detected").textContent = `${names.get(best.language) ?? best.language} detected`;
    } else {
      element("detected").textContent = "";
    }
    const terms = settings.glossary ? glossary.value : "";
    const request = { source: found.source, target: target.value, glossary: terms, memory: settings.memory };
    await translateLines(lines, request, running.signal, (rows) => {
      if (number !== latest) return;
      found.rows = rows;
      showTranslation(found);
    });
  } catch (error) {
    if (number !== latest) return;
    stopped(error.name === "AbortError" ? "" : error.message);
    return;
  }
  if (number !== latest) return;
  stopped("");
  history.add({ text: given, translation: translated(), source: source.value, target: target.value });
}

function stopped(words) {
  message(words);
  element("status").textContent = "";
  show("stop", false);
}

function showTranslation(found) {
  shown = found;
  showSentences(found.rows);
  output.lang = target.value;
  output.classList.remove("old");
  const empty = !translated().trim();
  for (const name of ["copy", "explain", "improve"]) element(name).disabled = empty;
  stopImproving();
  element("others").replaceChildren();
  show("alternatives", settings.alternatives > 1 && found.rows.flat().length === 1);
  if (element("alternatives").open) showAlternatives();
}

// Shows alternative translations of a text of one sentence.
async function showAlternatives() {
  const number = latest;
  const found = shown;
  if (found.rows.flat().length !== 1) return;
  const others = await engine.alternatives({ q: found.text.join("\n"), target: target.value }, settings.alternatives);
  if (number !== latest) return;
  const rows = others.slice(1).map((words) => {
    const row = document.createElement("li");
    row.textContent = words;
    return row;
  });
  element("others").replaceChildren(...rows);
}

const translated = () => shown.rows.map(joined).join("\n");

// Restores an entry of the history.
function restore(entry) {
  source.value = entry.source;
  showTargets();
  target.value = entry.target;
  text.value = entry.text;
  changed();
}

function swap() {
  const from = target.value;
  const to = source.value === "auto" ? shown.source : source.value;
  if (!languages.some((one) => one.code === from)) {
    message(`This server does not translate from ${names.get(from) ?? from}.`);
    return;
  }
  source.value = from;
  showTargets();
  if (to) target.value = to;
  if (translated()) text.value = translated();
  changed();
}

function stopImproving() {
  show("better", false);
  show("output", true);
  show("save", false);
}

async function saveBetter() {
  const [lines, before, better] = [text.value, translated(), element("better").value].map((words) => words.split("\n"));
  if (better.length !== lines.length) {
    message(`Write as many lines as the text has: ${lines.length}.`);
    return;
  }
  const changed = (words) => words.filter((_, row) => better[row] !== before[row]).join("\n");
  const given = { q: changed(lines), source: shown.source || source.value, target: target.value };
  try {
    const { remembered } = await engine.suggest({ ...given, s: changed(better), output: changed(before) });
    stopImproving();
    saved = remembered ? given : null;
    if (remembered) await translate();
    element("status").textContent = remembered ? "Saved, and used from now on." : "Saved. Thank you.";
    show("undo", saved !== null);
  } catch (error) {
    message(error.message);
  }
}

async function takeBack() {
  try {
    await engine.takeBack(saved);
    await translate();
    element("status").textContent = "Taken back.";
  } catch (error) {
    message(error.message);
  }
}

async function translateDocument(file) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", source.value);
  form.append("target", target.value);
  if (glossary.value.trim()) form.append("glossary", glossary.value);
  message("");
  show("download", false);
  element("status").textContent = `Translating ${file.name} …`;
  let answer;
  try {
    answer = await engine.translateFile(form);
  } catch (error) {
    message(error.message);
    return;
  } finally {
    element("status").textContent = "";
  }
  const link = element("download");
  link.href = answer.translatedFileUrl;
  link.textContent = `Download ${file.name} in ${names.get(target.value) ?? target.value}`;
  show("download", true);
  showMissing(answer.missingTerms ?? []);
}

function explainWord(sentence, word) {
  if (!settings.explanation) return;
  show("unbound", glossary.value.trim() !== "");
  explain({ sentence: sentence.source, source: shown.source, target: target.value, word });
}

function countTerms() {
  const count = glossary.value.split("\n").filter((line) => line.trim()).length;
  element("terms-count").textContent = count ? `: ${count} ${count === 1 ? "term" : "terms"}` : "";
}

text.addEventListener("input", changed);
addEventListener("hashchange", () => {
  text.value = textInAddress();
  changed();
});
element("stop").addEventListener("click", () => running?.abort());
element("alternatives").addEventListener("toggle", () => {
  if (element("alternatives").open) showAlternatives();
});
source.addEventListener("change", () => {
  store("source", source.value);
  showTargets();
  changed();
});
target.addEventListener("change", () => {
  store("target", target.value);
  changed();
});
glossary.addEventListener("input", () => {
  store("glossary", glossary.value);
  countTerms();
  changed();
});
element("swap").addEventListener("click", swap);
element("clear").addEventListener("click", () => {
  text.value = "";
  element("detected").textContent = "";
  changed();
  text.focus();
});
element("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(translated());
    element("status").textContent = "Copied";
  } catch {
    message("The browser does not allow copying. Select the text instead.");
  }
});
element("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
);
element("key").addEventListener("change", () => {
  store("key", element("key").value);
  changed();
});
element("key-line").addEventListener("submit", (event) => event.preventDefault());
element("forget").addEventListener("click", history.clear);
element("improve").addEventListener("click", () => {
  element("better").value = translated();
  show("better", true);
  show("output", false);
  show("save", true);
  element("better").focus();
});
element("save").addEventListener("click", saveBetter);
element("undo").addEventListener("click", takeBack);
output.addEventListener("click", (event) => {
  const word = event.target.closest(".word");
  if (!word) return;
  const { row, sentence } = word.parentElement.dataset;
  explainWord(shown.rows[row][sentence], Number(word.dataset.word));
});
element("explain").addEventListener("click", () => {
  if (element("panel").hidden) explainWord(shown.rows.flat()[0], 0);
  else hide();
});
element("file").addEventListener("change", (event) => {
  if (event.target.files[0]) translateDocument(event.target.files[0]);
  event.target.value = "";
});
const pane = text.closest(".pane");
for (const [name, dragged] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  pane.addEventListener(name, (event) => {
    if (!settings.filesTranslation) return;
    event.preventDefault();
    pane.classList.toggle("drop", dragged);
    if (name === "drop" && event.dataTransfer.files[0]) translateDocument(event.dataTransfer.files[0]);
  });
}
start();
