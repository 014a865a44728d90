"""How many paragraphs are split into the right sentences: Glossa's rules, sentencex and pysbd, by language.

The paragraphs in `texts/paragraphs.txt` were split by hand. Rules for abbreviations, dates and quotes were added to
Glossa after looking at them. A library that is not installed (`pip install sentencex pysbd`) has no row.
"""

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from glossa.pipeline_glossa import split_text

from .timing import table

PARAGRAPHS = Path(__file__).with_name("texts") / "paragraphs.txt"
WITHOUT_SPACES = ("zh", "ja")  # between sentences

Splitter = Callable[[str, str], list[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(arguments: argparse.Namespace) -> None:
    paragraphs = list(read_paragraphs())
    languages = list(dict.fromkeys(language for language, _ in paragraphs))
    rows = []
    for name, split in splitters():
        right = count_right(split, paragraphs)
        cells = {language: str(right[language]) for language in languages}
        rows.append({"": name} | cells | {f"of {len(paragraphs)}": str(sum(right.values()))})
    print(table(rows))


def read_paragraphs() -> Iterator[tuple[str, list[str]]]:
    """Language and sentences of each paragraph."""
    for line in PARAGRAPHS.read_text(encoding="utf-8").splitlines():
        language, paragraph = line.split("\t")
        yield language, [sentence.strip() for sentence in paragraph.split("|")]


def splitters() -> Iterator[tuple[str, Splitter]]:
    """Name and function, from language and text to sentences, of what is installed."""
    yield "Glossa", lambda language, text: split_text(text)[0]
    if find_spec("sentencex"):
        import sentencex

        yield "sentencex", lambda language, text: sentencex.segment(language, text)
    if find_spec("pysbd"):
        import pysbd
        from pysbd.languages import LANGUAGE_CODES

        def segment(language: str, text: str) -> list[str]:
            if language not in LANGUAGE_CODES:
                return []
            return pysbd.Segmenter(language=language, clean=False).segment(text)

        yield "pysbd", segment


def count_right(split: Splitter, paragraphs: list[tuple[str, list[str]]]) -> dict[str, int]:
    """The number of paragraphs that `split` splits as they were split by hand, by language."""
    right = dict.fromkeys((language for language, _ in paragraphs), 0)
    for language, sentences in paragraphs:
        text = ("" if language in WITHOUT_SPACES else " ").join(sentences)
        right[language] += [part.strip() for part in split(language, text) if part.strip()] == sentences
    return right
