"""Check translations by rule: `glossa check app.po`. The rules are those by which translations are made."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...base.same_numbers import same_numbers
from ...model.facts_glossa import WIDE, TextFacts
from ...model.spans_glossa import ANY_SPAN, MARK
from ...readers.segments import DIRECTIVE
from ...translate.plausibility import find_problem
from ...translate.search.constraints import Forbidden
from ...translate.texts.labels import End, with_end, without_accelerators
from .formats.format import UNKNOWN, LanguagePair, TextPair
from .glossary import Glossary

# Rules that [`find_problem`] knows, by its names.
_PLAUSIBLE = {
    "empty": "untranslated", "copied": "copied", "repetitive": "repetitive", "too short": "short", "too long": "long",
}  # fmt: skip
RULES = (
    "untranslated", "copied", "repetitive", "short", "long", "tags", "placeholders", "addresses", "numbers", "spaces",
    "end", "terms", "forbidden", "inconsistent",
)  # fmt: skip
COPIED_WORDS = 3  # small words, which are no names, of a text that is no translation of itself
MEASURED = 50  # translations of a file from which the expected length of others is known
# Names of people, by the conventions of GNOME and KDE: translators write their own.
_OWN = frozenset(["translator-credits", "translator_credits", "NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS"])
_DIRECTIVE = re.compile(rf"%{DIRECTIVE}")
# Attributes of a tag whose values are text.
_TEXTS = re.compile(r"""\s(?:alt|title|placeholder|aria-label|label|lang)\s*=\s*(?:"[^"]*"|'[^']*')""")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_WORD, _SINGLE = re.compile(r"<([a-zA-Z]\w*)>"), frozenset(["br", "hr", "p", "li", "img", "wbr"])
_COMMON = re.compile(r"(?<!\w)[a-zà-öø-ÿа-яё]{2,}(?!\w)")
_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
_LETTER = rf"[^\W\d_{WIDE}]"
_DOUBLE = re.compile(r"(?<=\S)[ \u00a0]{2,}(?=\S)")
_GLUED = re.compile(rf"{_LETTER}{{3}}[,;:!?.]{_LETTER}{{3}}")
_LOOSE = re.compile(r"(?<=\w) +[,.](?=\s|\Z)")


def length_ratio(pairs: Sequence[TextPair]) -> float | None:
    """Characters of a translation for each character of its text; None if fewer than `MEASURED` pairs are finished."""
    finished = [pair for pair in pairs if pair.target.strip() and not pair.unfinished]
    sizes = [sum(map(len, side)) for side in zip(*((each.source, each.target) for each in finished), strict=True)]
    return sizes[1] / sizes[0] if len(finished) >= MEASURED and sizes[0] else None


class Found(NamedTuple):
    """A rule that a translation breaks, and what is wrong."""

    rule: str
    detail: str


@dataclass
class Checks:
    """Rules for translations.

    Attributes:
        languages: The languages of the texts.
        glossary: Terms that translations must have.
        forbidden: Words that no translation may have.
        length_ratio: Characters of a translation for each character of its text, if known.
        kept: Patterns of what translations keep, besides placeholders that all programs have.
        known: The translation of each text and its place, by text and context, of the pairs that were checked.
    """

    languages: LanguagePair = UNKNOWN
    glossary: Glossary | None = None
    forbidden: Sequence[str] = ()
    length_ratio: float | None = None
    kept: Sequence[re.Pattern[str]] = ()
    known: dict[tuple[str, str | None], tuple[str, str]] = field(default_factory=dict)

    def find(self, pair: TextPair, place: str = "") -> list[Found]:
        """What is wrong with a translation; `place` names it when another one differs."""
        if not pair.source.strip() or not _OWN.isdisjoint((pair.source.strip(), pair.context)):
            return []
        if not pair.target.strip() or pair.unfinished:
            return [Found("untranslated", pair.unfinished or "the translation is empty")]
        source, target = html.unescape(pair.source), html.unescape(pair.target)
        source, target = without_accelerators(source, target)
        spans = _spans(source, self.kept), _spans(target, self.kept)
        plain = ANY_SPAN.sub(MARK, source), ANY_SPAN.sub(MARK, target)
        return [
            *self._plausible(*plain, pair),
            *_too_long(_TAG.sub("", pair.target), pair.most),
            *_different(*spans, pair.several),
            *([] if pair.several else self._numbers(source, target)),
            *_spaces(source, target, plain),
            *self._end(_TAG.sub("", source), _TAG.sub("", target)),
            *self._words(source, target),
            *self._consistent(pair, place),
        ]

    def _plausible(self, source: str, target: str, pair: TextPair) -> Iterator[Found]:
        problem = _PLAUSIBLE.get(find_problem(source, target, self.length_ratio), "")
        if not problem and source.casefold() == target.casefold() and len(_COMMON.findall(source)) >= COPIED_WORDS:
            problem = "copied"
        if problem and TextFacts(source).has_letters and not (pair.several and problem == "short"):
            sizes = f"{len(source)} and {len(target)} characters"
            yield Found(problem, sizes if problem in ("short", "long") else pair.target[:60])

    def _numbers(self, source: str, target: str) -> Iterator[Found]:
        first, second = (ANY_SPAN.sub(_measure, side) for side in (source, target))
        if not same_numbers(first, second, (self.languages.source, self.languages.target)):
            own, theirs = (Counter(_DIGITS.findall(side)) for side in (first, second))
            yield Found("numbers", _changes(own - theirs, theirs - own) or "a number in words differs")

    def _end(self, source: str, target: str) -> Iterator[Found]:
        source, target = source.strip(), target.strip()
        wanted = with_end(target, End.of(source), self.languages.target)
        if End.of(wanted).kind != End.of(target).kind:
            yield Found("end", f"{source[-12:]!r} and {target[-12:]!r} end differently")

    def _words(self, source: str, target: str) -> Iterator[Found]:
        for term in self.glossary.find(source) if self.glossary else ():
            if not self.glossary.has(term, target):  # type: ignore[union-attr]
                yield Found("terms", f"{term.source} is not {' or '.join(term.targets)}")
        pattern = Forbidden.pattern_of(self.forbidden) if self.forbidden else None
        for found in pattern.finditer(target) if pattern else ():
            yield Found("forbidden", found[0])

    def _consistent(self, pair: TextPair, place: str) -> Iterator[Found]:
        if not pair.several:
            first, there = self.known.setdefault((pair.source, pair.context), (pair.target, place))
            if first != pair.target:
                yield Found("inconsistent", f"{there} has {first[:60]!r}")


