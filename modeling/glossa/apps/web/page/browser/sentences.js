// Splits text into sentences. The JavaScript version of `sentences_glossa.py` and `clauses_glossa.py`.
import { first, isSpace, last, letters, size, split, strip, stripLeft, stripRight } from "./rules.js";

// Normalizes a text to NFC with single spaces. A text of invisible characters becomes empty.
export function cleanText(rules, text) {
  const normal = text.replaceAll("\ufeff", "").normalize("NFC");
  return rules.whole("invisible", normal) ? "" : strip(rules.replaced("whiteSpace", normal, " "));
}

// The sentences of a text, and the white space after each. `fits` tests whether a sentence is short enough.
export function splitText(rules, text, fits, abbreviations) {
  let pieces = [];
  let start = 0;
  for (const end of rules.all("end", text)) {
    const after = end.index + end[0].length;
    if (endsAt(rules, text, start, end, after, abbreviations)) {
      pieces.push(text.slice(start, after));
      start = after;
    }
  }
  pieces.push(text.slice(start));
  pieces = pieces.flatMap((piece) => cutText(rules, piece, fits));
  const sentences = [];
  const between = [""];
  for (const piece of pieces) {
    const body = strip(piece);
    const lead = body ? piece.slice(0, piece.length - stripLeft(piece).length) : piece;
    between[between.length - 1] += lead;
    if (body) {
      sentences.push(body);
      between.push(piece.slice(lead.length + body.length));
    }
  }
  return sentences.length ? [sentences, [...between.slice(1, -1), ""]] : [[""], [""]];
}

function endsAt(rules, text, start, end, after, abbreviations) {
  const following = end.groups.close === undefined ? null : rules.at("next", text, after);
  if (!following) return true;
  const { word } = following.groups;
  if (rules.beginsNoSentence(first(word))) return false;
  const { mark, close } = end.groups;
  if (![".", "!"].includes(mark) || (close && mark === ".")) return true;
  const window = [...text.slice(start, end.index)].slice(-rules.lookBack).join("");
  const before = split(window);
  if (!before.length || isSpace(last(text.slice(0, end.index)))) return true;
  const token = stripOpening(rules, before.at(-1));
  const previous = before.at(-2) ?? "";
  const alone = (before.length === 1 && window.length === end.index - start) || /[:;]$/.test(previous);
  const frequent = rules.lists.STARTERS.has(rules.fold(word)) || rules.at("elision", word) !== null;
  const starts = frequent && !(size(word) === 1 && following.groups.period);
  if (mark === "!") {
    const name = token === before.at(-1) && rules.isUpper(first(token)) && rules.lists.INTERJECTIONS.has(rules.fold(token));
    return starts || alone || !name || previous.endsWith(",");
  }
  return periodEnds(rules, token, previous, alone, following.groups, starts, abbreviations);
}

function stripOpening(rules, text) {
  let place = 0;
  while (place < text.length && rules.opening.includes(text[place])) place += 1;
  return text.slice(place);
}

