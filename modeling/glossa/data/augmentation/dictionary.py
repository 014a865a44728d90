"""Entries of a dictionary that training sentences lack: alone, or instead of a word of the same kind."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from ..alignments import Links, find_words
from .pair import Pair

RARE = 10  # training sentences: a word that occurs in as many is learned from them, in the sense that it has there
MOST = 6  # entries in a row
ALONE = 0.5  # of the pairs; phrases, and kinds of which no sentence has a word, have no other place

Span = tuple[int, int]


class Entry(NamedTuple):
    """A word or phrase and its translation.

    Attributes:
        source: The word or phrase.
        target: Its translation.
        kind: What it has in common with the entries that it may be exchanged with, such as its part of speech and its
            gender; "" if it is exchanged with none.
    """

    source: str
    target: str
    kind: str = ""


class Dictionary:
    """The entries that a model is to learn, and the words of sentences that they may replace.

    Args:
        entries: All entries.
        sources: The training sources. An entry is to be learned if one of its words is in fewer than `RARE` of them.
        held_out: Whether a text is a sentence of the held-out pairs, which are not to be learned.

    Attributes:
        learned: The entries to learn.
        held_out: How many entries are not learned because a side is a held-out sentence.
    """

    def __init__(self, entries: Sequence[Entry], sources: Iterable[str], is_held_out: Callable[[str], bool]):
        counts = Counter(word for text in sources for word in set(_words(text)))
        rare = [entry for entry in entries if any(counts[word] < RARE for word in _words(entry.source))]
        self._is_held_out = is_held_out
        self.learned = [entry for entry in rare if not self._leaks(Pair(*entry[:2]))]
        self.held_out = len(rare) - len(self.learned)
        self._patterns = {entry[:2]: pattern for entry in entries if (pattern := _pattern(entry))}
        self._fitting: dict[tuple, list[Entry]] = {}
        for entry in self.learned:
            if pattern := _pattern(entry):
                self._fitting.setdefault(pattern, []).append(entry)

    def change(self, pair: Pair, generator: Random, links: Links) -> Pair | None:
        """An entry, or `pair` with an entry instead of one of the same kind; None if there is none to learn.

        Two words are exchanged if they are linked with each other only, and both entries are of one kind and begin
        alike: with or without a capital, and with a vowel, an h or another letter, on which articles depend.

        Args:
            pair: A source and its target.
            generator: Decides what is changed.
            links: The links between their words ([`find_words`]).
        """
        if not self.learned:
            return None
        places = self._places(pair, links) if generator.random() >= ALONE else []
        if not places:
            chosen = generator.sample(self.learned, min(generator.randint(1, MOST), len(self.learned)))
            return Pair(*(", ".join(texts) for texts in zip(*(entry[:2] for entry in chosen), strict=True)))
        # Each of the entries that fit somewhere is as likely as any other.
        spans, entries = generator.choices(places, [len(entries) for _, entries in places])[0]
        entry = generator.choice(entries)
        new = Pair(
            _replaced(pair.source, spans[0], entry.source),
            _replaced(pair.target, spans[1], entry.target),
        )
        return None if self._leaks(new) else new

    def _leaks(self, pair: Pair) -> bool:
        return any(map(self._is_held_out, pair))

    def _places(self, pair: Pair, links: Links) -> list[tuple[tuple[Span, Span], list[Entry]]]:
        """The characters, source and target, of each known word, with the entries that fit there."""
        sides = [find_words(text) for text in pair]
        ways = [Counter(link[side] for link in links) for side in (0, 1)]
        found = []
        for source, target in links:
            spans = sides[0][source], sides[1][target]
            pattern = self._patterns.get((pair.source[slice(*spans[0])], pair.target[slice(*spans[1])]))
            if pattern in self._fitting and ways[0][source] == ways[1][target] == 1:
                found.append((spans, self._fitting[pattern]))
        return found


def _words(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in find_words(text)]


def _pattern(entry: Entry) -> tuple | None:
    """What two entries must have in common to be exchanged; None for phrases, and without a kind."""
    if not entry.kind or any(len(find_words(text)) != 1 for text in entry[:2]):
        return None
    return entry.kind, *map(_beginning, entry[:2])


def _beginning(word: str) -> tuple[bool, str]:
    first = unicodedata.normalize("NFD", word)[0]
    letter = first.casefold()
    return first.isupper(), "vowel" if letter in "aeiouæœ" else letter if letter == "h" else "other"


def _replaced(text: str, span: Span, new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]
