"""What a run says of its start and of its first evaluation, and the pairs that it watches."""

import logging
import math
from types import SimpleNamespace

import pytest
from datasets import Dataset

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import train as command
from glossa.train.data.arguments import DataArguments
from glossa.train.hub.facts import Run
from glossa.train.inputs import load_watched
from glossa.train.learning import FirstEvaluation, RunLength, frequency_loss
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings

FURTHER = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_new_tokens": 12, "eval_samples": 0}
FURTHER |= {"eval_steps": 2, "save_steps": 2}


@pytest.fixture
def tuned(tmp_path, tiny_train):
    """Trains a start for a few steps; returns the evaluations in its log."""

    def tune(start, **changes):
        settings = FURTHER | {"init_from": start, "max_steps": 4} | changes
        run = RunFolder(tiny_train(tmp_path / "run", **settings))
        return [entry for entry in run.history if "eval_loss" in entry]

    return tune


def chrf_of(run, split):
    return RunFolder(run).metrics[split]["greedy"]["scores"]["single"]["chrf"]["score"]


def test_the_start_is_scored_before_training_and_once(tuned, learned_run):
    evaluations = tuned(learned_run, max_steps=2)
    assert [entry["step"] for entry in evaluations] == [0, 2]
    assert evaluations[0]["eval_chrf"] == pytest.approx(chrf_of(learned_run, "validation"), abs=0.01)
    resumed = tuned(learned_run, resume_from_checkpoint="true")
    assert [entry["step"] for entry in resumed] == [0, 2, 4]


def test_watched_pairs_are_scored_at_each_evaluation(tuned, learned_run, tmp_path, tiny_settings, capsys):
    evaluations = tuned(learned_run, watch=learned_run)
    assert all({"eval_watch_loss", "eval_watch_bleu", "eval_watch_chrf"} <= entry.keys() for entry in evaluations)
    # Those of a run are its validation pairs, here the same.
    assert evaluations[0]["eval_watch_loss"] == pytest.approx(evaluations[0]["eval_loss"])
    assert f"; watched: loss {evaluations[-1]['eval_watch_loss']:.3f}, BLEU" in capsys.readouterr().out
    header, rows = Run(tmp_path / "run").validation()
    assert header == ["step", "epoch", "loss", "BLEU", "chrF++", "watched: loss", "BLEU", "chrF++"]
    assert float(rows[0][5]) == pytest.approx(evaluations[0]["eval_watch_loss"], abs=1e-4)


def test_watched_pairs_may_be_a_file(tuned, learned_run, tmp_path):
    file = tmp_path / "other.tsv"
    pairs = [row for split in ("validation", "test") for row in RunFolder(learned_run).load_held_out(split)]
    file.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in pairs))
    evaluations = tuned(learned_run, watch=file, max_steps=2)
    assert evaluations[0]["eval_watch_chrf"] > 90
    splits = [load_watched(arguments(file), pairs_of("z z.\tz z!"))[name] for name in ("watch", "watch_test")]
    texts = [set(rows["source"]) for rows in splits]
    assert list(map(len, texts)) == [20, 20] and texts[0] | texts[1] == {row["source"] for row in pairs}
    given = ["--data_path", str(file), "--watch"]
    command.check(catalog.parse([*given, str(learned_run)]))
    with pytest.raises(GlossaError, match=r"nosuch\.tsv"):
        command.check(catalog.parse([*given, str(tmp_path / "nosuch.tsv")]))
    several = '[{"data_path": "a.tsv", "target_language": "fr"}, {"data_path": "b.tsv", "target_language": "de"}]'
    with pytest.raises(GlossaError, match="watch is for pairs of one target language"):
        load_watched(parse_settings(["--sources", several, "--watch", str(learned_run)]).data, pairs_of("a\tb"))
    with pytest.raises(GlossaError, match=r"watch is .*but objective is masked_lm"):
        parse_settings(["--objective", "masked_lm", "--watch", str(learned_run)])


def arguments(file, **changes):
    return DataArguments(dataset="files", data_path=[str(file)], watch=[str(file)], **changes)


def pairs_of(*lines):
    rows = [line.split("\t") for line in lines]
    return Dataset.from_dict({"source": [row[0] for row in rows], "target": [row[1] for row in rows]})


def test_watched_pairs_that_are_trained_are_left_out_or_refused(tmp_path, caplog):
    lines = [f"{word}{number} a\tb {number}{word}" for number, word in enumerate("abcdefghijklmnopqrstuvwxyz"[:20])]
    file = tmp_path / "w.tsv"
    file.write_text("\n".join(lines))
    with caplog.at_level(logging.WARNING):
        found = load_watched(arguments(file), pairs_of(lines[3], "A9 A?\tother", "x\ty"))
    assert "of whose 20 pairs 1 share a sentence with the training pairs, and are left out" in caplog.text
    assert sum(map(len, found.values())) == 19
    with pytest.raises(
        GlossaError, match=r"watch is .*w.tsv, of whose 20 pairs 3 share a sentence .* what is forgott"
    ):
        load_watched(arguments(file), pairs_of(*lines[3:6]))


