// Detects implausible translations. The JavaScript version of `plausibility.py` and `han_numbers.py`.
import { hasLetters, letters, size, split } from "./rules.js";

export const NUMBERS = "different in numbers";

// The problem of a translation, or "". `model` has length_ratio. Unlike Python, it does not check probabilities.
export function findProblem(rules, given, translated, model) {
  const source = split(given).join(" ");
  const translation = split(translated).join(" ");
  const { copied, checked, spare, shortest, longest } = rules.limits;
  const count = letters(source).length;
  if (count && !/[\p{L}\p{N}]/u.test(translation)) return "empty";
  if (!translation) return "";
  if (count >= copied && rules.fold(source) === rules.fold(translation)) return "copied";
  if (repeats(rules, translation) && !repeats(rules, source)) return "repetitive";
  const ratio = model.length_ratio;
  const measure = ratio == null ? (text) => new TextEncoder().encode(text).length : size;
  const length = measure(translation);
  const [least, most] = ratio == null ? [measure(source) / 2, measure(source) * 2] : Array(2).fill(size(source) * ratio);
  if (size(source) >= checked && length + spare < shortest * least) return "too short";
  if (length - spare > longest * most) return "too long";
  return difference(rules, source, translation);
}

const repeats = (rules, text) => rules.all("repeated", text).some((found) => hasLetters(found[1]));

function difference(rules, source, translation) {
  const sorted = (name, text) => JSON.stringify(rules.all(name, text).map(([item]) => item).sort());
  if (sorted("address", source) !== sorted("address", translation)) return "different in addresses";
  if (sorted("placeholder", source) !== sorted("placeholder", translation)) return "different in placeholders";
  const { spelled, hours, invented } = rules.limits;
  const sides = [source, translation].map((text) => numbersOf(rules, rules.replaced("placeholder", text, " ")));
  const [[first, inFirst], [second, inSecond]] = sides;
  const missing = [...without(first, second)].some(
    (number) => number > spelled && !second.has(number - BigInt(hours)) && !inSecond.has(number),
  );
  const shifted = new Set([...first.keys()].map((number) => number + BigInt(hours)));
  const added = [...without(second, first)].some(
    (number) => number >= invented && !shifted.has(number) && !inFirst.has(number),
  );
  return missing || added ? NUMBERS : "";
}

// The numbers that the first count has more often.
function* without(first, second) {
  for (const [number, count] of first) if (count > (second.get(number) ?? 0)) yield number;
}

// The counts of the numbers in a text, and the possible values of its Chinese numerals.
function numbersOf(rules, given) {
  const possible = new Set();
  let text = given;
  if ([...rules.han.signs].some((sign) => given.includes(sign))) {
    for (const [found] of rules.all("hanNumber", given)) possible.add(hanValue(rules, found));
    text = rules.replaced("hanNumber", given, " ");
  }
  const counts = new Map();
  for (const [found] of rules.all("quantity", text)) {
    const number = BigInt(decimal(found.replace(/\P{Nd}/gu, "")).slice(0, 300));
    counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  return [counts, possible];
}

// Converts digits of any script to ASCII. The ten digits of a script are consecutive code points.
function decimal(digits) {
  const value = (digit) => {
    let zero = digit.codePointAt(0);
    let steps = 0;
    while (steps < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(zero - 1)) && zero % 16 !== 0 && zero % 16 !== 6) {
      zero -= 1;
      steps += 1;
    }
    return steps;
  };
  return [...digits].map((digit) => (digit <= "9" ? digit : value(digit))).join("");
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
      waiting = token.split(".").length < 3 ? Number(decimalNumber(token)) : 0;
    }
  }
  return BigInt(Math.trunc(total + section + (waiting ?? 0)));
}

const decimalNumber = (token) => [...token.replaceAll(",", "")].map((one) => (one === "." ? one : decimal(one))).join("");
