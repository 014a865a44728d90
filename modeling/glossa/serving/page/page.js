// The page: translates while one types. What it shows of the model is in explain.js.
import { explain, hide } from "./explain.js";
import { element, keep, kept, message, post, show, wantedTheme } from "./common.js";

const WAIT = 350; // milliseconds without a key before text is translated
const REMEMBERED = 30; // entries of the history
const MOST_LINES = 500; // translations that are kept for unchanged lines
const known = new Map(); // translations of lines, by languages and line
let languages = [];
let settings = {};
let latest = 0; // number of the newest request; older ones may not write
let running = null; // aborts the requests of an older text
let timer = 0;
let shown = { lines: [], source: "" }; // the translation on the page

const text = element("text");
const output = element("output");
const source = element("source");
const target = element("target");

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
  element("key").value = kept("key") ?? "";
  try {
    languages = await (await fetch("languages")).json();
    settings = await (await fetch("frontend/settings")).json();
  } catch {
    message("The server does not answer. Load the page again when it runs.");
    return;
  }
  for (const one of languages) for (const code of [one.code, ...one.targets]) names.set(code, spoken(code));
  fill(source, languages.map((one) => one.code), "Detect language");
  source.value = kept("source") ?? settings.language.source.code;
  if (!source.value) source.value = "auto";
  showTargets();
  target.value = kept("target") ?? settings.language.target.code;
  if (!target.value) target.selectedIndex = 0;
  show("key-line", settings.keyRequired);
  show("open", settings.filesTranslation);
  show("improve", settings.suggestions);
  element("file").accept = settings.supportedFilesFormat.join(",");
  showPast();
  changed();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  element("theme").setAttribute("aria-pressed", String(theme === "dark"));
  keep("theme", theme);
}

function changed() {
  const length = text.value.length;
  element("count").textContent = `${length.toLocaleString("en")} / ${(settings.charLimit ?? 0).toLocaleString("en")}`;
  element("clear").disabled = !length;
  clearTimeout(timer);
  running?.abort();
  output.classList.add("old");
  timer = setTimeout(translate, WAIT);
}

async function translate() {
  const number = ++latest;
  const given = text.value;
  message("");
  hide();
  if (!given.trim()) {
    showTranslation({ lines: [], source: "" });
    return;
  }
  if (given.length > settings.charLimit) {
    message(`The text has ${given.length.toLocaleString("en")} characters; ${settings.charLimit.toLocaleString("en")} are allowed.`);
    return;
  }
  running = new AbortController();
  element("status").textContent = "Translating …";
  const lines = given.split("\n");
  const found = { lines: [], source: source.value, text: lines };
  try {
    // The language of the whole text, since that of a short line is hard to tell.
    if (source.value === "auto") {
      const [best] = await post("detect", { q: given.slice(0, 5000) }, running.signal);
      if (!best) throw new Error("The language was not recognized. Choose it.");
      found.source = best.language;
      element("detected").textContent = `${names.get(best.language) ?? best.language} detected`;
    } else {
      element("detected").textContent = "";
    }
    for (const line of lines) {
      found.lines.push(await translateLine(line, found.source, target.value, running.signal));
      if (number !== latest) return;
      showTranslation(found);
    }
  } catch (error) {
    if (error.name === "AbortError" || number !== latest) return;
    message(error.message);
  }
  if (number !== latest) return;
  element("status").textContent = "";
  if (found.lines.length === lines.length) remember(given, found);
}

async function translateLine(line, from, to, signal) {
  if (!line.trim()) return line;
  const key = `${from} ${to} ${line}`;
  if (!known.has(key)) {
    const answer = await post("translate", { q: line, source: from, target: to, format: "text" }, signal);
    if (known.size >= MOST_LINES) known.delete(known.keys().next().value);
    known.set(key, answer.translatedText);
  }
  return known.get(key);
}

function showTranslation(found) {
  shown = found;
  const parts = found.lines.flatMap((line, row) => [...words(line, row), document.createTextNode("\n")]);
  output.replaceChildren(...parts.slice(0, -1));
  output.lang = target.value;
  output.classList.remove("old");
  const empty = !found.lines.join("").trim();
  for (const name of ["copy", "explain", "improve"]) element(name).disabled = empty;
  stopImproving();
}

// Words that can be clicked, and the space between them.
function words(line, row) {
  let position = -1;
  return line.split(/(\s+)/).map((part) => {
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

const translated = () => shown.lines.join("\n");

function remember(given, found) {
  const entry = { text: given, translation: found.lines.join("\n"), source: source.value, target: target.value };
  const others = past().filter((one) => !given.startsWith(one.text) || one.target !== entry.target);
  keep("past", JSON.stringify([entry, ...others].slice(0, REMEMBERED)));
  showPast();
}

function past() {
  try {
    return JSON.parse(kept("past") ?? "[]");
  } catch {
    return [];
  }
}

function showPast() {
  const rows = past().map((one) => {
    const button = document.createElement("button");
    const small = document.createElement("small");
    button.type = "button";
    button.textContent = one.text.slice(0, 120);
    small.textContent = one.translation.slice(0, 120);
    button.append(small);
    button.addEventListener("click", () => {
      source.value = one.source;
      showTargets();
      target.value = one.target;
      text.value = one.text;
      changed();
    });
    const row = document.createElement("li");
    row.append(button);
    return row;
  });
  element("past").replaceChildren(...rows);
  show("history", rows.length > 0);
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
  const better = element("better").value;
  try {
    await post("suggest", {
      q: text.value, s: better, output: translated(), source: shown.source || source.value, target: target.value,
    });
    stopImproving();
    element("status").textContent = "Saved. Thank you.";
  } catch (error) {
    message(error.message);
  }
}

async function translateDocument(file) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", source.value);
  form.append("target", target.value);
  if (element("key").value) form.append("api_key", element("key").value);
  message("");
  show("download", false);
  element("status").textContent = `Translating ${file.name} …`;
  const response = await fetch("translate_file", { method: "POST", body: form });
  const answer = await response.json();
  element("status").textContent = "";
  if (!response.ok) {
    message(answer.error);
    return;
  }
  const link = element("download");
  link.href = answer.translatedFileUrl;
  link.textContent = `Download ${file.name} in ${names.get(target.value) ?? target.value}`;
  show("download", true);
}

function explainWord(row, word) {
  explain({
    sentence: shown.text[row], source: shown.source === "auto" ? source.value : shown.source,
    target: target.value, word,
  });
}

text.addEventListener("input", changed);
source.addEventListener("change", () => {
  keep("source", source.value);
  showTargets();
  changed();
});
target.addEventListener("change", () => {
  keep("target", target.value);
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
  keep("key", element("key").value);
  changed();
});
element("key-line").addEventListener("submit", (event) => event.preventDefault());
element("forget").addEventListener("click", () => {
  keep("past", "[]");
  showPast();
});
element("improve").addEventListener("click", () => {
  element("better").value = translated();
  show("better", true);
  show("output", false);
  show("save", true);
  element("better").focus();
});
element("save").addEventListener("click", saveBetter);
output.addEventListener("click", (event) => {
  const word = event.target.closest(".word");
  if (word) explainWord(Number(word.dataset.row), Number(word.dataset.word));
});
element("explain").addEventListener("click", () => {
  if (element("panel").hidden) explainWord(shown.lines.findIndex((line) => line.trim()), 0);
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
