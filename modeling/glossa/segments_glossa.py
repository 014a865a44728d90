"""Text to the segments that are translated or copied, and back. It is saved with the model."""

import re
import unicodedata
from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from .abbreviations_glossa import END_MARKS, MONTHS
from .sentences_glossa import clean_text, split_text

_EMOJI = "\u203c\u2049\u2139\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
EMOJI = rf"[{_EMOJI}][{_EMOJI}\u200d\ufe0f\u20e3]*"
# A bullet, or a number or letter with a period or parenthesis, at the start of a sentence.
_LIST_MARK = re.compile(
    r"(?:[-–—−*•·▪▫◦‣⁃●○■□◆◇★☆✓✔✗✘→➤►>+]|#{1,6}|[([]?(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivxIVX]{2,5})[)\]]"
    r"|(?:\d{1,3}(?:\.\d{1,3})*|[a-z가-힣]|[ivx]{2,5}|[IVX]{2,5})\.)(?:\s+|$)|[①-⑳⑴-⒇⒈-⒛]\s*|[（]\d{1,3}[）]\s*|\d{1,3}[、．](?!\d)\s*"
)
_LEADING = re.compile(rf"{EMOJI}\s*")
_TRAILING = re.compile(rf"\s*{EMOJI}$")
# Characters of scripts that write no spaces between sentences: Han, kana and their marks.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
NO_SPACES = re.compile(f"[{_WIDE}]")
# An address, or a place for a value: {name}, {{name}}, %d, %(name)s, <tag>, &amp;
ADDRESS = re.compile(
    rf"(?:https?://|www\.)[^\s<>\"'«»“”{_WIDE}]*[^\s<>\"'«»“”{_WIDE}.,;:!?)\]]"
    # The start of a word, and 64 characters (RFC 5321): the time is linear in the length of the text.
    rf"|(?<![^\W{_WIDE}])(?<![.+-])(?:[^\W{_WIDE}]|[.+-]){{1,64}}@(?:[^\W{_WIDE}]|-)+(?:\.(?:[^\W{_WIDE}]|-)+)+"
)
PLACEHOLDER = re.compile(
    r"\{\{[^{}\n]{1,60}\}\}|\$?\{[^{}\n]{0,60}\}|%\([^()\n]{1,60}\)[a-z]"
    rf"|%(?:\d\$)?[sdfiu@](?![^\W\d_{_WIDE}])"
    r"|</?[a-zA-Z][^<>\n]{0,200}>|&(?:#\d+|[a-z]+);"
)

UPPER_WORDS, TITLE_WORDS = 2, 3  # fewer are names and abbreviations
# What a model reads instead of an address, a place for a value or an emoji: the object replacement character.
MARK = "\ufffc"
# What a model that has these tokens reads instead, a different one for each part of a sentence that must survive.
# Nobody uses these characters, whose meaning is private.
SENTINELS = "".join(map(chr, range(0x10FF01, 0x10FF0A)))
ITEM = re.compile(rf"{ADDRESS.pattern}|{PLACEHOLDER.pattern}|{EMOJI}|{MARK}")
_NUMBER = re.compile(rf"\d+(?:[.,:]\d+)*|{MARK}")
# A sentinel, or a digit or letter of Latin, Greek or Cyrillic. In other scripts, as in Korean, endings may follow it.
_WORD = f"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff{SENTINELS}]"
_END = re.compile(r"[\s\u00a0\u202f]*[.!?…。！？।]*$")
_CLAUSE_MARKS = dict(
    zip(",;:，；：、،؛", "，；：,;:,,;", strict=True)
)  # and what they are in the other kind of script
_PERIOD = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "HANGUL")  # scripts that end sentences with "."


class Segment(NamedTuple):
    """A part of a text.

    Attributes:
        text: A sentence, or a part of one.
        space: The white space after it.
        copied: Whether it is copied instead of translated: a list marker, an address, or text without letters.
        capitals: "upper" or "title" if it is translated in lower case, and its translation gets these capitals.
        items: Addresses, places for values and emoji that the model reads as `MARK`, or what it reads as sentinels.
        stop: The period that the model reads at its end, and that its translation loses again; or "".
        numbered: Whether the model reads the first one of `SENTINELS` instead of the first item, and so on.
    """

    text: str
    space: str
    copied: bool = False
    capitals: str = ""
    items: tuple[str, ...] = ()
    stop: str = ""
    numbered: bool = False


