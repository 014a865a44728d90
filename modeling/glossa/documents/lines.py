"""Links between the words of lines and of their translations."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ..data.alignments import Links, Words, between_spaces, find_words
from ..inference.engines import Translation
from .alignment import Aligner, Pair, strong_links

Row = tuple[str, list[Translation]]


def with_links(rows: Iterator[Row], aligner: Aligner, chunk: int) -> Iterator[Row]:
    """The lines and translations of `rows`, `chunk` at a time; the translations get their links."""
    while some := list(islice(rows, chunk)):
        flat = [(source, translation) for source, translations in some for translation in translations]
        for (_, translation), links in zip(flat, link_rows(flat, aligner), strict=True):
            translation.links = links
        yield from some


def link_rows(rows: Sequence[tuple[str, Translation]], aligner: Aligner) -> list[Links]:
    """The links between white space of each line and its translation. One that failed has none.

    The parts of a line that were translated for themselves are aligned for themselves.
    """
    pairs: list[Pair] = []
    counts = []
    for _, translation in rows:
        parts = [] if translation.failed else translation.parts
        pairs += [Pair(source, find_words(source), target, find_words(target)) for source, target in parts]
        counts.append(len(parts))
    weights = iter(aligner(pairs))
    own = iter(pairs)
    found = []
    for (source, translation), count in zip(rows, counts, strict=True):
        aligned = [(pair, strong_links(next(weights))) for pair in islice(own, count)]
        found.append(_of_line(source, translation.text, aligned))
    return found


def _of_line(source: str, target: str, parts: Sequence[tuple[Pair, Links]]) -> Links:
    """The links of a line, from the links of its parts."""
    words: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    links: Links = []
    starts = [0, 0]
    for pair, own in parts:
        links += [(len(words[0]) + row, len(words[1]) + column) for row, column in own]
        sides = (source, pair.source, pair.source_words), (target, pair.target, pair.target_words)
        for side, (text, part, part_words) in enumerate(sides):
            start = text.index(part, starts[side])
            words[side].extend(_moved(part_words, start))
            starts[side] = start + len(part)
    return between_spaces((source, target), words, links)


def _moved(words: Words, start: int) -> list[tuple[int, int]]:
    return [(first + start, last + start) for first, last in words]
