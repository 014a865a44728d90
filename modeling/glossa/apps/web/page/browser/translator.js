// Translates texts like `Translator` in Python: plan, search, check, join.
import { NUMBERS, findProblem } from "./checks.js";
import { labelOf, lowerStart, readLabel, withEnd } from "./labels.js";
import { strip } from "./rules.js";
import { processors, search } from "./search.js";
import { asModelReads, asWritten, hasMore, hasSentinels, maskNumbers, modelText, putBack, segmentText, spacedParts, withStop } from "./segments.js";
import { cleanText } from "./sentences.js";
import { MOVED, locate, putSpans, without } from "./spans.js";

const SPARE_TOKENS = 50; // allowed in a translation in addition to twice the tokens of its source
const BATCH = 16; // sentences in a batch; more are not faster
const STREAMED = 4; // sentences that a stream translates together

export class Translator {
  // `parts`: `model` is model.json, `rules` are Rules, `encode` and `decode` use the tokenizers of source and target;
  // `loadAttention`, `pieces` and `sourceText` are for explanations.
  constructor(parts) {
    Object.assign(this, parts);
  }

  // Translates texts to { text, score, problem }; with num_return_sequences, to lists of these, best first.
  // `options`: num_beams, num_return_sequences, length_penalty, no_repeat_ngram_size, target, prefix, retry.
  async translate(texts, options = {}, canceled = () => false) {
    const settings = this.settings(options);
    const planned = texts.map((text) => this.plan(text, settings));
    await this.run(planned.flatMap((one) => one.sentences), settings, canceled);
    return planned.map((one) => {
      const copied = one.sentences.every(({ segment }) => segment.copied);
      const ranks = copied ? 1 : settings.count;
      const found = Array.from({ length: ranks }, (_, rank) => this.joined(one, rank));
      while (found.length < settings.count) found.push({ text: "", score: 0, problem: "" });
      return settings.several ? found : found[0];
    });
  }

  // Yields { sentences }, their number, then { text, before, translatedText, source, problem } for each, in order;
  // `text` is the index of its text.
  async *stream(texts, options = {}, canceled = () => false) {
    const settings = this.settings(options);
    const planned = texts.map((text) => this.plan(text, settings));
    const all = planned.flatMap((text, number) => text.sentences.map((_, place) => ({ text, number, place })));
    yield { sentences: all.length };
    for (let start = 0; start < all.length; start += STREAMED) {
      const some = all.slice(start, start + STREAMED);
      await this.run(some.map(({ text, place }) => text.sentences[place]), settings, canceled);
      for (const { text, number, place } of some) {
        const [before, translatedText] = this.part(text, place);
        const { segment, found } = text.sentences[place];
        yield { text: number, before, translatedText, source: segment.text, problem: found[0].problem };
      }
    }
  }

  settings(options) {
    const own = this.model.search;
    const count = options.num_return_sequences ?? 1;
    const beams = options.num_beams ?? own.num_beams;
    if (!(Number.isInteger(beams) && beams > 0 && count <= beams)) {
      throw new RangeError(`num_beams is ${beams} and num_return_sequences ${count}; give at least as many beams.`);
    }
    const target = options.target ?? this.model.target;
    if (!this.model.targets.includes(target)) {
      throw new RangeError(`target is ${target}; this model translates into ${this.model.targets.join(", ")}.`);
    }
    const processed = { ...own, ...options };
    const prefix = options.prefix ? this.encode(options.prefix, null, true) : [];
    return { ...processed, beams, count, target, prefix, several: options.num_return_sequences !== undefined };
  }

  plan(given, settings) {
    const tag = this.model.tagged ? /^<2([^<>\s]+)>\s*/.exec(given) : null;
    const chosen = tag && this.model.targets.includes(tag[1]) ? tag[1] : settings.target;
    const text = tag && chosen === tag[1] ? given.slice(tag[0].length) : given;
    const { limits } = this.model;
    const trained = Math.min(limits.source, limits.trained ?? limits.source);
    const fits = (piece) => this.fits(piece, trained, chosen);
    const segments = segmentText(this.rules, text, fits, this.model.text);
    const sentences = segments.map((segment, index) => {
      const copied = segment.copied || !segment.text;
      const cut = !copied && hasMore(segments, index);
      const label = copied || cut ? null : labelOf(this.rules, segment);
      const sentence = { segment: { ...segment, copied }, cut, language: chosen, label, found: null };
      if (copied) return { ...sentence, found: [{ text: segment.text, score: 0, problem: "" }] };
      if (this.fits(this.modelInput(sentence).text, limits.source, chosen)) return sentence;
      const problem = `too long: the model takes ${limits.source} tokens`;
      return { ...sentence, found: [{ text: segment.text, score: 0, problem }] };
    });
    return { source: text, sentences };
  }

