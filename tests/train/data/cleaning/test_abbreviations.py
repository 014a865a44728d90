"""Abbreviations learned from text: the score of the paper, and what it finds."""

import math

import pytest

from glossa.train.data.cleaning.statistics import _score, learn_abbreviations


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
