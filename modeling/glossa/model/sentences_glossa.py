"""Text to clean sentences: the same cleaning in training and translation. It is saved with the model."""

import re
import unicodedata
from collections.abc import Callable, Set

from .abbreviations_glossa import (
    DETERMINERS,
    END_MARKS,
    INTERJECTIONS,
    LETTERS,
    MONTHS,
    NUMBERS,
    OTHERS,
    PARTICLES,
    STARTERS,
    TITLES,
)
from .clauses_glossa import cut_text
from .facts_glossa import EMOJI_CHARACTERS

WHITE_SPACE = re.compile(r"[ \t\n\r\f\v]+")
# White space, control characters, soft hyphens and characters without a width: alone they are no text.
INVISIBLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f]+")
_CLOSERS = r")\]}'\"“”’»›）］｝】》〉」』"
_OPENERS = r"(\[{'\"“‘„‚«‹¿¡（［｛【《〈「『*_#•–—\-"
_SIGNS = r"\u2014-\u2600"  # punctuation, signs of currencies, arrows, shapes
# Where a sentence may end: at a newline, at . ! ? … if white space and a letter or digit follow, or at an end mark of
# a script without capital letters. Closing quotes belong to it. A quoted question or exclamation does not end a
# Chinese or Japanese sentence. A Greek question mark is a semicolon, an Armenian full stop often a colon. Possessive
# quantifiers and the lookbehind keep the time linear in the text's length.
SENTENCE_END = re.compile(
    rf"""(?:(?<![.!?…‼⁇⁈⁉])(?P<mark>[.!?…‼⁇⁈⁉‽]++)|(?<=[\u0370-\u03ff\u1f00-\u1fff]);|(?<=[\u0561-\u0587]):)"""
    rf"""(?P<close>[{_CLOSERS}]*+(?:\s*+[»])?(?:\[\d{{1,3}}\])*+)(?=\s++[{_OPENERS}{_SIGNS}{EMOJI_CHARACTERS}]*+\s*+[^\W_])"""
    r"""|[\n\u2028\u2029]"""
    rf"""|(?:(?!(?<=\d)．\d|។ល។)[{END_MARKS}]|፡፡|[།-༑]++(?=\s|$))(?:[{END_MARKS}]|[།-༑])*+"""
    rf"""(?:(?<![！？])[{_CLOSERS}]*+(?!と)|(?![」』”])|[」』”]++(?=[\s「『“]))"""
)
NEXT_WORD = re.compile(
    rf"\s*+[{_OPENERS}]*+\s*+(?P<word>[^\W_](?:[^\W_]|(?<=\w)[-’'](?=[^\W\d_])){{0,40}})(?P<period>\.?)"
)
ELISION = re.compile(r"(?:[cjmnst]|qu)['’]", re.I)  # French words that begin a sentence
ROMAN_NUMERAL = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})")
WEB_ADDRESS = re.compile(r"://|^www\.|@|\.(?:com|org|net|edu|gov|info|html?|py|js|txt|pdf)$", re.I)
OPENING_MARKS = f"{_OPENERS}/".replace("\\", "")
LOOK_BACK = 60  # characters before an end mark that are looked at
# Scripts whose letters are syllables or words, so that one letter is no abbreviation.
WHOLE_WORDS = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "ETHIOPIC", "YI", "CUNEIFORM")  # the last one for `Hidden`


def clean_text(text: str) -> str:
    """Normalize to NFC, collapse ASCII whitespace to single spaces, strip the ends and remove byte order marks.

    Training text is cleaned the same way. The no-break spaces U+00A0 and U+202F are kept inside the text, where
    French puts them before `?` and `!`, and stripped at the ends. Text of invisible characters alone, such as U+200B
    or NUL, is empty.
    """
    if text.isascii() and text.isprintable() and "  " not in text:  # most texts, and spaces are their only white space
        return text.strip()
    text = unicodedata.normalize("NFC", text.replace("\ufeff", ""))
    return "" if INVISIBLE.fullmatch(text) else WHITE_SPACE.sub(" ", text).strip()


def split_text(
    text: str, fits: Callable[[str], bool] | None = None, abbreviations: Set[str] = frozenset()
) -> tuple[list[str], list[str]]:
    """Sentences of `text` in any language and the whitespace after each.

    Args:
        text: A text of any length; the time is linear in it.
        fits: Whether a sentence is short enough; the others are cut by [`cut_text`]. By default all are.
        abbreviations: Words without their period, such as a model has learned; they add to the known ones.
    """
    pieces, start = [], 0
    for end in SENTENCE_END.finditer(text):
        if _ends(text, start, end, abbreviations):
            pieces.append(text[start : end.end()])
            start = end.end()
    pieces.append(text[start:])
    if fits is not None:
        pieces = [part for piece in pieces for part in cut_text(piece, fits)]
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


