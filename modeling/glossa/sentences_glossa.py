"""Text to clean sentences: the same cleaning in training and translation. It is saved with the model."""

import re
import unicodedata

_WHITE_SPACE = re.compile(r"[ \t\n\r\f\v]+")
# White space, control characters, soft hyphens and characters without a width: alone they are no text.
_INVISIBLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f]+")
# A sentence ends at a newline, at . ! ? … if white space and a possible sentence start follow, or at an end mark of a
# script without capital letters. Closing quotes belong to it. A quoted question or exclamation does not end a
# Chinese or Japanese sentence. Possessive quantifiers and the lookbehind keep the time linear in the text's length.
_SENTENCE_END = re.compile(
    r"""(?<![.!?…])[.!?…]++[)\]"'“”’»]*+(?:\s*+»)?(?=\s++[-–—("'“‘«¿¡]*+\s*+[^\W_a-zà-öø-ÿ])|\n"""
    r"""|[。॥।؟۔！？]++(?:(?<![！？])[」』”"'’»]*+(?!と)|(?![」』”])|[」』”]++(?=[\s「『“]))"""
)
# Single letters, but not units after a number; titles and other words that a sentence rarely ends with.
_ABBREVIATION = re.compile(
    r"(?<![^\s(«.-])(?:(?<!\d\s)[^\W\d_]|MM|Mr|Mrs|Ms|Mme|Mlle|Dr|Dra|Pr|Prof|St|Ste|vs|cf|Jr|Sr|Sra|Srta|Hr|Fr|Fa"
    r"|ca|bzw|EE|ดร|डॉ|प्रो)\.$"
)
_BEFORE_NUMBER = re.compile(r"(?:(?<!\w)(?:n[or]|p[áa]gs?|pp|art|abb|fig|vol|ch)|str)\.$", re.I)
_GERMAN_MONTH = re.compile(r"\s(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
_LONGEST_ABBREVIATION = 6
_CLAUSE_END = re.compile(r"[,;:]\s+")


def clean_text(text: str) -> str:
    """Normalize to NFC, collapse ASCII whitespace to single spaces, strip the ends and remove byte order marks.

    Training text is cleaned the same way. The no-break spaces U+00A0 and U+202F are kept inside the text, where
    French puts them before `?` and `!`, and stripped at the ends. Text of invisible characters alone, such as U+200B
    or NUL, is empty.
    """
    text = unicodedata.normalize("NFC", text.replace("\ufeff", ""))
    return "" if _INVISIBLE.fullmatch(text) else _WHITE_SPACE.sub(" ", text).strip()


def split_text(text: str, fits=lambda piece: True) -> tuple[list[str], list[str]]:
    """Sentences of `text` and the whitespace after each. A sentence that does not fit is split at clauses or words."""
    pieces, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if not _is_abbreviation(text, max(start, end.end() - _LONGEST_ABBREVIATION), end.end()):
            pieces.append(text[start : end.end()])
            start = end.end()
    pieces = [part for piece in [*pieces, text[start:]] for part in _shorten(piece, fits)]
    # Whitespace before a piece is kept as whitespace after the previous one.
    sentences, between = [""], [""]
    for piece in pieces:
        body = piece.strip()
        lead = piece[: len(piece) - len(piece.lstrip())] if body else piece
        between[-1] += lead
        if body:
            sentences.append(body)
            between.append(piece[len(lead) + len(body) :])
    if len(sentences) == 1:
        return [""], [""]
    return sentences[1:], [*between[1:-1], ""]


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether the period before `end` belongs to an abbreviation or a German date; `start` limits the search."""
    if _ABBREVIATION.search(text, start, end):
        return True
    if text[end : end + 2].strip().isdigit():
        return bool(_BEFORE_NUMBER.search(text, start, end))
    return text[start : end - 1][-1:].isdigit() and bool(_GERMAN_MONTH.match(text, end))


def _shorten(piece: str, fits) -> list[str]:
    if fits(piece):
        return [piece]
    middle = len(piece) // 2
    places = [end.end() for end in _CLAUSE_END.finditer(piece)] or [end.end() for end in re.finditer(r"\s+", piece)]
    places = [place for place in places if 0 < place < len(piece)]
    cut = min(places, key=lambda place: abs(place - middle)) if places else middle
    return [part for half in (piece[:cut], piece[cut:]) for part in _shorten(half, fits)] if cut else [piece]


__all__ = ["clean_text", "split_text"]
