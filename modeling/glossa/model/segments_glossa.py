"""Text to the segments that are translated or copied, and back. It is saved with the model."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .abbreviations_glossa import END_MARKS, MONTHS
from .facts_glossa import EMOJI, LIST_MARK, NO_SPACES, TextFacts
from .profile_glossa import TextProfile
from .sentences_glossa import clean_text, split_text
from .spans_glossa import ADDRESS, ITEM, MARK, MEMORY, PLACEHOLDER, SENTINELS, Hidden, Span

LEADING_EMOJI = re.compile(rf"{EMOJI}\s*")
TRAILING_EMOJI = re.compile(rf"\s*{EMOJI}$")
NUMBER_OR_MARK = re.compile(rf"\d+(?:[.,:]\d+)*|{MARK}")
# A sentinel, or a digit or letter of Latin, Greek or Cyrillic. In other scripts, as in Korean, endings may follow it.
WORD_CHARACTERS = f"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff{SENTINELS}]"
_SPACES = " \u00a0\u202f"  # which a translation has at its end only by mistake
# Characters that change nothing in what a text says, and that models have hardly seen: soft hyphens, marks of
# direction, places for a line break, and what only Glossa writes; and no-break or narrow spaces next to a letter,
# where other texts have a space.
INVISIBLE = re.compile(f"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff{MEMORY}]+")
GLUE = re.compile(r"(?<=[^\W\d_])[\u00a0\u202f\u2000-\u200a]+(?=\w)|(?<=\w)[\u00a0\u202f\u2000-\u200a]+(?=[^\W\d_])")
FINAL_MARKS = re.compile(r"[\s\u00a0\u202f]*[.!?…。！？।]*$")
ABBREVIATED = re.compile(r"(?<!\w)\w\.$")  # the end of e.g. and z. B.
CLAUSE_MARKS = dict(zip(",;:，；：、،؛", "，；：,;:,,;", strict=True))  # and what they are in the other kind of script


class Segment(NamedTuple):
    """A part of a text.

    Attributes:
        text: A sentence, or a part of one.
        space: The white space after it.
        copied: Whether it is copied instead of translated: a list marker, an address, or text without letters.
        capitals: "upper" or "title" if it is translated in lower case, and its translation gets these capitals.
        items: Addresses, placeholders and emoji that the model reads as `MARK`.
        stop: The period that the model reads at its end, and that its translation loses again; or "".
        numbered: Whether the model reads the first one of `SENTINELS` instead of the first span, and so on.
        spans: The parts of `text` that its translation must have as they are.
    """

    text: str
    space: str
    copied: bool = False
    capitals: str = ""
    items: tuple[str, ...] = ()
    stop: str = ""
    numbered: bool = False
    spans: tuple[Span, ...] = ()


def segment_text(
    text: str,
    profile: TextProfile = TextProfile(),  # noqa: B008  # frozen
    fits: Callable[[str], bool] | None = None,
    split: bool | None = None,
    spans: Sequence[Span] = (),
) -> list[Segment]:
    """The segments of `text`, at least one.

    Args:
        text: Any text.
        profile: What the model has learned about texts.
        fits: Whether a sentence is short enough for the model.
        split: Whether it is split into sentences, and sentences that do not fit are cut; else it is one segment. By
            default, as the profile says.
        spans: Parts of `text`, from left to right, in which it is not split.
    """
    hidden = Hidden(text, spans)

    def described(segment: Segment) -> Segment:
        return as_model_reads(segment, profile, profile.keeps_placeholders)

    def whole(piece: str) -> bool:
        shown, own = hidden.measured(piece)
        return fits is None or fits(model_text(described(Segment(shown, "", spans=own))))

    pieces, between = [hidden.text], [""]
    if profile.split_sentences if split is None else split:
        pieces, between = split_text(hidden.text, whole, profile.abbreviations)
    shown = [hidden.next(piece) for piece in pieces]
    parts = [part for own, space in zip(shown, between, strict=True) for part in _without_marks(*own, space)]
    parts = [part if part.copied else described(part) for part in parts]
    if not profile.add_stops:
        return parts
    # What follows in the same line belongs to a sentence that was cut.
    return [part if part.copied or has_more(parts, index) else with_stop(part) for index, part in enumerate(parts)]


def as_model_reads(segment: Segment, profile: TextProfile, numbered: bool) -> Segment:
    """`segment` with what the model does not read of it.

    With `numbered` it reads `SENTINELS` instead of the spans, unless there are more spans than sentinels.
    """
    numbered = numbered and 0 < len(segment.spans) <= len(SENTINELS)
    items = tuple(ITEM.findall(segment.text)) if profile.mask_items and not numbered else ()
    segment = segment._replace(items=items, numbered=numbered)
    words = TextFacts(ITEM.sub(" ", _outside(segment.text, segment.spans)))
    return segment._replace(capitals=words.capitals if profile.lower_capitals else "")


def with_stop(segment: Segment) -> Segment:
    """`segment` with the period that it lacks at its end, for models that read sentences with one only."""
    return segment._replace(stop=TextFacts(segment.text).period if segment.text[-1:].isalnum() else "")


def _capitalized(text: str, capitals: str) -> str:
    if capitals == "upper":
        return text.upper()
    if capitals == "title":
        return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
    return text


def is_copied(text: str) -> bool:
    """Whether `text` is no text to translate: without letters, an address, or a place for a value."""
    rest = PLACEHOLDER.sub("", ADDRESS.sub("", text))
    return bool(clean_text(text)) and not TextFacts(rest).has_letters


def _without_marks(text: str, spans: Sequence[Span], space: str) -> list[Segment]:
    """A sentence without the copied parts before and after it."""
    start, end = 0, len(text)
    if not text or _has_no_words(text, spans):
        return [Segment(text, space, bool(text), spans=tuple(spans))]

    def part(first: int, last: int, space: str, copied: bool) -> Segment:
        own = tuple(Span(a - first, b - first) for a, b in spans if first <= a and b <= last)
        return Segment(text[first:last], space, copied, spans=own)

    def cuts(first: int, last: int) -> bool:
        """Whether the space between a mark and the sentence is inside of a span."""
        return any(a < last and first < b for a, b in spans)

    parts: list[Segment] = []
    for pattern in (LIST_MARK, LEADING_EMOJI):
        mark = pattern.match(text, start)
        if mark is not None and re.split(r"\W", text[mark.end() :], maxsplit=1)[0] not in MONTHS:
            body = mark[0].rstrip()
            if cuts(start + len(body), mark.end()):
                continue
            parts.append(part(start, start + len(body), mark[0][len(body) :], True))
            start = mark.end()
    mark = TRAILING_EMOJI.search(text, max(start, end - 40))
    if mark is not None and cuts(mark.start(), mark.end() - len(mark[0].lstrip())):
        mark = None
    if mark is not None:
        end = mark.start()
    if start == end and mark is None:
        return [*parts[:-1], parts[-1]._replace(space=parts[-1].space + space)]
    gap = mark[0][: len(mark[0]) - len(mark[0].lstrip())] if mark is not None else space
    if start < end:
        rest = part(start, end, gap, False)
        parts.append(rest._replace(copied=_has_no_words(rest.text, rest.spans)))
    if mark is not None:
        parts.append(part(end + len(gap), len(text), space, True))
    return parts


def _has_no_words(text: str, spans: Sequence[Span]) -> bool:
    """Whether nothing is left to translate outside of the spans of a text."""
    rest = _outside(text, spans)
    return is_copied(rest) or not rest.strip()


def _outside(text: str, spans: Sequence[Span]) -> str:
    """`text` with a space in place of each of its spans."""
    rest, position = "", 0
    for start, end in spans:
        rest, position = f"{rest}{text[position:start]} ", end
    return rest + text[position:]


def model_texts(segments: Sequence[Segment]) -> list[str]:
    """The texts of those `segments` that are translated, as the model reads them.

    A part of a sentence that ends at the mark of a clause has a period instead: models are trained on sentences.
    [`join_segments`] gives the mark back.
    """
    return [
        model_text(segment, cut=has_more(segments, index))
        for index, segment in enumerate(segments)
        if not segment.copied
    ]


def model_text(segment: Segment, cut: bool = False) -> str:
    """The text of a segment that the model reads; `cut` means that the sentence goes on in the next segment."""
    text = _masked(segment)
    if not text.isascii():
        text = INVISIBLE.sub("", GLUE.sub(" ", text))
    text = (_closed(text) if cut else text) + segment.stop
    return text.lower() if segment.capitals else text


def _masked(segment: Segment) -> str:
    if not segment.numbered:
        return ITEM.sub(MARK, segment.text) if segment.items else segment.text
    done, position = "", 0
    for (start, end), sentinel in zip(segment.spans, SENTINELS, strict=False):
        done, position = done + segment.text[position:start] + sentinel, end
    return done + segment.text[position:]


def mask_numbers(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with `MARK` for each number, and what [`put_back`] puts there."""
    return NUMBER_OR_MARK.sub(MARK, text), tuple(NUMBER_OR_MARK.findall(text))


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
    end = len(whole) - len(FINAL_MARKS.search(whole)[0])  # type: ignore[index]
    return f"{whole[:end]} {' '.join(rest)}{whole[end:]}".lstrip()


