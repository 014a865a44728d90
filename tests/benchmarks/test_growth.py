"""Growth of time and memory: exponents of known laws, what is measured, and the command from end to end."""

import json
import mmap
from itertools import islice
from pathlib import Path

import numpy
import pytest

from benchmarks import growth
from benchmarks.__main__ import main
from benchmarks.growth import CURVES, MEASURES, exponent, generated_pairs, growth_rows, load_growth
from benchmarks.processes import in_process
from benchmarks.timing import peak_memory, reset_peak
from glossa.errors import GlossaError
from glossa.plots import draw_growth

OPTIONS = {"size": "tiny", "architecture": "published", "bf16": False, "threads": 1, "steps": 1}
LAW = {
    "sizes": [1, 4, 16],
    "seconds": [1.0, 2.0, 8.0],
    "memory": [2**20, 2**22, 2**24],
    "exponents": {"seconds": {"all": 0.75, "last": 1.0}, "memory": {"all": 1.0, "last": 1.0}},
}


def report(file: Path, **options) -> str:
    file.write_text(json.dumps({"options": OPTIONS | {"command": "growth"} | options, "results": {"length": LAW}}))
    return str(file)


@pytest.mark.parametrize("power", [0, 1, 1.5, 2])
def test_the_exponent_of_a_power_law_is_found(power):
    sizes = [10, 20, 70, 1000]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power, abs=1e-9)


def test_a_value_of_zero_has_no_exponent():
    with pytest.raises(GlossaError, match="too small to be measured"):
        exponent([1, 2], [0, 5])


def test_the_last_exponent_is_that_of_the_last_two_sizes(monkeypatch):
    def cost(function, name, options):
        return {"seconds": 5 if options["number"] <= 8 else options["number"] ** 2, "memory": 7 * options["number"]}

    monkeypatch.setattr(growth, "in_process", cost)
    found = growth.measure_growth({"batch": [4, 8, 16, 48]}, 2, OPTIONS)["batch"]
    assert found["seconds"] == [5, 5, 256, 2304] and found["memory"] == [28, 56, 112, 336]
    assert found["exponents"]["seconds"]["last"] == pytest.approx(2)
    assert 2 < found["exponents"]["seconds"]["all"] < 3
    assert found["exponents"]["memory"] == pytest.approx({"all": 1, "last": 1})
    (row,) = growth_rows({"batch": found})
    assert list(row.values()) == ["sentences in a batch", "4", "48", "2.73", "2.00", "1.00", "1.00"]


def test_generated_pairs_are_always_the_same():
    pairs = list(islice(generated_pairs(), 300))
    assert pairs == list(islice(generated_pairs(), 300))
    assert len(set(pairs)) > 280 and all(english and french for english, french in pairs)


def test_a_batch_is_random_rows_without_padding():
    rows = growth.random_rows(length=7, vocabulary=20, batch=3)
    assert {name: rows[:][name].shape for name in rows.column_names} == {
        "input_ids": (3, 7),
        "attention_mask": (3, 7),
        "labels": (3, 7),
    }
    assert rows[:]["attention_mask"].all()
    assert rows[:]["labels"].min() >= 4 and rows[:]["input_ids"].max() < 20
    assert len(growth.word_tokenizer(1234)) == 1234


def touch_new_pages(size):
    """Hold `size` bytes for a moment, in pages that the C library has not kept from before."""
    with mmap.mmap(-1, size) as memory:
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1


def test_a_peak_is_counted_from_where_it_was_reset():
    touch_new_pages(2**27)
    before = reset_peak()
    assert peak_memory() - before < 2**24
    touch_new_pages(2**26)
    assert 2**25 < peak_memory() - before < 2**27


@pytest.mark.parametrize(
    "options",
    [["--length", "16"], ["--length", "64", "32"], ["--vocabulary", "8", "64"], ["--length", "64", "1024"]],
)
def test_sizes_that_give_no_curve_are_refused(options):
    with pytest.raises(GlossaError, match=options[0]):
        main(["growth", "--curves", options[0].removeprefix("--"), *options])


