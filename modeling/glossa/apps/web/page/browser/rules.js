// The rules about texts that Python exports: patterns, word lists and character classes, and functions to apply them.

export class Rules {
  constructor(data) {
    Object.assign(this, data);
    const compiled = (source, flags) => new RegExp(source, flags);
    this.patterns = Object.fromEntries(
      Object.entries(data.patterns).map(([name, { source, flags }]) => [
        name,
        { find: compiled(source, `${flags}g`), here: compiled(source, `${flags}y`) },
      ]),
    );
    this.classes = Object.fromEntries(
      Object.entries(data.classes).map(([name, ranges]) => [name, compiled(`[${ranges}]`, "u")]),
    );
    this.lists = Object.fromEntries(Object.entries(data.lists).map(([name, words]) => [name, new Set(words)]));
    this.folds = new Map(Object.entries(data.casefold));
    this.sentinels = [...data.sentinels];
  }

  // All matches between `start` and `end`, as if the text ended at `end`.
  all(name, text, start = 0, end = text.length) {
    const { find } = this.patterns[name];
    const searched = end === text.length ? text : text.slice(0, end);
    find.lastIndex = start;
    return [...searched.matchAll(find)].filter((found) => found.index >= start);
  }

  at(name, text, start = 0) {
    const { here } = this.patterns[name];
    here.lastIndex = start;
    return here.exec(text);
  }

  first(name, text, start = 0) {
    const { find } = this.patterns[name];
    find.lastIndex = start;
    return find.exec(text);
  }

  whole(name, text) {
    const found = this.at(name, text);
    return found !== null && found[0].length === text.length;
  }

  replaced(name, text, by) {
    return text.replace(this.patterns[name].find, by);
  }

  fold(text) {
    return [...text].map((one) => this.folds.get(one) ?? one.toLowerCase()).join("");
  }

  // Like Python's methods: the text has cased letters, and all have this case.
  isUpper(text) {
    return this.classes.upper.test(text) && !this.classes.lower.test(text) && !this.classes.title.test(text);
  }

  isLower(text) {
    return this.classes.lower.test(text) && !this.classes.upper.test(text) && !this.classes.title.test(text);
  }

  isDigits(text) {
    return text !== "" && [...text].every((one) => this.classes.digit.test(one));
  }

  // Whether no sentence can begin with this letter, since it is lower case.
  beginsNoSentence(letter) {
    return this.classes.lower.test(letter) && !this.classes.begins.test(letter);
  }
}

const SPACE = "[\\t-\\r\\u{1c}-\\u{20}\\u{85}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}]";
const EDGES = { left: new RegExp(`^${SPACE}+`, "u"), right: new RegExp(`${SPACE}+$`, "u") };
const SPACES = new RegExp(`${SPACE}+`, "u");

export const stripLeft = (text) => text.replace(EDGES.left, "");
export const stripRight = (text) => text.replace(EDGES.right, "");
export const strip = (text) => stripRight(stripLeft(text));
export const isSpace = (text) => text !== "" && strip(text) === "";

// The parts between white space, as Python's `split()`.
export const split = (text) => strip(text).split(SPACES).filter(Boolean);

export const letters = (text) => text.match(/\p{L}/gu) ?? [];
export const hasLetters = (text) => /\p{L}/u.test(text);
export const isWordCharacter = (one) => /^[\p{L}\p{N}]$/u.test(one);

// The last and first character, or "".
export const last = (text) => [...text.slice(-2)].at(-1) ?? "";
export const first = (text) => (text ? String.fromCodePoint(text.codePointAt(0)) : "");

// The number of characters; `length` counts characters above U+FFFF twice.
export const size = (text) => [...text].length;

// The words of a text that have letters.
export function words(text) {
  return split(text).filter(hasLetters);
}

export function capitals(rules, text) {
  const [fewestUpper, fewestTitle, share] = rules.capitals;
  const found = words(text);
  const upper = found.filter((word) => word.toUpperCase() === word && word !== word.toLowerCase()).length;
  if (upper >= fewestUpper && upper >= share * found.length) return "upper";
  const firsts = found.map((word) => letters(word)[0]);
  return found.length >= fewestTitle && firsts.every((one) => rules.isUpper(one)) ? "title" : "";
}

// The period of the script of the last letter, or "" if it is unknown.
export function period(rules, text) {
  const letter = letters(text).at(-1) ?? "";
  if (rules.at("noSpaces", letter)) return "。";
  return letter && rules.classes.periodScripts.test(letter) ? "." : "";
}