def segment_text(
    text: str,
    split: bool = True,
    fits: Callable[[str], bool] | None = None,
    abbreviations: Set[str] = frozenset(),
    lower: bool = False,
    mask: bool = False,
    stops: bool = False,
    find: Callable[[str], Sequence[str]] | None = None,
) -> list[Segment]:
    """The segments of `text`, at least one.

    Args:
        text: Any text.
        split: Whether it is split into sentences, and sentences that do not fit are cut; else it is one segment.
        fits: Whether a sentence is short enough for the model.
        abbreviations: Abbreviations that the model has learned.
        lower: Whether sentences in upper case and headlines are translated in lower case. Of capitals, a model of
            ordinary text has seen names and abbreviations only.
        mask: Whether the model has learned to copy `MARK`, and reads it instead of addresses, places for values and
            emoji inside of a sentence.
        stops: Whether sentences without a mark at their end are translated with a period.
        find: For a model that reads `SENTINELS`, what it reads as such, from left to right. What has more of it than
            there are sentinels is masked as for other models.
    """

    def described(part: Segment) -> Segment:
        return masked(part, mask, lower, find)

    whole = None if fits is None else lambda text: fits(_as_read(described(Segment(text, ""))))
    pieces, between = split_text(text, whole, abbreviations) if split else ([text], [""])
    parts = [part for piece, space in zip(pieces, between, strict=True) for part in _without_marks(piece, space)]
    parts = [part if part.copied else described(part) for part in parts]
    if not stops:
        return parts
    # What follows in the same line belongs to a sentence that was cut.
    return [
        part if part.copied or _has_more(parts, index) else part._replace(stop=_missing_stop(part.text))
        for index, part in enumerate(parts)
    ]


def masked(segment: Segment, mask: bool, lower: bool, find: Callable[[str], Sequence[str]] | None = None) -> Segment:
    """`segment` with what the model does not read of it; see [`segment_text`]."""
    items = tuple(find(segment.text)) if find else ()
    numbered = 0 < len(items) <= len(SENTINELS)
    if not numbered:
        items = tuple(ITEM.findall(segment.text)) if mask else ()
    segment = segment._replace(items=items, numbered=numbered)
    return segment._replace(capitals=capitals_of(_masked(segment)) if lower else "")


def _missing_stop(text: str) -> str:
    """The period of a text that ends with a letter or digit, in scripts whose period is known; else ""."""
    if not text[-1:].isalnum():
        return ""
    letter = next(filter(str.isalpha, reversed(text)), "")
    if NO_SPACES.match(letter):
        return "。"
    return "." if letter and unicodedata.name(letter, "").split(" ")[0] in _PERIOD else ""


def capitals_of(text: str) -> str:
    """ "upper" for several words without a small letter, "title" for a capital at each of several words, else ""."""
    words = [word for word in text.split() if any(map(str.isalpha, word))]
    letters = [letter for word in words for letter in word if letter.isalpha()]
    if len(words) >= UPPER_WORDS and all(map(str.isupper, letters)):
        return "upper"
    firsts = (next(filter(str.isalpha, word)) for word in words)
    return "title" if len(words) >= TITLE_WORDS and all(map(str.isupper, firsts)) else ""


def _capitalized(text: str, capitals: str) -> str:
    if capitals == "upper":
        return text.upper()
    if capitals == "title":
        return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
    return text


def is_copied(text: str) -> bool:
    """Whether `text` is no text to translate: without letters, an address, or a place for a value."""
    rest = PLACEHOLDER.sub("", ADDRESS.sub("", text))
    return bool(clean_text(text)) and not any(map(str.isalpha, rest))


def _without_marks(text: str, space: str) -> list[Segment]:
    """A sentence without the copied parts before and after it."""
    parts, start, end = [], 0, len(text)
    if not text or is_copied(text):
        return [Segment(text, space, bool(text))]
    for pattern in (_LIST_MARK, _LEADING):
        mark = pattern.match(text, start)
        if mark is not None and re.split(r"\W", text[mark.end() :], maxsplit=1)[0] not in MONTHS:
            body = mark[0].rstrip()
            parts.append(Segment(body, mark[0][len(body) :], True))
            start = mark.end()
    mark = _TRAILING.search(text, max(start, end - 40))
    if mark is not None:
        end = mark.start()
    if start == end and mark is None:
        return [*parts[:-1], parts[-1]._replace(space=parts[-1].space + space)]
    gap = mark[0][: len(mark[0]) - len(mark[0].lstrip())] if mark is not None else space
    if start < end:
        parts.append(Segment(text[start:end], gap, is_copied(text[start:end])))
    if mark is not None:
        parts.append(Segment(mark[0].lstrip(), space, True))
    return parts


def model_texts(segments: Sequence[Segment]) -> list[str]:
    """The texts of those `segments` that are translated, as the model reads them.

    A part of a sentence that ends at the mark of a clause has a period instead: models are trained on sentences.
    [`join_segments`] gives the mark back.
    """
    return [
        _as_read(segment, cut=_has_more(segments, index))
        for index, segment in enumerate(segments)
        if not segment.copied
    ]


def _as_read(segment: Segment, cut: bool = False) -> str:
    text = _masked(segment)
    text = (_closed(text) if cut else text) + segment.stop
    return text.lower() if segment.capitals else text


def _masked(segment: Segment) -> str:
    if not segment.numbered:
        return ITEM.sub(MARK, segment.text) if segment.items else segment.text
    done, rest = "", segment.text
    for item, sentinel in zip(segment.items, SENTINELS, strict=False):
        before, _, rest = rest.partition(item)
        done += before + sentinel
    return done + rest


