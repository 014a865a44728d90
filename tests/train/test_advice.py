"""Advice after a training, from logs and counts made by hand."""

from types import SimpleNamespace

import numpy
import pytest
from datasets import Dataset

from glossa import GlossaConfig
from glossa.base.run_folder import RunFolder
from glossa.train import advice
from glossa.train.advice import advise, count_tokens, diverged, judge_length, judge_translations, judge_vocabulary
from glossa.train.finishing import explain_scores
from glossa.train.plan.arguments import parse_settings


def log(losses=(), validation=(), bleu=()):
    entries = [{"loss": loss} for loss in losses]
    entries += [{"eval_loss": loss} for loss in validation]
    return entries + [{"eval_bleu": score} for score in bleu]


def training(*argv):
    return parse_settings([*argv, "--warmup_steps", "0"] if "--warmup_steps" not in argv else [*argv]).training


@pytest.mark.parametrize(
    ("history", "average", "words"),
    [
        (log([5, 4, 3, 3.2, 2.5], [3, 2, 2.01], [10, 20, 20.05]), 20.0, []),
        (log([5, 4, 3, 4.5, 4]), None, ["rose from 3.00 to 4.50", "--learning_rate"]),
        (log([5, 4, 3, 3.7, 3.6]), None, []),  # less than a quarter more
        (log([5, float("nan")]), None, ["rose from 5.00 to nan", "--learning_rate"]),
        (log(bleu=[10, 20]), None, ["rising at the end (10.00 to 20.00)", "twice the --num_train_epochs."]),
        (log(bleu=[10, 20, 19]), None, []),
        (log(bleu=[89, 89.8]), None, ["rising at the end (89.00 to 89.80)"]),
        (log(bleu=[96, 97.1]), None, []),  # nothing is left to learn
        (log(validation=[3, 2, 2.1], bleu=[10, 20, 19]), None, ["rose from 2.000 to 2.100", "--dropout, or stop"]),
        (log(validation=[3, 2, 2.1], bleu=[10, 20, 20.05]), None, []),  # a higher loss, but better translations
        (log(validation=[3, 2, 2.1], bleu=[90, 97, 96.9]), None, []),
        (log(bleu=[10, 20, 20]), 19.5, ["averaged checkpoints have 19.50", "--average_checkpoints 0"]),
        (log(bleu=[10, 20, 20]), 19.95, []),
        (log(validation=[3.001, 3.000, 2.9995]), None, ["did not change (3.0010 to 2.9995)", "--num_train_epochs"]),
        (log(validation=[3.01, 3.0]), None, []),
        (log(validation=[1.401, 1.4], bleu=[97, 97]), None, []),
        (log(), None, []),
    ],
)
def test_each_advice_has_its_sign(history, average, words):
    lines = advise(history, training(), 100, average)
    assert len(lines) == bool(words)
    assert all(word in lines[0] for word in words)


def test_a_tuned_model_is_compared_with_its_start():
    def log(*scores):
        return [{"step": step, "eval_loss": loss, "eval_bleu": bleu} for step, loss, bleu in scores]

    equal, worse = log((0, 2.0, 30.0), (5, 2.0, 30.0)), log((0, 2.0, 30.0), (5, 1.9, 29.0), (9, 1.9, 28.0))
    better, new = log((0, 2.0, 30.0), (5, 1.9, 31.0), (9, 1.9, 30.9)), log((5, 2.0, 30.0), (9, 1.9, 29.0))
    assert "The tuned model equals its start: loss 2.0000 and BLEU 30.00" in advise(equal, training())[0]
    words = "no better than its start: validation BLEU was 30.00 before training and 29.00"
    assert words in advise(worse, training())[0]
    assert advise(better, training()) == advise(new, training()) == []


