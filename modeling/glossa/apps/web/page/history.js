// The history of translations, which this browser stores.
import { element, show as setVisible, store, stored } from "./common.js";

const MOST = 30; // entries
let restore; // called with an entry that is clicked

// Shows the history. A click calls `onClick` with { text, translation, source, target }.
export function show(onClick) {
  restore = onClick;
  draw();
}

// Adds an entry, in place of those whose text it continues.
export function add(entry) {
  const others = entries().filter((one) => !entry.text.startsWith(one.text) || one.target !== entry.target);
  save([entry, ...others].slice(0, MOST));
}

export function clear() {
  save([]);
}

function save(list) {
  store("past", JSON.stringify(list));
  draw();
}

function entries() {
  try {
    return JSON.parse(stored("past") ?? "[]");
  } catch {
    return [];
  }
}

function draw() {
  const rows = entries().map((entry) => {
    const button = document.createElement("button");
    const small = document.createElement("small");
    button.type = "button";
    button.textContent = entry.text.slice(0, 120);
    small.textContent = entry.translation.slice(0, 120);
    button.append(small);
    button.addEventListener("click", () => restore(entry));
    const row = document.createElement("li");
    row.append(button);
    return row;
  });
  element("past").replaceChildren(...rows);
  setVisible("history", rows.length > 0);
}
