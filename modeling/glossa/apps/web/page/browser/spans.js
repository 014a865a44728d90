// Finds the spans of a sentence in its translation, and inserts them into a translation made without them.
import { isWordCharacter, last, first as firstOf, split, strip, stripLeft } from "./rules.js";

export const MOVED = "uncertain in placeholders"; // the place of a span is uncertain

// The places of the source's spans in a translation; null if it has a span more or less often.
export function locate(source, spans, target) {
  const found = new Map();
  const taken = [];
  const texts = [...new Set(spans.map(([start, end]) => source.slice(start, end)))];
  texts.sort((one, other) => [...other].length - [...one].length);
  for (const text of texts) {
    const same = spans.filter(([start, end]) => source.slice(start, end) === text);
    const glued = same.some(([start, end]) => isGlued(source, start, end));
    const free = (side) => (span) => !taken.some((pair) => overlap(span, pair[side]));
    const own = occurrences(text, source, glued).filter(free(0));
    const theirs = occurrences(text, target, glued).filter(free(1));
    if (own.length !== theirs.length) return null;
    own.forEach((span, index) => {
      const known = spans.find((one) => one[0] === span[0] && one[1] === span[1]);
      if (!known) return;
      found.set(known, theirs[index]);
      taken.push([span, theirs[index]]);
    });
  }
  return spans.every((span) => found.has(span)) ? spans.map((span) => found.get(span)) : null;
}

function occurrences(text, whole, glued) {
  const bounded = (one) => isWordCharacter(one) && !glued;
  const places = [];
  for (let start = whole.indexOf(text); start >= 0; start = whole.indexOf(text, start + 1)) {
    const end = start + text.length;
    const before = bounded(firstOf(text)) && isWord(last(whole.slice(0, start)));
    const after = bounded(last(text)) && isWord(firstOf(whole.slice(end)));
    const overlaps = places.length && start < places.at(-1)[1];
    if (!before && !after && !overlaps) places.push([start, end]);
  }
  return places;
}

const isWord = (one) => one === "_" || isWordCharacter(one);
const isGlued = (text, start, end) =>
  isWordCharacter(last(text.slice(0, start))) || isWordCharacter(firstOf(text.slice(end)));
const overlap = ([start, end], [from, to]) => start < to && from < end;
const hasWord = (text) => [...text].some(isWordCharacter);

// Removes the spans: { text, groups, points }. Spans with only punctuation between them are a group.
export function without(text, spans) {
  const groups = [];
  for (const [start, end] of spans) {
    const group = groups.at(-1);
    if (group && !hasWord(text.slice(group.end, start))) group.end = end;
    else groups.push({ start, end });
  }
  groups.forEach((group) => takeComma(text, group));
  let rest = "";
  let position = 0;
  const points = [];
  for (const { start, end } of groups) {
    rest += text.slice(position, start);
    position = end;
    const following = text[position] ?? "";
    if (["", " ", "(", "["].includes(rest.slice(-1)) && following === " ") position += 1;
    else if (rest.endsWith(" ") && following && ",.;:!?)]".includes(following)) rest = rest.slice(0, -1);
    points.push(rest.length);
  }
  rest += text.slice(position);
  const lead = rest.length - stripLeft(rest).length;
  const body = strip(rest);
  return { text: body, groups, points: points.map((point) => Math.min(Math.max(point - lead, 0), body.length)) };
}

// A group at the start or end of the sentence includes the comma next to it.
function takeComma(text, group) {
  const before = /,\s*$/.exec(text.slice(0, group.start));
  if (before && !hasWord(text.slice(group.end))) {
    group.start = before.index;
    return;
  }
  const after = /^\s*,/.exec(text.slice(group.end));
  if (after && !hasWord(text.slice(0, group.start))) group.end += after[0].length;
}

// Inserts the spans into a translation of the text from `without`. Returns it, and whether all places are certain: only
// the start and the end are. Python finds other places by attention.
export function putSpans(rules, source, bare, target) {
  const words = rules.all("word", target).map((found) => [found.index, found.index + found[0].length]);
  const real = words.filter(([start, end]) => hasWord(target.slice(start, end)));
  const inBare = rules.all("word", bare.text).filter(([word]) => hasWord(word));
  let certain = true;
  const points = bare.points.map((point) => {
    const before = inBare.filter((word) => word.index + word[0].length <= point);
    const after = inBare.filter((word) => word.index >= point);
    if (!real.length || !before.length) return real.length ? real[0][0] : 0;
    if (after.length) {
      certain = false;
      return endOfWords(rules, target, words);
    }
    const end = before.at(-1).index + before.at(-1)[0].length;
    const marks = split(bare.text.slice(end, point)).join("");
    return afterMarks(rules, target, real.at(-1)[1], target.length, marks);
  });
  return [inserted(source, bare, target, points), certain];
}

// The position after as many marks as in `marks`, but before a final mark unless `marks` has one.
function afterMarks(rules, target, start, end, marks) {
  const ended = [...marks].some((mark) => rules.final.includes(mark));
  let position = start;
  for (let left = [...marks].length; left > 0 && position < end; position += 1) {
    if (!ended && rules.final.includes(target[position])) break;
    if (strip(target[position])) left -= 1;
  }
  return position;
}

function endOfWords(rules, target, words) {
  if (!words.length) return target.length;
  const [start, end] = words.at(-1);
  return words.length > 1 && `${rules.final}:;,`.includes(target.slice(start, end)) ? start : end;
}

function inserted(source, bare, target, points) {
  const order = bare.groups.map((group, index) => [points[index], group]);
  order.sort((one, other) => one[0] - other[0] || one[1].start - other[1].start);
  let text = "";
  let position = 0;
  for (const [point, { start, end }] of order) {
    text += target.slice(position, point);
    position = point;
    const apart = start > 0 && (!strip(source[start - 1]) || isWordCharacter(last(text))) && source[start] !== ",";
    if (text && strip(last(text)) && apart) text += " ";
    text += source.slice(start, end);
    const following = firstOf(target.slice(position));
    if (isWordCharacter(following)) text += isWordCharacter(firstOf(source.slice(end))) ? "" : " ";
    else if (following && !strip(following) && source[end] && ",.)]".includes(source[end])) {
      if (target[position + 1] === source[end]) position += 1;
    }
  }
  return text + target.slice(position);
}
