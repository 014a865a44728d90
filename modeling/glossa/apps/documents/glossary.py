"""Glossaries: terms with their translations, which are found in texts as whole words, also inflected."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from ...base.errors import GlossaError, require
from ...base.languages import language_code, language_name
from ...model.facts_glossa import IDEOGRAPHS, TextFacts
from ...model.sentences_glossa import clean_text
from ...model.spans_glossa import find_spans
from ...readers.columns import HEADER, Columns
from ...readers.reading import read_rows
from ...translate.search.terms import Term
from .formats.format import LanguagePair
from .formats.tokens import attributes, text_parts
from .formats.xml_positions import xml_tokens
from .places import line_numbers

logger = logging.getLogger(__name__)

# A character of a script without spaces, or a word.
_WORD = re.compile(rf"[{IDEOGRAPHS}]|[^\W_{IDEOGRAPHS}]+")
EXACT, SAME_WORDS, INFLECTED = range(3)  # ranks of matches, best first
# Languages with compounds, which end with their head noun.
COMPOUNDING = ("da", "de", "et", "fi", "hu", "is", "lb", "nb", "nl", "nn", "no", "sv")
SHORTEST_HEAD = 4  # letters of the stem of a head noun
LONGEST = 40  # words of a term: a model writes up to twice the tokens of the sentence, and 50 more
Stem = Callable[[str], str]


class Word(NamedTuple):
    """A word of a text, and its position."""

    text: str
    start: int
    end: int


class Entry(NamedTuple):
    """A term of a glossary.

    Attributes:
        words: Its words.
        gaps: The characters between the words, without white space.
        text: The whole term.
        before: The marks before its first word, as in ".NET".
        after: The marks after its last word, as in "C++".
    """

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    text: str
    before: str
    after: str

    def has_marks(self, text: str, words: Sequence[Word]) -> bool:
        """Whether the marks of the term are around `words` of a text."""
        return text.endswith(self.before, 0, words[0].start) and text.startswith(self.after, words[-1].end)


def words_of(text: str) -> list[Word]:
    return [Word(found[0], *found.span()) for found in _WORD.finditer(text)]


def _entry(text: str) -> Entry:
    words = words_of(text)
    before, after = (text[: words[0].start], text[words[-1].end :]) if words else ("", "")
    return Entry(tuple(word.text for word in words), _gaps(text, words), text, before, after)


def _gaps(text: str, words: Sequence[Word]) -> tuple[str, ...]:
    return tuple("".join(text[one.end : other.start].split()) for one, other in pairwise(words))


def stemmer(language: str | None) -> Stem:
    """A function that returns the stem of a word, in lower case.

    In languages without a Snowball stemmer, it returns the word. Raises `GlossaError` if the library is missing.
    """
    library = require("snowballstemmer", "documents")
    code = {"nb": "no", "nn": "no"}.get(language or "", language)
    name = language_name(code).split(" ")[0].lower() if code else ""
    if name not in library.algorithms():
        logger.info("Snowball has no stemmer for %s: its terms are found without inflection.", language)
        return str.casefold
    stem = library.stemmer(name)
    known: dict[str, str] = {}

    def found(word: str) -> str:
        word = word.lower()
        if word not in known:
            known[word] = stem.stemWord(word)
        return known[word]

    return found


class Phrases:
    """Finds sequences of words in texts, the longest first.

    Words in lower case are found in any case. Words with capitals must have them in the text too, unless it has none.
    """

    def __init__(self, texts: Sequence[str], stem: Stem):
        self.stem = stem
        self.entries: dict[tuple[str, ...], list[Entry]] = {}
        for entry in map(_entry, dict.fromkeys(texts)):
            self.entries.setdefault(tuple(map(stem, entry.words)), []).append(entry)
        self.longest = max(map(len, self.entries), default=0)

    def find(self, text: str) -> Iterator[tuple[Entry, int, int]]:
        """The matches in a text, from left to right: each entry with its start and end."""
        words, position = words_of(text), 0
        stems = [self.stem(word.text) for word in words]
        small = not any(map(str.isupper, text))
        while position < len(words):
            for length in range(min(self.longest, len(words) - position), 0, -1):
                chosen = words[position : position + length]
                entries = self.entries.get(tuple(stems[position : position + length]), ())
                ranked = [
                    (rank, -len(entry.text), entry)
                    for entry in entries
                    if (rank := _rank(entry, text, chosen, small)) is not None
                ]
                if ranked:
                    entry = min(ranked)[-1]
                    yield entry, chosen[0].start - len(entry.before), chosen[-1].end + len(entry.after)
                    position += length
                    break
            else:
                position += 1


def _rank(entry: Entry, text: str, words: Sequence[Word], small: bool) -> int | None:
    """The rank of the match of words and an entry with the same stems; None if they do not match."""
    if _gaps(text, words) != entry.gaps or not entry.has_marks(text, words):
        return None
    written = [word.text for word in words]
    if tuple(written) == entry.words:
        return EXACT
    if not all(_has_case(word, own, small) for word, own in zip(written, entry.words, strict=True)):
        return None
    same = all(word.casefold() == own.casefold() for word, own in zip(written, entry.words, strict=True))
    return SAME_WORDS if same else INFLECTED


def _has_case(word: str, own: str, small: bool) -> bool:
    if own == own.lower():
        return True
    if len(own) > 1 and own.isupper():  # an abbreviation
        return word.startswith(own)
    return small or word[:1].isupper() == own[:1].isupper()


class Glossary:
    """Terms and their translations.

    Args:
        rows: Pairs of a term and one of its translations, in Unicode's form NFC.
        languages: The languages of terms and translations.
    """

    def __init__(self, rows: Sequence[tuple[str, str]], languages: LanguagePair):
        self.target_language = language_code(languages.target or "")
        self.stems = [stemmer(code) for code in (languages.source, languages.target)]
        self.targets: dict[str, list[str]] = {}
        for source, target in rows:
            targets = self.targets.setdefault(source, [])
            if target not in targets:
                targets.append(target)
        self.sources = Phrases(list(self.targets), self.stems[0])
        self._phrases: dict[tuple[str, ...], Phrases] = {}

    def find(self, text: str) -> list[Term]:
        """The terms in a text, without duplicates, from left to right."""
        text = normalize("NFC", text)
        spans = find_spans(text)
        starts_upper = TextFacts(text).starts_upper
        found: dict[str, Term] = {}
        for entry, start, end in self.sources.find(text):
            if any(start < last and first < end for first, last in spans):
                continue
            written, targets = text[start:end], self.targets[entry.text]
            if len(written) > 1 and written.isupper() and entry.text != written:
                targets = [target.upper() for target in targets]
            first = [target[:1].upper() + target[1:] if starts_upper else target for target in targets]
            term = found.setdefault(entry.text, Term(written, tuple(targets), tuple(first)))
            found[entry.text] = term._replace(places=(*term.places, (start, end)))
        return list(found.values())

    def has(self, term: Term, translation: str) -> bool:
        """Whether a translation has a translation of a term, perhaps inflected or at the end of a compound."""
        if term.targets not in self._phrases:
            self._phrases[term.targets] = Phrases([*term.targets, *term.first], self.stems[1])
        phrases, translation = self._phrases[term.targets], normalize("NFC", translation)
        return next(phrases.find(translation), None) is not None or self._in_compound(phrases, translation)

    def _in_compound(self, phrases: Phrases, translation: str) -> bool:
        """Whether a compound in a translation ends with a translation of the term."""
        if self.target_language not in COMPOUNDING:
            return False
        heads = tuple(
            stems[0]
            for stems, entries in phrases.entries.items()
            if len(stems) == 1
            and len(stems[0]) >= SHORTEST_HEAD
            and not all(one.before + one.after for one in entries)
        )
        return bool(heads) and any(self.stems[1](word.text).endswith(heads) for word in words_of(translation))


def read_glossary(path: Path, languages: LanguagePair, forbidden: Sequence[str] = ()) -> Glossary:
    """The glossary in a file: a table of two columns, with or without a header, or TBX.

    Raises `GlossaError` for a row with an empty term, and for a term whose translations are all forbidden.
    """
    if not path.is_file():
        raise GlossaError(f"--glossary {path} does not exist. Give a file of terms: TSV, CSV or TBX.")
    rows = list(_read_tbx(path, languages) if path.suffix.lower() == ".tbx" else _read_table(path, languages))
    if not rows:
        raise GlossaError(f"--glossary {path} has no terms. Give a file with a term and its translation in each row.")
    places: dict[str, int] = {}
    allowed: dict[str, bool] = {}
    for source, target, line in rows:
        places.setdefault(source, line)
        fine = not any(_contains(target, word) for word in forbidden)
        allowed[source] = allowed.get(source, False) or fine
    for source, fine in allowed.items():
        if not fine:
            raise GlossaError(
                f"{path}, line {places[source]}: --forbid excludes the translation of {source!r}. Change one of them."
            )
    kept = [(source, target) for source, target, _ in rows if not any(_contains(target, word) for word in forbidden)]
    return Glossary(kept, languages)


def terms_of_lines(text: str) -> list[tuple[str, str]]:
    """The terms in a text whose lines have a term, a tab or =>, and its translation.

    Raises `GlossaError` for other lines, and for a term without a word.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        source, mark, target = line.partition("\t" if "\t" in line else "=>")
        if not mark:
            raise GlossaError(f"Glossary, line {number}: write a term, => or a tab, and its translation.")
        source, target, _ = _checked("Glossary", number, clean_text(source), clean_text(target.partition("\t")[0]))
        found.append((source, target))
    return found


