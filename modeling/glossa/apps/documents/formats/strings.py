"""Strings of programs, as in JSON, YAML, PO and XLIFF, with tags, line ends, accelerators and directives."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ....model.facts_glossa import WIDE, TextFacts
from ....model.spans_glossa import find_spans
from ....translate.texts.labels import ACCELERATORS, find_letter
from ....translate.texts.tags import Part, Piece, tag_pairs
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
_BRACKETED = re.compile(r"\s*<((?P<name>[A-Za-z][\w-]*)(?: [\w' -]*)?)>\s*")  # such as <None>, which is not a tag
_TAG = re.compile(r"<(?P<close>/)?(?P<tag>[A-Za-z][\w.-]*|\d+)(?:\s[^<>]*?)?(?P<empty>/)?>|<>|</>")
_LITERAL = rf"<(?P<literal>{'|'.join(sorted(RULES.alone))})(?:\s[^<>]*)?>(?P<words>[^<>]*)</(?P=literal)>"
_MARK = re.compile(rf"{_TAG.pattern}|(?<![ \t])(?:[ \t]*+\r?\n\s*+|[ ]*+\t[ \t]*+)")
_BAR = r"(?<![ |])[ ]*+\|(?!\|)[ ]*"  # between plural forms: `an apple|apples`
_COUNT = r"(?:\{\d+\}|[\[\]][-\d,.*Inf ]+[\[\]])[ ]*"  # of Laravel and Symfony, before a plural form
LOOKED_AT = 10_000  # characters that tell a text from a name; spans are searched in no more
# The address of a reference in reStructuredText, and a parameter of CircleCI.
_KEPT = r"<[^<>`\n]+>(?=`)|<<[\w. -]+>>"
_COMMAND = re.compile(r"(?<!\w)--?[A-Za-z]|[`=\\]|\|\|")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
# Names in programs, which have a mark, a digit or a capital inside, and no space. Many scripts do without spaces.
_UNSPACED = f"{WIDE}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_NAME = re.compile(
    rf"\w+://\S+|(?=[:#@$._/-]|\S*(?:\w[_#@/\\]\w|[./*]\*|\*[./]|[a-z][A-Z]|\d|\w[.:]\w))[^\s{_UNSPACED}]+"
)
_CODE = re.compile(
    r"\A\^.*\$\Z|\(\?[:=!<P]|\A\S+/\Z|__\w+__|[\w)\]] [=!]==? |\A\S+\(\);?\Z"
)  # patterns, folders and programs
# Low lines that are no marks of accelerators.
_NAMED = re.compile(r"[^\W_]_[^\W_].*[^.]\.\s*\Z|[A-Z\d]_[A-Z\d]|(?<!\w)--[a-z]", re.S)  # JAVA_HOME, --option


def marked_parts(parts: Sequence[Part], kept: str = "") -> list[Part]:
    """Parts in which tags and line ends are separate parts. A block element ends a text.

    Matches of the pattern `kept` are parts "alone".
    """
    shown = "".join(part.text if part.kind == "text" else "\ufffc" for part in parts)
    cutter = Cutter(parts)
    done: list[Part] = []
    words: dict[int, str] = {}  # what may be a tag, by its part
    patterns = [f"(?P<kept>{kept})" if kept else "", _LITERAL, _MARK.pattern, _bars(shown)]
    for found in re.finditer("|".join(filter(None, patterns)), shown):
        done += cutter.up_to(found.start())
        start, end = cutter.span_up_to(found.end())
        if found[0].isspace():
            done.append(Part("break", start, end))
        elif kept and found["kept"] is not None:
            done.append(Part("alone", start, end, found[0]))
        elif found["literal"] is not None:
            done.append(Part("alone", start, end, found["words"].strip()))
        elif found[0][0] != "<" or (found["tag"] or "").lower() in BLOCKS:
            done.append(Part("end", start, end))
        else:
            kind = "close" if found[0].startswith("</") else "alone" if found["empty"] else "open"
            own = Part(kind, start, end, "", found["tag"] or "")
            if kind == "open" and own.name.isidentifier() and own.name.lower() not in _ELEMENTS:
                words[len(done)] = found[0]
            done.append(own)
    done += cutter.up_to(len(shown))
    for index in words.keys() - tag_pairs(done):  # such as <file>, not a tag but a word
        done[index] = done[index]._replace(kind="text", text=words[index], name="")
    return list(_joined_ends(_with_spaces(done)))


def _with_spaces(parts: list[Part]) -> list[Part]:
    """Parts in which the spaces around the end of a text belong to the end, so that they stay."""
    for index, end in enumerate(parts):
        if end.kind != "end":
            continue
        for other, text in ((index - 1, str.rstrip), (index + 1, str.lstrip)):
            part = parts[other] if 0 <= other < len(parts) else end
            bare = text(part.text)
            if part.kind != "text" or not bare or part.end - part.start != len(part.text):
                continue
            if other < index:
                parts[other] = part._replace(end=part.start + len(bare), text=bare)
                parts[index] = parts[index]._replace(start=parts[other].end)
            else:
                parts[other] = part._replace(start=part.end - len(bare), text=bare)
                parts[index] = parts[index]._replace(end=parts[other].start)
    return parts


def _joined_ends(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts in which ends of texts without words between them are joined."""
    waiting: list[Part] = []  # an end, and white space and tags after it
    for part in parts:
        kinds = [each.kind for each in waiting]
        if waiting and part.kind in ("end", "break"):
            if kinds.count("open") == kinds.count("close"):  # tags around the words stay parts
                waiting = [waiting[0]._replace(end=part.end)]
            elif kinds[-1] == "end":
                waiting[-1] = waiting[-1]._replace(end=part.end)
            else:
                waiting.append(part)
        elif part.kind == "end":
            waiting = [part]
        elif waiting and (part.kind in ("open", "close", "alone") or (part.kind == "text" and part.text.isspace())):
            waiting.append(part)
        else:
            yield from waiting
            waiting = []
            yield part
    yield from waiting


