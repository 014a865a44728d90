"""Matches with the values of a text."""

import pytest

from glossa.translate.memory.repair import adapted
from glossa.translate.memory.units import Match, Origin


def of(source, target):
    return Match(source, target, 99, Origin("", "", "", 1))


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("Page 5.", "Seite 5.", "Page 6.", "Seite 6."),
        ("From 5 to 6.", "Von 5 bis 6.", "From 6 to 5.", "Von 6 bis 5."),  # at once
        ("Open {a}.", "{a} öffnen.", "Open {b}.", "{b} öffnen."),
        ("See https://a.org/5.", "Siehe https://a.org/5.", "See https://b.org/6.", "Siehe https://b.org/6."),
        ("5 of 5", "5 von 5", "6 of 6", "6 von 6"),
        ("5 of 15", "5 von 15", "6 of 15", "6 von 15"),  # a part of another number
        ("A <b>word</b>", "Ein <b>Wort</b>", "A <i>word</i>", "Ein <i>Wort</i>"),
        ("Page 5.", "Seite 5.", "Page  5.", "Seite 5."),  # the same text
        ("1.5 km", "1.5 km", "2.5 km", "2.5 km"),
        ("5 of 5", "5 von 5", "6 of 7", None),  # which one is which?
        ("5 pages", "fünf Seiten", "6 pages", None),
        ("5 pages", "5 Seiten, 5", "6 pages", None),
        ("5,000 pages", "5.000 Seiten", "6,000 pages", None),
        ("1 file(s)", "1 Datei", "2 file(s)", None),  # the form of the word
        ("Page 5.", "Seite 5.", "Pages 6.", None),  # a word differs
    ],
)
def test_values_are_exchanged_if_nothing_else_differs(source, target, text, expected):
    found = adapted(of(source, target), text, "de")
    assert (found.target, found.whole) == ((target, False) if expected is None else (expected, True))


def test_numbers_and_the_forms_of_words():
    match = of("5 files", "5 файлов")
    assert not adapted(match, "2 files", "ru").whole and not adapted(match, "6 files", "ru").whole
    assert adapted(of("105 files", "105 файлов"), "205 files", "ru").target == "205 файлов"
    assert not adapted(match, "6 files").whole  # of an unknown language
    assert adapted(of("1 file", "1 ファイル"), "2 file", "ja").target == "2 ファイル"
    assert not adapted(of("1 file", "1 Datei"), "0 file", "de").whole


def test_a_number_with_other_marks_is_not_exchanged():
    """Languages write 1,500 and 1.5 in different ways."""
    assert not adapted(of("It has 500 files.", "Es hat 500 Dateien."), "It has 1,500 files.", "de").whole
    assert not adapted(of("2 Meter", "2 meters"), "2,5 Meter", "en").whole
    assert adapted(of("Version 2.5 is here.", "Version 2.5 ist da."), "Version 3.6 is here.", "de").whole
