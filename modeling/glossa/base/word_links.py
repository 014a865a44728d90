"""Which words of pairs are translations of each other, learned from the pairs themselves by statistical models."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..model.facts_glossa import IDEOGRAPHS
from .errors import require

# A word with the apostrophe at its end (l', d'), a number, a character of a script without spaces, or another mark.
WORD = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{IDEOGRAPHS}]|[^\W\d_{IDEOGRAPHS}]+['’]?|[^\s]")
ITERATIONS = 5  # of FastAlign in each direction, its own default
MODELS = ("eflomal", "fast_align")

Words = Sequence[tuple[int, int]]  # first character of each word, and the one after its last
Links = list[tuple[int, int]]  # numbers of a source word and a target word that are linked, sorted


def find_words(text: str, whole: Words = ()) -> list[tuple[int, int]]:
    """The words of a text; each of the `whole` spans is one word."""
    words, position = [], 0
    for start, end in [*whole, (len(text), len(text))]:
        words += [(found.start(), found.end()) for found in WORD.finditer(text, position, start)]
        if end > start:
            words.append((start, end))
        position = end
    return words


def link_words(sources: Sequence[str], targets: Sequence[str], model: str = MODELS[0]) -> list[Links]:
    """The links between the words ([`find_words`]) of each pair, learned from all of them.

    The model, Eflomal (Östling and Tiedemann 2016) or FastAlign (Dyer et al. 2013), aligns in both directions, and the
    two alignments are made one by grow-diag-final-and (Koehn et al. 2003). The same pairs give the same links on
    processors of one kind. A pair with a blank side, or with more words than the library takes (1,024), has none.
    Raises `GlossaError` if the package sil-thot is missing.
    """
    thot = require("thot.alignment", "documents", "sil-thot")
    sides = [[_folded(text) for text in texts] for texts in (sources, targets)]
    longest = thot.FastAlignModel().max_sentence_length
    rows = [row for row, pair in enumerate(zip(*sides, strict=True)) if all(0 < len(side) <= longest for side in pair)]
    found: list[Links] = [[] for _ in sources]
    if not rows:
        return found
    first, second = ([side[row] for row in rows] for side in sides)
    both = thot.SymmetrizedAlignmentModel(_learned(thot, model, first, second), _learned(thot, model, second, first))
    both.heuristic = thot.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    for row, (_, matrix) in zip(rows, both.get_best_alignments(first, second), strict=True):
        found[row] = list(zip(*(numbers.tolist() for numbers in matrix.to_numpy().nonzero()), strict=True))
    return found


def _learned(thot: Any, name: str, given: list[list[str]], explained: list[list[str]]) -> Any:
    """A model of the second words given the first ones."""
    if name == "fast_align":
        model, iterations = thot.FastAlignModel(), ITERATIONS
    else:
        model = thot.EflomalAlignmentModel()
        model.seed, model.deterministic = 1, True
    for pair in zip(given, explained, strict=True):
        model.add_sentence_pair(*pair)
    model.start_training()
    if name == "eflomal":
        iterations = model.scheduled_iterations  # which depend on the number of pairs
    for _ in range(iterations):
        model.train()
    model.end_training()
    return model


def _folded(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in find_words(text)]


def between_spaces(texts: tuple[str, str], words: tuple[Words, Words], links: Iterable[tuple[int, int]]) -> Links:
    """Convert links between words to links between whitespace-separated tokens, such as "word." with its period.

    A link of a mark, such as a comma, counts only if it is all that stands there on a side.

    Args:
        texts: Source and target.
        words: The words of both, as characters of these texts.
        links: Links between these words.
    """
    first, second = (_places(text, own) for text, own in zip(texts, words, strict=True))
    found = set()
    for source, target in links:
        (row, counts), (column, also) = first[source], second[target]
        if counts and also:
            found.add((row, column))
    return sorted(found)


def _places(text: str, words: Words) -> list[tuple[int, bool]]:
    """For each word, the number of the text between white space that it is in, and whether it counts there."""
    chunks = [found.span() for found in re.finditer(r"\S+", text)]
    found, number = [], 0
    for start, end in words:
        while start >= chunks[number][1]:
            number += 1
        of_letters, others = (any(map(str.isalnum, text[slice(*span)])) for span in ((start, end), chunks[number]))
        found.append((number, of_letters or not others))
    return found


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links in Pharaoh format: `0-0 1-2`, numbers of words from 0, source first."""
    return " ".join(f"{source}-{target}" for source, target in links)
