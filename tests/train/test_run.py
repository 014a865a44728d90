"""A whole run: its files, resuming, and starting from another run."""

import itertools
import json
from functools import partial
from types import SimpleNamespace

import pytest
import torch
import yaml
from datasets import Dataset, load_dataset
from small_models import QUIET, same_weights, weights
from torch.nn.modules.module import _IncompatibleKeys
from transformers import AutoConfig, AutoTokenizer
from transformers.trainer_utils import EvalLoopOutput
from workers import together

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.samples import choose_samples
from glossa.train.hub.push import check, stage
from glossa.train.monitoring import Speedometer
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.train.trainer import GlossaTrainer
from glossa.translate.attention import attention_maps
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator


def test_run_folder_has_all_files(tiny_run):
    kept = {path.name for path in tiny_run.iterdir()}
    assert {
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "configuration_glossa.py", "loss_glossa.py", "modeling_glossa.py", "recipe.yaml", "versions.json",
        "data_report.json", "metrics.json", "history.json", "curves.png", "samples.md", "held_out",
    } <= kept  # fmt: skip
    assert "training_args.bin" not in kept, "no pickles in the folder"
    assert (tiny_run / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_metrics_are_measured(tiny_run):
    metrics = json.loads((tiny_run / "metrics.json").read_text())
    history = json.loads((tiny_run / "history.json").read_text())
    assert metrics["steps"] == max(entry["step"] for entry in history)
    assert metrics["parameters"] == sum(w.numel() for w in weights(tiny_run).values())
    assert 0 < metrics["padding"] < 0.5
    assert metrics["target_tokens_per_second"] > 0
    assert set(metrics["test"]) == {"greedy", "beam 2"}
    assert metrics["test"]["greedy"]["scores"]["multi"]["bleu"]["signature"].startswith("nrefs:")
    losses = [entry["loss"] for entry in history if "loss" in entry]
    assert losses[-1] < losses[0]
    assert any("eval_token_accuracy" in entry for entry in history)
    rates = {name for entry in history for name in entry if name.startswith("train_") and "samples" in name}
    assert not rates  # case history-samples-per-second: the Trainer counts rows of batches of a fixed size


def test_evaluation_loss_is_the_mean_over_tokens(tiny_run):
    """Recomputed pair by pair, without batches, padding or the Trainer."""
    history = json.loads((tiny_run / "history.json").read_text())
    logged = [entry for entry in history if "eval_loss" in entry][-1]
    tokenizer = AutoTokenizer.from_pretrained(tiny_run)
    last = max(tiny_run.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    model = GlossaForConditionalGeneration.from_pretrained(last).eval()
    rows = load_dataset("json", data_files=str(tiny_run / "held_out" / "validation.jsonl"), split="train")
    first = {}
    for source, target in zip(rows["source"], rows["target"], strict=True):
        first.setdefault(source, target)
    total = right = tokens = 0
    for source, target in first.items():
        encoded = tokenizer([source], text_target=[target], return_tensors="pt")
        with torch.no_grad():
            log_probabilities = model(**encoded).logits.log_softmax(-1)[0]
        labels = encoded["labels"][0]
        total -= log_probabilities[range(len(labels)), labels].sum().item()
        right += (log_probabilities.argmax(-1) == labels).sum().item()
        tokens += len(labels)
    assert logged["eval_loss"] == pytest.approx(total / tokens, rel=1e-4)
    assert logged["eval_token_accuracy"] == pytest.approx(right / tokens)


def test_every_step_of_an_epoch_has_all_batches(tmp_path, tiny_settings):
    lengths = {"source_length": [4] * 6, "target_length": [4] * 6}
    rows = Dataset.from_dict({"input_ids": [[5, 6, 7, 1]] * 6, "labels": [[5, 6, 7, 1]] * 6} | lengths)
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=20, d_model=8, encoder_layers=1, decoder_layers=1))
    for accumulated, batches in ((1, 3), (2, 4), (3, 3), (4, 4)):  # eight tokens hold two rows
        changes = QUIET | {"batch_tokens": 8, "gradient_accumulation_steps": accumulated}
        argv = tiny_settings(tmp_path / "run", **changes)
        trainer = GlossaTrainer(model=model, args=parse_settings(argv).training.for_trainer(), train_dataset=rows)
        assert len(trainer.batch_sampler) == batches


def batches_of(rows, **settings):
    """The batch sampler that a trainer with these rows and settings would have."""
    trainer = SimpleNamespace(train_dataset=rows, args=SimpleNamespace(**settings), augmented=None, replayed=(0, 0))
    trainer._lengths = partial(GlossaTrainer._lengths, trainer)
    return GlossaTrainer._build_batch_sampler(trainer)


def test_the_batches_of_a_step_count_every_process():
    rows = Dataset.from_dict({"source_length": [4] * 60, "target_length": [4] * 60})
    sampler = batches_of(rows, batch_tokens=8, order_seed=0, gradient_accumulation_steps=2, world_size=4)
    assert sampler.batches_a_step == 8
    assert len(sampler) == 32  # 30 batches of two rows, and two cuts to a multiple of 8