  fits(text, limit, language) {
    const cleaned = cleanText(this.rules, text);
    return cleaned.length * 9 + 6 <= limit || this.encode(cleaned, language).length <= limit;
  }

  // Translates the sentences that have no translation.
  async run(sentences, settings, canceled) {
    const waiting = sentences.filter((sentence) => sentence.found === null);
    const inputs = (list) => list.map((one) => this.modelInput(one));
    const found = await this.translateInputs(inputs(waiting), settings, canceled);
    waiting.forEach((sentence, index) => (sentence.found = found[index]));
    const again = waiting.filter(({ segment, found: own }) => {
      const relevant = own.filter((one, rank) => one.text || rank === 0);
      return segment.numbered && !relevant.every((one) => hasSentinels(this.rules, segment, one.text));
    });
    for (const one of again) one.segment = asModelReads(this.rules, one.segment, this.model.text, false);
    const second = await this.translateInputs(inputs(again), settings, canceled);
    again.forEach((sentence, index) => (sentence.found = second[index]));
    const broken = waiting.filter((sentence) => !this.write(sentence));
    await this.runWithoutSpans(broken, settings, canceled);
  }

  // The segment of a sentence, without the end of a label, which the model does not read.
  read({ segment, label }) {
    if (label === null) return segment;
    const read = readLabel(segment, label);
    return this.model.text.add_stops ? withStop(this.rules, read) : read;
  }

  // The model's input for a sentence.
  modelInput(sentence) {
    return { text: modelText(this.rules, this.read(sentence), sentence.cut), language: sentence.language };
  }

  // Turns outputs of the model into translations. Returns whether each has all spans.
  write(sentence) {
    const { segment, label, language } = sentence;
    const input = cleanText(this.rules, this.modelInput(sentence).text);
    for (const one of sentence.found) {
      const same = input !== "" && cleanText(this.rules, one.text) === input;
      const written = asWritten(this.rules, this.read(sentence), one.text);
      const kept = label === null || !strip(written);
      one.text = same ? segment.text : kept ? written : withEnd(this.rules, written, label, language);
    }
    if (label !== null) sentence.found = distinct(sentence.found);
    return sentence.found.every((one) => {
      const places = strip(one.text) ? locate(segment.text, segment.spans, one.text) : [];
      if (places === null) return false;
      one.text = lowerStart(this.rules, segment.text, segment.spans, one.text, places, language);
      return true;
    });
  }

  async runWithoutSpans(sentences, settings, canceled) {
    const bare = sentences.map(({ segment }) => without(segment.text, segment.spans));
    const own = sentences.map((sentence, index) => {
      const plain = { text: bare[index].text, space: "", copied: false, spans: [], stop: "", items: [] };
      const segment = asModelReads(this.rules, plain, this.model.text, false);
      const stopped = this.model.text.add_stops && !sentence.cut ? withStop(this.rules, segment) : segment;
      const label = sentence.label === null ? null : labelOf(this.rules, stopped);
      return { segment: stopped, cut: sentence.cut, language: sentence.language, label };
    });
    const found = await this.translateInputs(own.map((one) => this.modelInput(one)), settings, canceled);
    own.forEach((one, index) => {
      one.found = found[index];
      this.write(one);
      sentences[index].found = one.found.map((each) => {
        if (!strip(each.text)) return { ...each, text: "" };
        const [text, certain] = putSpans(this.rules, sentences[index].segment.text, bare[index], each.text);
        return { ...each, text, problem: certain ? each.problem : MOVED };
      });
    });
  }

  // Translates inputs of the model, checks the translations, and retries implausible ones.
  async translateInputs(inputs, settings, canceled) {
    if (!inputs.length) return [];
    const distinct = new Map(inputs.map((one) => [JSON.stringify(one), one]));
    const list = [...distinct.values()];
    const found = await this.searchInputs(list, settings, canceled);
    const check = (index, own) => own.forEach((one) => (one.problem = this.problem(list[index], one.text)));
    found.forEach((own, index) => check(index, own));
    const retry = async (wrong, texts, changed, restored) => {
      const again = await this.searchInputs(texts, changed, canceled);
      wrong.forEach((index, place) => {
        again[place].forEach((one) => (one.text = restored(one.text, place)));
        check(index, again[place]);
        if (!again[place][0].problem) found[index] = again[place];
      });
    };
    if (this.model.text.mask_items) {
      const wrong = [...found.keys()].filter((index) => found[index][0].problem === NUMBERS);
      const masked = wrong.map((index) => maskNumbers(this.rules, list[index].text));
      const texts = wrong.map((index, place) => ({ ...list[index], text: masked[place][0] }));
      await retry(wrong, texts, settings, (text, place) => putBack(this.rules, text, masked[place][1]));
    }
    if (settings.retry) {
      const wrong = [...found.keys()].filter((index) => found[index][0].problem);
      const wider = { ...settings, beams: 2 * settings.beams, no_repeat_ngram_size: 3 };
      await retry(wrong, wrong.map((index) => list[index]), wider, (text) => text);
    }
    const byKey = new Map([...distinct.keys()].map((key, index) => [key, found[index]]));
    return inputs.map((one) => byKey.get(JSON.stringify(one)).map((each) => ({ ...each })));
  }

