// Detects implausible translations. The JavaScript version of `plausibility.py`.
import { hasLetters, letters, size, split } from "./rules.js";
import { sameNumbers } from "./same_numbers.js";

export const NUMBERS = "different in numbers";

// The problem of a translation, or "". `model` has length_ratio; `languages` are the codes of source and target, or null.
// Unlike Python, it does not check probabilities.
export function findProblem(rules, given, translated, model, languages) {
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
  return difference(rules, source, translation, languages);
}

const repeats = (rules, text) => rules.all("repeated", text).some((found) => hasLetters(found[1]));

function difference(rules, source, translation, languages) {
  const sorted = (name, text) => JSON.stringify(rules.all(name, text).map(([item]) => item).sort());
  if (sorted("address", source) !== sorted("address", translation)) return "different in addresses";
  if (sorted("placeholder", source) !== sorted("placeholder", translation)) return "different in placeholders";
  const sides = [source, translation].map((text) => rules.replaced("placeholder", text, " "));
  return sameNumbers(rules, ...sides, languages) ? "" : NUMBERS;
}