def test_lengths_are_read_as_whole_columns(monkeypatch):
    """`datasets` reads a column row by row when it is iterated over, which takes minutes for millions of rows."""
    rows = Dataset.from_dict({"source_length": [5, 4, 6], "target_length": [4] * 3})
    monkeypatch.setattr(type(rows["source_length"]), "__iter__", lambda column: pytest.fail("read row by row"))
    sampler = batches_of(rows, batch_tokens=6, order_seed=0, gradient_accumulation_steps=1, world_size=1)
    assert sorted(sampler) == [[0], [1], [2]]


def test_tied_weights_are_not_reported_missing(tmp_path, tiny_settings, monkeypatch):
    reported = []
    monkeypatch.setattr("transformers.trainer.logger.warning", reported.append)
    settings = parse_settings(tiny_settings(tmp_path / "run"))
    assert settings.training.load_best_model_at_end
    train(settings)
    assert [message for message in reported if "missing keys" in message] == []
    plain = parse_settings(tiny_settings(tmp_path / "run", **QUIET)).training
    trainer = GlossaTrainer(model=load_model(str(tmp_path / "run")), args=plain)
    trainer._issue_warnings_after_load(_IncompatibleKeys(["lm_head.weight", "model.decoder.norm.weight"], []))
    assert reported[-1].endswith("loaded: ['model.decoder.norm.weight'].")


def test_init_from_keeps_the_tokenizer(tmp_path, tiny_run, tiny_settings):
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{a}{b}.\t{b}{a}?\n" for a in "klmnopqrst" for b in "abcdefghij"))
    arguments = tiny_settings(
        tmp_path / "run", init_from=tiny_run, data_path=other, max_steps=3, learning_rate=0.0, vocab_size=9999,
        label_smoothing_factor=0.3,
    )  # fmt: skip
    run = train(parse_settings(arguments))
    assert (run / "tokenizer.json").read_text() == (tiny_run / "tokenizer.json").read_text()
    assert same_weights(tiny_run, run), "a learning rate of 0 changes no weight"
    recipe = yaml.safe_load((run / "recipe.yaml").read_text())
    assert recipe["init_from"] == str(tiny_run)
    assert recipe["label_smoothing_factor"] == 0.3


def test_the_speed_leaves_out_the_time_of_evaluations(tmp_path, tiny_settings, monkeypatch):
    now = [0.0]
    model = GlossaForConditionalGeneration(
        GlossaConfig(vocab_size=300, d_model=16, encoder_layers=1, decoder_layers=1)
    )
    argv = tiny_settings(tmp_path / "run", **QUIET)
    trainer = GlossaTrainer(model=model, args=parse_settings(argv).training)

    def evaluate(*args, **kwargs):
        now[0] += 100
        return EvalLoopOutput(predictions=None, label_ids=None, metrics={}, num_samples=0)

    monkeypatch.setattr("transformers.Seq2SeqTrainer.evaluation_loop", evaluate)
    trainer.callback_handler.callbacks = []
    trainer.speedometer = Speedometer(torch.device("cpu"), clock=lambda: now[0])
    trainer.speedometer.add(50)
    now[0] += 4
    trainer.evaluation_loop()
    now[0] += 6
    logs = {"loss": 1.0}
    trainer.log(logs)
    assert logs["target_tokens_per_second"] == 5


@pytest.mark.slow
def test_two_vocabularies_from_training_to_the_hub(tmp_path, tiny_settings, capsys):
    """A lowercase word tokenizer with special tokens around the source: train, translate, plot attention and stage."""
    arguments = tiny_settings(
        tmp_path / "run", tokenizer_model="word", vocab_size=60, target_vocab_size=50, num_train_epochs=1,
        share_encoder_decoder_embeddings="false", normalization="lowercase", source_special_tokens="start_end",
        eval_samples=2,
    )  # fmt: skip
    run = train(parse_settings(arguments))
    printed = capsys.readouterr().out
    evaluations = sum("eval_loss" in entry for entry in json.loads((run / "history.json").read_text()))
    assert printed.count("prediction: ") == 2 * evaluations > 0
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (len(tokenizer), tokenizer.target_vocab_size)
    assert {"a", "k"} < set(tokenizer.get_vocab()) and "A" not in tokenizer.get_vocab()
    translation = Translator(model, tokenizer).best(["A k."])[0]
    maps = attention_maps(model, tokenizer, "A k.", translation)
    assert maps.source == ["<s>", "a", "k", ".", "</s>"] and maps.target[-1] == "</s>"
    assert maps.source_words == [None, 0, 1, 1, None]
    folder = tmp_path / "staged"
    folder.mkdir()
    stage(run, "someone/words", folder)
    assert {"target_tokenizer.json", "tokenization_glossa.py"} < {path.name for path in folder.iterdir()}
    vocabulary = f"{model.config.vocab_size} source tokens, {model.config.decoder_vocab_size} target tokens"
    assert vocabulary in (folder / "README.md").read_text()
    assert isinstance(check(folder, run), str)


