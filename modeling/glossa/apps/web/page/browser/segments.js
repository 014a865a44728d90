// Splits text into segments to translate or copy, and joins them. The JavaScript version of `spans_glossa.py` and
// `segments_glossa.py`.
//
// A segment is { text, space, copied, capitals, items, stop, numbered, spans }; a span is [start, end].
import { capitals, hasLetters, isWordCharacter, last, period, split, strip, stripLeft, stripRight } from "./rules.js";
import { cleanText, splitText } from "./sentences.js";

export function findSpans(rules, text) {
  return rules
    .all("span", text)
    .filter((found) => strip(found[0]))
    .map((found) => [found.index, found.index + found[0].length]);
}

// A text with a letter in place of each span, so that spans are not split.
class Hidden {
  constructor(rules, text, spans) {
    this.letters = [...rules.hidden];
    this.any = new RegExp(`[${this.letters[0]}-${this.letters.at(-1)}]`, "gu");
    const strange = [...text.matchAll(this.any)].map(({ index }) => [index, index + 2]);
    const apart = strange.filter(([start]) => !spans.some(([first, end]) => first <= start && start < end));
    this.given = [...spans.map((span) => [span, true]), ...apart.map((span) => [span, false])];
    this.given.sort(([one], [other]) => one[0] - other[0]);
    this.texts = this.given.map(([[start, end]]) => text.slice(start, end));
    this.text = "";
    let position = 0;
    this.given.forEach(([[start, end]], number) => {
      this.text += text.slice(position, start) + this.letters[number % this.letters.length];
      position = end;
    });
    this.text += text.slice(position);
    this.shown = 0;
  }

  // A piece with its original text and spans.
  measured(piece) {
    const [found] = piece.match(this.any) ?? [];
    return this.show(piece, found ? this.letters.indexOf(found) : 0);
  }

  // The next piece with its original text and spans.
  next(piece) {
    const first = this.shown;
    this.shown += (piece.match(this.any) ?? []).length;
    return this.show(piece, first);
  }

  show(piece, first) {
    if (!this.given.length) return [piece, []];
    const [start, ...parts] = piece.split(this.any);
    let text = start;
    const spans = [];
    parts.forEach((part, index) => {
      const from = text.length;
      text += this.texts[first + index];
      if (this.given[first + index][1]) spans.push([from, text.length]);
      text += part;
    });
    return [text, spans];
  }
}

const segmentOf = (text, space, copied = false, spans = []) => ({
  text, space, copied, spans, capitals: "", items: [], stop: "", numbered: false,
});

// The segments of a text, at least one. `fits` tests whether a sentence is short enough for the model; `model` has
// split_sentences, abbreviations, lower_capitals, mask_items, add_stops and keeps_placeholders.
export function segmentText(rules, text, fits, model) {
  const hidden = new Hidden(rules, text, findSpans(rules, text));
  const described = (segment) => asModelReads(rules, segment, model, model.keeps_placeholders);
  const whole = (piece) => {
    const [shown, spans] = hidden.measured(piece);
    return fits(modelText(rules, described(segmentOf(shown, "", false, spans)), false));
  };
  const abbreviations = new Set(model.abbreviations);
  const [pieces, between] = model.split_sentences
    ? splitText(rules, hidden.text, whole, abbreviations)
    : [[hidden.text], [""]];
  const shown = pieces.map((piece) => hidden.next(piece));
  const parts = shown
    .flatMap(([own, spans], index) => withoutMarks(rules, own, spans, between[index]))
    .map((part) => (part.copied ? part : described(part)));
  if (!model.add_stops) return parts;
  return parts.map((part, index) => (part.copied || hasMore(parts, index) ? part : withStop(rules, part)));
}

export function asModelReads(rules, segment, model, sentinels) {
  const numbered = sentinels && segment.spans.length > 0 && segment.spans.length <= rules.sentinels.length;
  const items = model.mask_items && !numbered ? rules.all("item", segment.text).map(([item]) => item) : [];
  const rest = rules.replaced("item", outside(segment.text, segment.spans), " ");
  return { ...segment, items, numbered, capitals: model.lower_capitals ? capitals(rules, rest) : "" };
}

export function withStop(rules, segment) {
  return { ...segment, stop: isWordCharacter(last(segment.text)) ? period(rules, segment.text) : "" };
}

