// Matches in translation memories: score, differences and translation.
import { element, show } from "./common.js";

const USES = { copied: "used as it is", repaired: "used with the numbers of this text", taken: "used as it is, for review", read: "read by the model", unused: "not used" };
const MOST = 400; // words of a sentence that are compared

export function showMatches(sentences) {
  const found = sentences.filter((one) => one.match);
  show("matches", found.length > 0);
  element("matches-count").textContent = `: ${found.length} ${found.length === 1 ? "sentence" : "sentences"}`;
  element("matched").replaceChildren(...found.map(drawn));
}

function drawn(one) {
  const { score, use, source, target } = one.match;
  const row = document.createElement("li");
  row.append(made("strong", `${score}% match`), ` ${USES[use]}`);
  if (source !== undefined) {
    const compared = document.createElement("p");
    compared.append(...differences(source, one.source));
    row.append(compared, made("p", target));
  }
  return row;
}

function made(name, words) {
  const node = document.createElement(name);
  node.textContent = words;
  return node;
}

// The sentence of the memory, with the words that this sentence lacks (del) and adds (ins).
function differences(known, sentence) {
  const [own, theirs] = [known, sentence].map((text) => text.match(/\s+|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu) ?? []);
  if (own.length > MOST || theirs.length > MOST) return [known];
  const common = own.map(() => new Uint16Array(theirs.length + 1)).concat([new Uint16Array(theirs.length + 1)]);
  for (let row = own.length - 1; row >= 0; row -= 1) {
    for (let column = theirs.length - 1; column >= 0; column -= 1) {
      common[row][column] = own[row] === theirs[column]
        ? common[row + 1][column + 1] + 1
        : Math.max(common[row + 1][column], common[row][column + 1]);
    }
  }
  const parts = [];
  const add = (name, words) => {
    const last = parts.at(-1);
    if (last?.name === name) last.words += words;
    else parts.push({ name, words });
  };
  let [row, column] = [0, 0];
  while (row < own.length || column < theirs.length) {
    if (row < own.length && column < theirs.length && own[row] === theirs[column]) {
      add("", own[row]);
      row += 1;
      column += 1;
    } else if (column === theirs.length || (row < own.length && common[row + 1][column] >= common[row][column + 1])) {
      add("del", own[row]);
      row += 1;
    } else {
      add("ins", theirs[column]);
      column += 1;
    }
  }
  return parts.map(({ name, words }) => (name ? made(name, words) : document.createTextNode(words)));
}
