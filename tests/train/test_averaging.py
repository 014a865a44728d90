"""Averages of checkpoints."""

import json

import numpy as np
import torch
from safetensors.torch import save_file

from glossa.train.averaging import average_into, choose_checkpoints


def checkpoint(run, step, value, bleu):
    folder = run / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    save_file({"weight": torch.full((2, 2), value)}, folder / "model.safetensors")
    log = [{"step": s, "eval_bleu": b} for s, b in bleu.items()]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": log}))
    return folder


def test_average_of_the_last_checkpoints(tmp_path):
    bleu = {10: 30.0, 20: 10.0, 100: 20.0}
    first, second, third = (checkpoint(tmp_path, s, v, bleu) for s, v in ((10, 1.0), (20, 2.0), (100, 6.0)))
    (tmp_path / "checkpoint-200").mkdir()  # incomplete: it has no state
    assert choose_checkpoints(tmp_path, 2) == [second, third]
    assert choose_checkpoints(tmp_path, 9) == [first, second, third]
    assert choose_checkpoints(tmp_path / "empty", 9) == []
    model = torch.nn.Linear(2, 2, bias=False)
    average_into(model, [first, third])
    np.testing.assert_array_equal(model.weight.detach(), np.full((2, 2), 3.5))


def test_averages_are_summed_in_double_precision(tmp_path):
    # In float32, 1 + 2^-24 is 1, so the small weights would be lost.
    folders = [checkpoint(tmp_path, step, value, {}) for step, value in ((1, 1.0), (2, 2.0**-24), (3, 2.0**-24))]
    model = torch.nn.Linear(2, 2, bias=False)
    average_into(model, folders)
    expected = np.float32((1 + 2.0**-23) / 3)
    assert expected != np.float32(1 / 3)
    np.testing.assert_array_equal(model.weight.detach(), np.full((2, 2), expected))
