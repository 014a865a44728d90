"""What training pairs say about the text that a model can translate."""

import math

import pytest
from datasets import Dataset
from small_corpus import dataset_of

from glossa.train.data.cleaning.statistics import (
    _score,
    abbreviations,
    add_stops,
    has_paragraphs,
    learn_abbreviations,
    length_ratio,
    trained_length,
)

ONE, TWO = ("One cat.", "Une chatte."), ("One cat. Two dogs.", "Un chat. Deux chiens.")
MERGED = ("One cat. Two dogs.", "Un chat, deux chiens.")


def test_most_rows_must_have_several_sentences_on_both_sides():
    assert not has_paragraphs(dataset_of(ONE, ONE, TWO))
    assert not has_paragraphs(dataset_of(ONE, TWO)), "half is not most"
    assert has_paragraphs(dataset_of(ONE, TWO, TWO))
    assert not has_paragraphs(dataset_of(ONE, MERGED, TWO))


def test_the_length_ratio_counts_characters():
    assert length_ratio(dataset_of(ONE, TWO)) == round((11 + 21) / (8 + 18), 3)


def test_large_data_is_sampled_to_its_end():
    rows = [("abcd", "ab")] * 15_000 + [("abcd", "abcd")] * 15_000
    assert length_ratio(dataset_of(*rows)) == 0.75


class Words:
    """A tokenizer whose tokens are words and the end of the sentence."""

    def __call__(self, sources, text_target, verbose):
        sides = {"input_ids": sources, "labels": text_target}
        return {name: [[*text.split(), "</s>"] for text in texts] for name, texts in sides.items()}


def test_the_trained_length_is_a_quantile_of_both_sides():
    rows = [("w " * (length - 1), "w " * (length - 1)) for length in range(1, 102)]
    assert trained_length(dataset_of(*rows), Words(), quantile=0.9) == 91  # of 1 to 101
    # Pairs that training drops do not count: 1 to 51 are left.
    assert trained_length(dataset_of(*rows), Words(), longest=51, quantile=0.9) == 46
    assert trained_length(dataset_of(*rows), Words(), longest=0, quantile=0.9) == 91, "nothing would be left"


def test_a_short_quantile_of_the_targets_lowers_it():
    # The targets are twice as long on the whole, 10 to 20 tokens, but never above 22: worth 11 source tokens.
    rows = [("w " * 9, "w " * 19)] * 98 + [("w " * 99, "w " * 21)] * 2
    sources, targets = 98 * 10 + 2 * 100, 98 * 20 + 2 * 22
    assert trained_length(dataset_of(*rows), Words()) == round(22 * sources / targets)


def test_abbreviations_are_those_of_the_sources():
    rows = [("It is geg. the wall there.", "Das ist geg. die Wand.")] * 20
    assert abbreviations(dataset_of(*rows)) == ["geg"]
    assert abbreviations(dataset_of(*[(target, source) for source, target in rows], ("x", "xyz. x"))) == ["geg"]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([".", "!", "?", "。", "।", ".", ".", ".", "?", "."], True),
        ([".", "!", "?", "。", "।", ".", ".", ".", "?", ""], True),  # one in ten
        ([".", "!", "?", "。", "।", ".", ".", ".", "", ""], False),
        ([".", ".", ".", ".", ".", ".", ".", ")", ")", ")"], False),  # most, but not nearly all
        ([" .", " .", " .", " .", " .", " .", " .", " .", " .", " ."], False),  # words and marks stand apart
    ],
)
def test_sources_that_end_with_a_mark_ask_for_one(ends, expected):
    rows = [{"source": f"so{end}", "target": "x"} for end in ends]
    assert add_stops(Dataset.from_list(rows)) is expected


def test_the_score_is_that_of_the_paper():
    # Four of 100 tokens have a period; "geg." twice with, never without: 2 * (2 ln 0.99 - 2 ln 0.04) * e^-3.
    assert _score("geg", 2, 0, 0.04) == pytest.approx(2 * 2 * math.log(0.99 / 0.04) * math.exp(-3))
    # A period inside doubles it; each time without a period divides it by the number of letters.
    assert _score("m.m", 2, 0, 0.04) == pytest.approx(4 * 2 * math.log(0.99 / 0.04) * math.exp(-2))
    once = 2 * (2 * math.log(0.99 / 0.04) + math.log(0.01 / 0.96)) * math.exp(-3) / 3
    assert _score("geg", 2, 1, 0.04) == pytest.approx(once)


def test_words_with_periods_inside_sentences_are_abbreviations():
    texts = ["Er kam geg. acht Uhr nach Hause."] * 10 + ["Der Hund kam. Dann ging er."] + ["Sie kam heute an."] * 20
    # The last words have periods too, and "kam" has one once.
    assert learn_abbreviations(texts) == ["geg"]
    assert learn_abbreviations([]) == learn_abbreviations(["Ja."]) == []
