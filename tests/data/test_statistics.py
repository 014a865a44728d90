"""What training pairs say about the text that a model can translate."""

from datasets import Dataset

from glossa.data.statistics import has_paragraphs, length_ratio


def pairs(*rows):
    sources, targets = zip(*rows, strict=True)
    return Dataset.from_dict({"source": sources, "target": targets})


ONE, TWO = ("One cat.", "Une chatte."), ("One cat. Two dogs.", "Un chat. Deux chiens.")
MERGED = ("One cat. Two dogs.", "Un chat, deux chiens.")


def test_most_rows_must_have_several_sentences_on_both_sides():
    assert not has_paragraphs(pairs(ONE, ONE, TWO))
    assert not has_paragraphs(pairs(ONE, TWO)), "half is not most"
    assert has_paragraphs(pairs(ONE, TWO, TWO))
    assert not has_paragraphs(pairs(ONE, MERGED, TWO))


def test_the_length_ratio_counts_characters():
    assert length_ratio(pairs(ONE, TWO)) == round((11 + 21) / (8 + 18), 3)


def test_large_data_is_sampled_to_its_end():
    rows = [("abcd", "ab")] * 15_000 + [("abcd", "abcd")] * 15_000
    assert length_ratio(pairs(*rows)) == 0.75
