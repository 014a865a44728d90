// Whether a text and its translation have the same numbers. The JavaScript version of `same_numbers.py`.
import { count, findNumbers, numberWords } from "./numbers.js";

export function sameNumbers(rules, source, target, languages) {
  const [first, second] = [source, target].map((text, side) => findNumbers(rules, text, languages[side]));
  const doubled = [...first.doubled].sort().join(" ") !== [...second.doubled].sort().join(" ");
  if (doubled || swapped(first, second) || swapped(second, first)) return false;
  const figures = unequal(
    [...first.figures, ...monthFigures(first, second)],
    [...second.figures, ...monthFigures(second, first)],
  );
  const words = [wordsLeft(first, second), wordsLeft(second, first)];
  const parts = [partsOf(figures[0], words[1]), partsOf(figures[1], words[0])];
  let lost = less(less(parts[0], parts[1]), covering(rules, words[1], weakOf(rules, second, first), figures[0]));
  let added = less(less(parts[1], parts[0]), covering(rules, words[0], weakOf(rules, first, second), figures[1]));
  lost = more(lost, lostWords(rules, first, second, languages));
  added = more(added, lostWords(rules, second, first, [...languages].reverse()));
  [lost, added] = withoutOtherWays(rules, lost, added, words, first.clock || second.clock);
  if (lost.size && added.size) return false;
  return !(
    isDifference(rules, lost, figures[0], second, languages[1]) || isDifference(rules, added, figures[1], first, languages[0])
  );
}

// The first counts without the others.
function less(counts, others) {
  const left = new Map();
  for (const [value, number] of counts) {
    const rest = number - (others.get(value) ?? 0);
    if (rest > 0) left.set(value, rest);
  }
  return left;
}

function more(counts, others) {
  const sum = new Map(counts);
  for (const [value, number] of others) sum.set(value, (sum.get(value) ?? 0) + number);
  return sum;
}

const swapped = (own, other) => {
  const has = ([one, next]) => other.pairs.some((pair) => pair[0] === one && pair[1] === next);
  return own.pairs.some((pair) => !has(pair) && has([...pair].reverse()));
};

const monthFigures = (own, other) =>
  other.dated
    ? own.months.map((month) => ({ wholes: [month], parts: [`month ${month}`], name: false, counts: false }))
    : [];

// The figures of each text without an equal one in the other; those of names may be there more often.
function unequal(first, second) {
  const known = [first, second].map((figures) => new Set(figures.flatMap(({ wholes }) => wholes)));
  let left = [first, second];
  for (const names of [[false, false], [true, true], [false, true], [true, false]]) left = unequalKinds(...left, names);
  const lone = (figures, there) => figures.filter(({ name, wholes }) => !(name && wholes.every((one) => there.has(one))));
  return [lone(left[0], known[1]), lone(left[1], known[0])];
}

function unequalKinds(first, second, names) {
  const places = new Map();
  [...second.entries()].reverse().forEach(([place, { name, wholes }]) => {
    for (const whole of name === names[1] ? wholes : []) places.set(whole, [...(places.get(whole) ?? []), place]);
  });
  const used = new Set();
  const ordered = [...first.filter(({ parts }) => parts.length !== 1), ...first.filter(({ parts }) => parts.length === 1)];
  const left = ordered.filter(({ name, wholes }) => {
    for (const whole of name === names[0] ? wholes : []) {
      const same = places.get(whole) ?? [];
      while (same.length && used.has(same.at(-1))) same.pop();
      if (same.length) {
        used.add(same.pop());
        return false;
      }
    }
    return true;
  });
  return [left, second.filter((_, place) => !used.has(place))];
}

// The values of words that are no words of the other text.
const wordsLeft = (own, other) =>
  [own.han, less(own.weak, other.weak), less(count(own.months), count(other.months))].reduce(
    more,
    less(own.words, other.words),
  );

