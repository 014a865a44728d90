"""The moving average of weights: its values, what has it, and resuming."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings
from glossa.plan.resume import starting_point
from glossa.run_folder import RunFolder
from glossa.training.ema import WeightAverage
from glossa.training.run import train

CHANGES = {"ema_decay": 0.9, "muon_learning_rate": 0.02, "eval_strategy": "no", "load_best_model_at_end": False}
CHANGES |= {"save_steps": 3}


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_the_average_by_hand():
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(0.0)
    average = WeightAverage(model, decay=0.5)
    # The first decays are 2/11, 3/12, 4/13: 9/11; then 1/4 of it and 3/4 of 2; at the end at most 0.5 is kept.
    expected = 0.0
    for step, (value, decay) in enumerate([(1.0, 2 / 11), (2.0, 3 / 12), (3.0, 4 / 13)], start=1):
        model.weight.data.fill_(value)
        average.update(step)
        expected = decay * expected + (1 - decay) * value
        assert average.average[0].item() == pytest.approx(expected)
    model.weight.data.fill_(4.0)
    average.update(1000)
    assert average.average[0].item() == pytest.approx(0.5 * expected + 0.5 * 4.0)
    with average.applied():
        assert model.weight.item() == pytest.approx(0.5 * expected + 0.5 * 4.0)
    assert model.weight.item() == 4.0


def test_checkpoints_and_the_finished_model_have_the_average(tmp_path, tiny_settings):
    run = train(parse_settings(tiny_settings(tmp_path / "run", max_steps=6, **CHANGES)))
    without = {name: value for name, value in CHANGES.items() if name != "ema_decay"}
    plain = train(parse_settings(tiny_settings(tmp_path / "plain", max_steps=6, **without)))
    first, last = RunFolder(run).checkpoints(whole=True)
    raw = load_file(last / "unaveraged.safetensors")
    layers = {name: weight for name, weight in weights(plain).items() if ".layers." in name}
    assert layers and all(raw[name].equal(weight) for name, weight in layers.items()), "training is not changed"
    assert all(weight.equal(weights(run)[name]) for name, weight in weights(last).items())
    # From step 3 to step 6 the decays are 5/14, 6/15, 7/16 (all below 0.9), so most of the average is of these steps.
    name = "model.decoder.layers.0.feed_forward.up_proj.weight"
    assert not weights(last)[name].equal(raw[name])
    distance = (weights(last)[name] - raw[name]).norm()
    assert distance < (weights(first)[name] - raw[name]).norm()


def test_the_best_checkpoint_is_the_average_that_was_evaluated(tmp_path, tiny_settings):
    changes = {"ema_decay": 0.9, "save_steps": 3, "eval_steps": 3, "metric_for_best_model": "loss"}
    run = train(parse_settings(tiny_settings(tmp_path / "run", max_steps=6, **changes)))
    assert weights(run)["model.decoder.embed_tokens.weight"].equal(
        weights(run / "checkpoint-6")["model.decoder.embed_tokens.weight"]
    )


def test_averaging_of_checkpoints_ignores_the_weights_beside(tmp_path, tiny_settings):
    changes = CHANGES | {"average_checkpoints": 2}
    run = train(parse_settings(tiny_settings(tmp_path / "run", max_steps=6, **changes)))
    both = [weights(run / name) for name in ("checkpoint-3", "checkpoint-6")]
    for name, weight in weights(run).items():
        torch.testing.assert_close(weight, (both[0][name] + both[1][name]) / 2)


def test_a_resumed_run_is_exact(tmp_path, tiny_settings):
    whole = train(parse_settings(tiny_settings(tmp_path / "whole", max_steps=7, **CHANGES)))
    train(parse_settings(tiny_settings(tmp_path / "part", max_steps=3, **CHANGES)))
    resumed = CHANGES | {"resume_from_checkpoint": "true"}
    part = train(parse_settings(tiny_settings(tmp_path / "part", max_steps=7, **resumed)))
    first, second = weights(whole), weights(part)
    assert all(first[name].equal(second[name]) for name in first)


def test_a_checkpoint_with_damaged_weights_beside_is_not_continued(tmp_path, tiny_settings):
    train(parse_settings(tiny_settings(tmp_path / "run", max_steps=3, **CHANGES)))
    (tmp_path / "run" / "checkpoint-3" / "unaveraged.safetensors").write_bytes(b"short")
    settings = parse_settings(tiny_settings(tmp_path / "run", max_steps=7, **CHANGES, resume_from_checkpoint="true"))
    with pytest.raises(GlossaError, match=r"unaveraged\.safetensors is damaged"):
        starting_point(settings)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"ema_decay": 1}, r"ema_decay is 1\.0; it must be above 0 and below 1"),
        (
            {"bpe_dropout": 0.1, "objective": "masked_lm", "text_column": "text"},
            "bpe_dropout is 0.1, but objective is masked_lm",
        ),
    ],
)
def test_settings_are_checked(tmp_path, tiny_settings, documented, setting, message):
    with pytest.raises(GlossaError, match=message) as error:
        parse_settings(tiny_settings(tmp_path / "run", **setting))
    documented("Settings", error.value)
