// Greedy and beam search with the two graphs of a model. The results equal those of `generation_glossa.py`.
//
// A hypothesis is { tokens, score, logProbability }: its tokens with the start token, its score in the search, and its
// log-probability under the model.

const LOWEST_SCORE = -1e9; // of an empty beam, as in transformers

// Returns `settings.beams` hypotheses for each source, best first.
//
// `settings`: beams, lengthPenalty, earlyStopping, start, ends (a set of tokens), processors (see `processors`).
// `limits` are the maximum lengths of the translations. `canceled` is called before each step.
export async function search(graphs, sources, limits, settings, canceled = () => false) {
  const rows = sources.map((_, index) => {
    const first = { tokens: [settings.start], score: 0, logProbability: 0 };
    return { index, limit: limits[index], running: [first], finished: [] };
  });
  const single = settings.beams === 1;
  const count = candidatesOf(settings);
  const longest = Math.max(...limits);
  const state = await graphs.read(sources);
  let unfinished = rows;
  while (unfinished.length) {
    if (await canceled()) throw new DOMException("The translation was stopped.", "AbortError");
    const last = unfinished.flatMap((row) => row.running.map((one) => one.tokens.at(-1)));
    const found = await state.step(last, count, settings.processors.length > 0);
    const parents = [];
    const owners = [];
    let first = 0;
    for (const [place, row] of unfinished.entries()) {
      const options = row.running.map((one, beam) => continued(one, beam, found, first + beam, count, settings));
      row.done = single ? greedyStep(row, options[0], settings) : beamStep(row, options.flat(), settings, longest);
      if (!row.done) {
        parents.push(...row.running.map((one) => first + one.parent));
        owners.push(...row.running.map(() => place));
      }
      first += options.length;
    }
    unfinished = unfinished.filter((row) => !row.done);
    if (unfinished.length) state.keep(parents, owners);
  }
  return rows.map((row) => row.finished);
}

// The `count` best continuations of a hypothesis, from row `number` of the result of a step.
function continued(hypothesis, parent, { values, tokens, all }, number, count, settings) {
  const next = (token, value, own) => ({
    tokens: [...hypothesis.tokens, token],
    score: hypothesis.score + value,
    logProbability: hypothesis.logProbability + own,
    parent,
  });
  if (!all) {
    const places = Array.from({ length: count }, (_, place) => number * count + place);
    return places.map((place) => next(Number(tokens[place]), values[place], values[place]));
  }
  const size = all.length / (tokens.length / count);
  const own = all.subarray(number * size, (number + 1) * size);
  const processed = own.slice();
  for (const process of settings.processors) process(processed, hypothesis.tokens);
  return best(processed, count).map((token) => next(token, processed[token], own[token]));
}

function greedyStep(row, [next], settings) {
  row.running = [next];
  if (!ends(next, row, settings)) return false;
  row.finished = [next];
  return true;
}

function beamStep(row, continuations, settings, longest) {
  const { beams } = settings;
  const candidates = continuations.sort(byScore).slice(0, candidatesOf(settings));
  const ended = candidates.map((one) => ends(one, row, settings));
  const penalized = (score, length) => score / (length - 1) ** settings.lengthPenalty;
  const kept = candidates
    .slice(0, beams)
    .filter((_, index) => ended[index])
    .map((one) => ({ ...one, score: penalized(one.score, one.tokens.length) }));
  row.finished = [...row.finished, ...kept].sort(byScore).slice(0, beams);
  row.running = candidates
    .map((one, index) => (ended[index] ? { ...one, score: one.score + LOWEST_SCORE } : one))
    .sort(byScore)
    .slice(0, beams);
  const worst = row.finished.length < beams ? LOWEST_SCORE : row.finished.at(-1).score;
  const far = settings.earlyStopping === "never" && settings.lengthPenalty > 0;
  const length = far ? longest + 1 : row.running[0].tokens.length;
  const better = penalized(row.running[0].score, length) > worst;
  return !(settings.earlyStopping === true ? better && worst === LOWEST_SCORE : better);
}

// Enough candidates to fill all beams even if each beam has every end token as a candidate.
const candidatesOf = ({ beams, ends }) => (beams === 1 ? 1 : Math.max(2, 1 + ends.size) * beams);

const byScore = (first, second) => second.score - first.score;

const ends = (one, row, settings) => settings.ends.has(one.tokens.at(-1)) || one.tokens.length > row.limit;

// The indices of the `count` greatest values, greatest first.
function best(values, count) {
  const chosen = [];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (chosen.length === count && value <= values[chosen[count - 1]]) continue;
    let place = chosen.length;
    while (place > 0 && values[chosen[place - 1]] < value) place -= 1;
    chosen.splice(place, 0, index);
    if (chosen.length > count) chosen.pop();
  }
  return chosen;
}

// Logits processors, as in transformers. -Infinity forbids a token.
export function processors(settings, limit) {
  const only = (values, token) => {
    const value = values[token];
    values.fill(-Infinity);
    values[token] = Number.isFinite(value) ? value : 0;
  };
  const forbid = (tokens) => (values) => tokens.forEach((token) => (values[token] = -Infinity));
  const found = [];
  const size = settings.no_repeat_ngram_size;
  if (size) found.push((values, tokens) => repeated(tokens, size).forEach((token) => (values[token] = -Infinity)));
  if (settings.min_new_tokens) {
    const forbidden = forbid(settings.ends);
    found.push((values, tokens) => tokens.length - 1 < settings.min_new_tokens && forbidden(values));
  }
  if (settings.forced_bos_token_id != null) {
    found.push((values, tokens) => tokens.length === 1 && only(values, settings.forced_bos_token_id));
  }
  if (settings.forced_eos_token_id != null) {
    const [token] = [settings.forced_eos_token_id].flat();
    found.push((values, tokens) => tokens.length === limit && only(values, token));
  }
  if (settings.suppress_tokens?.length) found.push(forbid(settings.suppress_tokens));
  if (settings.begin_suppress_tokens?.length) {
    const forbidden = forbid(settings.begin_suppress_tokens);
    const first = settings.forced_bos_token_id == null ? 1 : 2;
    found.push((values, tokens) => tokens.length === first && forbidden(values));
  }
  if (settings.prefix?.length) {
    found.push((values, tokens) => tokens.length <= settings.prefix.length && only(values, settings.prefix[tokens.length - 1]));
  }
  return found;
}

// The tokens that would repeat a sequence of `size` tokens.
function repeated(tokens, size) {
  const last = tokens.slice(tokens.length - size + 1).join();
  const found = [];
  for (let start = 0; start + size <= tokens.length; start += 1) {
    if (tokens.slice(start, start + size - 1).join() === last) found.push(tokens[start + size - 1]);
  }
  return found;
}
