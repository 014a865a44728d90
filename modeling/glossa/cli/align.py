"""Align the words of translated lines: `glossa align SOURCE TARGET > links.txt`.

SOURCE and TARGET are text files, which may be compressed. Line n of TARGET is the translation of line n of SOURCE.
Each output line has the links of a pair in Pharaoh format: `0-0 1-2` links the first words of both, and the second
word of the source to the third word of the target.

Words are separated by white space. Punctuation is split off only while links are computed. Text without spaces, such
as Chinese, must be segmented first. Eflomal learns the links from the lines themselves, in both directions, so it
needs at least thousands of lines. --model fast_align takes half the time and makes more errors (docs/desk.md).
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import GlossaError
from ..base.jobs.whole_files import write_whole
from ..base.word_links import MODELS, find_words, link_words, pharaoh, token_links
from .options import argument, option, read


@dataclass(frozen=True)
class AlignOptions:
    """The options of `glossa align`."""

    source: Path = argument("file of sentences", metavar="SOURCE")
    target: Path = argument("file of their translations", metavar="TARGET")
    output: Path | None = option("file to write (default: standard output)", metavar="FILE")
    model: str = option(f"default: {MODELS[0]}", choices=MODELS, default=MODELS[0])


def parse(argv: list[str]) -> AlignOptions:
    return read(AlignOptions, "align", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    if arguments.output in (arguments.source, arguments.target):
        raise GlossaError(f"--output is {arguments.output}, which is an input file. Give another file.")
    sources, targets = read_pairs(arguments.source, arguments.target)
    links = link_words(sources, targets, arguments.model)
    rows = []
    for pair, own in zip(zip(sources, targets, strict=True), links, strict=True):
        rows.append(pharaoh(token_links(pair, (find_words(pair[0]), find_words(pair[1])), own)))
    text = "".join(f"{row}\n" for row in rows)
    if arguments.output:
        write_whole(arguments.output, text)
    else:
        sys.stdout.write(text)


def read_pairs(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Read two aligned files. Raises `GlossaError` if their lengths differ, or a line is not text."""
    from ..readers.reading import read_aligned

    sources, targets = [], []
    for first, second, line, problem in read_aligned(source, target):
        if problem:
            raise GlossaError(f"{source} and {target}, line {line}: {problem}. Correct the line.")
        sources.append(first)
        targets.append(second)
    return sources, targets
