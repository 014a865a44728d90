// The panel that explains the translation of a sentence, with the data of /explain.
import { element, message, show } from "./common.js";
import * as engine from "./engine.js";

const PLAY = 700; // milliseconds for each step of the beams
const COLUMN = 104;
const ROW = 34;
let current = null; // the request
let found = null; // the response
let chosen = 0; // index of a piece of the translation
let playing = 0;

export async function explain(request) {
  current = request;
  await load([]);
  if (!found) return;
  const first = found.target.words.indexOf(request.word);
  choose(Math.max(first, 0));
  element("panel").scrollIntoView({ block: "nearest" });
}

export function hide() {
  show("panel", false);
  element("explain").setAttribute("aria-expanded", "false");
  clearInterval(playing);
}

async function load(prefix) {
  found = null;
  message("");
  try {
    const { sentence, source, target } = current;
    found = await engine.explain({ q: sentence, source, target, prefix });
  } catch (error) {
    message(error.message);
    return;
  }
  show("changed", prefix.length > 0);
  show("panel", true);
  element("explain").setAttribute("aria-expanded", "true");
  const layers = found.attention.cross;
  options("layer", layers.length);
  options("head", layers[0].length);
  const step = element("step");
  step.max = found.beams.length;
  step.value = found.beams.length;
  pieces();
  beams();
  attention();
}

function options(name, count) {
  const each = Array.from({ length: count }, (_, index) => new Option(index + 1, index));
  element(name).replaceChildren(new Option("mean of all", "mean"), ...each);
}

function pieces() {
  const sources = found.source.pieces.map((piece) => {
    const one = document.createElement("span");
    one.className = "piece";
    one.textContent = piece;
    return one;
  });
  const targets = found.target.pieces.map((piece, index) => {
    const one = document.createElement("button");
    one.type = "button";
    one.className = "piece";
    one.textContent = piece;
    one.setAttribute("role", "radio");
    one.addEventListener("click", () => choose(index));
    return one;
  });
  element("source-pieces").replaceChildren(...sources);
  element("target-pieces").replaceChildren(...targets);
}

function choose(index) {
  chosen = index;
  [...element("target-pieces").children].forEach((one, position) => {
    one.setAttribute("aria-checked", String(position === index));
    one.tabIndex = position === index ? 0 : -1;
  });
  [...element("source-pieces").children].forEach((one, position) => {
    const weight = found.links[index]?.[position] ?? 0;
    one.style.background = `rgba(var(--heat), ${(0.75 * weight).toFixed(3)})`;
    one.title = `${Math.round(100 * weight)}%`;
  });
  const rows = (found.choices[index] ?? []).map((choice, rank) => {
    const button = document.createElement("button");
    const bar = document.createElement("span");
    const name = document.createElement("span");
    const share = document.createElement("span");
    button.type = "button";
    bar.className = "bar";
    bar.style.width = `${100 * choice.probability}%`;
    name.textContent = choice.piece + (rank === 0 ? " (chosen)" : "");
    share.textContent = `${(100 * choice.probability).toFixed(choice.probability < 0.1 ? 1 : 0)}%`;
    button.disabled = rank === 0;
    button.title = rank === 0 ? "" : "What would the translation be with this?";
    button.append(bar, name, share);
    button.addEventListener("click", () => replacePiece(index, choice.id));
    const row = document.createElement("li");
    row.append(button);
    return row;
  });
  element("choices").replaceChildren(...rows);
}

// Translates again with another piece at this position, after the same pieces before it.
async function replacePiece(index, id) {
  await load([...found.tokens.slice(0, index), id]);
  if (found) choose(index);
}

const NS = "http://www.w3.org/2000/svg";

function drawn(name, attributes, words = "") {
  const one = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.textContent = words;
  return one;
}

function beams() {
  const count = Number(element("step").value);
  element("step-number").textContent = `${count} of ${found.beams.length}`;
  const height = Math.max(...found.beams.map((rows) => rows.length)) * ROW + 10;
  const tree = drawn("svg", { class: "tree", width: count * COLUMN + 20, height, role: "img" });
  tree.setAttribute("aria-label", `Beams after ${count} steps`);
  let parents = [ROW / 2 + 4]; // heights of the hypotheses kept in the previous step
  found.beams.slice(0, count).forEach((rows, step) => {
    const here = [];
    rows.forEach((row, rank) => {
      const x = step * COLUMN + 24;
      const y = rank * ROW + 18;
      const from = { x1: step * COLUMN - 24, y1: parents[row.parent] ?? y, x2: x - 4, y2: y - 4 };
      if (step) tree.append(drawn("line", from));
      tree.append(drawn("text", { x, y, class: row.state }, row.piece.slice(0, 10)));
      tree.append(drawn("text", { x, y: y + 12, class: "score" }, row.score.toFixed(2)));
      if (row.state === "kept") here.push(y - 4);
    });
    parents = here;
  });
  element("beams").replaceChildren(tree);
  element("beams").scrollLeft = count * COLUMN;
}

function play() {
  clearInterval(playing);
  const step = element("step");
  step.value = 1;
  beams();
  playing = setInterval(() => {
    step.value = Number(step.value) + 1;
    beams();
    if (Number(step.value) >= found.beams.length) clearInterval(playing);
  }, PLAY);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function attention() {
  const kind = element("kind").value;
  const layer = element("layer").value;
  const head = element("head").value;
  const layers = layer === "mean" ? found.attention[kind] : [found.attention[kind][Number(layer)]];
  const maps = layers.flatMap((heads) => (head === "mean" ? heads : [heads[Number(head)]]));
  const rows = kind === "encoder" ? found.source.pieces : found.target.pieces;
  const columns = kind === "decoder" ? ["start", ...found.target.pieces.slice(0, -1)] : found.source.pieces;
  const table = document.createElement("table");
  const headRow = table.createTHead().insertRow();
  headRow.insertCell();
  for (const column of columns) headRow.append(heading(column, "col"));
  const body = table.createTBody();
  rows.forEach((name, row) => {
    const line = body.insertRow();
    line.append(heading(name, "row"));
    columns.forEach((column, index) => {
      const weight = mean(maps.map((map) => map[row][index]));
      const cell = line.insertCell();
      cell.style.background = `rgba(var(--heat), ${weight.toFixed(3)})`;
      cell.title = `${name} → ${column}: ${Math.round(100 * weight)}%`;
    });
  });
  element("attention").replaceChildren(table);
}

function heading(words, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = words;
  return cell;
}

element("step").addEventListener("input", () => {
  clearInterval(playing);
  beams();
});
element("play").addEventListener("click", play);
element("back").addEventListener("click", async () => {
  await load([]);
  if (found) choose(Math.min(chosen, found.target.pieces.length - 1));
});
for (const name of ["kind", "layer", "head"]) element(name).addEventListener("change", attention);
element("target-pieces").addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!move) return;
  event.preventDefault();
  const all = element("target-pieces").children;
  const next = (chosen + move + all.length) % all.length;
  choose(next);
  all[next].focus();
});