def test_watched_pairs_in_another_language_are_refused(tmp_path):
    """German for French, in sentences of their own."""
    english = (
        "The house is old and very big.",
        "We would like to eat something.",
        "Nobody knows what happened there.",
    )
    german = ("Das Haus ist alt und sehr groß.", "Wir möchten gerne etwas essen.", "Niemand weiß, was dort geschah.")
    rows = [f"{a} {n}\t{b} {n}" for n in range(20) for a, b in zip(english, german, strict=True)]
    file = tmp_path / "w.tsv"
    file.write_text("\n".join(rows))
    with pytest.raises(GlossaError, match=r"watch: .*w.tsv, line 1: the target texts are not 'fr' but 'de'"):
        load_watched(arguments(file), pairs_of("x\ty"))
    assert load_watched(arguments(file, trust_data=["language"]), pairs_of("x\ty"))


def test_a_start_that_does_not_translate_is_named(tuned, tiny_run, caplog):
    with caplog.at_level(logging.WARNING):
        evaluations = tuned(tiny_run, max_steps=2)
    assert evaluations[0]["eval_bleu"] < 1 and evaluations[0]["eval_chrf"] < 25
    assert f"{tiny_run} translates the validation pairs with only BLEU 0.00 and chrF++ " in caplog.text


def test_a_start_that_translates_is_not(tuned, learned_run, caplog):
    with caplog.at_level(logging.WARNING):
        evaluations = tuned(learned_run, max_steps=2)
    assert evaluations[0]["eval_bleu"] == 0, "two words have no four in a row"
    assert evaluations[0]["eval_chrf"] > 90
    assert "before training" not in caplog.text


def test_a_rate_that_changes_nothing_is_said_at_once_and_at_the_end(tuned, learned_run, caplog, capsys):
    with caplog.at_level(logging.WARNING):
        tuned(learned_run, learning_rate=1e-20, warmup_steps=0)
    assert caplog.text.count("The first evaluation after warm-up shows no improvement") == 1
    assert "Advice: The tuned model equals its start: loss" in capsys.readouterr().out


@pytest.mark.parametrize(("loss", "warned"), [(1.1, True), (0.9, False)])
def test_a_new_model_must_be_better_than_frequencies(loss, warned, caplog):
    rows = Dataset.from_dict({"labels": [[1, 1, 2], [1]]})
    by_hand = -(3 / 4 * math.log(3 / 4) + 1 / 4 * math.log(1 / 4))
    assert frequency_loss(rows) == pytest.approx(by_hand)
    watcher = FirstEvaluation(rows, None)
    arguments = SimpleNamespace(learning_rate=0.1, get_warmup_steps=lambda steps: 4)
    state = SimpleNamespace(global_step=0, max_steps=9, is_world_process_zero=True, log_history=[{"loss": 3.0}])
    watcher.on_train_begin(arguments, state, None)
    with caplog.at_level(logging.WARNING):
        state.global_step = 4  # the rate is still rising: the case `no-learning-in-warmup`
        watcher.on_evaluate(arguments, state, None, {"eval_loss": 9.0, "eval_bleu": 0.0})
        assert not caplog.text
        state.global_step = 5
        for falling in (2.0, 1.98):  # by a third; then by one percent and more
            watcher.on_evaluate(arguments, state, None, {"eval_loss": 9.0, "eval_bleu": 0.0})
            state.log_history.append({"loss": falling})
            assert not caplog.text
        for _ in range(2):
            watcher.on_evaluate(arguments, state, None, {"eval_loss": loss * by_hand, "eval_bleu": 0.0})
    assert caplog.text.count("shows no improvement") == int(warned)


@pytest.mark.parametrize(("warmup", "warned"), [(200, True), (149, False)])
def test_a_warmup_that_outlasts_the_run_is_named_at_its_start(warmup, warned, caplog):
    """The case `no-learning-in-warmup`."""
    state = SimpleNamespace(max_steps=150, logging_steps=50, is_world_process_zero=True)
    with caplog.at_level(logging.WARNING):
        RunLength(0).on_train_begin(SimpleNamespace(get_warmup_steps=lambda steps: warmup), state, None)
    assert ("(--warmup_steps 200) is as long as the run (150 steps) or longer" in caplog.text) == warned


@pytest.mark.parametrize(("steps", "logs", "every"), [(84, 10, 8), (500, 10, 50), (9, 10, 1), (84, 0, 50)])
def test_a_short_run_logs_ten_times_unless_told_otherwise(steps, logs, every):
    state = SimpleNamespace(max_steps=steps, logging_steps=50, is_world_process_zero=True)
    RunLength(logs).on_train_begin(SimpleNamespace(get_warmup_steps=lambda steps: 0), state, None)
    assert state.logging_steps == every
