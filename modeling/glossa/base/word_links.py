"""Word alignment of sentence pairs, with statistical models trained on the pairs themselves."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..model.facts_glossa import IDEOGRAPHS
from .errors import require

# A number, a character of a script without spaces, a word with its final apostrophe (l', d'), or another character.
WORD = re.compile(rf"\d+(?:[.,:/-]\d+)*|[{IDEOGRAPHS}]|[^\W\d_{IDEOGRAPHS}]+['’]?|[^\s]")
ITERATIONS = 5  # of FastAlign in each direction, as its default
MODELS = ("eflomal", "fast_align")

Words = Sequence[tuple[int, int]]  # start and end offset of each word
Links = list[tuple[int, int]]  # indices of linked source and target words, sorted


def find_words(text: str, whole: Words = ()) -> list[tuple[int, int]]:
    """The spans of the words in a text. Each of the `whole` spans counts as one word."""
    words, position = [], 0
    for start, end in [*whole, (len(text), len(text))]:
        words += [(found.start(), found.end()) for found in WORD.finditer(text, position, start)]
        if end > start:
            words.append((start, end))
        position = end
    return words


def link_words(sources: Sequence[str], targets: Sequence[str], model: str = MODELS[0]) -> list[Links]:
    """Align the words ([`find_words`]) of each pair, with a model trained on all of the pairs.

    The model, Eflomal (Östling and Tiedemann 2016) or FastAlign (Dyer et al. 2013), aligns in both directions, and
    grow-diag-final-and (Koehn et al. 2003) merges the two alignments. The same pairs give the same links on the same
    type of processor. A pair with a blank side, or with more words than the library supports (1,024), has no links.
    Raises `GlossaError` if the package sil-thot is missing.
    """
    thot = require("thot.alignment", "documents", "sil-thot")
    sides = [[_folded_words(text) for text in texts] for texts in (sources, targets)]
    longest = thot.FastAlignModel().max_sentence_length
    rows = [row for row, pair in enumerate(zip(*sides, strict=True)) if all(0 < len(side) <= longest for side in pair)]
    found: list[Links] = [[] for _ in sources]
    if not rows:
        return found
    first, second = ([side[row] for row in rows] for side in sides)
    both = thot.SymmetrizedAlignmentModel(_trained(thot, model, first, second), _trained(thot, model, second, first))
    both.heuristic = thot.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    for row, (_, matrix) in zip(rows, both.get_best_alignments(first, second), strict=True):
        found[row] = list(zip(*(numbers.tolist() for numbers in matrix.to_numpy().nonzero()), strict=True))
    return found


def _trained(thot: Any, name: str, given: list[list[str]], explained: list[list[str]]) -> Any:
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
        iterations = model.scheduled_iterations  # depends on the number of pairs
    for _ in range(iterations):
        model.train()
    model.end_training()
    return model


def _folded_words(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in find_words(text)]


def token_links(texts: tuple[str, str], words: tuple[Words, Words], links: Iterable[tuple[int, int]]) -> Links:
    """Convert links between words to links between whitespace-separated tokens, such as "word." with its period.

    A link of a punctuation mark, such as a comma, counts only if its token has no letters or digits.

    Args:
        texts: Source and target.
        words: The spans of the words in each of these texts.
        links: Links between these words.
    """
    first, second = (_token_places(text, own) for text, own in zip(texts, words, strict=True))
    found = set()
    for source, target in links:
        (row, counts), (column, also) = first[source], second[target]
        if counts and also:
            found.add((row, column))
    return sorted(found)


def _token_places(text: str, words: Words) -> list[tuple[int, bool]]:
    """For each word, the index of its whitespace-separated token, and whether its links count for the token."""
    chunks = [found.span() for found in re.finditer(r"\S+", text)]
    found, number = [], 0
    for start, end in words:
        while start >= chunks[number][1]:
            number += 1
        of_letters, others = (any(map(str.isalnum, text[slice(*span)])) for span in ((start, end), chunks[number]))
        found.append((number, of_letters or not others))
    return found


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links in Pharaoh format: `0-0 1-2`, 0-based word indices, source first."""
    return " ".join(f"{source}-{target}" for source, target in links)
