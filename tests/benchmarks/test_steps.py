"""What makes training fast does not make it worse: losses of several seeds, with and without."""

import statistics

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import DataCollatorForSeq2Seq, set_seed

from benchmarks.corpus import load_corpus
from benchmarks.sizes import glossa_config
from benchmarks.steps import COMPOSITIONS, NO_EVALUATION, build_trainer, measure_quality, quality_rows
from glossa import GlossaForConditionalGeneration
from glossa.data.encoding.batching import TokenBatchSampler
from glossa.layers_glossa import GlossaDropout
from glossa.plan.arguments import parse_settings

SEEDS = (1, 2, 3)
STEPS = 30
VALIDATED = 100  # pairs


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(None)


def batches(corpus, split, seed):
    rows = corpus.tokenized[split]
    rows = rows.select(range(VALIDATED)) if split == "validation" else rows
    sampler = TokenBatchSampler(rows["source_length"][:], rows["target_length"][:], 400, seed=seed)
    inputs = rows.remove_columns(["source_length", "target_length"])
    return DataLoader(inputs, batch_sampler=sampler, collate_fn=DataCollatorForSeq2Seq(corpus.tokenizer))


def validation_loss(corpus, seed, dropout):
    """The loss in nats a token after `STEPS` steps, with `dropout` in place of the model's own."""
    set_seed(seed)
    config = glossa_config("tiny", corpus.tokenizer, "modern")
    config.encoder_layers = config.decoder_layers = 2
    model = GlossaForConditionalGeneration(config).train()
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, GlossaDropout):
                setattr(module, name, dropout(0.3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _, batch in zip(range(STEPS), batches(corpus, "train", seed), strict=False):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    total = tokens = 0
    with torch.no_grad():
        for batch in batches(corpus, "validation", seed):
            count = (batch["labels"] != -100).sum().item()
            total += model(**batch).loss.item() * count
            tokens += count
    return total / tokens


@pytest.mark.slow
def test_our_dropout_trains_as_well_as_torchs(corpus):
    ours = [validation_loss(corpus, seed, GlossaDropout) for seed in SEEDS]
    torchs = [validation_loss(corpus, seed, nn.Dropout) for seed in SEEDS]
    print(f"\nours {ours}\ntorch's {torchs}")
    spread = max(max(losses) - min(losses) for losses in (ours, torchs))
    assert abs(statistics.mean(ours) - statistics.mean(torchs)) < spread
    # The loss without dropout differs from both.
    without = validation_loss(corpus, 1, lambda p: nn.Identity())
    assert abs(without - ours[0]) > spread


def test_compositions_differ_only_in_the_lengths_of_a_step(corpus, tiny_settings, tmp_path):
    changes = {"batch_tokens": 750, "gradient_accumulation_steps": 2, "num_train_epochs": 1, "seed": 3}
    argv = [*tiny_settings(tmp_path, **changes), *NO_EVALUATION]
    spans, sentences, steps, weights = {}, {}, set(), []
    for name in COMPOSITIONS:
        trainer = build_trainer(name, parse_settings(argv), corpus.tokenizer, corpus.tokenized)
        weights.append(next(trainer.model.parameters()).clone())
        arguments = trainer.args
        steps.add(arguments.max_steps)
        batches = [batch["labels"] for batch, _ in zip(trainer.get_train_dataloader(), range(60), strict=False)]
        each = arguments.gradient_accumulation_steps
        lengths = [
            [int(count) for labels in batches[first : first + each] for count in (labels != -100).sum(1)]
            for first in range(0, 60, each)
        ]
        spans[name] = statistics.mean(max(step) - min(step) for step in lengths)
        sentences[name] = statistics.mean(map(len, lengths))
    at_random, recipe = COMPOSITIONS
    assert 4 < spans[recipe] < spans[at_random]
    assert sentences == pytest.approx(dict.fromkeys(COMPOSITIONS, 40000 / steps.pop()), rel=0.2) and not steps
    assert all(weight.equal(weights[0]) for weight in weights)


@pytest.mark.slow
def test_quality_is_measured_for_every_seed(tiny_settings, tmp_path):
    argv = [*tiny_settings(tmp_path, num_train_epochs=1), *NO_EVALUATION]
    found = measure_quality(argv, COMPOSITIONS, [4, 5])
    assert list(found) == list(COMPOSITIONS)
    for values in found.values():
        assert len(set(values["loss"])) == 2 and all(3 < loss < 7 for loss in values["loss"])
        assert all(0 <= bleu <= 100 for bleu in values["bleu"]) and all(value > 0 for value in values["seconds"])
    row = quality_rows({"a": {"loss": [1.25, 2], "bleu": [30, 4.125], "seconds": [1, 3, 200]}})[0]
    assert list(row.values()) == ["a", "1.2500, 2.0000", "30.00, 4.12", "3"]
