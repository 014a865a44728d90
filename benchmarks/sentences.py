"""How many paragraphs are split into the right sentences, and what splitting is worth in BLEU.

The paragraphs in `texts/paragraphs.txt` were split by hand; Glossa's rules, sentencex and pysbd are compared by
language. Rules for abbreviations, dates and quotes were added to Glossa after looking at these paragraphs. A library
that is not installed (`pip install sentencex pysbd`) has no row.

With `--model RUN`, the run's test sentences are translated with and without splitting, each on a line of its own, and
two on a line.
"""

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from glossa.data.pairs import group_references
from glossa.evaluation.metrics import score
from glossa.inference.engines.engine import Search
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder
from glossa.sentences_glossa import split_text

from .timing import table

PARAGRAPHS = Path(__file__).with_name("texts") / "paragraphs.txt"
WITHOUT_SPACES = ("zh", "ja")  # between sentences

Splitter = Callable[[str, str], list[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="RUN", help="also compare translations of this run")
    parser.add_argument("--lines", type=int, default=500, help="lines of two sentences (default: 500)")
    parser.add_argument("--num_beams", type=int, help="default: the model's own")


def run(arguments: argparse.Namespace) -> None:
    paragraphs = list(read_paragraphs())
    languages = list(dict.fromkeys(language for language, _ in paragraphs))
    rows = []
    for name, split in splitters():
        right = count_right(split, paragraphs)
        cells = {language: str(right[language]) for language in languages}
        rows.append({"": name} | cells | {f"of {len(paragraphs)}": str(sum(right.values()))})
    print(table(rows))
    if arguments.model:
        print(f"\n{table(compare_translations(arguments.model, arguments.lines, arguments.num_beams))}")


def compare_translations(name: str, lines: int, num_beams: int | None) -> list[dict[str, str]]:
    """BLEU of the run's test sentences alone and in lines of two, with and without splitting."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    single = [(source, targets[0]) for source, targets in group_references(RunFolder(name).load_held_out("test"))]
    whole = [pair for pair in single if all(len(split_text(side)[0]) == 1 for side in pair)]
    ended = [pair for pair in whole if all(side.endswith((".", "!", "?")) for side in pair)]
    double = [(f"{a} {c}", f"{b} {d}") for (a, b), (c, d) in pairwise(ended)][:lines]
    rows = []
    for title, pairs in (("single sentences", whole), ("two sentences a line", double)):
        found = {}
        for split in (False, True):
            translator = Translator(model, tokenizer, Search(num_beams), split_sentences=split)
            found[split] = translator.best([source for source, _ in pairs], progress=True)
        equal = sum(one == other for one, other in zip(found[False], found[True], strict=True))
        scores = [score(found[split], [[target] for _, target in pairs])["bleu"]["score"] for split in (False, True)]
        row = {"": title, "lines": str(len(pairs)), "BLEU, not split": f"{scores[0]:.2f}", "split": f"{scores[1]:.2f}"}
        rows.append(row | {"equal translations": f"{equal / len(pairs):.1%}"})
    return rows


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
