"""What a short run can become: the figures in the package are those of the results."""

from benchmarks.reproduce import DOCS, read_results
from benchmarks.verdict import runs, table_lines
from glossa.train.evaluation.verdict import RUNS, expected


def test_the_package_has_the_measured_runs():
    results = read_results(DOCS / "results.json")
    assert sorted(RUNS) == runs(results)
    inside = [low <= chrf <= high for pairs, passes, chrf in RUNS for low, high in [expected(pairs, passes)]]
    assert sum(inside) >= 0.9 * len(RUNS)


def test_rows_that_are_missing_are_named():
    results = [row for row in read_results(DOCS / "results.json") if row["table"] != "verdict"]
    metrics = {"pairs": 500, "passes": 2, "chrf": 1.33, "bleu": 0.01, "steps": 6, "seconds": 30.0}
    results.append({"table": "verdict", "row": "500 pairs, 2 passes", "seed": 1, "commit": "abc", "metrics": metrics})
    lines = table_lines(results)
    assert "Missing: 500 pairs, 8 passes; 2,000 pairs, 2 passes;" in lines
    assert "| 500 pairs, 2 passes | 1.3 | 0.0 | 6 | 0.5 | abc |" in " ".join(lines.split())