def _contains(target: str, word: str) -> bool:
    return next(Phrases([word], str.casefold).find(target), None) is not None


def _read_table(path: Path, languages: LanguagePair) -> Iterator[tuple[str, str, int]]:
    names: tuple[tuple[str, str], ...] = (("source", "target"),)
    if languages.source and languages.target:
        names = ((languages.source, languages.target), *names)
    for source, target, line, problem in read_rows((path,), Columns(names), None):
        if problem.partition(":")[0] == HEADER or (not problem and not (source + target).strip()):
            continue
        if problem:
            raise GlossaError(f"{path}, line {line}: {problem}. Write a term and its translation in each row.")
        yield _checked(path, line, clean_text(source), clean_text(target))


def _checked(path: Path | str, line: int, source: str, target: str) -> tuple[str, str, int]:
    for side, text, other in (("source", source, target), ("target", target, source)):
        words = len(words_of(text))
        if not words:
            raise GlossaError(
                f"{path}, line {line}: the {side} of {other!r} has no word. Write a term there, or remove the row."
            )
        if words > LONGEST:
            raise GlossaError(
                f"{path}, line {line}: the {side} of {other[:40]!r} has {words:,} words; a term may have {LONGEST}. "
                "Shorten it, or remove the row."
            )
    return source, target, line