def test_a_training_whose_rate_never_reached_its_peak():
    lines = advise(log(), training("--warmup_steps", "1000"), 36)
    assert len(lines) == 1 and "(--warmup_steps 1000) is as long as the run (36 steps)" in lines[0]
    assert advise(log(), training("--warmup_steps", "35"), 36) == []
    assert advise(log(), training("--warmup_steps", "0.9"), 36) == []


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ([], "--num_train_epochs"),
        (["--hours", "2"], "--hours and --num_train_epochs"),
        (["--max_steps", "36"], "--max_steps"),  # which the passes do not change
    ],
)
def test_a_longer_training_is_advised_by_the_setting_that_ends_it(options, setting):
    given = training(*options)
    assert f"twice the {setting}." in advise(log(bleu=[10, 20]), given)[0]
    assert f"with more {setting}." in advise(log(validation=[3.0, 3.0]), given)[0]
    assert f"with more {setting}, or" in judge_translations({"empty": 0.5}, 3, given)


def test_a_run_that_diverged_from_its_start_is_not_advised_to_go_on(tmp_path, tiny_train, capsys):
    """The case `advice-diverged-from-start`. A guess among 300 tokens has ln 300 = 5.70; 1.25 times is 7.13."""
    assert diverged([13_667_577.0, 5_959_925.0], 300) == (
        "The training diverged: its loss was 5,959,925.00 at the end, and a guess among all 300 tokens has 5.70. "
        "Start again with a tenth of --learning_rate (and of --muon_learning_rate)."
    )
    assert diverged([9.0, 7.12], 300) == diverged([], 300) == ""
    assert diverged([2.0, 7.14], 300)
    tiny_train(tmp_path / "run", learning_rate=1000, warmup_steps=0, max_steps=8, logging_steps=2)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Advice: ")]
    assert len(lines) == 1 and lines[0].startswith("Advice: The training diverged: its loss was ")


def test_two_greedy_scores_of_the_same_weights_are_explained():
    """The case `two-greedy-scores`."""
    history = [{"step": 11, "eval_bleu": 2.79}, {"step": 22, "eval_bleu": 3.67}, {"step": 22, "loss": 1.0}]
    state = SimpleNamespace(best_global_step=22, global_step=30, log_history=history)
    scores = {"validation": {"greedy": {"scores": {"single": {"bleu": {"score": 6.29}}}}}}
    line = explain_scores(state, training(), scores)
    assert line.startswith(
        "Greedy validation BLEU is 6.29, and was 3.67 at step 22 with the same weights: training tra"
    )
    assert "once, and `glossa translate` sentence by sentence" in line and "in bf16" not in line
    assert "once in bf16, and" in explain_scores(state, training("--bf16", "true"), scores)
    scores["validation"]["greedy"]["scores"]["single"]["bleu"]["score"] = 3.7
    assert explain_scores(state, training(), scores) == explain_scores(state, training(), {}) == ""
    state.best_global_step = 11
    assert "was 2.79 at step 11" in explain_scores(state, training(), scores)
    averaged = training("--average_checkpoints", "2")
    assert explain_scores(state, averaged, scores) == "", "other weights"


def test_a_training_that_the_hours_cut_short_needs_hours_alone():
    given = training("--hours", "2", "--num_train_epochs", "3")
    assert "twice the --hours." in advise(log(bleu=[10, 20]), given, wanted=4)[0]
    assert "twice the --hours and --num_train_epochs." in advise(log(bleu=[10, 20]), given, wanted=3)[0]
    assert "with more --hours, or" in judge_translations({"empty": 0.5}, 3, given, wanted=4)


def test_a_training_that_stops_early_is_not_advised_to():
    history = log(validation=[3, 2, 2.1], bleu=[10, 20, 19])
    (line,) = advise(history, training("--early_stopping_patience", "3"))
    assert line.endswith("overfits. Raise --dropout.")


