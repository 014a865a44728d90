"""The table of stages: the drawn pairs, and what a chain gains over plain training of the same hours."""

import pytest

from benchmarks.stages import draw, table_lines


def test_drawn_pairs_share_no_side_and_other_targets_are_monolingual(tmp_path):
    """Each source has two targets, and each target two sources."""
    pairs = [(f"s{number % 40}", f"t{(number + shift) % 40}") for number in range(40) for shift in (0, 1)]
    files = draw(pairs, tmp_path, drawn=20, held_out=5)
    rows = {name: files[name].read_text().splitlines() for name in ("train", "validation", "test")}
    assert [len(own) for own in rows.values()] == [20, 5, 5]
    assert all(tuple(line.split("\t")) in set(pairs) for own in rows.values() for line in own)
    sides = [{side for line in own for side in line.split("\t")} for own in rows.values()]
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
    texts = files["monolingual"].read_text().splitlines()
    assert len(texts) == len(set(texts)) > 0
    assert set(texts) == {target for _, target in pairs} - {side for own in sides for side in own}


def result(row, chrf, seed=1, p_value=None, **more):
    scores = {split: {"bleu": chrf - 20, "chrf": chrf} for split in ("validation", "test")}
    metrics = scores | {"cpu_seconds": 3600.0, "words_per_second": 1000.0, "p_value": p_value} | more
    where = {"cpu": "x", "torch": "2", "load_average": 1.0, "commit": "c0ffee"}
    return {"table": "stages", "row": row, "seed": seed, "metrics": metrics} | where


@pytest.fixture
def cells():
    """The cells of each row."""

    def of(*results):
        lines = table_lines(results).split("\n\n")[0].splitlines()
        names, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "---" not in line]
        return {row[0]: dict(zip(names, row, strict=True)) for row in rows}

    return of


def test_gains_are_those_over_plain_of_the_same_corpus_hours_and_seed(cells):
    found = cells(
        result("anki, 1 h: plain", 40.0), result("anki, 1 h: plain", 42.0, 2), result("help, 1 h: plain", 10.0),
        result("anki, 1 h: both", 41.0, p_value=0.03), result("anki, 1 h: both", 42.5, 2, 0.4),
        result("anki, 3 h: both", 50.0),
    )  # fmt: skip
    assert list(found) == ["anki, 1 h: plain", "anki, 1 h: both", "anki, 3 h: both", "help, 1 h: plain"]
    both = found["anki, 1 h: both"]
    assert (both["over plain"], both["p"], both["seeds"]) == ("+0.75 [+0.5, +1.0]", "0.030, 0.400", "2")
    assert (both["validation chrF++"], both["test BLEU"], both["CPU-seconds"]) == ("41.8", "21.8", "3,600")
    assert found["anki, 3 h: both"]["over plain"] == found["anki, 1 h: plain"]["over plain"] == ""


def test_missing_rows_are_named_with_their_options():
    line = table_lines([result("anki, 1 h: plain", 40.0), result("multi30k, 3 h: both", 40.0)]).splitlines()[-1]
    missing = line.partition(": ")[2].removesuffix(".").split("; ")
    assert '--corpus anki --rows "both, back"' in missing and '--corpus multi30k --rows "both"' in missing
    assert not any("back" in name for name in missing if "anki" not in name)  # without monolingual text
    assert len(missing) == 4 + 5 + 5 + 3 + 3 and '--corpus anki --rows "plain"' not in missing
