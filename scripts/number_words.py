"""Write the table of number words that checks of translations read: `python scripts/number_words.py PACKAGE`.

PACKAGE is the folder of npm's package cldr-rbnf: `npm pack cldr-rbnf@48.2.0`, then `tar xzf` of its file. Its rules
spell numbers out in the languages of Unicode's CLDR, under the Unicode License V3. Babel has the same project's names
of months, and knows which plural form a number takes. The table is by language, and then by number.
"""

import argparse
import gzip
import json
import re
import unicodedata
from pathlib import Path

from babel import Locale, UnknownLocaleError

TABLE = Path(__file__).parents[1] / "modeling" / "glossa" / "base" / "number_words.json.gz"
SCALES = (100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12)
NUMBERS = [*range(101), *(factor * scale for scale in SCALES for factor in (1, 2, 3, 4, 5, 6, 7, 8, 9))]
LARGER = (101, 121, 222, 1001, 1100, 1222)  # whose spelling shows the words between numbers
HAN = ("ja", "zh", "yue")  # languages with numbers of Han characters, which are read by their meaning
GLOSSA = {"fil": "tl"}  # codes of languages that are others in Glossa
SUBSTITUTION = re.compile(r"(←[^←]*←|→→→|→[^→]*→|=[^=]*=|\$\([^$]*\)\$)")
# Words that stand for numbers and that the rules do not have, by language. Those with "=" are no part of larger
# numbers, and may mean something else.
OTHERS = Path(__file__).with_suffix(".json")