function periodEnds(rules, given, previous, alone, following, starts, abbreviations) {
  const { word } = following;
  if (rules.isDigits(given)) return numberEnds(rules, given, previous, alone, following, starts);
  if (rules.first("site", given)) return true;
  const token = given.split(/['’]/).at(-1);
  const bases = letters(token.normalize("NFD"));
  if (!bases.length) return true;
  if (bases.length === 1 && /^\p{L}/u.test(token)) {
    return letterEnds(rules, bases[0], token, previous, alone, following, starts);
  }
  if (rules.whole("roman", token)) return !alone && (starts || rules.lists.LETTERS.has(rules.fold(previous)));
  if (isKnown(token, rules.lists.TITLES)) return false;
  if (size(previous) === 2 && previous.endsWith(".") && size(token) < 4) return starts;
  const single =
    rules.isDigits(first(word)) ||
    (size(word) === 1 && !starts) ||
    (size(word) > 1 && rules.whole("roman", word));
  if (single && (isKnown(token, rules.lists.NUMBERS) || token.endsWith("str"))) return false;
  if (rules.isDigits(last(previous)) && lacksVowels(rules, token)) return true;
  if (isKnown(token, rules.lists.OTHERS) || isKnown(token, abbreviations) || looksAbbreviated(rules, token)) return starts;
  return true;
}

function numberEnds(rules, token, previous, alone, following, starts) {
  const { word } = following;
  const length = size(token);
  if (length > 3 || (length > 2 && !alone)) return true;
  if (alone || (rules.lists.MONTHS.has(word) && length < 3)) return false;
  if (rules.isDigits(first(word))) return !(following.period || rules.isDigits(previous.replace(/\.+$/, "")));
  return starts || !rules.lists.DETERMINERS.has(rules.fold(stripOpening(rules, previous)));
}

function letterEnds(rules, letter, token, previous, alone, following, starts) {
  const { word } = following;
  if (rules.isDigits(last(previous))) return !alone;
  if (!rules.isUpper(letter) && !rules.beginsNoSentence(letter)) return rules.classes.wholeWords.test(letter);
  if (alone) return false;
  const inner = stripOpening(rules, previous);
  if (inner.endsWith(".") && size(inner) === 2) return starts;
  if (rules.isDigits(first(word))) return "aeiouyяи".includes(letter) && !rules.lists.NUMBERS.has(token);
  if (following.period && size(word) === 1) return false;
  if (rules.isUpper(letter)) {
    const named = !inner || rules.isUpper(first(inner));
    const particle = named && rules.lists.PARTICLES.has(rules.fold(word));
    return rules.lists.LETTERS.has(rules.fold(inner)) || (starts && !particle);
  }
  return "aeiouyøæœıя".includes(letter) || starts;
}

function looksAbbreviated(rules, token) {
  const parts = token.split(".");
  if (parts.length > 1) return parts.every((part) => part && size(part) <= 4) && parts.some((part) => size(part) === 1);
  return lacksVowels(rules, token) && !/[rlhw]/.test(rules.fold(token));
}

function lacksVowels(rules, token) {
  return /^[\x00-\x7f]*$/.test(token) && !rules.isUpper(token) && !/[aeiouy0-9.]/.test(rules.fold(token));
}

function isKnown(token, words) {
  const start = first(token);
  return words.has(token) || words.has(start.toLowerCase() + token.slice(start.length));
}

// Cuts a text into as few pieces of similar length as possible.
export function cutText(rules, text, fits) {
  if (fits(text)) return [text];
  let halves = null;
  for (const count of [2, 3]) {
    const pieces = cut(rules, text, count);
    if (pieces.every(fits)) return pieces;
    halves ??= pieces;
  }
  return halves.length < 2 ? [text] : halves.flatMap((half) => cutText(rules, half, fits));
}

function cut(rules, text, count) {
  const characters = [...text];
  const places = new Map(); // from units of UTF-16 to characters
  characters.reduce((unit, one, place) => (places.set(unit, place), unit + one.length), 0);
  places.set(text.length, characters.length);
  const kept = stripRight(text).length;
  const found = (name) =>
    rules
      .all(name, text, 0, kept)
      .map((one) => one.index + one[0].length)
      .filter((end) => end < kept)
      .map((end) => places.get(end));
  const clauses = found("clause");
  const spaces = rules
    .all("space", text, 0, kept)
    .map((one) => places.get(one.index + one[0].length))
    .filter((place) => !inNumber(rules, characters, place));
  const share = characters.length / count;
  const cuts = [0];
  for (let number = 1; number < count; number += 1) {
    const even = roundHalfEven(share * number);
    const place =
      nearest(clauses, even, share / 2) || nearest(spaces, even, share) || between(rules, characters, even);
    if (cuts.at(-1) < place && place < characters.length) cuts.push(place);
  }
  return cuts.map((start, index) => characters.slice(start, cuts[index + 1]).join(""));
}

// Rounds like Python.
function roundHalfEven(value) {
  const floor = Math.floor(value);
  return value - floor === 0.5 ? floor + (floor % 2) : Math.round(value);
}

function nearest(places, wanted, distance) {
  const near = places.filter((place) => place > 0 && Math.abs(place - wanted) <= distance);
  return near.reduce((best, place) => (best && Math.abs(best - wanted) <= Math.abs(place - wanted) ? best : place), 0);
}

function between(rules, characters, wanted) {
  for (let distance = 0; distance < characters.length; distance += 1) {
    for (const place of [wanted - distance, wanted + distance]) {
      const inside = place > 0 && place < characters.length;
      if (inside && !inCharacter(rules, characters, place) && !inNumber(rules, characters, place)) return place;
    }
  }
  return 0;
}

function inCharacter(rules, characters, place) {
  const [left, right] = [characters[place - 1], characters[place]];
  const [leading, following] = rules.thai;
  if (/^\p{M}/u.test(right) || rules.joiners.includes(right) || left === "\u200d" || left === "\u2060") return true;
  if (following.includes(right) || leading.includes(left) || (right >= "\u{1f3fb}" && right <= "\u{1f3ff}")) return true;
  if (rules.classes.virama.test(left)) return true;
  if (right >= "\u1160" && right <= "\u11ff") return true;
  let flags = 0;
  while (flags < 40 && /^[\u{1f1e6}-\u{1f1ff}]$/u.test(characters[place - 1 - flags] ?? "")) flags += 1;
  return /^[\u{1f1e6}-\u{1f1ff}]$/u.test(right) && flags % 2 === 1;
}

function inNumber(rules, characters, place) {
  const left = characters.slice(Math.max(place - 2, 0), place);
  const right = characters.slice(place, place + 2);
  const digit = (one) => one !== undefined && rules.isDigits(one);
  if (!digit(left.at(-1))) {
    return digit(left[0]) && ".,:/-٫٬\u00a0\u202f ".includes(left.at(-1)) && digit(right[0]);
  }
  return digit(right[0]) || (right[0] !== undefined && ".,:/-٫٬".includes(right[0]) && digit(right[1]));
}