def test_an_error_in_a_child_process_names_the_measurement():
    wrong = {"curve": "batch", "number": 4, "options": OPTIONS | {"size": "huge"}}
    with pytest.raises(GlossaError, match=r"(?s)batch of 4 failed in its own process: KeyError\('huge'\)"):
        in_process(growth.measure_size, "batch of 4", wrong)


def test_earlier_reports_are_shown_again(tmp_path, capsys):
    earlier = report(tmp_path / "length.json")
    command = ["growth", "--curves", "--threads", "1", "--steps", "1", "--earlier", earlier]
    main([*command, "--picture", str(tmp_path / "growth.svg"), "--output", str(tmp_path / "all.json")])
    assert "| 1 | 16 | 0.75 | 1.00 | 1.00 | 1.00 |" in capsys.readouterr().out
    assert load_growth([str(tmp_path / "all.json")], OPTIONS) == {"length": LAW}
    assert "peak memory (MiB)" in (tmp_path / "growth.svg").read_text()


def test_earlier_reports_with_other_options_are_refused(tmp_path):
    with pytest.raises(GlossaError, match="measured with size small, not tiny"):
        load_growth([report(tmp_path / "small.json", size="small")], OPTIONS)
    with pytest.raises(GlossaError, match="command train, not growth"):
        load_growth([report(tmp_path / "train.json", command="train")], OPTIONS)
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(GlossaError, match=r"list\.json is not a report of growth"):
        load_growth([str(tmp_path / "list.json")], OPTIONS)
    with pytest.raises(GlossaError, match="--curves is empty"):
        main(["growth", "--curves"])


def test_a_picture_has_panels_of_time_and_memory_for_each_curve(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("glossa.plots._save", lambda figure, file: drawn.append(figure))
    draw_growth({"length": LAW, "batch": LAW}, growth.UNITS, tmp_path / "growth.png")
    panels = [axes for figure in drawn for axes in figure.axes]
    assert [axes.get_ylabel() for axes in panels] == 2 * ["time (s)"] + 2 * ["peak memory (MiB)"]
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in panels} == {("log", "log")}
    measured, law = panels[-1].get_lines()
    assert list(measured.get_ydata()) == [1, 4, 16] and law.get_ydata() == pytest.approx([1, 4, 16])
    law = numpy.log(panels[0].get_lines()[1].get_ydata())
    assert numpy.diff(law) == pytest.approx(0.75 * numpy.log(4)) and law.mean() == pytest.approx(numpy.log(16) / 3)


@pytest.mark.slow
def test_the_command_measures_every_curve(tmp_path, capsys):
    sizes = {"length": ["16", "256"], "vocabulary": ["1000", "32000"], "batch": ["1", "32"], "corpus": ["300", "6000"]}
    ranges = [word for curve, numbers in sizes.items() for word in (f"--{curve}", *numbers)]
    files = ["--output", str(tmp_path / "growth.json"), "--picture", str(tmp_path / "growth.png")]
    main(["growth", "--threads", "1", "--steps", "1", *ranges, *files])
    assert capsys.readouterr().out.count("\n| ") == 1 + len(CURVES)
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads((tmp_path / "growth.json").read_text())["results"]
    assert list(found) == list(CURVES)
    for curve, numbers in sizes.items():
        assert found[curve]["sizes"] == list(map(int, numbers))
        for measure in MEASURES:
            assert 0 < found[curve][measure][0] < found[curve][measure][1] * 1.5
            assert found[curve]["exponents"][measure]["all"] == found[curve]["exponents"][measure]["last"]
    # The larger model has 31,000 tokens more: their weights, gradients and two moments.
    small, large = found["vocabulary"]["memory"]
    assert large - small > 31_000 * 128 * 4 * 4
