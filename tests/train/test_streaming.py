"""Training on a stream of Parquet rows: exact after a stop, and with true counts at its end."""

import json

import pyarrow
import pyarrow.parquet
import pytest
from refusals import refused
from small_models import QUIET, same_weights

from glossa.base.checkpoints import find_damage, stream_file
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import distill
from glossa.train.data.streaming import streams

pytestmark = pytest.mark.slow  # minutes in all


@pytest.fixture
def run(tmp_path, tiny_train, monkeypatch):
    """Train on 160 pairs in windows of about 40, with 20 pairs for validation; returns the folder of the run."""
    for name, value in {"BLOCK_ROWS": 10, "WINDOW_ROWS": 40}.items():
        monkeypatch.setattr(streams, name, value)
    rows = [{"en": f"{a} {b}.", "fr": f"{b} {a}!"} for a in "abcdefgh" for b in "klmnopqrstuvwxyzABCD"]
    held_out = [{"en": f"{a} {a}.", "fr": f"{a} {a}!"} for a in "klmnopqrstuvwxyzABCD"]
    for name, pairs in {"train": rows, "val": held_out}.items():
        table = pyarrow.table({"translation": pairs})
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)

    def start(name, **changes):
        settings = {
            "data_path": tmp_path / "train.parquet", "validation_path": tmp_path / "val.parquet", "test_size": 0,
            "streaming": "true", "max_steps": 20, "gradient_accumulation_steps": 2, "trust_data": "true",
            "logging_steps": 1,
        } | changes  # fmt: skip
        return tiny_train(tmp_path / name, **settings)

    return start


def steps(folder):
    return [(entry["step"], entry["loss"]) for entry in RunFolder(folder).history if "loss" in entry]


@pytest.mark.parametrize("stop", [4, 15])  # 4: the end of a pass
def test_a_stopped_run_ends_like_one_that_was_not(run, tmp_path, stop):
    whole = run("whole", **QUIET)
    run("part", max_steps=stop, **QUIET)
    part = run("part", resume_from_checkpoint="true", **QUIET)
    assert same_weights(whole, part)
    assert steps(part) == steps(whole)
    last = [stream_file(folder / "checkpoint-20", 0) for folder in (whole, part)]
    assert json.loads(last[0].read_text()) == json.loads(last[1].read_text())


def test_the_report_has_the_rows_that_were_read(run):
    folder = run("counted", num_train_epochs=2, max_steps=-1)
    report = RunFolder(folder).data_report
    assert report["stream"] == {"rows": 160, "sample": 160}
    counts = report["sources"]["train"]
    # Two passes end in about the last window of the second one; every window has about a quarter of the rows.
    assert 2 * 160 - 40 <= counts["read"] <= 2 * 160 + 40
    # "a A." to "d D." are sentences of the validation split, but for case.
    assert counts["overlap"] == pytest.approx(counts["read"] * 4 / 160, abs=4)
    assert counts["seen"] == counts["kept"] == counts["read"] - counts["overlap"]
    assert counts["weight"] == 1
    metrics = RunFolder(folder).metrics
    assert 0 < metrics["padding"] < 0.2
    (folder / "metrics.json").unlink()  # as if it had been killed while scoring
    run("counted", num_train_epochs=2, max_steps=-1, resume_from_checkpoint="true")
    again = RunFolder(folder)
    assert 0 < again.data_report["sources"]["train"]["read"] <= counts["read"]
    assert 0 < again.metrics["padding"] < 0.2
    assert metrics["epochs"] == 2


def test_other_commands_do_not_take_the_sample_for_the_data(run, tmp_path):
    folder = run("short", max_steps=1)
    with pytest.raises(GlossaError, match=r"was trained on a stream\. Give --data_path"):
        distill.main([str(folder), "--output", str(tmp_path / "x.jsonl")])
    refused("pretraining needs all pairs at once", run, "pretrained", objective="masked_lm")


def test_hours_work_with_a_stream(run):
    folder = run("hours", hours=1, max_steps=-1, num_train_epochs=1)
    assert RunFolder(folder).metrics["epochs"] == 1


def test_other_rows_are_refused_when_a_run_continues(run, tmp_path):
    run("part", max_steps=5)
    pairs = [{"en": f"{a} new.", "fr": f"new {a}!"} for a in "abcdefghij" * 16]
    pyarrow.parquet.write_table(pyarrow.table({"translation": pairs}), tmp_path / "train.parquet", row_group_size=10)
    streams._footer.cache_clear()
    refused("The train data are not those", run, "part", resume_from_checkpoint="true")


def test_a_checkpoint_without_its_place_is_not_continued(run, tmp_path):
    run("part", max_steps=5)
    place = stream_file(tmp_path / "part" / "checkpoint-5", 0)
    whole = place.read_text()
    place.write_text(whole[:20])
    assert find_damage(place.parent) == "stream_0.json is damaged"
    place.unlink()
    refused(r"stream_0\.json is missing", run, "part", resume_from_checkpoint="true")
