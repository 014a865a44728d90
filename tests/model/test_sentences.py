"""Text to sentences and back: what stands between them, abbreviations, and sentences that are too long."""

from pathlib import Path

import pytest

from glossa.model.clauses_glossa import cut_text
from glossa.model.sentences_glossa import split_text


@pytest.mark.parametrize(
    ("text", "sentences", "between"),
    [
        ("one\ntwo", ["one", "two"], ["\n", ""]), ("One.\nTwo.", ["One.", "Two."], ["\n", ""]),
        ("  One.  Two. ", ["One.", "Two."], ["  ", ""]), ("a\n\n  b\n", ["a", "b"], ["\n\n  ", ""]),
        (" \n ", [""], [""]), ("", [""], [""]),
        ("Dr. Who came. He left.", ["Dr. Who came.", "He left."], [" ", ""]),
        ("Am 3. Mai kam er. Dann ging er.", ["Am 3. Mai kam er.", "Dann ging er."], [" ", ""]),
        ("Siehe S. 5. Es war 5. Mehr nicht.", ["Siehe S. 5.", "Es war 5.", "Mehr nicht."], [" ", " ", ""]),
        ("See no. 5 there. No. It ends.", ["See no. 5 there.", "No.", "It ends."], [" ", " ", ""]),
        ("It weighs 5 g. It is light.", ["It weighs 5 g.", "It is light."], [" ", ""]),
        ("He ran (fast!). “Stop!” I said.", ["He ran (fast!).", "“Stop!”", "I said."], [" ", " ", ""]),
        ("Il dit « Oui. » Elle part.", ["Il dit « Oui. »", "Elle part."], [" ", ""]),
        ("他说：“好。”我走了。", ["他说：“好。”", "我走了。"], ["", ""]),
        ("「行く！」と言った。", ["「行く！」と言った。"], [""]),
    ],
)  # fmt: skip
def test_sentences_and_what_is_between_them(text, sentences, between):
    assert split_text(text) == (sentences, between)


def test_a_sentence_that_does_not_fit_is_cut_at_the_clause_nearest_to_its_middle():
    def fits(piece):
        return len(piece) <= 20

    # The middle is character 15; a clause ends at 4, 17 and 26.
    text = "aa, bbbb bbbb bb, ccccc c, ddd"
    assert split_text(text, fits) == (["aa, bbbb bbbb bb,", "ccccc c, ddd"], [" ", ""])
    # Without clauses it is cut between words, and a single long word in its middle.
    assert split_text("aaaaaaa bbbbbbb ccccccc", fits) == (["aaaaaaa", "bbbbbbb ccccccc"], [" ", ""])
    assert split_text("a" * 30, fits) == (["a" * 15, "a" * 15], ["", ""])
    # A comma at the very end is no place to cut.
    assert split_text("a" * 30 + ", ", fits)[0] == ["a" * 16, "a" * 14 + ","]
    # One character that does not fit stays whole.
    assert split_text("ab", lambda piece: False) == (["a", "b"], ["", ""])


LINES = [line.split("\t") for line in Path(__file__).with_name("sentences.tsv").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("count", "text"), LINES, ids=range(len(LINES)))
def test_lines_of_many_languages_have_that_many_sentences(count, text):
    assert len(split_text(text)[0]) == int(count), split_text(text)[0]


def test_learned_abbreviations_add_to_the_known_ones():
    text = "Das Objekt ist z. Hd. Meier geg. Quittung geliefert. Gut."
    assert split_text(text)[0] == ["Das Objekt ist z. Hd. Meier geg.", "Quittung geliefert.", "Gut."]
    assert split_text(text, abbreviations={"geg"})[0] == [text[:-5], "Gut."]
    # A word that often begins a sentence does so after them too.
    assert len(split_text("Er liefert geg. Er kommt.", abbreviations={"geg"})[0]) == 2


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        # Three clauses of 20 characters; the marks are kept with the clause before.
        ("a" * 18 + ", " + "b" * 18 + "; " + "c" * 18, ["a" * 18 + ", ", "b" * 18 + "; ", "c" * 18]),
        ("我" * 12 + "，" + "你" * 12, ["我" * 12 + "，", "你" * 12]),
        ("ا" * 12 + "، " + "ب" * 12, ["ا" * 12 + "، ", "ب" * 12]),
        # No cut inside a number, or a number with a no-break space.
        ("price of it 1,299.50 a day", ["price of it ", "1,299.50 a day"]),
        ("x" * 12 + "1 299,50" + "x" * 5, ["x" * 12, "1 299,50" + "x" * 5]),
        ("١٢٣" + "ا" * 20, ["١٢٣" + "ا" * 9, "ا" * 11]),
        # Nor inside an emoji of several characters, a flag, a syllable or an accented letter.
        ("x" * 9 + "👩‍👩‍👧" + "x" * 9, ["x" * 9 + "👩‍👩‍👧", "x" * 9]),
        ("x" * 9 + "🇩🇪🇫🇷" + "x" * 9, ["x" * 9 + "🇩🇪", "🇫🇷" + "x" * 9]),
        ("e\u0301" * 11, ["e\u0301" * 5, "e\u0301" * 6]),
        ("क्षि" * 6, ["क्षि" * 3] * 2),
    ],
)
def test_cuts_are_at_clauses_and_never_inside_a_number_or_character(text, pieces):
    assert cut_text(text, lambda piece: len(piece) <= 20) == pieces


def test_few_pieces_of_about_equal_length():
    clauses = "one two three, " * 8
    pieces = cut_text(clauses, lambda piece: len(piece) <= 60)
    assert pieces == ["one two three, " * 4] * 2
    assert "".join(pieces) == clauses
