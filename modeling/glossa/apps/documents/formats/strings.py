"""Strings of programs, as JSON, YAML, PO and XLIFF have them: escapes, tags, line ends, accelerators."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ....model.facts_glossa import TextFacts
from ....model.spans_glossa import find_spans
from ....translate.texts.labels import ACCELERATORS, find_letter
from ....translate.texts.tags import Part, Piece
from ..places import Place, Usage, Writing, has_words, spelled
from .html import RULES
from .icu import with_messages
from .printf import GLUED, Printf, keeping_directives
from .tokens import Cutter, trimmed

# Elements of HTML that end a text.
BLOCKS = frozenset(
    ["address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div",
     "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head",
     "header", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre", "section",
     "select", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"]
)  # fmt: skip
_ELEMENTS = BLOCKS | RULES.inline | RULES.alone | RULES.opaque | RULES.breaks | RULES.skipped
_BRACKETED = re.compile(r"\s*<((?P<name>[A-Za-z][\w-]*)(?: [\w' -]*)?)>\s*")  # <None>, which is no tag
_TAG = re.compile(r"<(/)?([A-Za-z][\w.-]*|\d+)(?:\s[^<>]*?)?(/)?>|<>|</>")
_MARK = re.compile(rf"{_TAG.pattern}|(?<![ \t])[ \t]*+\r?\n\s*+")
_BAR = r"(?<![ |])[ ]*+\|(?!\|)[ ]*"  # between the forms of a text: `an apple|apples`
_COUNT = r"(?:\{\d+\}|[\[\]][-\d,.*Inf ]+[\[\]])[ ]*"  # what Laravel and Symfony write before a form
_COMMAND = re.compile(r"(?<!\w)--?[A-Za-z]|[`=\\]|\|\|")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
# Names that programs use: with a mark, a digit or a capital inside, and no space.
_NAME = re.compile(r"\S*(?:\w[_#/\\]\w|[a-z][A-Z]|\d|^[#@$._/-]|\w[.:]\w)\S*|[A-Z_]+_[A-Z_]+")
# Low lines that are no marks of accelerators.
_NAMED = re.compile(r"[^\W_]_[^\W_].*[^.]\.\s*\Z|[A-Z\d]_[A-Z\d]", re.S)  # in a sentence; JAVA_HOME, x86_64


def marked_parts(parts: Sequence[Part], kept: str = "") -> list[Part]:
    """Parts with the tags in their texts as parts of their own, and each line end as a break; a block ends a text.

    What the pattern `kept` finds stands for itself.
    """
    shown = "".join(part.text if part.kind == "text" else "\ufffc" for part in parts)
    cutter = Cutter(parts)
    done: list[Part] = []
    patterns = [_MARK.pattern, _bars(shown), f"(?P<kept>{kept})" if kept else ""]
    for found in re.finditer("|".join(filter(None, patterns)), shown):
        done += cutter.up_to(found.start())
        start, end = cutter.span_up_to(found.end())
        if found[0].isspace():
            done.append(Part("break", start, end))
        elif kept and found["kept"] is not None:
            done.append(Part("alone", start, end, found[0]))
        elif found[0][0] != "<" or (found[2] or "").lower() in BLOCKS:
            done.append(Part("end", start, end))
        else:
            kind = "close" if found[0].startswith("</") else "alone" if found[3] else "open"
            done.append(Part(kind, start, end, "", found[2] or ""))
    return list(_joined_ends([*done, *cutter.up_to(len(shown))]))


def _joined_ends(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts with ends of texts that have only white space between them as one."""
    waiting: list[Part] = []  # an end, and white space after it
    for part in parts:
        if waiting and part.kind in ("end", "break"):
            waiting = [waiting[0]._replace(end=part.end)]
        elif part.kind == "end":
            waiting = [part]
        elif waiting and part.kind == "text" and part.text.isspace():
            waiting.append(part)
        else:
            yield from waiting
            waiting = []
            yield part
    yield from waiting


def _bars(shown: str) -> str:
    """A pattern of the bars that divide a text into forms, which have words and close their brackets; "" if none do.

    Bars of commands divide nothing. If each form begins with another number, these belong to the bars.
    """
    forms = re.split(_BAR, shown) if "|" in shown else []
    if len(forms) < 2 or _COMMAND.search(shown):
        return ""
    counts = {found[0].strip() for found in (re.match(_COUNT, form) for form in forms) if found}
    if not all(any(map(str.isalpha, form)) and _is_balanced(re.sub(rf"^{_COUNT}", "", form)) for form in forms):
        return ""
    return rf"(?:\A|{_BAR}){_COUNT}" if len(counts) == len(forms) else _BAR


