"""Tags in a hundred sentences, put by hand, and where they are put."""

import re
from pathlib import Path

import numpy
import pytest

from benchmarks.placement import Case, count_right, read_cases
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.texts.alignment import AttentionAligner, align_by_form

MODELS = Path(__file__).parents[3] / "shared" / "models"


def test_the_sentences_are_whole():
    cases = read_cases()
    assert {pair: len(rows) for pair, rows in cases.items()} == {("en", "de"): 50, ("en", "fr"): 50}
    for case in (case for rows in cases.values() for case in rows):
        tags = sorted(re.findall(r"</?\w+>", case.source))
        assert tags and all(sorted(re.findall(r"</?\w+>", target)) == tags for target in case.targets)
        assert len({re.sub(r"</?\w+>", "", target) for target in case.targets}) == 1


def test_right_links_put_tags_right():
    cases = [Case("A <b>red</b> car.", ("Une voiture <b>rouge</b>.",))]
    right, wrong = numpy.zeros((4, 4)), numpy.eye(4)
    for row, column in ((0, 0), (1, 2), (2, 1), (3, 3)):
        right[row, column] = 1
    assert count_right(lambda pairs: [right], cases) == 1 and count_right(lambda pairs: [wrong], cases) == 0


def test_without_a_model_more_than_half_are_right():
    assert sum(count_right(align_by_form, cases) for cases in read_cases().values()) > 50


@pytest.mark.skipif(not MODELS.is_dir(), reason="../shared/models is not here")
def test_with_a_model_nine_in_ten_are_right():
    cases, right = read_cases(), 0
    for name, pair in (("multi30k-en-de", ("en", "de")), ("anki-en-fr", ("en", "fr"))):
        aligner = AttentionAligner(load_model(str(MODELS / name)), load_tokenizer(str(MODELS / name)))
        right += count_right(aligner, cases[pair])
    assert right >= 90
