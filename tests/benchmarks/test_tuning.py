"""The table of tuning: what a row keeps of the gain, and what it loses."""

from benchmarks.tuning import BLENDS, SHORT, START, TUNED, table_lines


def result(row, own, general, seed=1, **more):
    scores = {name: {"bleu": bleu, "chrf": 50.0} for name, bleu in (("own", own), ("general", general))}
    where = {"cpu": "x", "torch": "2", "load_average": 1.0}
    return {"table": "tuning", "own": "help, 2,000 pairs", "row": row, "seed": seed, "metrics": scores | more} | where


def test_gain_and_loss_are_those_against_start_and_plain_tuning():
    blend = next(name for name, (base, share) in BLENDS.items() if (base, share) == (SHORT, 0.7))
    rows = [result(START, 5.0, 40.0), result(TUNED, 14.0, 30.0, steps=10), result(TUNED, 16.0, 32.0, 2, steps=14)]
    lines = table_lines([*rows, result(SHORT, 14.0, 38.0, steps=9), result(blend, 13.0, 39.5)]).splitlines()
    cells = {line.split("|")[2].strip(): [cell.strip() for cell in line.split("|")[3:-1]] for line in lines[2:6]}
    assert cells[START][6:8] == ["", ""]
    assert cells[TUNED] == [
        "2", "15.0 [14.0, 16.0]", "50.0", "31.0 [30.0, 32.0]", "50.0", "-9.0", "100%", "12", "", "",
    ]  # fmt: skip
    assert cells[SHORT][5:8] == ["-2.0", "90%", "9"]  # (14 - 5) / (15 - 5)
    assert cells[blend][5:7] == ["-0.5", "80%"]
    assert lines[-1].startswith("Not measured yet")
    other = result(START, 7.0, 40.0) | {"own": "TICO-19, 2,000 pairs"}
    assert table_lines([*rows, other]).splitlines()[4].startswith("| TICO-19, 2,000 pairs | the start |  | 7.0 |")
    missing = lines[-1].partition("them: ")[2].removesuffix(".").split("; ")
    assert "tuned, LoRA" in missing and not {SHORT, TUNED, blend} & {*missing}