class Rules:
    """The rules of one language: sets of numbers from which a rule holds, its divisor, and what it writes."""

    def __init__(self, path: Path):
        sets = json.loads(path.read_text(encoding="utf-8"))["rbnf"]["rbnf"].get("SpelloutRules", {})
        self.sets = {name: _numbered(rules) for name, rules in sets.items() if name.startswith("%")}
        self.locale = path.stem.replace("-", "_")

    def phrases(self, number: int, kinds: str = "numbering$|cardinal") -> set[str]:
        """All spellings of a number as [`folded`] words: cardinals, or "ordinal" ones, in each gender and case."""
        ways = [name for name in self.sets if re.match(rf"%spellout-(?:{kinds})", name)]
        spelled = {folded(self.spell(number, name)) for name in ways}
        return {phrase for phrase in spelled if phrase and not re.search(r"[\d#=→←]", phrase)}

    def spell(self, number: int, name: str) -> str:
        """A number in the words of a set; "" if this has none."""
        rules = self.sets.get(name, [])
        place = max((place for place, (base, _, _) in enumerate(rules) if base <= number), default=None)
        if place is None:
            return ""
        base, divisor, body = rules[place]
        # A rule of two parts leaves the multiples of its divisor to the rule before.
        if place and number % divisor == 0 and base % divisor and len(re.findall("[←→]", body)) > 3:
            place -= 1
        return self._apply(name, place, number)

    def _apply(self, name: str, place: int, number: int) -> str:
        _, divisor, body = self.sets[name][place]
        body = re.sub(r"\[([^\]]*)\]", "" if number % divisor == 0 else r"\1", body)  # left out for multiples
        return "".join(self._part(one, name, place, number) for one in SUBSTITUTION.split(body))

    def _part(self, text: str, name: str, place: int, number: int) -> str:
        if not SUBSTITUTION.fullmatch(text):
            return text
        divisor = self.sets[name][place][1]
        if text.startswith("$("):
            kind, _, forms = text[2:-2].partition(",")
            by_form = dict(re.findall(r"(\w+)\{([^{}]*)\}", forms))
            form = _plural_form(self.locale, number // divisor) if kind == "cardinal" else "other"
            return by_form.get(form, by_form["other"])
        if text == "→→→":
            return self._apply(name, place - 1, number % divisor)
        value = {"←": number // divisor, "→": number % divisor, "=": number}[text[0]]
        inner = text[1:-1]
        return str(value) if re.search("[#0]", inner) else self.spell(value, inner or name)


def _numbered(rules: list[list[str]]) -> list[tuple[int, int, str]]:
    found = []
    for given, body in rules:
        if matched := re.fullmatch(r"(\d+)(?:/(\d+))?(>*)", given.replace(",", "")):
            base, radix, divisor = int(matched[1]), int(matched[2] or 10), 1
            while divisor * radix <= base:
                divisor *= radix
            found.append((base, divisor // radix ** len(matched[3]), body.removesuffix(";").removeprefix("'")))
    return sorted(found, key=lambda rule: rule[0])


def _plural_form(locale: str, number: int) -> str:
    try:
        return Locale.parse(locale).plural_form(number)
    except UnknownLocaleError:
        return "other"


def folded(phrase: str) -> str:
    """A phrase in lower case, with spaces for hyphens, and without commas, soft hyphens and the dots of Devanagari."""
    phrase = unicodedata.normalize("NFC", phrase)
    return " ".join(re.sub("[\u00ad\u093c\u200b,]", "", phrase).replace("-", " ").casefold().split())


def words_of(rules: Rules) -> dict[str, set[str]]:
    """The words by the number that they stand for, and those between numbers by "and"."""
    found = {number: rules.phrases(number) for number in NUMBERS}
    factors = {phrase: factor for factor in range(1, 10) for phrase in sorted(found[factor], key=len)}
    table: dict[str, set[str]] = {str(number): found[number] for number in NUMBERS if number <= 900}
    for scale in SCALES:
        alone = table.setdefault(str(scale), set())
        for factor in (1, 2, 5):
            alone |= {_without(phrase, factors, factor) for phrase in found[factor * scale]} - {""}
        if scale > 100 and any(phrase.split()[0] in alone and " " in phrase for phrase in found[2 * scale]):
            table |= {
                str(factor * scale): found[factor * scale] | (alone if factor == 1 else set())
                for factor in range(1, 10)
            }
    for number in NUMBERS:
        table[f"+{number}"] = rules.phrases(number, "ordinal") - found[number]
    numbers = {phrase for phrases in table.values() for phrase in phrases}
    table["and"] = {
        word for number in LARGER for phrase in rules.phrases(number) for word in phrase.split()[1:-1]
    } - numbers
    return table


def _without(phrase: str, factors: dict[str, int], factor: int) -> str:
    """A multiple of a scale without its factor, at the start or the end."""
    for words in sorted((words for words, value in factors.items() if value == factor), key=len, reverse=True):
        for rest in (phrase.removeprefix(words), phrase.removesuffix(" " + words)):
            if rest != phrase and len(rest.strip()) > 1:
                return rest.strip()
    return phrase if factor == 1 else ""


def months(locale: str) -> dict[str, set[str]]:
    """The names of the months by their numbers."""
    try:
        known = Locale.parse(locale)
    except UnknownLocaleError:
        return {}
    names: dict[str, set[str]] = {}
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in known.months[context][width].items():
                if (plain := folded(name).rstrip(".")) and not re.search(r"\d", plain) and len(plain) > 2:
                    names.setdefault(f"month {number}", set()).add(plain)
    return names


def scales(locale: str) -> dict[str, set[str]]:
    """The words behind short numbers, such as "Mio." for millions, by their powers of ten."""
    try:
        known = Locale.parse(locale)
    except UnknownLocaleError:
        return {}
    words: dict[str, set[str]] = {}
    for forms in (form for width in ("short", "long") for form in known.compact_decimal_formats[width].values()):
        for number, pattern in forms.items():
            zeros = len(number) - len(re.sub("[^0]", "", pattern.pattern.split(";")[0]))
            word = folded(re.sub("[0'¤\u00a0\u202f\u200f]", " ", pattern.pattern.split(";")[0])).strip(". ")
            if zeros > 2 and len(word) > 2 - (locale in HAN):
                words.setdefault(str(10**zeros), set()).add(word)
    return words


def table(package: Path) -> dict[str, dict[str, str]]:
    """Words by language and number, with bars between them."""
    found: dict[str, dict[str, set[str]]] = {}
    for path in sorted((package / "rbnf").glob("*.json")):
        plain = path.stem.partition("-")[0]
        rules = Rules(path)
        if plain == "und" or not rules.sets:
            continue
        own = found.setdefault(GLOSSA.get(plain, plain), {})
        for more in (months(rules.locale), scales(rules.locale), {} if plain in HAN else words_of(rules)):
            for number, words in more.items():
                own.setdefault(number, set()).update(words)
    for code, others in json.loads(OTHERS.read_text(encoding="utf-8")).items():
        for number, words in others.items():
            found[code].setdefault(number, set()).update(words.split("|"))
    found["en"]["month 5"].discard("may")  # is more often a verb
    return {code: {key: "|".join(sorted(words)) for key, words in own.items() if words} for code, own in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, metavar="PACKAGE")
    found = table(parser.parse_args().package)
    content = json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    TABLE.write_bytes(gzip.compress(content, mtime=0))
    print(f"{TABLE}: {len(found)} languages, {TABLE.stat().st_size:,} bytes, {len(content):,} unpacked")


if __name__ == "__main__":
    main()