def _ends(text: str, start: int, end: re.Match, abbreviations: Set[str]) -> bool:
    """Whether the sentence from `start` on ends at `end`, a match of `SENTENCE_END`."""
    following = NEXT_WORD.match(text, end.end()) if end["close"] is not None else None
    if following is None:  # a newline, or a mark after which any text is a new sentence
        return True
    word = following["word"]
    if _is_lower(word[0]):
        return False
    if end["mark"] not in (".", "!") or (end["close"] and end["mark"] == "."):
        return True
    first = max(start, end.start() - LOOK_BACK)
    before = text[first : end.start()].split()
    if not before or text[end.start() - 1].isspace():
        return True
    token = before[-1].lstrip(OPENING_MARKS)
    previous = before[-2] if len(before) > 1 else ""
    alone = (len(before) == 1 and first == start) or previous.endswith((":", ";"))
    starts = word.casefold() in STARTERS or bool(ELISION.match(word))
    starts = starts and not (len(word) == 1 and following["period"])  # an initial
    if end["mark"] == "!":
        name = token == before[-1] and token[:1].isupper() and token.casefold() in INTERJECTIONS
        return starts or alone or not name or previous.endswith(",")
    return _is_end(token, previous, alone, following, starts, abbreviations)


def _is_end(
    token: str, previous: str, alone: bool, following: re.Match, starts: bool, abbreviations: Set[str]
) -> bool:
    """Whether the period after `token` ends a sentence.

    Args:
        token: The word before the period.
        previous: The word before it, or "".
        alone: Whether no word of the sentence precedes `token`.
        following: The next word, a match of `NEXT_WORD`, which is not in lower case.
        starts: Whether it is a word that often begins a sentence.
        abbreviations: Abbreviations that a model has learned.
    """
    word = following["word"]
    if token.isdigit():
        return _number_ends(token, previous, alone, following, starts)
    if WEB_ADDRESS.search(token):
        return True
    token = re.split("['’]", token)[-1]
    letters = [base for base in unicodedata.normalize("NFD", token) if base.isalpha()]
    if not letters:
        return True
    if len(letters) == 1 and unicodedata.category(token[0])[0] == "L":
        return _letter_ends(letters[0], token, previous, alone, following, starts)
    if ROMAN_NUMERAL.fullmatch(token):
        return not alone and (starts or previous.casefold() in LETTERS)
    if _is_known(token, TITLES):
        return False
    if len(previous) == 2 and previous.endswith(".") and len(token) < 4:  # z. Hd.
        return starts
    single = word[0].isdigit() or (len(word) == 1 and not starts) or (len(word) > 1 and ROMAN_NUMERAL.fullmatch(word))
    if single and (_is_known(token, NUMBERS) or token.endswith("str")):  # German streets: Goethestr. 12
        return False
    if previous[-1:].isdigit() and _lacks_vowels(token):  # a unit
        return True
    if _is_known(token, OTHERS) or _is_known(token, abbreviations) or _looks_abbreviated(token):
        return starts
    return True


def _number_ends(token: str, previous: str, alone: bool, following: re.Match, starts: bool) -> bool:
    """Whether the period after a number ends a sentence, and does not number a list or make it an ordinal."""
    word = following["word"]
    if len(token) > 3 or (len(token) > 2 and not alone):
        return True
    if alone or (word in MONTHS and len(token) < 3):
        return False
    if word[0].isdigit():  # a date: 3. 10. 1990
        return not (following["period"] or previous.rstrip(".").isdigit())
    return starts or previous.lstrip(OPENING_MARKS).casefold() not in DETERMINERS


def _letter_ends(letter: str, token: str, previous: str, alone: bool, following: re.Match, starts: bool) -> bool:
    """Whether the period after a single letter ends a sentence, and does not make it an initial or abbreviation."""
    word = following["word"]
    if previous[-1:].isdigit():  # a unit
        return not alone
    if not letter.isupper() and not _is_lower(letter):
        return unicodedata.name(letter, "").startswith(WHOLE_WORDS)
    if alone:
        return False
    inner = previous.lstrip(OPENING_MARKS)
    if inner.endswith(".") and len(inner) == 2:  # z. B.
        return starts
    if word[0].isdigit():
        return letter in "aeiouyяи" and token not in NUMBERS
    if following["period"] and len(word) == 1:
        return False
    if letter.isupper():
        named = not inner or inner[0].isupper()
        return inner.casefold() in LETTERS or (starts and not (named and word.casefold() in PARTICLES))
    return letter in "aeiouyøæœıя" or starts


def _looks_abbreviated(token: str) -> bool:
    """Whether `token` has periods inside, one of them after a single letter, or is Latin without vowels."""
    parts = token.split(".")
    if len(parts) > 1:
        return all(part and len(part) <= 4 for part in parts) and any(len(part) == 1 for part in parts)
    return _lacks_vowels(token) and not set(token.casefold()) & set("rlhw")  # r and l are vowels in Slavic languages


def _lacks_vowels(token: str) -> bool:
    return token.isascii() and not token.isupper() and not set(token.casefold()) & set("aeiouy0123456789.")


def _is_known(token: str, words: Set[str]) -> bool:
    return token in words or token[0].lower() + token[1:] in words


def _is_lower(letter: str) -> bool:
    """Whether a sentence would begin with a capital instead; Georgian has such letters, but not in sentences."""
    return letter.islower() and letter.title() != letter


__all__ = ["clean_text", "split_text"]
