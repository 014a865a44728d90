"""Training with several processes: what is measured, and its table."""

import pytest

from benchmarks import devices
from benchmarks.__main__ import main


def test_the_table_has_medians_and_ratios():
    def turn(speed, imbalance):
        shares = {"epoch": imbalance, "step": 10 * imbalance}
        return {"speed": speed, "loss": 2.5, "memory": 3 * 2**20, "padding": 0.125, "imbalance": shares}

    turns = {1: [turn(100.0, 0.0), turn(300.0, 0.0), turn(200.0, 0.0)], 4: [turn(800.0, 0.004)]}
    first, second = devices.rows(turns)
    assert first["target tokens/s"] == "200" and first["of the first"] == "1.00"
    assert second["target tokens/s"] == "800" and second["of the first"] == "4.00"
    assert (second["processes"], second["padding"], second["peak memory of a process"]) == ("4", "12.5%", "3 MiB")
    assert (second["imbalance in an epoch"], second["in a step"]) == ("0.40%", "4.0%")


@pytest.mark.slow
def test_both_numbers_of_processes_train_alike(tiny_pairs, capsys, monkeypatch):
    found = {}
    measured = devices.turn
    monkeypatch.setattr(
        devices, "turn", lambda count, *rest: found.setdefault(count, measured(count, *rest)) or found[count]
    )
    settings = f"--dataset files --data_path {tiny_pairs} --validation_size 20 --test_size 20 --vocab_size 280 "
    settings += "--d_model 16 --encoder_layers 1 --decoder_layers 1 --batch_tokens 100 --dropout 0"
    main(["devices", "--rounds", "1", "--steps", "5", *settings.split()])
    assert found[1]["loss"] == pytest.approx(found[2]["loss"], abs=1e-5)
    assert found[1]["padding"] == found[2]["padding"] and found[1]["imbalance"]["epoch"] == 0
    assert found[2]["imbalance"]["step"] > 0 and min(one["speed"] for one in found.values()) > 0
    assert "| 2 |" in capsys.readouterr().out
