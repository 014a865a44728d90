"""Text to sentences and back: what stands between them, abbreviations, and sentences that are too long."""

import pytest

from glossa.sentences_glossa import split_text


@pytest.mark.parametrize(
    ("text", "sentences", "between"),
    [
        ("one\ntwo", ["one", "two"], ["\n", ""]),
        ("One.\nTwo.", ["One.", "Two."], ["\n", ""]),
        ("  One.  Two. ", ["One.", "Two."], ["  ", ""]),
        ("a\n\n  b\n", ["a", "b"], ["\n\n  ", ""]),
        (" \n ", [""], [""]),
        ("", [""], [""]),
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
)
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
