// The numbers of a text, as figures and as words. The JavaScript version of `numbers.py`, `number_words.py` and
// `han_numbers.py`.

const LARGE = 1000;
const [CLEAR, OTHER, WEAK, MONTH] = ["", "+", "=", "month "];

// The numbers of a text. If the words of its language are not known, only Han characters and Roman numerals are.
export function findNumbers(rules, given, language) {
  const [clock, dated] = ["clock", "dated"].map((name) => rules.first(name, given) !== null);
  const [text, han] = writeHanNumbers(rules, given);
  const roman = rules.all("romanNumber", text).map(([numeral]) => String(romanValue(rules, numeral)));
  const words = numberWords(rules, language);
  const { rest, ...found } = readFigures(rules, folded(rules, text), words);
  const kinds = { [CLEAR]: [], [OTHER]: [], [WEAK]: [], [MONTH]: [] };
  for (const [value, kind] of words ? spelled(rules, rest, words) : []) kinds[kind].push(value);
  const isWeak = (value) => rules.numbers.weak.includes(value);
  return {
    ...found,
    words: count([...kinds[CLEAR], ...kinds[OTHER], ...kinds[WEAK].filter((one) => !isWeak(one)), ...roman]),
    clear: count(kinds[CLEAR]),
    weak: count(kinds[WEAK].filter(isWeak)),
    han: count(han),
    months: kinds[MONTH],
    clock,
    dated,
  };
}

