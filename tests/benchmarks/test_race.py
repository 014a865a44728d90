"""The race to a given BLEU: its clock, its entries and its table."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import EvalPrediction, TrainerControl

from benchmarks import race as module
from benchmarks import reproduce
from benchmarks.__main__ import main
from benchmarks.race import ENTRIES, Clock, Watch, bleu_in_any_order, race
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.plan.catalog import read_recipe


def test_the_clock_stops_during_evaluations():
    now = [0.0]
    clock = Clock([30.0, 35.0], limit=100, every=10, clocks=(lambda: now[0], lambda: 2 * now[0]))
    watch = Watch(clock)
    control = TrainerControl()
    evaluated = []
    for step, (seconds, bleu) in enumerate([(6, 0), (6, 31), (6, 0), (6, 36.5)], 1):
        now[0] += seconds
        state = SimpleNamespace(global_step=step, max_steps=4)
        watch.on_step_end(None, state, control)
        evaluated.append(control.should_evaluate)
        if control.should_evaluate:
            now[0] += 50  # the evaluation
            watch.on_evaluate(None, state, control, metrics={"eval_bleu": bleu})
    # Due after 10 seconds of training, and 10 seconds of training after that.
    assert evaluated == [False, True, False, True] and control.should_training_stop
    assert clock.report() == {
        "marks": {
            "30.0": {"seconds": 12.0, "cpu_seconds": 24.0, "step": 2},
            "35.0": {"seconds": 24.0, "cpu_seconds": 48.0, "step": 4},
        },
        "history": [(12.0, 31), (24.0, 36.5)],
    }


def test_a_mark_counts_once_and_the_limit_ends_the_race():
    now = [0.0]
    clock = Clock([30.0, 38.0], limit=25, every=1, clocks=(lambda: now[0], lambda: now[0]))
    watch = Watch(clock)
    control = TrainerControl()
    for step, bleu in enumerate([31, 33, 32], 1):
        assert not control.should_training_stop
        now[0] += 10
        watch.on_step_end(None, SimpleNamespace(global_step=step, max_steps=4), control)
        watch.on_evaluate(None, SimpleNamespace(global_step=step, max_steps=4), control, metrics={"eval_bleu": bleu})
    assert control.should_training_stop
    marks = clock.report()["marks"]
    assert marks["30.0"]["step"] == 1 and marks["38.0"] is None


def test_the_last_step_is_evaluated():
    watch = Watch(Clock([30.0], limit=1000, every=1000))
    control = TrainerControl()
    for step in (3, 4):
        watch.on_step_end(None, SimpleNamespace(global_step=step, max_steps=4), control)
        assert control.should_evaluate == (step == 4)


def test_finished_entries_are_shown_and_not_run_again(tmp_path, monkeypatch, capsys):
    reached = {"seconds": 90.0, "cpu_seconds": 150.0, "step": 5}
    metrics = {"parameters": 2_600_000, "marks": {"30.0": reached, "35.0": None}, "history": [[60, 20.5], [90, 30.25]]}
    place = {"table": "race", "row": "Glossa", "seed": 1, "settings": read_recipe("multi30k-en-de")}
    place["settings"] |= {"num_train_epochs": "12", "dropout": 0.1}  # of either type
    file = tmp_path / "results.json"
    machine = {"cpu": "Z80", "threads": "cpu, 2 threads", "torch": "2.13"}
    monkeypatch.setattr(module, "machine", lambda: machine)
    file.write_text(json.dumps([place | machine | {"commit": "abc", "metrics": metrics}]))
    monkeypatch.setattr(module, "race", lambda *options: pytest.fail("run"))
    command = ["race", "--results", str(file), "--entries", "Glossa"]
    main([*command, "--marks", "30", "35"])
    out = capsys.readouterr().out
    assert "| Glossa | Z80 | 1 | 2.60 | 1.5 (2.5), 5 | not reached in 2 | 30.25 | abc |" in out
    assert "Machine: Z80, cpu, 2 threads, float32, torch 2.13." in out


def test_an_entry_of_another_machine_is_kept_beside_a_new_one(tmp_path, monkeypatch, capsys):
    """Minutes of different machines cannot be compared, so one does not replace the other."""
    file = tmp_path / "results.json"
    reached = {"30.0": {"seconds": 60.0, "cpu_seconds": 60.0, "step": 4}}
    found = {"device": "cpu, 1 threads", "parameters": 1_000_000, "marks": reached, "history": [[60, 31.0]]}
    monkeypatch.setattr(module, "_enter", lambda *options: found)
    command = ["race", "--results", str(file), "--entries", "Glossa", "--marks", "30"]
    for cpu in ("Z80", "6502", "Z80"):
        here = {"cpu": cpu, "threads": 1, "torch": "2.13"}
        for place in (module, reproduce):
            monkeypatch.setattr(place, "machine", lambda here=here: here)
        main(command)
    assert [row["cpu"] for row in json.loads(file.read_text())] == ["Z80", "6502"]
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| Glossa")]
    assert [row.split(" | ")[1] for row in rows[-2:]] == ["6502", "Z80"]


def test_bleu_finds_the_reference_of_each_prediction():
    """The stock Trainer evaluates in another order with its grouping by length."""
    targets = ["Je lis un livre .", "Nous ne trouvons pas votre livre .", "Elle a une maison ."]
    tokenizer = train_tokenizer(targets, 270)
    ids = tokenizer(text_target=targets)["input_ids"]
    rows = np.full((3, 40), -100)
    for row, chosen in zip(rows, (ids[2], ids[0], ids[1]), strict=True):
        row[: len(chosen)] = chosen
    rows[1, 30:] = tokenizer.pad_token_id  # batches of other lengths are padded with this
    bleu = bleu_in_any_order(tokenizer, ids, targets)
    assert bleu(EvalPrediction(predictions=rows, label_ids=rows)) == {"bleu": pytest.approx(100)}
    assert bleu(EvalPrediction(predictions=rows[::-1], label_ids=rows))["bleu"] < 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_trains_until_the_limit(name, tmp_path, monkeypatch, tiny_pairs, tiny_settings):
    recipe = tmp_path / "tiny.yaml"
    given = tiny_settings("unused", dataset="files", num_train_epochs=50, max_new_tokens=8)
    recipe.write_text("".join(f"{key[2:]}: {value}\n" for key, value in zip(given[::2], given[1::2], strict=True)))
    monkeypatch.setitem(ENTRIES, name, (str(recipe), {}, ENTRIES[name][2]))
    threads = torch.get_num_threads()
    try:
        found = race(
            name, 1, ["--data_path", str(tiny_pairs)], {"marks": [-1.0, 200.0], "limit": 0.5, "every": 0.2}, 1
        )
    finally:
        torch.set_num_threads(threads)
    assert found["parameters"] > 1000 and found["marks"]["200.0"] is None
    assert found["marks"]["-1.0"]["seconds"] >= 0.2
    assert [seconds >= 0.5 for seconds, _ in found["history"]].index(True) == len(found["history"]) - 1