def test_the_vocabulary_is_judged_by_the_pieces_that_are_learned():
    counts = numpy.array([0] * 260 + [5] * 50 + [4] * 50)
    assert judge_vocabulary(counts) == ""
    counts[309] = 4
    assert judge_vocabulary(counts, bleu=97) == ""
    assert judge_vocabulary(counts, bleu=40) == (
        "51 of 100 learned pieces occur fewer than 5 times in training: a --vocab_size below 360, such as 300, may "
        "translate better."
    )
    assert judge_vocabulary(numpy.array([0] * 260 + [1] * 40)) == ""  # 300 is the smallest that is advised
    large = numpy.array([0] * 260 + [5] * 1000 + [3] * 1001)
    line = judge_vocabulary(large)
    assert "1,001 of 2,001 learned pieces" in line and "below 2261, such as 1200" in line


@pytest.mark.parametrize(
    ("length", "beams", "bleu", "implausible", "words"),
    [
        (0.965, 5, 30, {}, ["with 5 beams have 96%", "a higher --length_penalty",
                    "glossa score 'runs/my run' --split validation --num_beams 5 --length_penalty 0.6"]),
        (1.03, 4, 30, {"repetitive": 0.3, "different digits": 0.3}, ["with 4 beams have 103%", "a lower --length"]),
        (0.98, 5, 30, {}, []), (1.02, 5, 30, {}, []), (0.9, 1, 30, {}, []), (0.6, 5, 30, {}, []), (1.6, 5, 30, {}, []),
        (1.2, 5, 3, {"repetitive": 0.2}, []),  # in a loop
        (1.2, 5, 30, {"repetitive": 0.4}, []),
    ],
)  # fmt: skip
def test_the_length_of_translations_with_beams(length, beams, bleu, implausible, words):
    line = judge_length(length, beams, bleu, implausible, "runs/my run")
    assert bool(line) == bool(words) and all(word in line for word in words)


@pytest.mark.parametrize(
    ("implausible", "bleu", "words"),
    [
        ({}, 3, []),
        ({"repetitive": 0.3, "empty": 0.03}, 3, []),
        ({"repetitive": 0.3, "different digits": 0.3}, 3, []),
        ({"repetitive": 0.3, "empty": 0.05}, 3, ["30% repetitive, 5% empty", "--num_train_epochs"]),
        ({"repetitive": 0.3, "empty": 0.05}, 97, []),  # as the references are
    ],
)
def test_advice_where_many_translations_cannot_be_right(implausible, bleu, words):
    line = judge_translations(implausible, bleu, training())
    assert bool(line) == bool(words) and all(word in line for word in words)


def test_tokens_are_counted_on_both_sides_of_a_shared_vocabulary():
    rows = Dataset.from_dict({"input_ids": [[4, 5, 1], [9, 9, 1]], "labels": [[4, 1], [5, 1]]}).select([0])
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1}
    shared = GlossaConfig(vocab_size=6, decoder_vocab_size=6, **sizes)
    assert count_tokens(rows, shared).tolist() == [0, 2, 0, 0, 2, 1]
    separate = GlossaConfig(vocab_size=12, decoder_vocab_size=6, tie_word_embeddings=False, **sizes)
    assert count_tokens(rows, separate).tolist() == [0, 1, 0, 0, 1, 0]


def test_a_run_ends_with_its_advice(tmp_path, tiny_train, capsys, monkeypatch):
    monkeypatch.setattr(advice, "SMALLEST", 261)
    few = {"max_train_samples": 24, "validation_size": 2, "test_size": 2, "vocab_size": 270}
    tiny_train(tmp_path / "run", max_steps=5, **few)
    out = capsys.readouterr().out
    assert "learned pieces occur fewer than 5 times" in out  # a letter with its space, in few sentences
    assert "Advice: Many validation translations are implausible" in out  # after five steps


def test_no_advice_against_a_vocabulary_that_the_run_chose(tmp_path, tiny_train, capsys):
    few = {"max_train_samples": 24, "validation_size": 2, "test_size": 2, "trust_data": True}
    run = tiny_train(tmp_path / "run", max_steps=5, vocab_size=None, **few)
    assert RunFolder(run).recipe["vocab_size"] < 8_000  # as many pieces as there are
    assert "learned pieces" not in capsys.readouterr().out
