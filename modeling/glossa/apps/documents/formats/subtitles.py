"""Subtitles in SRT and WebVTT. A sentence in several subtitles is translated whole, and divided again."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from ....base.errors import GlossaError
from ....model.facts_glossa import TextFacts
from ....translate.texts.tags import Part, Piece, tag_pairs
from ..places import Document, Place, Writing, Written, as_string, spelled
from .encoding import UTF_16
from .format import Format, LanguagePair
from .tokens import escape_xml, text_parts, trimmed

WIDTH = 42  # characters of a line
LINES = 2  # of a subtitle that is too wide for fewer
PAUSE = 3.0  # seconds, at most, between subtitles with the same sentence
MOST_LINES = 3  # into which a text is divided
SHARED = 5  # subtitles, at most, of a sentence
_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_CUE = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*(?:\n|\Z)", re.M)
_BLANK = re.compile(r"\r?\n[ \t]*(?:\r?\n|\Z)")
_NUMBER = re.compile(r"(?:\A|\n)[ \t]*\d+[ \t]*\r?\n\Z")  # of the next subtitle
_MARK = re.compile(r"</?[A-Za-z][^<>\n]*>|<(?:\d+:)?\d\d:\d\d\.\d{3}>|\{\\[^{}\n]*\}")
_DIALOG = re.compile(r"\s*(?:[-–—‐]|>>)\s*\S")
_ENDS = re.compile(r"[.!?…。！？:♪♫\])\"”»]['’]*\s*$")
_BEGINS_ANOTHER = re.compile(r"\s*(?:[-–—‐♪♫\[(>]|>>)")


class _Cue:
    """A subtitle: the characters of its text, and its time in seconds."""

    def __init__(self, text: str, start: int, end: int, time: tuple[float, float], subrip: bool):
        self.start, self.end, self.time = start, end, time
        self.lines = text[start:end].split("\n")
        self.parts = _matched(list(_parts(text, start, end, subrip)))
        self.words = "".join(part.text or " " for part in self.parts)


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The sentences of a file of subtitles."""
    subrip = not text.removeprefix("\ufeff").startswith("WEBVTT")
    cues = list(_cues(text, subrip))
    if not cues and text.strip() and subrip:
        raise GlossaError(
            f"{name}, line 1: no subtitle has a time such as 00:00:01,000 --> 00:00:02,500. Give --format if the file "
            "has another format."
        )
    places = []
    for group in [[cue] for cue in cues] if _are_titles(cues) else _sentences(cues):
        if TextFacts("".join(cue.words for cue in group)).has_letters:
            places.append(_place(text, group, subrip))
    return Document(text, places)


FORMATS = (Format("srt", (".srt",), read, UTF_16), Format("vtt", (".vtt",), read))


def _cues(text: str, subrip: bool) -> Iterator[_Cue]:
    times = list(_CUE.finditer(text))
    for found, following in zip(times, [*times[1:], None], strict=False):  # both are empty without subtitles
        limit = len(text) if following is None else following.start()
        end = limit
        if not subrip and (blank := _BLANK.search(text, found.end() - 1, limit)):
            end = blank.start()
        elif following is not None:
            end = found.end() + len(_NUMBER.sub("", text[found.end() : limit]))
        end = found.end() + len(text[found.end() : end].rstrip())
        if text[found.end() : end].strip():
            yield _Cue(text, found.end(), end, (_seconds(found.groups()[:4]), _seconds(found.groups()[4:])), subrip)


def _seconds(time: tuple) -> float:
    hours, minutes, seconds, part = time
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(part) / 10 ** len(part)


def _parts(text: str, start: int, end: int, subrip: bool) -> Iterator[Part]:
    """The parts of a subtitle: lines that begin with a dash are separate, others are joined."""
    position = start
    for found in re.compile(rf"{_MARK.pattern}|(?<![ \t])(?:[ \t]*+\r?\n[ \t]*+)++").finditer(text, start, end):
        yield from _texts(text, position, found.start(), subrip)
        position = found.end()
        if not found[0].strip():
            if found[0].count("\n") > 1:
                yield Part("end", *found.span())
            elif _DIALOG.match(text, found.end()):
                yield Part("break", *found.span())
            else:
                yield Part("text", *found.span(), " ")
        elif found[0][0] == "{" or found[0][1].isdigit():
            yield Part("alone", *found.span())
        else:
            name = re.sub(r"[</>]", "", found[0]).split(" ")[0].split(".")[0].lower()
            yield Part("close" if found[0][1] == "/" else "open", *found.span(), "", name)
    yield from _texts(text, position, end, subrip)


def _matched(parts: list[Part]) -> list[Part]:
    """Parts in which a tag that is not closed in the same subtitle, or crosses another tag, is a part "alone"."""
    pairs = tag_pairs(parts)
    return [
        part._replace(kind="alone") if part.kind in ("open", "close") and index not in pairs else part
        for index, part in enumerate(parts)
    ]


def _texts(text: str, start: int, end: int, subrip: bool) -> Iterator[Part]:
    if start < end and subrip:
        yield Part("text", start, end, text[start:end])
    elif start < end:
        yield from text_parts(text, start, end)


def _are_titles(cues: list[_Cue]) -> bool:
    """Whether subtitles are titles, such as of chapters: all begin with a capital letter and have no final mark."""
    texts = [cue.words.strip() for cue in cues]
    return all(
        text[:1].isupper() and not text.isupper() and not _ENDS.search(text) and not text.endswith(",")
        for text in texts
    )