def _read_tbx(path: Path, languages: LanguagePair) -> Iterator[tuple[str, str, int]]:
    """The terms of each entry: each source term with each target term."""
    if languages.source is None or languages.target is None:
        raise GlossaError(
            f"--glossary {path} has terms by language, but the languages of the model are unknown. Give a table of "
            "two columns."
        )
    found = False
    for line, sides in _tbx_entries(path):
        sources, targets = (
            sides.get(language_code(code) or code, []) for code in (languages.source, languages.target)
        )
        found = found or bool(sources and targets)
        for source in sources:
            for target in targets:
                yield _checked(path, line, source, target)
    if not found:
        raise GlossaError(
            f"--glossary {path} has no entry in both {languages.source} and {languages.target}. Give another one."
        )


def _tbx_entries(path: Path) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """The line of each entry, and its terms by language."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise GlossaError(f"{path} is not UTF-8. Save it as UTF-8.") from error
    tokens, number = xml_tokens(text, str(path)), line_numbers(text)
    entries: list[tuple[int, dict[str, list[str]]]] = []
    language = ""
    words: list[str] | None = None  # of the term that is being read
    for token in tokens:
        name = token.name.rpartition(":")[2]
        if token.kind == "text" and words is not None:
            words += [part.text for part in text_parts(text, token.start, token.end)]
        elif token.kind == "open" and name in ("termEntry", "conceptEntry"):
            entries.append((number(token.start), {}))
        elif token.kind == "open" and name in ("langSet", "langSec"):
            given = attributes(text, token)
            code = given.get("xml:lang", given.get("lang", ""))
            language = language_code(code) or code
        elif name == "term":
            if words is not None and entries:
                entries[-1][1].setdefault(language, []).append(clean_text("".join(words)))
            words = [] if token.kind == "open" else None
    yield from entries
