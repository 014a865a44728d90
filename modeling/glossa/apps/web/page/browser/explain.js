// Explains the translation of a sentence: choices, beams and attention, in the format of `apps/server/explain.py`.
import { strip } from "./rules.js";
import { processors, search } from "./search.js";

const MOST = 60; // tokens of the sentence, and of its translation
const CHOICES = 6; // tokens at each position of the translation
const BEAMS = 4;

// Explains the translation that begins with the tokens `prefix`.
export async function explain(translator, { sentence, target, prefix }) {
  const { model, graphs } = translator;
  const ids = translator.encode(sentence, target);
  if (ids.length > MOST) throw new Error(`The sentence has ${ids.length} tokens; up to ${MOST} are explained.`);
  const tokens = await translated(translator, ids, prefix);
  translator.attention ??= await translator.loadAttention();
  const integers = (values) => graphs.integers(BigInt64Array.from(values, BigInt), [1, values.length]);
  const found = await translator.attention.run({
    input_ids: integers(ids),
    attention_mask: integers(ids.map(() => 1)),
    target_ids: integers([model.search.start, ...tokens.slice(0, -1)]),
  });
  const maps = Object.fromEntries(["encoder", "decoder", "cross"].map((kind) => [kind, nested(found[kind])]));
  const layer = maps.cross.at(-2) ?? maps.cross[0];
  return {
    translation: translator.decode(tokens),
    source: described(ids, translator.pieces[0], wordsBefore(translator.sourceText), model),
    target: described(tokens, translator.pieces[1], (parts) => spaces(strip(translator.decode(parts))), model),
    choices: choices(translator, tokens, found.log_probabilities),
    tokens,
    beams: await beams(translator, ids, prefix),
    attention: maps,
    links: layer[0].map((row, t) => row.map((_, s) => mean(layer.map((head) => head[t][s])))),
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function translated(translator, ids, prefix) {
  const own = translator.model.search;
  const most = Math.min(MOST, translator.model.limits.target ?? MOST);
  if (prefix.length + 1 >= most) {
    throw new Error(`The beginning has ${prefix.length} tokens; up to ${most - 2} are allowed.`);
  }
  const [[best]] = await search(translator.graphs, [ids], [most - 1], {
    beams: BEAMS,
    lengthPenalty: 1,
    earlyStopping: own.early_stopping,
    start: own.start,
    ends: new Set(own.ends),
    processors: processors({ ...own, prefix }, most - 1),
  });
  return best.tokens.slice(1);
}

// The pieces of tokens, and the word index of each; null for special tokens. `word` returns that of the last token.
function described(tokens, piece, word, model) {
  const special = new Set([...Object.keys(model.special).map(Number), ...Object.values(model.tags)]);
  const words = tokens.map((id, index) => (special.has(id) ? null : word(tokens.slice(0, index + 1))));
  return { pieces: tokens.map(piece), words };
}

const spaces = (text) => text.split(" ").length - 1;

// A piece of the source belongs to the word after its leading spaces.
const wordsBefore = (textOf) => (tokens) => {
  const before = textOf(tokens.slice(0, -1));
  const own = textOf(tokens).slice(before.length);
  return spaces(before) + own.length - own.replace(/^ +/, "").length;
};

// The most probable tokens at each position, the chosen one first. Special tokens are left out, except the end token.
function choices({ model, pieces }, tokens, { data, dims }) {
  const size = dims[2];
  return tokens.map((chosen, position) => {
    const row = data.subarray(position * size, (position + 1) * size);
    const allowed = (id) => id !== chosen && (!(id in model.special) || model.search.ends.includes(id));
    const others = [...row.keys()].filter(allowed).sort((one, other) => row[other] - row[one]);
    const all = [chosen, ...others.slice(0, CHOICES - 1)];
    return all.map((id) => ({ id, piece: pieces[1](id), probability: Math.exp(row[id]) }));
  });
}

// The candidates of beam search in each step, best first.
async function beams({ model, graphs, pieces }, ids, prefix) {
  const { start, ends } = model.search;
  const state = await graphs.read([ids]);
  for (const token of [start, ...prefix].slice(0, -1)) await state.step([token], 1, false);
  let kept = [{ token: prefix.at(-1) ?? start, score: 0 }];
  let ended = 0;
  const steps = [];
  for (let length = prefix.length; kept.length && ended < BEAMS && length < MOST; length += 1) {
    const found = await state.step(kept.map((one) => one.token), 2 * BEAMS, false);
    const all = kept.flatMap((one, parent) =>
      Array.from({ length: 2 * BEAMS }, (_, place) => {
        const index = parent * 2 * BEAMS + place;
        return { token: Number(found.tokens[index]), parent, score: one.score + found.values[index] };
      }),
    );
    const best = all.sort((one, other) => other.score - one.score).slice(0, 2 * BEAMS);
    const following = [];
    const rows = best.map((one, rank) => {
      const isEnd = ends.includes(one.token);
      const isKept = !isEnd && following.length < BEAMS;
      if (isKept) following.push(one);
      const state = isKept ? "kept" : isEnd && rank < BEAMS ? "ended" : "dropped";
      if (state === "ended") ended += 1;
      return { piece: pieces[1](one.token), parent: one.parent, score: one.score, state };
    });
    steps.push(rows);
    kept = following;
    if (kept.length) state.keep(kept.map((one) => one.parent), kept.map(() => 0));
  }
  return steps;
}

// A tensor [layers, 1, heads, rows, columns] as nested lists, without the axis of size 1.
function nested({ data, dims: [layers, , heads, rows, columns] }) {
  const list = (count, make) => Array.from({ length: count }, (_, index) => make(index));
  return list(layers, (layer) =>
    list(heads, (head) =>
      list(rows, (row) => {
        const start = ((layer * heads + head) * rows + row) * columns;
        return [...data.subarray(start, start + columns)];
      }),
    ),
  );
}