def has_sentinels(segment: Segment, translation: str) -> bool:
    """Whether `translation` has each of the sentinels of a numbered segment once, and no others."""
    found = sorted(filter(SENTINELS.__contains__, translation))
    return found == list(SENTINELS[: len(segment.spans)])


def _with_items(text: str, segment: Segment) -> str:
    if not segment.numbered:
        return put_back(text, segment.items)
    texts = [segment.text[start:end] for start, end in segment.spans]
    given = dict(zip(SENTINELS, texts, strict=False))
    apart = _apart(text, _masked(segment))
    whole = apart.translate({ord(sentinel): given.get(sentinel, "") for sentinel in SENTINELS})
    return _ended_by(whole, [item for sentinel, item in given.items() if sentinel not in text])


def _apart(text: str, source: str) -> str:
    """`text` with a space between a sentinel and the word next to it, unless `source` has none there either.

    Without the space, an address would change: `seehttps://example.org`.
    """
    for sentinel in filter(source.__contains__, SENTINELS):
        for pattern, spaced in (
            (f"(?<={WORD_CHARACTERS}){sentinel}", f" {sentinel}"),
            (f"{sentinel}(?={WORD_CHARACTERS})", f"{sentinel} "),
        ):
            text = text if re.search(pattern, source) else re.sub(pattern, spaced, text)
    return text


