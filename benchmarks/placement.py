"""How many tags are put where a person put them, by the attention of runs and by what words look like.

`texts/placement.tsv` has a hundred sentences with tags and their translations with the tags put by hand: languages,
source, translation, and sometimes another right one. A run is asked for the sentences of its two languages.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from glossa.data.encoding.word_links import find_words
from glossa.inference.languages import Languages
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.texts.alignment import Aligner, AttentionAligner, Pair, align_by_form
from glossa.inference.texts.tag_placement import put_back
from glossa.inference.texts.tags import Part, take_tags

from .timing import table

SENTENCES = Path(__file__).with_name("texts") / "placement.tsv"
_TAG = re.compile(r"</?(\w+)>")


class Case(NamedTuple):
    """A sentence with tags, and its translations with tags, all right."""

    source: str
    targets: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="*", metavar="RUN", help="runs whose attention aligns (default: none)")


def run(arguments: argparse.Namespace) -> None:
    cases = read_cases()
    rows = [_row("what words look like", align_by_form, pair, cases[pair]) for pair in cases]
    for name in arguments.models:
        pair = Languages.of(name).pair
        aligner = AttentionAligner(load_model(name, "auto"), load_tokenizer(name))
        rows.append(_row(f"attention of {name}", aligner, pair, cases[pair]))
    print(table(rows))


def _row(title: str, aligner: Aligner, pair: tuple[str, str], cases: list[Case]) -> dict[str, str]:
    return {
        "alignment": title,
        "languages": "-".join(pair),
        "right": str(count_right(aligner, cases)),
        "of": str(len(cases)),
    }


def read_cases() -> dict[tuple[str, str], list[Case]]:
    """The sentences of each pair of languages."""
    found: dict[tuple[str, str], list[Case]] = {}
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        first, second, source, *targets = line.split("\t")
        found.setdefault((first, second), []).append(Case(source, tuple(targets)))
    return found


def count_right(aligner: Aligner, cases: list[Case]) -> int:
    """How many sentences get all their tags at a right place."""
    marked = [take_tags(list(parts_of(case.source))) for case in cases]
    targets = [_TAG.sub("", case.targets[0]) for case in cases]
    pairs = [
        Pair(source.text, find_words(source.text), target, find_words(target))
        for source, target in zip(marked, targets, strict=True)
    ]
    right = 0
    for case, source, pair, links in zip(cases, marked, pairs, aligner(pairs), strict=True):
        pieces = put_back(source, pair.source_words, pair.target, pair.target_words, links)
        found = "".join(piece if isinstance(piece, str) else case.source[piece.start : piece.end] for piece in pieces)
        right += found in case.targets
    return right


def parts_of(source: str):
    """The parts of a sentence with simple tags."""
    position = 0
    for tag in _TAG.finditer(source):
        yield Part("text", position, tag.start(), source[position : tag.start()])
        yield Part("close" if tag[0].startswith("</") else "open", *tag.span(), "", tag[1])
        position = tag.end()
    yield Part("text", position, len(source), source[position:])