// A sentence without the copied parts before and after it.
function withoutMarks(rules, text, spans, space) {
  if (!text || hasNoWords(rules, text, spans)) return [segmentOf(text, space, text !== "", spans)];
  const part = (first, end, space, copied) => {
    const own = spans.filter(([start, stop]) => first <= start && stop <= end);
    return segmentOf(text.slice(first, end), space, copied, own.map(([start, stop]) => [start - first, stop - first]));
  };
  // Whether the space between a mark and the sentence is inside of a span.
  const cuts = (from, to) => spans.some(([begin, stop]) => begin < to && from < stop);
  const parts = [];
  let start = 0;
  let end = text.length;
  for (const name of ["listMark", "leading"]) {
    const mark = rules.at(name, text, start);
    if (!mark) continue;
    const after = start + mark[0].length;
    const [word] = text.slice(after).split(/[^\p{L}\p{N}_]/u);
    if (rules.lists.MONTHS.has(word)) continue;
    const body = stripRight(mark[0]);
    if (cuts(start + body.length, after)) continue;
    parts.push(part(start, start + body.length, mark[0].slice(body.length), true));
    start = after;
  }
  const from = text.length - [...text].slice(-40).join("").length;
  let mark = rules.first("trailing", text, Math.max(start, from));
  if (mark && cuts(mark.index, text.length - stripLeft(mark[0]).length)) mark = null;
  if (mark) end = mark.index;
  if (start === end && !mark) {
    return [...parts.slice(0, -1), { ...parts.at(-1), space: parts.at(-1).space + space }];
  }
  const gap = mark ? mark[0].slice(0, mark[0].length - stripLeft(mark[0]).length) : space;
  if (start < end) {
    const rest = part(start, end, gap, false);
    parts.push({ ...rest, copied: hasNoWords(rules, rest.text, rest.spans) });
  }
  if (mark) parts.push(part(end + gap.length, text.length, space, true));
  return parts;
}

function hasNoWords(rules, text, spans) {
  const rest = outside(text, spans);
  return isCopied(rules, rest) || !strip(rest);
}

function isCopied(rules, text) {
  const rest = rules.replaced("placeholder", rules.replaced("address", text, ""), "");
  return cleanText(rules, text) !== "" && !hasLetters(rest);
}

// A text with a space in place of each of its spans.
function outside(text, spans) {
  let rest = "";
  let position = 0;
  for (const [start, end] of spans) {
    rest += `${text.slice(position, start)} `;
    position = end;
  }
  return rest + text.slice(position);
}

// The model's input for a segment. `cut` means that the sentence continues in the next segment.
export function modelText(rules, segment, cut) {
  const masked = rules.replaced("unread", rules.replaced("glue", maskedText(rules, segment), " "), "");
  const text = (cut ? closed(rules, masked) : masked) + segment.stop;
  return segment.capitals ? text.toLowerCase() : text;
}

function maskedText(rules, segment) {
  if (!segment.numbered) return segment.items.length ? rules.replaced("item", segment.text, rules.mark) : segment.text;
  let done = "";
  let position = 0;
  segment.spans.forEach(([start, end], index) => {
    done += segment.text.slice(position, start) + rules.sentinels[index];
    position = end;
  });
  return done + segment.text.slice(position);
}

// Replaces numbers with marks. Returns the text and the numbers.
export function maskNumbers(rules, text) {
  return [rules.replaced("numberOrMark", text, rules.mark), rules.all("numberOrMark", text).map(([item]) => item)];
}

// Replaces marks with the items, in order. Items without a mark are inserted before the final mark of the text.
export function putBack(rules, text, items) {
  if (!items.length) return text;
  const parts = text.split(rules.mark);
  const whole = parts.map((part, index) => part + (index < parts.length - 1 ? (items[index] ?? "") : "")).join("");
  return endedBy(rules, whole, items.slice(parts.length - 1));
}

function endedBy(rules, whole, rest) {
  if (!rest.length) return whole;
  const { index } = rules.first("finalMarks", whole);
  return stripLeft(`${whole.slice(0, index)} ${rest.join(" ")}${whole.slice(index)}`);
}