def has_more(segments: Sequence[Segment], index: int) -> bool:
    """Whether text that is translated follows in the same line."""
    more = index + 1 < len(segments) and not segments[index + 1].copied
    return more and not set(segments[index].space) - set(" \u00a0\u202f")


def _closed(text: str) -> str:
    """`text` with a period instead of the mark of a clause at its end, in scripts whose period is known."""
    if text[-1:] not in CLAUSE_MARKS:
        return text
    if text[-2:-1] == ".":  # e.g., has its period already
        return text[:-1]
    if NO_SPACES.match(text[-1]):
        return f"{text[:-1]}。"
    return f"{text[:-1]}." if TextFacts(text).period == "." else text


def join_segments(segments: Sequence[Segment], texts: Sequence[str]) -> str:
    """The translations `texts` of `segments` with the white space between that their script needs.

    A part of a sentence that is translated with a period gets the mark of the source instead, a sentence without a
    period loses the one with which it was translated, and a translation in lower case gets the capitals of its source.

    The source's space is kept, with these exceptions: if the source has no space between two sentences, a target
    that is not Chinese or Japanese gets one, and if it has one, a Chinese or Japanese target does without.
    """
    written = [as_written(segment, text) for segment, text in zip(segments, texts, strict=True)]
    return "".join(text + space for text, space in spaced_parts(segments, written))


def as_written(segment: Segment, text: str) -> str:
    """A translation by the model as it stands in a text: with spans, capitals, and without the period of `stop`."""
    text = _with_items(_capitalized(text, segment.capitals), segment).rstrip(_SPACES)
    if segment.stop and text[-1:] in (".", "。") and text[-2:-1] not in ("", "."):
        text = text[:-1]
    return text


def spaced_parts(segments: Sequence[Segment], texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each text with the white space that follows it, as [`join_segments`] joins them."""
    joined = []
    for index, (segment, text) in enumerate(zip(segments, texts, strict=True)):
        following = texts[index + 1] if index + 1 < len(texts) else ""
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
    if not (last.isalnum() or last in CLAUSE_MARKS) or text[-1:] not in (".", "。") or text[-2:-1] in ("", "."):
        return text
    wide = bool(NO_SPACES.match(text[-1]))
    if last.isalnum():
        return text[:-1]
    own = source[-2:-1] == "." and (ABBREVIATED.search(text) or source[:-1].endswith(text.split()[-1]))
    return (text if own else text[:-1]) + (last if wide == bool(NO_SPACES.match(last)) else CLAUSE_MARKS[last])


__all__ = [
    "Segment",
    "as_model_reads",
    "as_written",
    "has_more",
    "has_sentinels",
    "is_copied",
    "join_segments",
    "mask_numbers",
    "model_text",
    "model_texts",
    "put_back",
    "segment_text",
    "spaced_parts",
    "with_stop",
]
