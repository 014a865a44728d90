"""Calibration, worked out by hand."""

import pytest

from glossa.train.evaluation.calibration import calibration_error, reliability, right_words, sentence_chrf


def test_bins_have_equal_sizes():
    confidences = [number / 20 for number in range(20)][::-1]
    right = [number >= 10 for number in range(20)][::-1]
    bins = reliability(confidences, right)
    assert [size for *_, size in bins] == [2] * 10
    assert bins[0] == pytest.approx((0.025, 0.0, 2)) and bins[9] == pytest.approx((0.925, 1.0, 2))
    # Five bins with 0.025, 0.125, ... too much, and five with 1 - 0.525, ... too little.
    expected = (sum(0.025 + 0.1 * n for n in range(5)) + sum(0.475 - 0.1 * n for n in range(5))) / 10
    assert calibration_error(confidences, right) == pytest.approx(expected)
    assert calibration_error([0.7, 0.1, 0.4], [True, False, True]) == pytest.approx((0.3 + 0.1 + 0.6) / 3)


def test_the_nearest_reference_counts():
    found = sentence_chrf(["ein Hund", "ein Hund"], [["eine Katze", "ein Hund"], ["eine Katze"]])
    assert found[0] == pytest.approx(100) and 0 < found[1] < 60


def test_words_are_right_if_a_reference_has_them_whatever_marks_are_beside_them():
    references = ["Der Hund, sagt er, schläft.", "Ein Hund –"]
    assert right_words("er Hund! schläft (Ein) Der Katze – -", references) == [True] * 5 + [False, True, False]
