// Labels: the translation of a text without a final mark, or with a colon or an ellipsis, ends like its source. The
// JavaScript version of `translate/texts/labels.py`, without menu keys, which only documents have.
import { first, isWordCharacter, last, stripRight } from "./rules.js";

// The end of a text: { kind, mark, start }.
export function endOf(rules, text) {
  const { kinds, separators } = rules.labels;
  let body = text;
  while (body && last(body) in kinds) body = body.slice(0, -last(body).length);
  const mark = text.slice(body.length);
  if (!mark) {
    const other = separators.includes(last(text)) && text !== "";
    return { kind: other || rules.first("quoted", text) ? "other" : "none", mark, start: text.length };
  }
  const start = stripRight(body).length;
  const found = new Set([...mark].map((one) => kinds[one]));
  const dots = [...found].every((kind) => kind === "stop" || kind === "ellipsis");
  if (dots && ([...mark].length > 2 || found.has("ellipsis"))) {
    const before = last(text.slice(0, start));
    const from = before && separators.includes(before) ? start - before.length : start;
    return { kind: "ellipsis", mark: text.slice(from), start: from };
  }
  return { kind: [...mark].length === 1 ? [...found][0] : "other", mark, start };
}

// The end that the translation of a line must have; null if the line is not a label.
export function labelOf(rules, segment) {
  const end = endOf(rules, segment.text);
  return ["stop", "question", "exclamation", "other"].includes(end.kind) ? null : end;
}

// The model's input for a label: without its colon or ellipsis, which no sentence has.
export function readLabel(segment, end) {
  const marked = ["colon", "ellipsis"].includes(end.kind) && !segment.spans.some(([, stop]) => stop > end.start);
  const text = marked ? segment.text.slice(0, end.start) : segment.text;
  return stripRight(text) ? { ...segment, text } : segment;
}

// Gives a translation an end of the same kind, as the language writes it. A mark of this kind stays.
export function withEnd(rules, target, end, language) {
  const { inside, opening: openings, separators } = rules.labels;
  const own = endOf(rules, target);
  const [code] = language.split("-");
  if (end.kind === "other" || end.kind === own.kind || (own.kind === "other" && end.kind === "none")) return target;
  const asking = [own.kind, end.kind].some((kind) => kind === "question" || kind === "exclamation");
  if (inside.includes(code) && asking) return target;
  const opening = openings[code] ?? {};
  let bare = target.slice(0, own.start);
  if (end.kind === "none" && own.kind === "stop" && rules.first("shortened", bare)) return target;
  if (own.kind in opening) {
    const place = bare.lastIndexOf(opening[own.kind]);
    if (place >= 0) bare = bare.slice(0, place) + bare.slice(place + 1);
  }
  if (own.kind === "other" && bare && separators.includes(last(bare))) bare = bare.slice(0, -1);
  const opened = opening[end.kind] ?? "";
  if (!bare.includes(opened)) bare = opened + bare;
  return bare ? bare + writtenMark(rules, end, bare, code) : target;
}

function writtenMark(rules, end, before, language) {
  const { wide, plain, own, spaced } = rules.labels;
  if (end.kind === "none" || end.kind === "ellipsis") return end.mark;
  if (rules.at("noSpaces", last(before))) return wide[end.kind];
  const mark = own[end.kind]?.[language] ?? plain[end.kind];
  return (spaced[language]?.[end.kind] ?? "") + mark;
}

// Lower-cases the first letter after the spans at the start of a translation, if its source has lower case there.
export function lowerStart(rules, source, spans, target, places, language) {
  const from = afterSpans(source, spans);
  const place = afterSpans(target, [...places].sort((one, other) => one[0] - other[0]));
  if (from === null || place === null) return target;
  const letter = first(target.slice(place));
  if (!rules.isLower(first(source.slice(from))) || !rules.isUpper(letter)) return target;
  const [word] = /^[\p{L}\p{N}_]+/u.exec(target.slice(place));
  const rest = word.slice(letter.length);
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, "u");
  const named = whole.test(source) || !(rules.isLower(rest) || !rest);
  const [code] = language.split("-");
  const noun = rules.labels.nouns.includes(code) && !rules.lists.STARTERS.has(rules.fold(word));
  if (named || noun || (word === "I" && language === "en")) return target;
  return target.slice(0, place) + letter.toLowerCase() + target.slice(place + letter.length);
}

// The position of the first letter after the spans at the start of a text; null if it does not start with a span.
function afterSpans(text, spans) {
  let position = 0;
  for (const [start, end] of spans) {
    if ([...text.slice(position, start)].some(isWordCharacter)) break;
    position = end;
  }
  const found = position + /^(?:[^\p{L}\p{N}])*/u.exec(text.slice(position))[0].length;
  return position && found < text.length ? found : null;
}
