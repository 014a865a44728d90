"""The end of tuning: which share of the tuned weights is kept, and what is said of it."""

import json

import pytest
from small_models import same_weights, weights

from glossa.base.run_folder import RunFolder
from glossa.train import dial as module
from glossa.train.evaluation.blends import blend_cells, choose
from glossa.train.hub.card import build_card
from glossa.translate.loading import load_model

TUNED = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_new_tokens": 12, "eval_samples": 0,
         "eval_steps": 2, "save_steps": 2, "max_steps": 4, "metric_for_best_model": "chrf"}  # fmt: skip
POINTS = [
    {"share": 0.0, "bleu": 3.0, "loss": 5.0, "watch_bleu": 40.0},
    {"share": 0.5, "bleu": 9.0, "loss": 3.0, "watch_bleu": 39.0},
    {"share": 0.7, "bleu": 11.0, "loss": 4.0, "watch_bleu": 38.0},
    {"share": 1.0, "bleu": 14.0, "loss": 2.0, "watch_bleu": 30.0},
]


@pytest.mark.parametrize(
    ("metric", "most", "share"),
    [("bleu", 2.0, 0.7), ("bleu", 1.5, 0.5), ("bleu", 0.5, 0.0), ("bleu", 10.0, 1.0), ("loss", 2.0, 0.5)],
)
def test_the_best_share_is_chosen_that_loses_little(metric, most, share):
    assert choose(POINTS, metric, metric != "loss", most) == share


def test_without_watched_pairs_the_better_end_is_chosen():
    ends = [{name: value for name, value in POINTS[place].items() if "watch" not in name} for place in (0, -1)]
    assert choose(ends, "bleu", True, 0.0) == 1
    ends[1]["bleu"] = 2.9
    assert choose(ends, "bleu", True, 50.0) == 0
    ends[1]["bleu"] = 3.0  # not worse
    assert choose(ends, "bleu", True, 0.0) == 1


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Pairs of the start's letters with other translations: "a k." and "k k a!"."""
    path = tmp_path_factory.mktemp("other") / "pairs.tsv"
    path.write_text("".join(f"{a} {b}.\t{b} {b} {a}!\n" for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"))
    return path


@pytest.fixture
def tune(tmp_path, tiny_train, learned_run, other):
    def run(name="run", **changes):
        given = TUNED | {"init_from": learned_run, "data_path": other} | changes
        return RunFolder(tiny_train(tmp_path / name, **given))

    return run


@pytest.fixture
def watched(tmp_path):
    """Pairs that share no sentence with training: "a k a." and "k a k!"."""
    path = tmp_path / "watched.tsv"
    path.write_text("".join(f"{a} {b} {a}.\t{b} {a} {b}!\n" for a in "klmnopqr" for b in "abcdefgh"))
    return path


def test_shares_are_measured_chosen_and_told(tune, learned_run, watched, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "choose", lambda _, *others: asked.append(others) or 0.4)
    run = tune(watch=watched, watch_loss=1.5, learning_rate=0.01)
    assert asked == [("chrf", True, 1.5)]
    points = [entry for entry in run.history if "blend_loss" in entry]
    assert [point["blend_share"] for point in points] == [number / 10 for number in range(11)]
    evaluations = [entry for entry in run.history if "eval_loss" in entry]
    best = max(evaluations[1:], key=lambda entry: entry["eval_chrf"])
    for point, logged in ((points[0], evaluations[0]), (points[-1], best)):
        for name in ("loss", "chrf", "watch_loss", "watch_chrf"):
            assert point[f"blend_{name}"] == pytest.approx(logged[f"eval_{name}"], rel=1e-5)
    start = weights(learned_run)
    tuned = weights(run.path / f"checkpoint-{best['step']}")
    for name, weight in weights(run.path).items():
        assert weight.allclose(start[name] + 0.4 * (tuned[name] - start[name]), atol=1e-6)
    found = run.metrics["blend"]
    assert found["share"] == 0.4 and len(found["points"]) == 11 and list(found["tests"]) == ["own", "watched"]
    printed = capsys.readouterr().out
    assert "40% of the tuned weights: validation loss" in printed and "Kept: 40% of the tuned weights" in printed
    own = found["tests"]["own"]["chrf"]
    after = run.metrics["test"]["greedy"]["scores"]["single"]
    assert own["after"]["score"] == after["chrf"]["score"] and own["before"]["low"] and 0 <= own["p_value"] <= 1
    assert "\n  watched test: BLEU " in printed
    assert run.blends.is_file()
    assert blend_cells(found)[1][4][0] == "40%, kept"
    card = str(build_card(run.path, "user/name"))
    assert "| 40%, kept |" in card and "](blends.png)" in card and "chose nothing, watched test: BLEU" in card


def test_a_tuned_model_that_is_worse_is_not_saved(tune, learned_run, tiny_pairs, capsys):
    run = tune(data_path=tiny_pairs, learning_rate=3.0, warmup_steps=0)
    assert same_weights(run.path, learned_run)
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    first, worst = run.metrics["blend"]["points"]
    assert last.startswith(
        f"The tuned model is worse than its start (chrF++ {worst['chrf']:.2f} on its validation pairs, the start "
        f"{first['chrf']:.2f}). "
    )
    assert f"The weights of {learned_run} are saved, unchanged." in last
    assert run.metrics["blend"]["share"] == 0 and "tests" in run.metrics["blend"]


def test_a_start_that_is_kept_for_the_watched_pairs_is_said(tune, learned_run, watched, capsys, monkeypatch):
    monkeypatch.setattr(module, "choose", lambda *_: 0.0)
    run = tune(watch=watched)
    assert same_weights(run.path, learned_run)
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    assert last.startswith("No blend is better than the start and loses at most 2 BLEU on the watched pairs")


def test_another_loss_chooses_again_without_training(tune, watched):
    first = tune(watch=watched, learning_rate=0.01)
    points, steps = first.metrics["blend"]["points"], [entry["step"] for entry in first.history if "loss" in entry]
    again = tune(watch=watched, learning_rate=0.01, watch_loss=90.0, resume_from_checkpoint="true")
    assert [entry["step"] for entry in again.history if "loss" in entry] == steps
    for old, new in zip(points, again.metrics["blend"]["points"], strict=True):
        assert new == pytest.approx(old)
    assert again.metrics["blend"]["share"] == max((point["chrf"], point["share"]) for point in points)[1]


def test_the_last_weights_stay_if_the_best_are_not_wanted(tune, tiny_pairs):
    run = tune(data_path=tiny_pairs, learning_rate=3.0, warmup_steps=0, load_best_model_at_end=False)
    assert "blend" not in run.metrics and not any("blend_loss" in entry for entry in run.history)


def test_the_adapter_has_the_scale_of_the_share(tune, learned_run, watched, monkeypatch):
    from peft import PeftModel

    monkeypatch.setattr(module, "choose", lambda *_: 0.3)
    run = tune(watch=watched, lora_rank=2, learning_rate=0.05)
    settings = json.loads((run.path / "adapter" / "adapter_config.json").read_text())
    assert settings["lora_alpha"] == pytest.approx(0.3 * 4)
    merged = PeftModel.from_pretrained(load_model(str(learned_run)), run.path / "adapter").merge_and_unload()
    found = merged.state_dict()
    for name, weight in load_model(str(run.path)).state_dict().items():
        assert weight.allclose(found[name], atol=1e-5), name
