"""The table of translation speed."""

from benchmarks.decoding import Decoded, _compare, decoding_rows


def test_speed_and_latency_by_hand():
    """Batches of two sentences that take 1 to 101 milliseconds, and another decoder that takes twice as long."""
    first = [Decoded(milliseconds / 1000, ["a", "b"]) for milliseconds in range(1, 102)]
    second = [Decoded(2 * decoded.seconds, ["a", "c"]) for decoded in first]
    rows = decoding_rows("greedy", _compare({"one": first, "two": second}, None))
    assert [(row["ms p50"], row["ms p99"]) for row in rows] == [("51.0", "100.0"), ("102.0", "200.0")]
    assert [row["sentences/s"] for row in rows] == ["39.22", "19.61"]  # 2 / 0.051, 2 / 0.102
    assert [row["Glossa is faster"] for row in rows] == ["1", "2.00 [2.00, 2.00]"]
    assert [row["identical"] for row in rows] == ["100.0%", "50.0%"]