def _bars(shown: str) -> str:
    """A pattern of the bars between plural forms, or "". Each form has words and balanced brackets.

    Bars in commands are text. If each form begins with another number, the numbers belong to the bars.
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
    """Whether a string is a text for people, rather than a name, an address or a value. Its beginning decides."""
    text = text[:LOOKED_AT]
    position, rest = 0, []
    for start, end in find_spans(text):
        rest.append(text[position:start])
        position = end
    found = TextFacts(" ".join([*rest, text[position:]])).has_letters
    return found and not _NAME.fullmatch(text.strip()) and not _CODE.search(text.strip())


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
        parts: The parts of the string.
        text: The document.
        escape: Escapes text.
        named: Whether the string may be a name in the program instead of a text.
        accelerators: The marks of accelerators in this format.
        kept: A pattern of words that are not translated in this format.
        literal: Escapes text in CDATA sections of XML.
        printf: How the program prints the string with `printf`; None if it does not.
    """
    if named and not is_text("".join(part.text for part in parts)):
        return
    parts = parts if named else _without_brackets(parts)
    own = trimmed(marked_parts(parts, "|".join(filter(None, (_KEPT, kept, GLUED if printf else "")))))
    if not has_words(own):
        return
    place = Place(own, Writing(spelled(own, text, escape), literal), usage=Usage(label=True))
    for mark in accelerators:
        place = _without_accelerator(place, mark)
    for each in with_messages(place, text):
        yield keeping_directives(each, printf) if printf else each


def _without_brackets(parts: Sequence[Part]) -> list[Part]:
    """Parts without angle brackets around all words, as in `<None>`."""
    found = _BRACKETED.fullmatch("".join(part.text if part.kind == "text" else "\ufffc" for part in parts))
    if found is None or found["name"].lower() in _ELEMENTS:
        return list(parts)
    cutter = Cutter(parts)
    for _ in cutter.up_to(found.start(1)):
        pass
    return list(cutter.up_to(found.end(1)))


def _without_accelerator(place: Place, mark: str) -> Place:
    """A place without its mark of an accelerator, if it has one; the mark is written into the translation."""
    shown = "".join(part.text if part.kind == "text" else "\ufffc" for part in place.parts)
    found = list(ACCELERATORS[mark].finditer(shown))
    if len(found) != 1 or shown.count(mark) != 1 or len(shown) > LOOKED_AT:
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
    """Pieces with the mark of an accelerator, unless they already have it, as translations of a memory may."""
    texts = [piece if isinstance(piece, str) else "" for piece in pieces]
    found = find_letter(texts, letter, r"[^\W_]")
    if found is None or any(map(ACCELERATORS[mark].search, texts)):
        return pieces
    number, place = found
    marked = f"{texts[number][:place]}{mark}{texts[number][place:]}"
    return [*pieces[:number], marked, *pieces[number + 1 :]]
