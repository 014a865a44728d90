"""Splitting of a hundred paragraphs in eight languages, split by hand."""

from benchmarks.sentences import count_right, read_paragraphs
from glossa.sentences_glossa import split_text


def test_paragraphs_that_were_split_by_hand():
    right = count_right(lambda language, text: split_text(text)[0], list(read_paragraphs()))
    # Thai ends sentences with spaces, which also stand inside them.
    assert right == {"de": 13, "fr": 13, "es": 13, "zh": 12, "ja": 12, "th": 3, "ar": 13, "hi": 12}


def test_counting_compares_all_sentences():
    paragraphs = [("de", ["Ja.", "Nein."]), ("zh", ["好。", "不。"])]
    assert count_right(lambda language, text: ["Ja.", " Nein. "], paragraphs) == {"de": 1, "zh": 0}
    assert count_right(lambda language, text: [text[:2], text[2:]], paragraphs) == {"de": 0, "zh": 1}