def _measure(found: re.Match[str]) -> str:
    """A span as numbers are compared in it: only measures have any."""
    return found[0] if found["measure"] else MARK


class _Spans(NamedTuple):
    """The tags, placeholders and addresses of a text. Directives of printf have the number of their argument.

    `written` has those that the text writes without this number.
    """

    kinds: dict[str, Counter[str]]
    written: dict[str, str]

    def shown(self, own: Counter[str]) -> Counter[str]:
        """Some of them as they are in the text."""
        return Counter(self.written.get(each, each) for each in own.elements())


def _spans(text: str, kept: Sequence[re.Pattern[str]] = ()) -> _Spans:
    kinds: dict[str, Counter[str]] = {"tags": Counter(), "placeholders": Counter(), "addresses": Counter()}
    written: dict[str, str] = {}
    argument = 0
    for pattern in kept:
        kinds["placeholders"].update(found[0] for found in pattern.finditer(text))
        text = pattern.sub(MARK, text)
    for found in ANY_SPAN.finditer(text):
        own = found[0]
        if found["address"]:
            kinds["addresses"][own.removeprefix("mailto:")] += 1
        elif (word := _WORD.fullmatch(own)) and word[1] not in _SINGLE and f"</{word[1]}>" not in text:
            continue  # `<file>` in the usage of a command, which is translated
        elif _TAG.fullmatch(own):
            kinds["tags"][" ".join(_TEXTS.sub("", own).replace(" />", "/>").split())] += 1
        elif found["placeholder"]:
            directive = _DIRECTIVE.fullmatch(own)
            if directive and not directive["number"]:
                argument += 1
                own = f"%{argument}${directive['rest']}"
                written[own] = found[0]
            kinds["placeholders"][own] += 1
    return _Spans(kinds, written)


def _different(source: _Spans, target: _Spans, several: str) -> Iterator[Found]:
    for kind, own in source.kinds.items():
        lost, added = own - target.kinds[kind], target.kinds[kind] - own
        if kind == "placeholders" and several and not added - _spans(html.unescape(several)).kinds[kind]:
            continue
        if lost or added:
            yield Found(kind, _changes(source.shown(lost), target.shown(added)))


def _too_long(target: str, most: int) -> Iterator[Found]:
    if 0 < most < len(target):
        yield Found("long", f"{len(target)} characters, and the file allows {most}")


def _changes(lost: Counter[str], added: Counter[str]) -> str:
    if lost == added:
        return f"in another order: {' '.join(lost.elements())}; number them, as in %1$s"
    parts = [("missing", lost), ("added", added)]
    return ", ".join(f"{word}: {' '.join(sorted(own.elements()))}" for word, own in parts if own)


def _spaces(source: str, target: str, plain: tuple[str, str]) -> Iterator[Found]:
    """Spaces that only one of the texts has at its ends, double ones, and missing ones around punctuation."""
    for name, own, theirs in (
        ("begins", source[: len(source) - len(source.lstrip())], target[: len(target) - len(target.lstrip())]),
        ("ends", source[len(source.rstrip()) :], target[len(target.rstrip()) :]),
    ):
        wide = re.search(f"[{WIDE}]", target.strip()[0] if name == "begins" else target.strip()[-1])
        if own.count("\n") != theirs.count("\n") or (bool(own) != bool(theirs) and not wide):
            yield Found("spaces", f"the text {name} with {own!r}, the translation with {theirs!r}")
    for pattern, problem in ((_DOUBLE, "a double space"), (_GLUED, "no space"), (_LOOSE, "a space before a mark")):
        first, second = (pattern.findall(side) for side in plain)
        if len(second) > len(first):
            place = pattern.search(plain[1]).start()  # type: ignore[union-attr]
            yield Found("spaces", f"{problem} in {plain[1][max(place - 10, 0) : place + 20]!r}")
