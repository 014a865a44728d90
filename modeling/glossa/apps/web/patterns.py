"""Export the rules about texts as data for JavaScript: patterns, character classes and word lists.

Python declares each rule once, in the module that uses it. Here, regular expressions are translated to JavaScript from
their parsed form. The functions that apply the rules are in `page/browser/`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from ...base import han_numbers, number_words, numbers, same_numbers, word_links
from ...model import (
    abbreviations_glossa,
    clauses_glossa,
    facts_glossa,
    segments_glossa,
    sentences_glossa,
    spans_glossa,
)
from ...translate import plausibility
from ...translate.texts import labels

_parser: Any = import_module("re._parser")  # the standard library has no public parser
_SPACE = r"\t-\r\u{1c}-\u{20}\u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
# Python's classes. JavaScript's \w and \d are ASCII only, and its \s has other characters.
_CLASSES = {"DIGIT": r"\p{Nd}", "SPACE": _SPACE, "WORD": r"\p{L}\p{N}_"}

PATTERNS: dict[str, re.Pattern] = {
    "whiteSpace": sentences_glossa.WHITE_SPACE,
    "invisible": sentences_glossa.INVISIBLE,
    "end": sentences_glossa.SENTENCE_END,
    "next": sentences_glossa.NEXT_WORD,
    "elision": sentences_glossa.ELISION,
    "roman": sentences_glossa.ROMAN_NUMERAL,
    "site": sentences_glossa.WEB_ADDRESS,
    "clause": clauses_glossa.CLAUSE_END,
    "space": clauses_glossa.SPACES,
    "listMark": facts_glossa.LIST_MARK,
    "noSpaces": facts_glossa.NO_SPACES,
    "leading": segments_glossa.LEADING_EMOJI,
    "trailing": segments_glossa.TRAILING_EMOJI,
    "numberOrMark": segments_glossa.NUMBER_OR_MARK,
    "finalMarks": segments_glossa.FINAL_MARKS,
    "abbreviated": segments_glossa.ABBREVIATED,
    "glue": segments_glossa.GLUE,
    "unread": segments_glossa.INVISIBLE,
    "quoted": labels.QUOTED,
    "shortened": labels.SHORTENED,
    "span": spans_glossa.ANY_SPAN,
    "item": spans_glossa.ITEM,
    "address": spans_glossa.ADDRESS,
    "placeholder": spans_glossa.PLACEHOLDER,
    "hanNumber": han_numbers.NUMBER,
    "hanToken": han_numbers.TOKEN,
    "word": word_links.WORD,
    "repeated": plausibility.REPEATED,
    "figure": numbers.FIGURE,
    "blanks": numbers.BLANKS,
    "joint": numbers.JOINT,
    "romanNumber": numbers.ROMAN,
    "nameBefore": numbers.NAME,
    "compound": numbers.COMPOUND,
    "yearBefore": numbers.YEAR,
    "hour": numbers.HOUR,
    "counts": numbers.COUNTS,
    "clock": numbers.CLOCK,
    "dated": numbers.DATED,
    "letterOfWord": number_words.ONE_LETTER,
    "wordOfLetters": number_words.WORD,
    "wordHyphen": number_words.HYPHEN,
    "unreadInWords": number_words.UNREAD,
    "blank": number_words.BLANK,
    "lastWord": number_words.LAST_WORD,
}
LIMITS = {
    "copied": plausibility.COPIED_LETTERS,
    "checked": plausibility.CHECKED_LENGTH,
    "spare": plausibility.SPARE_LENGTH,
    "shortest": plausibility.SHORTEST,
    "longest": plausibility.LONGEST,
}


NUMBERS = {
    "unspaced": number_words.UNSPACED,
    "whole": number_words.WHOLE,
    "like": number_words.LIKE,
    "prefix": number_words.PREFIX,
    "before": numbers.BEFORE,
    "roman": numbers.ROMAN_DIGITS,
    "digits": numbers.DIGITS,
    "weak": numbers.WEAK_VALUES,
    "spelled": same_numbers.SPELLED,
    "centuries": same_numbers.CENTURIES,
    "day": same_numbers.DAY,
}


def text_rules(languages: Iterable[str] = ()) -> dict[str, Any]:
    """All rules, ready for JSON, with the number words of languages."""
    codes = {number_words.table_code(code) for code in languages} & number_words.number_table().keys()
    lists = {name: sorted(getattr(abbreviations_glossa, name)) for name in abbreviations_glossa.__all__}
    lists["END_MARKS"] = list(abbreviations_glossa.END_MARKS)
    return {
        "patterns": {name: javascript(pattern) for name, pattern in PATTERNS.items()},
        "classes": {name: _ranges(map(chr, range(0x110000)), holds) for name, holds in CLASSES.items()},
        "lists": lists,
        "casefold": {c: c.casefold() for c in map(chr, range(0x110000)) if c.casefold() != c.lower()},
        "opening": sentences_glossa.OPENING_MARKS,
        "lookBack": sentences_glossa.LOOK_BACK,
        "joiners": clauses_glossa.JOINERS,
        "thai": [clauses_glossa.THAI_LEADING, clauses_glossa.THAI_FOLLOWING],
        "wordCharacters": segments_glossa.WORD_CHARACTERS,
        "clauseMarks": segments_glossa.CLAUSE_MARKS,
        "hidden": spans_glossa.Hidden.LETTERS,
        "mark": spans_glossa.MARK,
        "sentinels": spans_glossa.SENTINELS,
        "capitals": [facts_glossa.UPPER_WORDS, facts_glossa.TITLE_WORDS, facts_glossa.MOST],
        "limits": LIMITS,
        "numbers": NUMBERS | {"words": {code: number_words.number_table()[code] for code in sorted(codes)}},
        "final": labels.FINAL,
        "labels": {
            "kinds": labels.KINDS,
            "separators": list(labels.SEPARATORS),
            "wide": labels.WIDE,
            "plain": labels.PLAIN,
            "own": labels.OWN,
            "spaced": labels.SPACED,
            "opening": labels.OPENING,
            "inside": labels.INSIDE,
            "nouns": labels.NOUNS,
        },
        "han": {
            "digits": han_numbers.DIGITS,
            "units": han_numbers.UNITS,
            "groups": han_numbers.GROUPS,
            "signs": han_numbers.SIGNS,
        },
    }


def _named(*starts: str) -> Callable[[str], bool]:
    return lambda character: unicodedata.name(character, "").startswith(starts)


CLASSES: dict[str, Callable[[str], bool]] = {
    "digit": str.isdigit,
    "upper": str.isupper,
    "lower": str.islower,
    "title": lambda character: unicodedata.category(character) == "Lt",
    # Sentences in Georgian begin with a lower-case letter.
    "begins": lambda character: character.islower() and character.title() == character,
    "virama": lambda character: unicodedata.combining(character) == 9,
    "wholeWords": _named(*sentences_glossa.WHOLE_WORDS),
    "periodScripts": lambda c: c.isalpha() and unicodedata.name(c, "").split(" ")[0] in facts_glossa.PERIOD_SCRIPTS,
}


def _ranges(characters: Iterable[str], holds: Callable[[str], bool]) -> str:
    """The characters for which `holds` is true, as the ranges of a character class in JavaScript."""
    found: list[list[int]] = []
    for number in map(ord, filter(holds, characters)):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return "".join(f"{_literal(first)}-{_literal(last)}" if last > first else _literal(first) for first, last in found)


def javascript(pattern: re.Pattern) -> dict[str, str]:
    """Translate a pattern to the `source` and `flags` of an equivalent pattern in JavaScript.

    Raises `ValueError` for conditions and inline flags, which no rule uses.
    """
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    names = {number: name for name, number in parsed.state.groupdict.items()}
    flags = "ui" if pattern.flags & re.IGNORECASE else "u"
    return {"source": _Writer(names).sequence(parsed), "flags": flags}


class _Writer:
    def __init__(self, names: dict[int, str]):
        self.names, self.atomic = names, 0

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> str:
        return "".join(self.item(str(kind), value) for kind, value in items)

    def item(self, kind: str, value: Any) -> str:
        if kind == "LITERAL":
            return _literal(value)
        if kind == "NOT_LITERAL":
            return f"[^{_literal(value)}]"
        if kind == "ANY":
            return r"[^\n]"
        if kind == "IN":
            return _characters(value)
        if kind == "BRANCH":
            return f"(?:{'|'.join(map(self.sequence, value[1]))})"
        if kind == "SUBPATTERN":
            return self.group(*value)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self.repeat(kind, *value)
        if kind == "ATOMIC_GROUP":
            return self.atomic_group(self.sequence(value))
        if kind in ("ASSERT", "ASSERT_NOT"):
            direction, inner = value
            return f"(?{'<' if direction < 0 else ''}{'=' if kind == 'ASSERT' else '!'}{self.sequence(inner)})"
        if kind == "AT":
            return _PLACES[str(value)]
        if kind == "GROUPREF":
            return rf"\k<{self.name(value)}>"
        raise ValueError(f"{kind} has no equivalent in JavaScript.")

    def group(self, number: int | None, added: int, removed: int, inner: Any) -> str:
        if added or removed:
            raise ValueError("Inline flags have no equivalent in JavaScript.")
        body = self.sequence(inner)
        return f"(?:{body})" if number is None else f"(?<{self.name(number)}>{body})"

    def name(self, number: int) -> str:
        return self.names.get(number, f"g{number}")

    def repeat(self, kind: str, least: int, most: Any, inner: Any) -> str:
        upper = "" if most == _parser.MAXREPEAT else str(most)
        repeated = f"(?:{self.sequence(inner)}){{{least},{upper}}}"
        if kind == "POSSESSIVE_REPEAT":
            return self.atomic_group(repeated)
        return repeated + ("?" if kind == "MIN_REPEAT" else "")

    def atomic_group(self, body: str) -> str:
        """An atomic group, which JavaScript lacks: a lookahead never backtracks, and a reference then consumes it."""
        self.atomic += 1
        return rf"(?=(?<atomic{self.atomic}>{body}))\k<atomic{self.atomic}>"


_WORD_BOUNDARY = r"(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))".format(_CLASSES["WORD"])
_PLACES = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": "^",
    "AT_END": r"(?=\n?$)",
    "AT_END_STRING": "$",
    "AT_BOUNDARY": _WORD_BOUNDARY,
}


def _literal(number: int) -> str:
    return rf"\u{{{number:x}}}"


def _characters(items: list[tuple[Any, Any]]) -> str:
    """A character class. A negated category cannot be part of a class in JavaScript, and becomes an alternative."""
    members = [(str(kind), value) for kind, value in items if str(kind) != "NEGATE"]
    negated = len(members) < len(items)
    others = [str(value).removeprefix("CATEGORY_NOT_") for kind, value in members if "_NOT_" in str(value)]
    plain = "".join(_member(kind, value) for kind, value in members if "_NOT_" not in str(value))
    if not others:
        return f"[{'^' if negated else ''}{plain}]"
    alternatives = "|".join([*([f"[{plain}]"] if plain else []), *(f"[^{_CLASSES[name]}]" for name in others)])
    return f"(?:(?!{alternatives})[^])" if negated else f"(?:{alternatives})"


def _member(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return _literal(value)
    if kind == "RANGE":
        return "-".join(map(_literal, value))
    return _CLASSES[str(value).removeprefix("CATEGORY_")]