// Of these, those that are seldom written with digits.
const weakOf = (rules, own, other) =>
  more(less(own.weak, other.weak), new Map([...own.han].filter(([value]) => rules.numbers.weak.includes(value))));

// The numbers in figures, without those that are words as a whole.
const partsOf = (figures, words) =>
  count(
    figures
      .filter(({ wholes, parts }) => parts.length === 1 || !wholes.some((whole) => words.get(whole) > 0))
      .flatMap(({ parts }) => parts),
  );

// The words that stand for figures of the other text: weak ones for those that count things.
function covering(rules, words, weak, figures) {
  const counted = count(figures.filter(({ counts }) => counts).flatMap(({ parts }) => parts));
  return new Map(
    [...words].map(([value, number]) => {
      if (!rules.numbers.weak.includes(value)) return [value, number];
      const strong = Math.max(number - (weak.get(value) ?? 0), 0);
      return [value, Math.min(number, strong + (counted.get(value) ?? 0))];
    }),
  );
}

// The clear number words that the other text has neither as words nor as figures.
function lostWords(rules, own, other, languages) {
  if (!numberWords(rules, languages[1])?.whole) return new Map();
  return less(less(less(own.clear, other.words), other.han), valuesOf(other));
}

const valuesOf = ({ figures }) => count(figures.flatMap(({ wholes, parts }) => [...new Set([...wholes, ...parts])]));

// The numbers of each text without hours of another clock, and without decades in their short or long form.
function withoutOtherWays(rules, givenLost, givenAdded, words, clock) {
  let [lost, added] = [new Map(givenLost), new Map(givenAdded)];
  takeCentury(lost, added);
  takeCentury(added, lost);
  if (clock) {
    const others = [hours(rules, [...added.keys(), ...words[1].keys()]), hours(rules, [...lost.keys(), ...words[0].keys()])];
    [lost, added] = [less(lost, others[0]), less(added, others[1])];
  }
  const short = decades(rules, lost, [...added.keys(), ...words[1].keys()]);
  const long = decades(rules, added, [...lost.keys(), ...words[0].keys()]);
  return [less(lost, short), less(added, long)];
}

// The same hours on another clock.
function hours(rules, numbers) {
  const { day } = rules.numbers;
  const own = numbers.filter((one) => /^\d{1,2}$/.test(one)).map(Number);
  const others = own.flatMap((hour) => [hour - day / 2, hour + day / 2]);
  return count(others.filter((hour) => hour >= 0 && hour <= day).map(String));
}

// Those of the counted numbers that are decades of others in their short or long form.
function decades(rules, numbers, others) {
  const tens = new Set(others.filter((other) => other.endsWith("0")));
  const isYear = (one) => one.length === 4 && rules.numbers.centuries.includes(one.slice(0, 2));
  const short = new Set([...tens].filter(isYear).map((one) => one.slice(2)));
  return count([...numbers.keys()].filter((one) => short.has(one) || (isYear(one) && tens.has(one.slice(2)))));
}

// Takes away the decade 1930 of one text that is the 20th century's 30 of the other one.
function takeCentury(years, others) {
  for (const year of [...years.keys()].filter((one) => /^\d{4}$/.test(one))) {
    const found = [String(Number(year.slice(0, 2)) + 1), year.slice(2)];
    if (!found.every((one) => others.get(one) > 0)) continue;
    years.delete(year);
    for (const one of found) others.delete(one);
  }
}

// Whether what one text alone has is a difference: no name, and no figure that may be an unknown word.
function isDifference(rules, left, figures, other, language) {
  const names = new Set(figures.filter(({ name }) => name).flatMap(({ parts }) => parts));
  const [known, there] = [numberWords(rules, language) !== null, valuesOf(other)];
  return [...left.keys()].some(
    (one) => !names.has(one) && (known || one.length > 2 || Number(one) > rules.numbers.spelled || there.has(one)),
  );
}
