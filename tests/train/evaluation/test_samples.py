"""Samples in the log."""

from glossa.train.evaluation.samples import print_samples


def test_long_texts_are_cut_in_the_log(capsys):
    print_samples([{"source": "a b", "greedy": "x" * 300}, {"source": "c", "beam 5": "y" * 301}])
    lines = capsys.readouterr().out.split("\n")
    first, second = "    greedy: " + "x" * 300, "    beam 5: " + "y" * 300 + "…"
    assert lines == ["    source: a b", first, "", "    source: c", second, "", ""]