export function count(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

// The number words of a language by its code, or null.
export function numberWords(rules, language) {
  const plain = (language ?? "").replaceAll("_", "-").split("-")[0].toLowerCase();
  const code = rules.numbers.like[plain] ?? plain;
  const own = rules.numbers.words[code];
  if (!own) return null;
  rules.numbers.known ??= {};
  return (rules.numbers.known[code] ??= readWords(rules, own, code));
}

function readWords(rules, own, code) {
  const values = new Map();
  for (const [value, phrases] of Object.entries(own)) {
    if (value === "and") continue;
    for (const phrase of phrases.split("|")) values.set(phrase, [...(values.get(phrase) ?? []), value]);
  }
  const lengths = new Map();
  for (const [phrase, found] of values) {
    values.set(phrase, found.filter((value) => !found.includes(WEAK + value)));
    const start = phrase.slice(0, 2).padEnd(2);
    lengths.set(start, [...(lengths.get(start) ?? []), phrase.length]);
  }
  for (const [start, found] of lengths) lengths.set(start, [...new Set(found)].sort((one, other) => other - one));
  const { unspaced, whole } = rules.numbers;
  const links = new Set((own.and ?? "").split("|").filter(Boolean));
  return { values, lengths, links, spaced: !unspaced.includes(code), whole: whole.includes(code) };
}

// A text as its number words are found in it.
const folded = (rules, text) => rules.fold(rules.replaced("wordHyphen", rules.replaced("unreadInWords", text, ""), " "));

function readFigures(rules, text, words) {
  const figures = [];
  const doubled = new Set();
  const runs = [[]]; // of figures with a joint between them
  const pieces = [];
  let done = 0;
  for (const found of rules.all("figure", text)) {
    let between = text.slice(done, found.index);
    let end = found.index + found[0].length;
    let zeros = 0;
    if (words) [zeros, end] = scaleAfter(rules, text, end, words);
    if (words && !zeros) [zeros, between] = scaleBefore(rules, between, words);
    const own = figuresAt(rules, found, text, zeros);
    const same = own.length && figures.length && figures.at(-1).wholes.join() === own[0].wholes.join();
    if (same && rules.whole("blanks", between)) doubled.add(own[0].wholes[0]);
    if (!rules.whole("joint", between)) runs.push([]);
    runs.at(-1).push(...own);
    figures.push(...own);
    pieces.push(between);
    done = end;
  }
  const pairs = runs
    .filter((run) => run.length === 2)
    .flatMap(([first, second]) => first.wholes.flatMap((one) => second.wholes.map((other) => [one, other])))
    .filter(([one, other]) => one !== other);
  return { figures, doubled, pairs, rest: [...pieces, text.slice(done)].join("0") };
}

function figuresAt(rules, found, text, zeros) {
  const start = found.index;
  const end = start + found[0].length;
  const before = [...text.slice(Math.max(start - 2 * rules.numbers.before, 0), start)].slice(-rules.numbers.before).join("");
  if (found[0] === "00" && rules.first("hour", before)) return [];
  const name = rules.first("nameBefore", before) !== null || rules.at("compound", text, end) !== null;
  return itemsOf(rules, found[0]).map((one) => {
    let [wholes, parts] = readings(rules, one);
    const year = [...one].length === 2 ? rules.first("yearBefore", before) : null;
    if (year) wholes = [year.groups.g1 + decimalOf(one), ...wholes];
    if (zeros) {
      const larger = wholes.map((whole) => shifted(rules, whole, zeros));
      [wholes, parts] = zeros > 2 ? [larger, larger.slice(0, 1)] : [[...wholes, ...larger], parts];
    }
    const counts = /^\p{Nd}+$/u.test(one) && rules.at("counts", text, end) !== null;
    return { wholes, parts, name, counts };
  });
}

function itemsOf(rules, figure) {
  const several = figure.includes(",") && figure.includes(".") && readings(rules, figure)[0][0].split(".").length > 2;
  return several ? figure.split(",").filter(Boolean) : [figure];
}

// What a figure may be as a whole, and the numbers in it.
function readings(rules, figure) {
  const marks = figure.match(/\P{Nd}/gu) ?? [];
  const runs = figure.split(/\P{Nd}/u).map(decimalOf);
  runs[0] ||= "0";
  const parts = runs.map((run) => plain(rules, run));
  if (!marks.length) return [parts, parts];
  const wholes = grouped(rules, marks, runs) ? [plain(rules, runs.join(""))] : [];
  const mark = marks.at(-1);
  const fits = marks.length === 1 || (mark !== marks[0] && grouped(rules, marks.slice(0, -1), runs.slice(0, -1)));
  if (".,٫".includes(mark) && fits && !(wholes.length && parts.at(-1).endsWith("0"))) {
    wholes.push(withFraction(rules, plain(rules, runs.slice(0, -1).join("")), runs.at(-1)));
  }
  if (!wholes.length) return [[parts.join(".")], parts];
  const divides = parts.length === 2 && parts[0] !== "0" && runs.every((run) => run.length < 3);
  return [wholes, divides ? parts : [wholes[0]]];
}

function grouped(rules, marks, runs) {
  const lengths = runs.map((run) => run.length);
  const middle = new Set(lengths.slice(1, -1));
  const alike = middle.size === 0 || (middle.size === 1 && (middle.has(3) || middle.has(2)));
  const same = new Set(marks).size === 1 && plain(rules, runs[0]) !== "0";
  return same && lengths.at(-1) === 3 && lengths[0] <= 3 && alike;
}

// ASCII digits without leading zeros.
const plain = (rules, digits) => digits.slice(0, rules.numbers.digits).replace(/^0+(?=\d)/, "");

function withFraction(rules, whole, digits) {
  const fraction = digits.slice(0, rules.numbers.digits).replace(/0+$/, "");
  return fraction ? `${whole}.${fraction}` : whole;
}

// A number times a power of ten; a date or a list stays.
function shifted(rules, number, zeros) {
  const [whole, fraction = "", ...more] = number.split(".");
  if (more.length) return number;
  const digits = fraction.padEnd(zeros, "0");
  return withFraction(rules, plain(rules, whole + digits.slice(0, zeros)), digits.slice(zeros));
}

// Converts digits of any script to ASCII. The digits of a script are consecutive code points, ten or a multiple.
function decimalOf(digits) {
  const value = (digit) => {
    let zero = digit.codePointAt(0);
    while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return (digit.codePointAt(0) - zero) % 10;
  };
  return [...digits].map((digit) => (digit <= "9" ? digit : value(digit))).join("");
}

function romanValue(rules, numeral) {
  const values = [...numeral].map((letter) => rules.numbers.roman[letter]);
  return values.reduce((sum, value, place) => sum + (value < (values[place + 1] ?? 0) ? -value : value), 0);
}

// The zeros of a power of ten from a hundred on; else 0.
const zerosOf = (value) => (/^100+$/.test(value) ? value.length - 1 : 0);

function scaleAfter(rules, text, start, words) {
  let [zeros, at] = [0, start];
  for (;;) {
    const found = phraseAt(rules, text, afterBlank(rules, text, at), words);
    const more = found && ends(rules, text, found.end, words) ? Math.max(...found.values.map(zerosOf)) : 0;
    if (!more) return [zeros, at];
    [zeros, at] = [zeros + more, found.end];
  }
}

function scaleBefore(rules, text, words) {
  const found = rules.first("lastWord", text);
  const zeros = found ? Math.max(...(words.values.get(found.groups.g1) ?? [""]).map(zerosOf)) : 0;
  return zeros > 2 ? [zeros, text.slice(0, found.index)] : [0, text];
}

// The values of the number words in a text, and their kinds.
function* spelled(rules, text, words) {
  let done = 0;
  for (const word of rules.all("wordOfLetters", text)) {
    const stop = word.index + word[0].length;
    let at = Math.max(word.index, done);
    while (at < stop) {
      const [values, end] = rowAt(rules, text, at, words);
      const whole = ends(rules, text, end, words);
      for (const [value, kind] of combined(values)) {
        const unclear = kind === CLEAR && (!whole || rules.numbers.weak.includes(value));
        yield [value, unclear ? OTHER : kind];
      }
      done = end === at && words.spaced ? stop : Math.max(end, at + 1);
      at = done;
    }
  }
}

// The values of number words that follow each other from a place on, [] for "and", and where they end.
function rowAt(rules, text, start, words) {
  const values = [];
  let [at, end, linked] = [start, start, false];
  for (;;) {
    const found = partsOfWord(rules, text, at, words);
    if (!found || (values.length && !ends(rules, text, found.end, words))) break;
    values.push(...(linked ? [[]] : []), ...found.values);
    end = found.end;
    if (!ends(rules, text, end, words)) break;
    at = afterBlank(rules, text, end);
    if (at === end && words.spaced) break;
    const link = rules.at("wordOfLetters", text, at);
    linked = link !== null && words.links.has(link[0]);
    if (linked) at = afterBlank(rules, text, at + link[0].length);
  }
  return [values, end];
}

// The values of a word's parts and where they end, or null.
function partsOfWord(rules, text, start, words) {
  const values = [];
  let at = start;
  for (let found = phraseAt(rules, text, at, words); found; found = phraseAt(rules, text, at, words)) {
    values.push(found.values);
    at = found.end;
    if (ends(rules, text, at, words)) return { values, end: at };
  }
  return at - start >= rules.numbers.prefix ? { values, end: at } : null;
}

// The values of the number words at a place and where they end; the longest that end where a word does, or any.
function phraseAt(rules, text, at, words) {
  const lengths = words.lengths.get(text.slice(at, at + 2).padEnd(2)) ?? [];
  const found = lengths.map((length) => at + length).filter((end) => words.values.has(text.slice(at, end)) && end <= text.length);
  if (!found.length) return null;
  const end = found.find((one) => ends(rules, text, one, words)) ?? found[0];
  return { values: words.values.get(text.slice(at, end)), end };
}

const ends = (rules, text, at, words) => !words.spaced || rules.at("letterOfWord", text, at) === null;
const afterBlank = (rules, text, at) => (rules.at("blank", text, at) ? at + 1 : at);

// The numbers of words that follow each other.
function* combined(row) {
  let [total, current, begun, linked] = [0, 0, null, false];
  for (const values of row) {
    for (const kind of [WEAK, OTHER, MONTH]) {
      for (const value of values.filter((one) => one.startsWith(kind)).map((one) => one.slice(kind.length))) {
        for (const number of value.split("/")) yield [number, value.includes("/") ? OTHER : kind];
      }
    }
    const own = values.find((value) => /^\d+$/.test(value));
    if (own === undefined) {
      if (values.length && begun !== null) {
        yield [String(total + current), begun];
        [total, current, begun] = [0, 0, null];
      }
      linked = !values.length;
      continue;
    }
    const value = Number(own);
    if (zerosOf(own) && !linked && current > 0 && current < value) current *= value;
    else if ((current || total) % 10 ** own.length === 0) current += value;
    else {
      yield [String(total + current), begun ?? CLEAR];
      [total, current, begun] = [0, value, null];
    }
    if (current >= LARGE) [total, current] = [total + current, 0];
    [begun, linked] = [begun === null && zerosOf(own) ? OTHER : CLEAR, false];
  }
  if (begun !== null) yield [String(total + current), begun];
}

// A text with figures of Han units in digits alone and without other numbers of Han characters, and their values.
function writeHanNumbers(rules, given) {
  if (![...rules.han.signs].some((sign) => given.includes(sign))) return [given, []];
  const values = [];
  const pieces = [];
  let done = 0;
  for (const found of rules.all("hanNumber", given)) {
    const value = String(hanValue(rules, found[0]));
    const end = found.index + found[0].length;
    const written = /^\p{Nd}/u.test(found[0]) || given[end] === "月";
    if (!written) values.push(value);
    pieces.push(given.slice(done, found.index), written ? `${value} ` : " ");
    done = end;
  }
  return [[...pieces, given.slice(done)].join(""), values];
}

function hanValue(rules, number) {
  const { digits, units, groups } = rules.han;
  let total = 0;
  let section = 0;
  let waiting = null; // digits without a unit so far
  for (const [token] of rules.all("hanToken", number)) {
    if (token in units) {
      section += (waiting ?? 1) * units[token];
      waiting = null;
    } else if (token in groups) {
      total += (section + (waiting ?? 0) || 1) * groups[token];
      section = 0;
      waiting = null;
    } else if (token in digits) {
      waiting = (waiting ?? 0) * 10 + digits[token];
    } else {
      waiting = token.split(".").length < 3 ? Number(asciiNumber(token)) : 0;
    }
  }
  // 8.7 times 10^8 is a little less than 870,000,000.
  return BigInt(Math.trunc(Number((total + section + (waiting ?? 0)).toPrecision(14))));
}

const asciiNumber = (token) => [...token.replaceAll(",", "")].map((one) => (one === "." ? one : decimalOf(one))).join("");
