"""A short run of the torture of batching."""

from torture import batching


def test_mixtures_of_texts():
    figures = batching.torture(4, 3)
    assert figures["mixtures"] == 4 and figures["texts"] > 20
    assert figures["blank"] > 0 and figures["several_sentences"] > 0 and figures["alone"] > 10