def _sentences(cues: list[_Cue]) -> Iterator[list[_Cue]]:
    group: list[_Cue] = []
    for cue in cues:
        if group and (len(group) == SHARED or not _continues(group[-1], cue)):
            yield group
            group = []
        group.append(cue)
    if group:
        yield group


def _continues(cue: _Cue, following: _Cue) -> bool:
    near = 0 <= following.time[0] - cue.time[1] <= PAUSE
    near = near and all(any(map(str.isalpha, each.words)) for each in (cue, following))
    return (
        near
        and not _ENDS.search(cue.words)
        and not _BEGINS_ANOTHER.match(following.words)
        and not _DIALOG.match(cue.words)
    )


def _place(text: str, group: list[_Cue], subrip: bool) -> Place:
    parts = list(group[0].parts)
    for before, cue in pairwise(group):
        parts += [Part("break", before.end, cue.start), *cue.parts]
    parts = trimmed(parts)
    source = text[parts[0].start : parts[-1].end]
    writing = Writing(
        spelled(parts, text, str if subrip else escape_xml),
        layout=partial(_write, text, group),
        check=lambda written: _too_wide(as_string(written, text), source),
    )
    return Place(parts, writing)


def _write(text: str, group: list[_Cue], place: Place, pieces: list[Piece]) -> list[Written]:
    """Lay out pieces in subtitles, in as many lines as the source, and in at most `WIDTH` characters if possible."""
    written: list[Written] = []
    ends = "\r\n" if "\r\n" in text[group[0].start - 2 : group[0].end + 2] else "\n"
    for cue, own in zip(group, _divided(text, pieces), strict=True):
        if isinstance(own[0], Part) and own[0].kind == "break":
            written.append((own[0].start, own[0].end))
            own = own[1:]
        speakers = _speakers(own)
        count = max(len(cue.lines), 1) if len(speakers) == 1 else 1
        for before, speaker in speakers:
            written += [(before.start, before.end)] if before else []
            written += _in_lines(place, speaker, count, ends)
    return written


def _too_wide(new: str, source: str) -> str:
    """The problem of lines that are wider than `WIDTH` and all lines of the source, or ""."""
    widest = [
        max((len(_MARK.sub("", line)) for line in side.splitlines() if "-->" not in line), default=0)
        for side in (new, source)
    ]
    return "too wide for a subtitle" if widest[0] > max(WIDTH, widest[1]) else ""


def _divided(text: str, pieces: list[Piece]) -> list[list[Piece]]:
    """The pieces of each subtitle. All subtitles except the first begin with the break before them."""
    cues: list[list[Piece]] = [[]]
    for piece in pieces:
        if isinstance(piece, Part) and piece.kind == "break" and "-->" in text[piece.start : piece.end]:
            cues.append([piece])
        else:
            cues[-1].append(piece)
    if not cues[0]:
        cues[0].append("…")
    return [
        cue if len(cue) > 1 or not isinstance(cue[0], Part) or cue[0].kind != "break" else [*cue, "…"] for cue in cues
    ]


def _speakers(pieces: list[Piece]) -> list[tuple[Part | None, list[Piece]]]:
    """The pieces between breaks, each with the break before it."""
    found: list[tuple[Part | None, list[Piece]]] = [(None, [])]
    for piece in pieces:
        if isinstance(piece, Part) and piece.kind in ("break", "end"):
            found.append((piece, []))
        else:
            found[-1][1].append(piece)
    return found


def _in_lines(place: Place, pieces: list[Piece], count: int, ends: str) -> list[Written]:
    """Lay out pieces in `count` lines of similar width, or in more if they are too wide."""
    words: list[list[Written]] = [[]]
    widths = [0]
    for piece in pieces:
        if isinstance(piece, Part):
            words[-1].append((piece.start, piece.end))
            widths[-1] += len(piece.text)
            continue
        for number, word in enumerate(piece.strip("\n").split(" ")):
            if number:
                words.append([])
                widths.append(0)
            words[-1].append(place.writing.escape(word))
            widths[-1] += len(word)
    breaks = _even(widths, count)
    if count < LINES and len(breaks) + 1 < LINES and sum(widths) + len(widths) - 1 > WIDTH:
        breaks = _even(widths, LINES)
    done: list[Written] = []
    for number, own in enumerate(words):
        done += [ends if number in breaks else " "] if number else []
        done += own
    return done


def _even(widths: list[int], count: int) -> set[int]:
    """The words that begin the lines after the first, so that the widest of `count` lines is as narrow as possible."""
    count = min(count, len(widths), MOST_LINES)
    narrowest, widest = max(widths), sum(widths) + len(widths) - 1
    while narrowest < widest:
        middle = (narrowest + widest) // 2
        if _lines(widths, middle) <= count:
            widest = middle
        else:
            narrowest = middle + 1
    begins: list[int] = []
    word = len(widths)
    for line in range(count - 1, 0, -1):  # from the last line on, each as full as it can be
        width = -1
        while word > line and width + widths[word - 1] + 1 <= narrowest:
            word -= 1
            width += widths[word] + 1
        begins.append(word)
    return set(begins)


def _lines(widths: list[int], most: int) -> int:
    """The number of lines of at most this width that the words need."""
    lines, width = 1, -1
    for each in widths:
        width += each + 1
        if width > most:
            lines, width = lines + 1, each
    return lines
