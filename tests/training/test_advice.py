"""Advice after a training, from logs and counts made by hand."""

import numpy
import pytest
from datasets import Dataset

from glossa import GlossaConfig
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.advice import advise, count_tokens, judge_length, judge_translations, judge_vocabulary
from glossa.training.run import train


def log(losses=(), validation=(), bleu=()):
    entries = [{"loss": loss} for loss in losses]
    entries += [{"eval_loss": loss} for loss in validation]
    return entries + [{"eval_bleu": score} for score in bleu]


@pytest.mark.parametrize(
    ("history", "average", "words"),
    [
        (log([5, 4, 3, 3.2, 2.5], [3, 2, 2.01], [10, 20, 20.05]), 20.0, []),
        (log([5, 4, 3, 4.5, 4]), None, ["rose from 3.00 to 4.50", "--learning_rate"]),
        (log([5, float("nan")]), None, ["rose from 5.00 to nan", "--learning_rate"]),
        (log(bleu=[10, 20]), None, ["rising at the end (10.00 to 20.00)", "--num_train_epochs or --hours"]),
        (log(validation=[3, 2, 2.1], bleu=[10, 20, 19]), None, ["rose from 2.000 to 2.100", "--dropout"]),
        (log(validation=[3, 2, 2.1], bleu=[10, 20, 20.05]), None, []),  # a higher loss, but better translations
        (log(bleu=[10, 20, 20]), 19.5, ["averaged checkpoints have 19.50", "--average_checkpoints 0"]),
        (log(), None, []),
    ],
)
def test_each_advice_has_its_sign(history, average, words):
    lines = advise(history, average)
    assert len(lines) == bool(words)
    assert all(word in lines[0] for word in words)


def test_a_training_that_learned_nothing():
    # 36 steps of warm-up over 1,000 steps, and validation losses that differ by less than 0.2%.
    assert "last of 36 steps, since --warmup_steps is 1000" in advise(log(), None, 1000, 36)[0]
    assert advise(log(), None, 35, 36) == []
    (line,) = advise(log(validation=[3.001, 3.000, 2.9995]))
    assert "did not change (3.0010 to 2.9995)" in line
    assert advise(log(validation=[3.01, 3.0])) == []


def test_the_vocabulary_is_judged_by_the_pieces_that_are_learned():
    counts = numpy.array([0] * 260 + [5] * 50 + [4] * 50)
    assert judge_vocabulary(counts) == ""
    counts[309] = 4
    assert judge_vocabulary(counts) == (
        "51 of 100 learned pieces occur fewer than 5 times in training: a --vocab_size below 360, such as 300, may "
        "translate better."
    )
    large = numpy.array([0] * 260 + [5] * 1000 + [3] * 1001)
    advice = judge_vocabulary(large)
    assert "1,001 of 2,001 learned pieces" in advice and "below 2261, such as 1200" in advice


@pytest.mark.parametrize(
    ("length", "beams", "words"),
    [
        (0.965, 5, ["with 5 beams have 96%", "a higher --length_penalty",
                    "glossa score 'runs/my run' --split validation --num_beams 5 --length_penalty 0.6"]),
        (1.03, 4, ["with 4 beams have 103%", "a lower --length_penalty"]),
        (0.98, 5, []), (1.02, 5, []), (0.9, 1, []), (0.6, 5, []), (1.6, 5, []),
    ],
)  # fmt: skip
def test_the_length_of_translations_with_beams(length, beams, words):
    advice = judge_length(length, beams, "runs/my run")
    assert bool(advice) == bool(words) and all(word in advice for word in words)


@pytest.mark.parametrize(
    ("implausible", "words"),
    [
        ({}, []),
        ({"repetitive": 0.3, "empty": 0.03}, []),
        ({"repetitive": 0.3, "empty": 0.05}, ["30% repetitive, 5% empty", "--num_train_epochs"]),
    ],
)
def test_advice_where_many_translations_cannot_be_right(implausible, words):
    advice = judge_translations(implausible)
    assert bool(advice) == bool(words) and all(word in advice for word in words)


def test_tokens_are_counted_on_both_sides_of_a_shared_vocabulary():
    rows = Dataset.from_dict({"input_ids": [[4, 5, 1], [9, 9, 1]], "labels": [[4, 1], [5, 1]]}).select([0])
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1}
    shared = GlossaConfig(vocab_size=6, decoder_vocab_size=6, **sizes)
    assert count_tokens(rows, shared).tolist() == [0, 2, 0, 0, 2, 1]
    separate = GlossaConfig(vocab_size=12, decoder_vocab_size=6, tie_word_embeddings=False, **sizes)
    assert count_tokens(rows, separate).tolist() == [0, 1, 0, 0, 1, 0]


def test_a_run_ends_with_its_advice(tmp_path, tiny_settings, capsys):
    few = {"max_train_samples": 24, "validation_size": 2, "test_size": 2, "vocab_size": 270}
    train(parse_settings(tiny_settings(tmp_path / "run", max_steps=5, **few)))
    out = capsys.readouterr().out
    assert "learned pieces occur fewer than 5 times" in out  # a letter with its space, in few sentences
    assert "Advice: Many validation translations are implausible" in out  # after five steps


def test_no_advice_against_a_vocabulary_that_the_run_chose(tmp_path, tiny_settings, capsys):
    few = {"max_train_samples": 24, "validation_size": 2, "test_size": 2, "trust_data": True}
    settings = tiny_settings(tmp_path / "run", max_steps=5, **few)
    place = settings.index("--vocab_size")
    run = train(parse_settings(settings[:place] + settings[place + 2 :]))
    assert RunFolder(run).recipe["vocab_size"] < 8_000  # as many pieces as there are
    assert "learned pieces" not in capsys.readouterr().out
