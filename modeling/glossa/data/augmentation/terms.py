"""Words of a source with what they are in the target, as a glossary gives them to a model."""

import importlib
import logging
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from ...errors import GlossaError
from ...segments_glossa import NO_SPACES
from ..alignments import Links, Words, find_words
from ..languages import language_code
from .pair import Pair

logger = logging.getLogger(__name__)

# Before a term, between it and its target, and after both. Private characters, the next ones after `SENTINELS`.
TERM_MARKS = ("\U0010ff0a", "\U0010ff0b", "\U0010ff0c")
MOST = 4  # terms of a source
LONGEST = 3  # words of a term, on either side
SHORTEST = 3  # letters of a term in scripts with spaces
HIDDEN = 0.5  # of the terms are not in the source; of what it knows already, a model learns nothing from the target
LENGTHS = (8, 2, 1)  # how often a term has one word, two and three
CODES = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}  # other ones of simplemma

Lemma = Callable[[str], str]


class InlineTerm(NamedTuple):
    """A part of a source: its characters from `start` to `end`, what they are in the target, and whether they stay."""

    start: int
    end: int
    target: str
    stays: bool = True


def with_targets(text: str, terms: Iterable[InlineTerm]) -> str:
    """`text` in which each of the terms is followed by its target.

    "The dog barks." becomes "The< dog| Hund> barks.", with the three of `TERM_MARKS` for <, | and >: with the spaces
    before them, both words have the same tokens as elsewhere. If the term does not stay, it becomes
    "The<| Hund> barks." The terms do not overlap.
    """
    start, middle, end = TERM_MARKS
    done, position = "", 0
    for term in sorted(terms):
        before, own = text[position : term.start], text[term.start : term.end]
        apart = before[-1:] == " " or (not term.start and not NO_SPACES.match(own))
        done += f"{before.removesuffix(' ')}{start}"
        done += f"{' ' * apart}{own}" if term.stays else ""
        done += f"{middle}{' ' * (not NO_SPACES.match(term.target))}{term.target}{end}"
        position = term.end
    return done + text[position:]


def with_terms(pair: Pair, generator: Random, links: Links, lemma: Lemma = str) -> Pair | None:
    """The source with the targets of one to four of its words or phrases, chosen at random; None if it has none.

    A share of `HIDDEN` of them are replaced by their targets (Dinu et al. 2019 try both ways).

    Args:
        pair: A source and its target, which stays.
        generator: Decides which and how many.
        links: The links between their words ([`find_words`]).
        lemma: What a target of one word is in a dictionary. A model that has learned to inflect it does so with the
            targets of a glossary. Targets of several words stay as they are.
    """
    found = linked_terms(pair, links)
    chosen: list[InlineTerm] = []
    for length in generator.choices(range(1, LONGEST + 1), LENGTHS, k=generator.randint(1, MOST)):
        free = [term for term in found.get(length, ()) if not any(_overlap(term, other) for other in chosen)]
        if free:
            chosen.append(generator.choice(free))
    terms = []
    for term in chosen:
        target = lemma(term.target) if len(find_words(term.target)) == 1 else term.target
        terms.append(term._replace(target=target, stays=generator.random() >= HIDDEN))
    return Pair(with_targets(pair.source, terms), pair.target) if terms else None


def linked_terms(pair: Pair, links: Links) -> dict[int, list[InlineTerm]]:
    """The words and phrases of a source whose links lead to words in a row that have no other links.

    By the number of words, at most `LONGEST` on either side; all of them are of letters, and linked.
    """
    sides = [find_words(text) for text in pair]
    of_letters = [[pair[side][start].isalpha() for start, _ in words] for side, words in enumerate(sides)]
    ways: list[list[set[int]]] = [[set() for _ in words] for words in sides]
    for source, target in links:
        ways[0][source].add(target)
        ways[1][target].add(source)
    found: dict[int, list[InlineTerm]] = {}
    for first in range(len(sides[0])):
        for last in range(first, min(first + LONGEST, len(sides[0]))):
            if not ways[0][last] or not of_letters[0][last]:
                break
            targets = sorted(set().union(*ways[0][first : last + 1]))
            between = range(targets[0], targets[-1] + 1)
            closed = len(between) <= LONGEST and all(
                of_letters[1][target] and ways[1][target] and min(ways[1][target]) >= first
                and max(ways[1][target]) <= last
                for target in between
            )  # fmt: skip
            term = InlineTerm(sides[0][first][0], sides[0][last][1], _text(pair.target, sides[1], between))
            if closed and _is_long(pair.source[term.start : term.end]):
                found.setdefault(last - first + 1, []).append(term)
    return found


def _text(text: str, words: Words, numbers: Sequence[int]) -> str:
    return text[words[numbers[0]][0] : words[numbers[-1]][1]]


def _is_long(text: str) -> bool:
    return len(text) >= SHORTEST or bool(NO_SPACES.match(text))


def _overlap(term: InlineTerm, other: InlineTerm) -> bool:
    return term.start < other.end and other.start < term.end


def lemmatizer(language: str) -> Lemma:
    """A function that gives words of a language as a dictionary has them, by simplemma.

    Of a language that simplemma does not know, words stay as they are. Raises `GlossaError` if it is not there.
    """
    try:
        library = importlib.import_module("simplemma")
    except ImportError as error:
        raise GlossaError(
            "The package simplemma, which term_augmentation needs, is missing. Install it: pip install "
            '"glossa-mt[documents]".'
        ) from error
    code = language_code(language) or language
    code = CODES.get(code, code)
    try:
        library.lemmatize("a", lang=code)
    except ValueError:
        logger.info("simplemma does not know %s: targets of terms stay as they are in the text.", language)
        return str
    known: dict[str, str] = {}

    def lemma(word: str) -> str:
        if word not in known:
            known[word] = library.lemmatize(word, lang=code)
        return known[word]

    return lemma