@pytest.mark.slow
def test_small_model_learns_to_reverse(tmp_path):
    """Reversing four letters requires attention to every position; BLEU must exceed a threshold."""
    letters = "abcdefgh"
    path = tmp_path / "reverse.tsv"
    path.write_text(
        "".join(f"{' '.join(word)}\t{' '.join(reversed(word))}\n" for word in itertools.permutations(letters, 4))
    )
    run = train(
        parse_settings(
            f"--dataset files --data_path {path} --output_dir {tmp_path / 'run'} --vocab_size 268 --d_model 64 "
            "--encoder_layers 2 --decoder_layers 2 --encoder_ffn_dim 128 --decoder_ffn_dim 128 --batch_tokens 400 "
            "--num_train_epochs 12 --learning_rate 3e-3 --warmup_steps 100 --lr_scheduler_type cosine "
            "--validation_size 50 --test_size 100 --eval_strategy no --save_strategy no --num_beams 1 "
            "--load_best_model_at_end no --dropout 0 --report_to none".split()
        )
    )
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["test"]["greedy"]["scores"]["single"]["bleu"]["score"] > 90


@pytest.mark.slow
def test_two_processes_evaluate_as_one(tmp_path, tiny_settings, zygote):
    """20 pairs make 4 batches of 6, the last with rows that Accelerate repeats; or one batch for two processes."""
    changes = {"max_steps": 1, "eval_steps": 1, "save_steps": 1, "learning_rate": 0}
    alone = tiny_settings(tmp_path / "alone", **changes)
    runs = {size: tmp_path / f"together-{size}" for size in (6, 64)}
    together(
        zygote,
        *(
            {"folder": run, "arguments": tiny_settings(run, per_device_eval_batch_size=size, **changes)}
            for size, run in runs.items()
        ),
    )
    one, *others = (
        next(entry for entry in RunFolder(run).history if "eval_loss" in entry)
        for run in (train(parse_settings(alone)), *runs.values())
    )
    for two in others:
        for name in ("eval_loss", "eval_token_accuracy", "eval_bleu", "eval_chrf"):
            assert two[name] == pytest.approx(one[name], abs=1e-6), name


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_a_validation_pair_longer_than_the_positions(tmp_path, tiny_train, tiny_pairs, caplog, positions):
    validation = tmp_path / "validation.tsv"
    validation.write_text("a k.\tk a!\n" + "a " * 90 + "\t" + "k " * 90 + "\nb l.\tl b!\n")
    changes = {"validation_path": validation, "position_embedding_type": positions, "max_steps": 5, "eval_steps": 5}
    changes |= {"max_source_positions": 60, "max_target_positions": 60, "max_length": 60, "test_size": 0}
    run = RunFolder(tiny_train(tmp_path / "run", **changes))
    left_out = "validation: 1 of 3 pairs are longer than the model's maximum positions"
    assert (left_out in caplog.text) == (positions == "learned")
    assert any("eval_bleu" in entry for entry in run.history) and run.metrics["validation"]


def test_validation_pairs_that_are_all_too_long(tmp_path, tiny_train):
    validation = tmp_path / "validation.tsv"
    validation.write_text("a " * 300 + "\t" + "k " * 300 + "\n")
    changes = {"validation_path": validation, "position_embedding_type": "learned", "max_length": 60, "test_size": 0}
    with pytest.raises(GlossaError, match="Every validation pair is longer"):
        tiny_train(tmp_path / "run", max_source_positions=60, **changes)


def test_samples_are_spread_and_have_the_best_and_the_worst(capsys):
    count = 40
    texts = [f"sentence number {row}" for row in range(count)]
    found = {
        "sources": texts, "references": [[text] for text in texts],
        "translations": [f"x{row}" for row in range(count)],
    }  # fmt: skip
    best, worst = dict(found), dict(found)
    best["translations"] = [text.replace("sentence", "sequence") for text in texts]
    best["translations"][3] = texts[3]
    best["translations"][7] = "zzz"
    rows = choose_samples({"greedy": worst, "beam 4": best, "beam 4, normalized references": worst})
    scores = {row["source"]: row["chrf"] for row in rows}
    assert scores[texts[3]] == 100 and scores[texts[7]] == 0
    assert {texts[row] for row in range(0, count, 4)} <= scores.keys(), "ten at even distances"
    assert list(rows[0]) == ["source", "reference", "greedy", "beam 4", "chrf"]
    assert f"{texts[3]}\n" not in capsys.readouterr().out, "only the spread rows are printed"


def test_a_saved_model_caches_keys_and_values(tiny_run):
    """As its configuration says to every program; the Trainer turns the cache off for training."""
    assert json.loads((tiny_run / "config.json").read_text())["use_cache"] is True
    assert AutoConfig.from_pretrained(tiny_run).use_cache
