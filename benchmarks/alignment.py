"""Alignment error rates on hand-aligned sentences: of FastAlign and Eflomal, of layers of runs, and of trained heads.

`texts/alignment.tsv` has the first hundred sentences of Multi30k's test_2016_flickr, English to German, aligned by
hand: number of the line, numbers of words on both sides, and links of words from 0, `1-2` a sure one and `1?2` a
possible one. The text of Multi30k is not part of this repository: give its folder. The alignment error rate (Och and
Ney 2003, section 6.1) is 1 - (links that are sure + links that are possible or sure) / (links + sure links); 0 is
best.
"""

import argparse
import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from glossa.data.encoding.word_links import Links, find_words, link_words
from glossa.errors import GlossaError
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.texts.alignment import AttentionAligner, Pair, align_by_form, strong_links

from .timing import table

SENTENCES = Path(__file__).with_name("texts") / "alignment.tsv"


class Gold(NamedTuple):
    """A line of the test set by hand: the numbers of words on both sides, sure links, and sure and possible ones."""

    line: int
    words: tuple[int, int]
    sure: set[tuple[int, int]]
    possible: set[tuple[int, int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="*", metavar="RUN", help="runs, English to German")
    parser.add_argument("--multi30k", type=Path, required=True, metavar="FOLDER", help="Multi30k, not tokenized")


def run(arguments: argparse.Namespace) -> None:
    gold = read_gold()
    test = [read(arguments.multi30k, "test_2016_flickr", language) for language in ("en", "de")]
    pairs = pairs_of(gold, *test)
    train = [read(arguments.multi30k, "train", language) for language in ("en", "de")]
    both = ([*texts, *(pair[side] for pair in pairs)] for texts, side in zip(train, (0, 2), strict=True))
    texts = list(both)
    rows = [(name, link_words(*texts, name)[-len(pairs) :]) for name in ("fast_align", "eflomal")]
    rows.append(("what words look like", list(map(strong_links, align_by_form(pairs)))))
    for name in arguments.models:
        rows += [(f"{name}, {title}", links) for title, links in of_model(name, pairs)]
    print(table([{"alignment": title} | scores(gold, links) for title, links in rows]))


def of_model(name: str, pairs: Sequence[Pair]) -> Iterator[tuple[str, list[Links]]]:
    """The links of each layer of a run, and those of its trained head, if it has one."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    for layer in range(model.config.decoder_layers):
        aligner = AttentionAligner(model, tokenizer, [layer])
        yield f"mean of layer {layer + 1}", list(map(strong_links, aligner(pairs)))
    yield "as documents align", list(map(strong_links, AttentionAligner(model, tokenizer)(pairs)))


def read(folder: Path, part: str, language: str) -> list[str]:
    path = folder / f"{part}.{language}.gz"
    if not path.is_file():
        raise GlossaError(f"--multi30k {folder} has no {path.name}. Give the folder with the files of Multi30k.")
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def read_gold() -> list[Gold]:
    """The hand-aligned lines."""
    found = []
    for row in SENTENCES.read_text(encoding="utf-8").splitlines():
        line, first, second, links = row.split("\t")
        sure, possible = (
            {tuple(map(int, re.split("[-?]", link))) for link in links.split() if not only or "-" in link}
            for only in (True, False)
        )
        found.append(Gold(int(line), (int(first), int(second)), sure, possible))  # type: ignore[arg-type]
    return found


def pairs_of(gold: Sequence[Gold], sources: Sequence[str], targets: Sequence[str]) -> list[Pair]:
    """The hand-aligned sentences. Raises `GlossaError` if they have other words than were aligned."""
    pairs = []
    for entry in gold:
        source, target = sources[entry.line - 1], targets[entry.line - 1]
        pair = Pair(source, find_words(source), target, find_words(target))
        if (len(pair.source_words), len(pair.target_words)) != entry.words:
            raise GlossaError(f"Line {entry.line} of the test set has other words than the one that was aligned.")
        pairs.append(pair)
    return pairs


def scores(gold: Sequence[Gold], links: Sequence[Links]) -> dict[str, str]:
    """Precision, recall and alignment error rate over all sentences."""
    found = [set(each) for each in links]
    total, sure = sum(map(len, found)), sum(len(entry.sure) for entry in gold)
    right = sum(len(each & entry.possible) for each, entry in zip(found, gold, strict=True))
    recalled = sum(len(each & entry.sure) for each, entry in zip(found, gold, strict=True))
    rates = right / max(total, 1), recalled / sure, 1 - (recalled + right) / (total + sure)
    return {name: f"{rate:.3f}" for name, rate in zip(("precision", "recall", "error rate"), rates, strict=True)}