def _is_balanced(text: str) -> bool:
    stack: list[str] = []
    for mark in re.findall(r"[()\[\]{}<>]", text):
        if mark not in _PAIRS:
            stack.append(mark)
        elif not stack or stack.pop() != _PAIRS[mark]:
            return False
    return not stack


def is_text(text: str) -> bool:
    """Whether a string says something to people, rather than being a name, an address or a value."""
    position, rest = 0, []
    for start, end in find_spans(text):
        rest.append(text[position:start])
        position = end
    return TextFacts(" ".join([*rest, text[position:]])).has_letters and not _NAME.fullmatch(text.strip())


def string_places(
    parts: Sequence[Part],
    text: str,
    escape: Callable[[str], str],
    named: bool = True,
    accelerators: str = "",
    kept: str = "",
    literal: Callable[[str], str] = str,
    printf: Printf | None = None,
) -> Iterator[Place]:
    """The places of one string.

    Args:
        parts: What stands in it.
        text: The document.
        escape: How text is written.
        named: Whether the string may be a name of the program instead of a text.
        accelerators: Marks of accelerators that strings of this format have.
        literal: How it is written in sections of XML that are no markup.
        printf: How the program prints it with `printf`, whose directives take their arguments in order; None if it
            does not.
        kept: A pattern of what stays in strings of this format, as a word of its own.
    """
    if named and not is_text("".join(part.text for part in parts)):
        return
    parts = parts if named else _without_brackets(parts)
    own = trimmed(marked_parts(parts, "|".join(filter(None, (kept, GLUED if printf else "")))))
    if not has_words(own):
        return
    place = Place(own, Writing(spelled(own, text, escape), literal), usage=Usage(label=True))
    for mark in accelerators:
        place = _without_accelerator(place, mark)
    for each in with_messages(place, text):
        yield keeping_directives(each, printf) if printf else each


def _without_brackets(parts: Sequence[Part]) -> list[Part]:
    """The parts of words in angle brackets, such as `<None>`, without these; other parts as they are."""
    found = _BRACKETED.fullmatch("".join(part.text if part.kind == "text" else "\ufffc" for part in parts))
    if found is None or found["name"].lower() in _ELEMENTS:
        return list(parts)
    cutter = Cutter(parts)
    for _ in cutter.up_to(found.start(1)):
        pass
    return list(cutter.up_to(found.end(1)))


def _without_accelerator(place: Place, mark: str) -> Place:
    """A place without its only mark of an accelerator, which is written into the translation."""
    shown = "".join(part.text if part.kind == "text" else "\ufffc" for part in place.parts)
    found = list(ACCELERATORS[mark].finditer(shown))
    if len(found) != 1 or shown.count(mark) != 1:
        return place
    cutter, at = Cutter(place.parts), found[0].start()
    if any(start <= at < end for start, end in find_spans(shown[:at] + shown[at + 1 :])):
        return place
    if mark == "_" and _NAMED.search(shown):
        return place  # a name with a low line
    before = list(cutter.up_to(at))
    start, end = cutter.span_up_to(at + 1)
    marked = shown if all(part.kind == "text" for part in place.parts) else ""
    return replace(
        place,
        parts=[*before, *cutter.up_to(len(shown))],
        start=min(place.start, start),
        end=max(place.end, end),
        usage=replace(place.usage, marked=marked),
        writing=replace(place.writing, prepare=[partial(_with_accelerator, mark, shown[at + 1])]),
    )


def _with_accelerator(mark: str, letter: str, pieces: list[Piece]) -> list[Piece]:
    """Pieces with a mark before the letter, at the start of a word if one begins with it, or else before the first.

    A translation that has the mark already, such as one of a memory, stays as it is.
    """
    texts = [piece if isinstance(piece, str) else "" for piece in pieces]
    found = find_letter(texts, letter, r"[^\W_]")
    if found is None or any(map(ACCELERATORS[mark].search, texts)):
        return pieces
    number, place = found
    marked = f"{texts[number][:place]}{mark}{texts[number][place:]}"
    return [*pieces[:number], marked, *pieces[number + 1 :]]