def mask_numbers(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with `MARK` for each number, and what [`put_back`] puts there."""
    return _NUMBER.sub(MARK, text), tuple(_NUMBER.findall(text))


def put_back(text: str, items: tuple[str, ...]) -> str:
    """`text` with the items instead of the marks, in order; those without a mark stand before the last mark of all."""
    if not items:
        return text
    parts = text.split(MARK)
    marks = len(parts) - 1
    given = (*items[:marks], *[""] * (marks - len(items)), "")
    whole = "".join(part + item for part, item in zip(parts, given, strict=True))
    return _ended_by(whole, items[marks:])


def _ended_by(whole: str, rest: Sequence[str]) -> str:
    """`whole` with `rest` before its last mark."""
    if not rest:
        return whole
    end = len(whole) - len(_END.search(whole)[0])  # type: ignore[index]
    return f"{whole[:end]} {' '.join(rest)}{whole[end:]}".lstrip()


def has_sentinels(segment: Segment, translation: str) -> bool:
    """Whether `translation` has each of the sentinels of a numbered segment once, and no others."""
    found = sorted(filter(SENTINELS.__contains__, translation))
    return found == list(SENTINELS[: len(segment.items)])


def _with_items(text: str, segment: Segment) -> str:
    if not segment.numbered:
        return put_back(text, segment.items)
    given = dict(zip(SENTINELS, segment.items, strict=False))
    apart = _apart(text, _masked(segment))
    whole = apart.translate({ord(sentinel): given.get(sentinel, "") for sentinel in SENTINELS})
    return _ended_by(whole, [item for sentinel, item in given.items() if sentinel not in text])


def _apart(text: str, source: str) -> str:
    """`text` with a space between a sentinel and the word next to it, unless `source` has none there either.

    Without the space, an address would change: `seehttps://example.org`.
    """
    for sentinel in filter(source.__contains__, SENTINELS):
        for pattern, spaced in (
            (f"(?<={_WORD}){sentinel}", f" {sentinel}"),
            (f"{sentinel}(?={_WORD})", f"{sentinel} "),
        ):
            text = text if re.search(pattern, source) else re.sub(pattern, spaced, text)
    return text


def _has_more(segments: Sequence[Segment], index: int) -> bool:
    """Whether text that is translated follows in the same line."""
    more = index + 1 < len(segments) and not segments[index + 1].copied
    return more and not set(segments[index].space) - set(" \u00a0\u202f")


def _closed(text: str) -> str:
    """`text` with a period instead of the mark of a clause at its end, in scripts whose period is known."""
    if text[-1:] not in _CLAUSE_MARKS:
        return text
    if NO_SPACES.match(text[-1]):
        return f"{text[:-1]}。"
    letter = next(filter(str.isalpha, reversed(text)), "")
    return f"{text[:-1]}." if letter and unicodedata.name(letter, "").split(" ")[0] in _PERIOD else text


def join_segments(segments: Sequence[Segment], texts: Sequence[str]) -> str:
    """The translations `texts` of `segments` with the white space between that their script needs.

    A part of a sentence that is translated with a period gets the mark of the source instead, a sentence without a
    period loses the one with which it was translated, and a translation in lower case gets the capitals of its source.

    The source's space is kept, with these exceptions: if the source has no space between two sentences, a target
    that is not Chinese or Japanese gets one, and if it has one, a Chinese or Japanese target does without.
    """
    return "".join(text + space for text, space in joined_parts(segments, texts))


def joined_parts(segments: Sequence[Segment], texts: Sequence[str]) -> list[tuple[str, str]]:
    """What [`join_segments`] joins: the text of each segment and the white space after it."""
    joined = []
    for index, (segment, text) in enumerate(zip(segments, texts, strict=True)):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        text = _with_items(_capitalized(text, segment.capitals), segment)
        if segment.stop and text[-1:] in (".", "。") and text[-2:-1] not in ("", "."):
            text = text[:-1]
        space = segment.space
        if text and following and not segment.copied and not segments[index + 1].copied:
            solid = NO_SPACES.match(text[-1]) and NO_SPACES.match(following)
            last = segment.text[-1:]
            if not set(space) - set(" \u00a0\u202f"):
                text = _continued(segment.text, text)
            if space == " " and solid:
                space = ""
            elif not space and not solid and (last in END_MARKS or NO_SPACES.match(last)):
                space = " "
        joined.append((text, space))
    return joined


def _continued(source: str, text: str) -> str:
    """`text`, the translation of `source`, without its period if `source` is cut from a longer sentence."""
    last = source[-1:]
    if not (last.isalnum() or last in _CLAUSE_MARKS) or text[-1:] not in (".", "。") or text[-2:-1] in ("", "."):
        return text
    wide = bool(NO_SPACES.match(text[-1]))
    if last.isalnum():
        return text[:-1]
    return text[:-1] + (last if wide == bool(NO_SPACES.match(last)) else _CLAUSE_MARKS[last])


__all__ = [
    "ADDRESS",
    "ITEM",
    "MARK",
    "NO_SPACES",
    "PLACEHOLDER",
    "SENTINELS",
    "Segment",
    "capitals_of",
    "has_sentinels",
    "is_copied",
    "join_segments",
    "joined_parts",
    "mask_numbers",
    "masked",
    "model_texts",
    "put_back",
    "segment_text",
]
