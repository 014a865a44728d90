"""Labels: their translations have the same final mark, and the same accelerator.

Labels of programs, such as `Name:`, `Open...` or `&Save`, are not sentences, but a model that was trained on sentences
ends their translations like sentences.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from ...model.abbreviations_glossa import STARTERS
from ...model.facts_glossa import NO_SPACES
from ...model.segments_glossa import Segment
from ...model.spans_glossa import Span

NONE, STOP, ELLIPSIS, COLON, QUESTION, EXCLAMATION = "none", "stop", "ellipsis", "colon", "question", "exclamation"
FINAL = ".!?…。！？।؟"  # marks that end a sentence
OTHER = "other"  # such as a comma, several marks, or a quoted sentence
MARKS = {STOP: ".。．｡।۔።။។", COLON: ":：", QUESTION: "?？؟", EXCLAMATION: "!！"}
KINDS = {mark: kind for kind, marks in MARKS.items() for mark in marks} | {"…": ELLIPSIS}
QUOTED = re.compile(rf"[{re.escape(''.join(KINDS))}][)\]}}\"'”’»›）］」』】》〉]+$")
# An abbreviation such as a.m., whose last period is not a stop. 4.8.0 is not an abbreviation.
SHORTENED = re.compile(r"(?<!\w)[^\W\d_]{1,2}\.\s?[^\W\d_]{1,3}\Z")
SEPARATORS = tuple(",;،؛，；、")
# Marks other than `.:?!`: after an ideograph or kana, and in some languages.
WIDE = {STOP: "。", COLON: "：", QUESTION: "？", EXCLAMATION: "！"}
PLAIN = {STOP: ".", COLON: ":", QUESTION: "?", EXCLAMATION: "!"}
OWN = {
    STOP: {
        **dict.fromkeys(("as", "bn", "hi", "ne", "or", "pa", "sa"), "।"), **dict.fromkeys(("am", "ti"), "።"),
        "km": "។", "lo": "", "my": "။", "th": "", "ur": "۔",
    },
    QUESTION: {"el": ";", **dict.fromkeys(("ar", "ckb", "fa", "ps", "sd", "ug", "ur"), "؟")},
}  # fmt: skip
# The space before a mark, by the rules of the Imprimerie nationale.
SPACED = {"fr": {COLON: "\u00a0", QUESTION: "\u202f", EXCLAMATION: "\u202f"}}
OPENING = {"es": {QUESTION: "¿", EXCLAMATION: "¡"}}
INSIDE = ("hy",)  # languages that write the marks of questions and exclamations inside words
NOUNS = ("de", "lb")  # languages that capitalize nouns
# Marks of accelerators stand before the letter that is pressed with Alt to choose a menu, as in `&File`, `E&xit` and
# `_Open`, but not in `R&D`, `&amp;` and `my_name`. Formats whose programs are known to have such marks are searched
# with `ACCELERATORS`, texts of any program with the stricter `_ACCELERATOR`, which finds no `_` inside words.
ACCELERATORS = {
    "&": re.compile(r"(?:(?<!\b[A-Z])(?<!\bAT)&(?=[^\W_])|(?<=[^\W\d_])&(?=[a-z]))(?!#?\w+;)"),  # Windows and Qt
    "_": re.compile(r"_(?=[^\W_])"),  # GTK
}
_ACCELERATOR = re.compile(r"(?:(?<![\w&/\\.-])[&_]|(?<=[^\W\d_])&(?=[a-z]))(?=[^\W\d_])(?!\w+[;=/_])")


class End(NamedTuple):
    """The end of a text.

    Attributes:
        kind: The kind of its last mark, `NONE` or `OTHER`.
        mark: The mark; an ellipsis with the white space and the mark before it.
        start: The first character of the mark, or of the white space before it.
    """

    kind: str
    mark: str
    start: int

    @classmethod
    def of(cls, text: str) -> "End":
        rest = text.rstrip("".join(KINDS))
        mark, start = text[len(rest) :], len(rest.rstrip())
        if not mark:
            other = text.endswith(SEPARATORS) or QUOTED.search(text)
            return cls(OTHER if other else NONE, "", len(text))
        kinds = {KINDS[each] for each in mark}
        if kinds <= {STOP, ELLIPSIS} and (len(mark) > 2 or ELLIPSIS in kinds):
            start -= rest[:start].endswith((*SEPARATORS, "."))
            return cls(ELLIPSIS, text[start:], start)
        return cls(kinds.pop() if len(mark) == 1 else OTHER, mark, start)


class Label(NamedTuple):
    """The properties of a label that its translation must have.

    Attributes:
        end: The end; `OTHER` if the translation may have any end.
        mark: The mark of its accelerator, or "".
        letter: The letter of the accelerator.
        strict: Whether it is known to be a text of a program. Other texts are labels if they have no final mark, a
            colon or an ellipsis, and have no accelerators.
    """

    end: End
    mark: str
    letter: str
    strict: bool

    @classmethod
    def of(cls, segment: Segment, strict: bool) -> "Label | None":
        """The label in the last sentence of a line; None if the sentence is not a label."""
        end = End.of(segment.text)
        if not strict and end.kind in (STOP, QUESTION, EXCLAMATION):
            return None
        place = _accelerator_of(segment) if strict else None
        if place is None:
            return None if end.kind == OTHER else cls(end, "", "", strict)
        return cls(end, segment.text[place], segment.text[place + 1], strict)

    def read(self, segment: Segment) -> Segment:
        """`segment` as the model reads it: without the mark of an accelerator, a colon and an ellipsis."""
        text, spans = segment.text, segment.spans
        if self.end.kind in (COLON, ELLIPSIS) and not any(span.end > self.end.start for span in spans):
            text = text[: self.end.start]
        if self.mark and (place := _accelerator_of(segment)) is not None:
            text = text[:place] + text[place + 1 :]
            spans = tuple(Span(start - (start > place), end - (end > place)) for start, end in spans)
        return segment._replace(text=text, spans=spans) if text.strip() else segment

    def write(self, target: str, language: str | None, spans: Sequence[str] = ()) -> str:
        """The translation `target` with the end of the label, and its accelerator outside the texts `spans`."""
        if not target.strip():
            return target
        target = with_end(target, self.end, language)
        return with_accelerator(target, self.mark, self.letter, spans) if self.mark else target


def _accelerator_of(segment: Segment) -> int | None:
    """The position of the only mark of an accelerator, if any."""
    found = [mark.start() for mark in _ACCELERATOR.finditer(segment.text)]
    if len(found) != 1 or segment.text.count(segment.text[found[0]]) > 1:
        return None
    return None if any(start <= found[0] < end for start, end in segment.spans) else found[0]


def without_accelerators(source: str, target: str) -> tuple[str, str]:
    """A text and its translation without the mark of an accelerator, if both have one."""
    place = _accelerator_of(Segment(source, ""))
    if place is None or target.count(source[place]) != 1:
        return source, target
    return source[:place] + source[place + 1 :], target.replace(source[place], "")


def with_end(target: str, end: End, language: str | None) -> str:
    """`target` with a final mark of the kind of `end`, as in `language`. A mark of the same kind stays."""
    own, code = End.of(target), (language or "").partition("-")[0]
    if end.kind in (OTHER, own.kind) or (own.kind == OTHER and end.kind == NONE):
        return target
    if code in INSIDE and {own.kind, end.kind} & {QUESTION, EXCLAMATION}:
        return target
    opening = OPENING.get(code, {})
    bare = target[: own.start]
    if end.kind == NONE and own.kind == STOP and SHORTENED.search(bare):
        return target
    if own.kind in opening:
        bare = "".join(bare.rsplit(opening[own.kind], 1))
    if own.kind == OTHER and bare.endswith(SEPARATORS):
        bare = bare[:-1]
    if opening.get(end.kind, "") not in bare:
        bare = opening[end.kind] + bare
    return bare + _written(end, bare, code) if bare else target


def _written(end: End, before: str, language: str) -> str:
    """The final mark after the text `before`, with the space of the language between them."""
    if end.kind in (NONE, ELLIPSIS):
        return end.mark
    if NO_SPACES.match(before[-1:]):
        return WIDE[end.kind]
    mark = OWN.get(end.kind, {}).get(language, PLAIN[end.kind])
    return SPACED.get(language, {}).get(end.kind, "") + mark


def with_accelerator(target: str, mark: str, letter: str, spans: Sequence[str]) -> str:
    """`target` with the mark of an accelerator.

    In Chinese, Japanese and Korean, the accelerator is in parentheses after the words: 文件(&F).
    """
    hidden = target
    for span in sorted(spans, key=len, reverse=True):
        hidden = hidden.replace(span, "\0" * len(span))
    _, place = find_letter([hidden], letter, r"[^\W\d_]") or (0, None)
    if place is not None and not NO_SPACES.match(target[place]) and not "\uac00" <= target[place] <= "\ud7a3":
        return target[:place] + mark + target[place:]
    end = End.of(target).start
    return f"{target[:end]}({mark}{letter.upper()}){target[end:]}"


def find_letter(texts: Sequence[str], letter: str, other: str) -> tuple[int, int] | None:
    """The index of the text, and the position in it, where the mark of an accelerator is placed.

    It is before `letter` at the start of a word, or inside a word, or else before the first match of `other`.
    """
    for pattern in (rf"(?<!\w){letter}", letter, other):
        for number, text in enumerate(texts):
            bare = "".join(unicodedata.normalize("NFD", each)[0] for each in text)  # É for E
            if found := re.search(pattern, bare, re.I):
                return number, found.start()
    return None


def lower_start(source: str, spans: Sequence[Span], target: str, places: Sequence[Span], language: str | None) -> str:
    """`target` with a lower-case letter after the spans at its beginning, if `source` has one there.

    Names, abbreviations, and nouns in languages that capitalize nouns keep their capital letter.
    """
    first, place = _after_spans(source, spans), _after_spans(target, sorted(places))
    if first is None or place is None or not source[first].islower() or not target[place].isupper():
        return target
    word = re.match(r"\w+", target[place:])[0]  # type: ignore[index]  # a letter
    named = re.search(rf"\b{word}\b", source) or not (word[1:].islower() or len(word) == 1)
    noun = (language or "").partition("-")[0] in NOUNS and word.casefold() not in STARTERS
    pronoun = word == "I" and language == "en"
    return target if named or noun or pronoun else target[:place] + target[place].lower() + target[place + 1 :]


def _after_spans(text: str, spans: Sequence[Span]) -> int | None:
    """The position of the first letter after the spans at the beginning of a text; None without such spans."""
    position = 0
    for start, end in spans:
        if any(map(str.isalnum, text[position:start])):
            break
        position = end
    found = re.compile(r"[\W_]*").match(text, position).end()  # type: ignore[union-attr]
    return found if position and found < len(text) else None
