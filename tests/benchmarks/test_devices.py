"""Training with several processes: what is measured, and its table."""

import sys

import pytest

from benchmarks import devices
from benchmarks.__main__ import main


def test_the_table_has_medians_and_ratios():
    def turn(speed, imbalance):
        shares = {"epoch": imbalance, "step": 10 * imbalance}
        return {"speed": speed, "loss": 2.5, "memory": 3 * 2**20, "padding": 0.125, "imbalance": shares}

    alone, together, sharded = (1, False), (4, False), (4, True)
    turns = {alone: [turn(100.0, 0.0), turn(300.0, 0.0), turn(200.0, 0.0)], together: [turn(800.0, 0.004)]}
    first, second, third = devices.rows(turns | {sharded: [turn(400.0, 0.004)]})
    assert (third["processes"], third["of the first"]) == ("4, FSDP", "2.00")
    assert first["target tokens/s"] == "200" and first["of the first"] == "1.00"
    assert second["target tokens/s"] == "800" and second["of the first"] == "4.00"
    assert (second["processes"], second["padding"], second["peak memory of a process"]) == ("4", "12.5%", "3 MiB")
    assert (second["imbalance in an epoch"], second["in a step"]) == ("0.40%", "4.0%")


@pytest.mark.slow
def test_two_processes_train_alike_with_and_without_fsdp(tiny_pairs, capsys, monkeypatch, zygote):
    monkeypatch.setattr(sys, "executable", str(zygote.path / "python"))
    found = {}
    measured = devices.turn

    def turn(count, steps, settings, fsdp):
        found[count, fsdp] = measured(count, steps, settings, fsdp)
        return found[count, fsdp]

    monkeypatch.setattr(devices, "turn", turn)
    settings = f"--dataset files --data_path {tiny_pairs} --validation_size 20 --test_size 20 --vocab_size 280 "
    settings += "--d_model 16 --encoder_layers 1 --decoder_layers 1 --batch_tokens 100 --dropout 0"
    main(["devices", "--rounds", "1", "--steps", "5", "--processes", "2", "--fsdp", *settings.split()])
    two, sharded = found[2, False], found[2, True]
    assert two["loss"] == pytest.approx(sharded["loss"], abs=1e-5) and two["padding"] == sharded["padding"]
    assert two["imbalance"]["step"] > 0 and min(turn["speed"] for turn in found.values()) > 0
    printed = capsys.readouterr().out
    assert "| 2 |" in printed and "| 2, FSDP |" in printed