  problem({ text, language }, translation) {
    const languages = [this.model.source, language ?? this.model.target];
    return findProblem(this.rules, text, translation, this.model.text, languages);
  }

  // The different translations of each input, best first.
  async searchInputs(inputs, settings, canceled) {
    const encoded = inputs.map(({ text, language }) => {
      const cleaned = cleanText(this.rules, text);
      return cleaned ? this.encode(cleaned, language) : [];
    });
    const results = inputs.map(() => new Map());
    const order = [...encoded.keys()].filter((index) => encoded[index].length);
    order.sort((one, other) => encoded[one].length - encoded[other].length);
    const beamSizes = settings.count > 1 ? [settings.beams, 4 * settings.beams] : [settings.beams];
    for (const beams of beamSizes) {
      const few = order.filter((index) => results[index].size < settings.count);
      for (let start = 0; start < few.length; start += BATCH) {
        const rows = few.slice(start, start + BATCH);
        const found = await this.batch(rows.map((index) => encoded[index]), { ...settings, beams }, canceled);
        rows.forEach((index, place) => {
          for (const one of found[place].slice(0, settings.count > 1 ? beams : 1)) {
            const text = this.decode(one.tokens);
            if (!results[index].has(text)) results[index].set(text, { text, score: one.logProbability, problem: "" });
          }
        });
      }
    }
    return results.map((found) => {
      const own = [...found.values()].slice(0, settings.count);
      while (own.length < settings.count) own.push({ text: "", score: -1e9, problem: "" });
      return own;
    });
  }

  batch(sources, settings, canceled) {
    const { limits, search: own } = this.model;
    const allowed = sources.map((ids) => Math.min(2 * ids.length + SPARE_TOKENS, limits.target ?? Infinity));
    const ends = new Set(own.ends);
    return search(this.graphs, sources, allowed, {
      beams: settings.beams,
      lengthPenalty: settings.length_penalty,
      earlyStopping: own.early_stopping,
      start: own.start,
      ends,
      processors: processors({ ...settings, ends: own.ends }, Math.max(...allowed)),
    }, canceled);
  }

  // The translation of each sentence at a rank, with the white space after it.
  parts({ sentences }, rank) {
    const targets = sentences.map(({ segment, found }) => (segment.copied ? found[0] : found[rank] ?? found[0]).text);
    const clean = (texts) => JSON.stringify(texts.map((text) => cleanText(this.rules, text)));
    const segments = sentences.map(({ segment }) => segment);
    const sources = segments.map(({ text }) => text);
    if (clean(targets) === clean(sources) && clean(targets) !== '[""]') {
      return segments.map(({ text, space }) => [text, space]);
    }
    return spacedParts(this.rules, segments, targets);
  }

  joined(text, rank) {
    const own = text.sentences.map(({ segment, found }) => (segment.copied ? found[0] : found[rank] ?? found[0]));
    const whole = this.parts(text, rank).flat().join("");
    const [before, after] = edges(text.source);
    const problems = own.map((one) => one.problem).filter(Boolean);
    return {
      text: whole && before + whole + after,
      score: own.reduce((sum, one) => sum + one.score, 0),
      problem: problems.includes(MOVED) ? MOVED : (problems[0] ?? ""),
    };
  }

  // The white space before a sentence, and its translation. The sentences before it must be translated.
  part(text, place) {
    const first = Math.max(place - 1, 0);
    const known = text.sentences.slice(first, place + 1).map(({ found }) => found[0].text);
    // The next sentence is not translated yet, but the period depends on its script: use a text in the same script.
    const isLast = place + 1 === text.sentences.length;
    if (!isLast) known.push(known.at(-1));
    const segments = text.sentences.slice(first, first + known.length).map(({ segment }) => segment);
    const parts = spacedParts(this.rules, segments, known);
    const [before, after] = edges(text.source);
    const own = parts[place - first][0];
    return [place ? parts[0][1] : own && before, isLast && own ? own + after : own];
  }
}

// Replaces repeated translations with blank ones at the end.
function distinct(translations) {
  const first = translations.filter((one, rank) => translations.findIndex((other) => other.text === one.text) === rank);
  return [...first, ...translations.filter((one) => !first.includes(one)).map((one) => ({ ...one, text: "" }))];
}

function edges(source) {
  const body = strip(source);
  const start = source.indexOf(body);
  return [source.slice(0, start), source.slice(start + body.length)];
}