// Whether a translation has exactly the sentinels of a numbered segment, each once.
export function hasSentinels(rules, segment, translation) {
  const found = [...translation].filter((one) => rules.sentinels.includes(one)).sort();
  return found.join("") === rules.sentinels.slice(0, segment.spans.length).join("");
}

function withItems(rules, text, segment) {
  if (!segment.numbered) return putBack(rules, text, segment.items);
  const given = new Map(segment.spans.map(([start, end], index) => [rules.sentinels[index], segment.text.slice(start, end)]));
  const whole = [...apart(rules, text, maskedText(rules, segment))]
    .map((one) => (rules.sentinels.includes(one) ? (given.get(one) ?? "") : one))
    .join("");
  return endedBy(rules, whole, [...given].filter(([sentinel]) => !text.includes(sentinel)).map(([, item]) => item));
}

// Separates sentinels from words by a space, unless the source has none there.
function apart(rules, text, source) {
  for (const sentinel of rules.sentinels.filter((one) => source.includes(one))) {
    for (const [pattern, spaced] of [
      [`(?<=${rules.wordCharacters})${sentinel}`, ` ${sentinel}`],
      [`${sentinel}(?=${rules.wordCharacters})`, `${sentinel} `],
    ]) {
      if (!new RegExp(pattern, "u").test(source)) text = text.replace(new RegExp(pattern, "gu"), spaced);
    }
  }
  return text;
}

const INLINE = " \u00a0\u202f";
const isInline = (space) => [...space].every((one) => INLINE.includes(one));
const trimInline = (text) => text.replace(/[ \u00a0\u202f]+$/, "");

// Whether a translated segment follows in the same line.
export function hasMore(segments, index) {
  return index + 1 < segments.length && !segments[index + 1].copied && isInline(segments[index].space);
}

function closed(rules, text) {
  const end = last(text);
  if (!(end in rules.clauseMarks)) return text;
  if (text.slice(-2, -1) === ".") return text.slice(0, -1);
  if (rules.at("noSpaces", end)) return `${text.slice(0, -1)}。`;
  return period(rules, text) === "." ? `${text.slice(0, -1)}.` : text;
}

const endsTwice = (text) => [".", ""].includes(text.slice(-2, -1));

// The translation of a segment, from the output of the model.
export function asWritten(rules, segment, translation) {
  let text = trimInline(withItems(rules, capitalized(translation, segment.capitals), segment));
  if (segment.stop && [".", "。"].includes(text.slice(-1)) && !endsTwice(text)) text = text.slice(0, -1);
  return text;
}

function capitalized(text, how) {
  if (how === "upper") return text.toUpperCase();
  if (how !== "title") return text;
  const raised = (word) => word && String.fromCodePoint(word.codePointAt(0)).toUpperCase() + [...word].slice(1).join("");
  return text.split(" ").map(raised).join(" ");
}

// Each text with the white space that follows it.
export function spacedParts(rules, segments, texts) {
  return segments.map((segment, index) => {
    let text = texts[index];
    let { space } = segment;
    const following = texts[index + 1] ?? "";
    if (text && following && !segment.copied && !segments[index + 1].copied) {
      const solid = rules.at("noSpaces", last(text)) && rules.at("noSpaces", following);
      const end = last(segment.text);
      if (isInline(space)) text = continued(rules, segment.text, text);
      if (space === " " && solid) space = "";
      else if (!space && !solid && (rules.lists.END_MARKS.has(end) || rules.at("noSpaces", end))) space = " ";
    }
    return [text, space];
  });
}

// Removes the period from the translation of a source that was cut from a longer sentence.
function continued(rules, source, text) {
  const end = last(source);
  const isClause = end in rules.clauseMarks;
  if (!(isWordCharacter(end) || isClause) || ![".", "。"].includes(text.slice(-1)) || endsTwice(text)) return text;
  const wide = rules.at("noSpaces", text.slice(-1)) !== null;
  if (isWordCharacter(end)) return text.slice(0, -1);
  const isShort = rules.first("abbreviated", text) || source.slice(0, -1).endsWith(text.split(/\s/).at(-1));
  const own = source.slice(-2, -1) === "." && isShort;
  return (own ? text : text.slice(0, -1)) + (wide === (rules.at("noSpaces", end) !== null) ? end : rules.clauseMarks[end]);
}
