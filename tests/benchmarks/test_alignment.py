"""Hand-aligned sentences, and the error rate."""

import gzip
from pathlib import Path

import pytest

from benchmarks.alignment import Gold, pairs_of, read_gold, scores
from glossa.errors import GlossaError

MULTI30K = Path(__file__).parents[3] / "shared" / "data" / "multi30k"


def test_the_links_are_whole():
    gold = read_gold()
    assert [entry.line for entry in gold] == list(range(1, 101))
    for entry in gold:
        assert entry.sure < entry.possible or entry.sure == entry.possible
        assert all(source < entry.words[0] and target < entry.words[1] for source, target in entry.possible)
    assert sum(len(entry.sure) for entry in gold) > 1000


def test_error_rate():
    """Three links of which two are possible and one is sure, of two sure ones."""
    gold = [Gold(1, (3, 3), {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})]
    found = scores(gold, [[(0, 0), (2, 1), (2, 2)]])
    assert found == {"precision": "0.667", "recall": "0.500", "error rate": f"{1 - (1 + 2) / (3 + 2):.3f}"}
    assert scores(gold, [[(0, 0), (1, 1), (2, 1)]])["error rate"] == "0.000"


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="../shared/data/multi30k is not here")
def test_the_lines_have_the_words_that_were_aligned():
    texts = [
        gzip.decompress((MULTI30K / f"test_2016_flickr.{language}.gz").read_bytes()).decode().splitlines()
        for language in ("en", "de")
    ]
    pairs = pairs_of(read_gold(), *texts)
    first, gold = pairs[0], read_gold()[0]
    words = [
        (first.source[slice(*first.source_words[a])], first.target[slice(*first.target_words[b])])
        for a, b in sorted(gold.sure)
    ]
    assert ("hat", "Hut") in words and ("starring", "anstarrt") in words
    with pytest.raises(GlossaError, match="Line 1 of the test set has other words"):
        pairs_of(read_gold(), texts[1], texts[0])
