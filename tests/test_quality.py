"""What makes a training fast leaves it as good: losses of several seeds, with and without."""

import statistics

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import DataCollatorForSeq2Seq, set_seed

from glossa import GlossaForConditionalGeneration
from glossa.benchmark.contenders import equal_budget
from glossa.benchmark.corpus import load_corpus
from glossa.benchmark.sizes import glossa_config
from glossa.data.batching import TokenBatchSampler
from glossa.modeling_glossa import GlossaDropout

SEEDS = (1, 2, 3)
STEPS = 150
SENTENCES = 32


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(None)


def batches(corpus, split, seed=None):
    """Of sentences of like length under a budget of tokens, or, without a seed, of as many at random."""
    rows = corpus.tokenised[split]
    lengths = list(rows["source_length"]), list(rows["target_length"])
    inputs = rows.remove_columns(["source_length", "target_length"])
    collator = DataCollatorForSeq2Seq(corpus.tokenizer)
    if seed is None:
        return DataLoader(inputs, batch_size=SENTENCES, shuffle=True, collate_fn=collator)
    sampler = TokenBatchSampler(*lengths, equal_budget(rows, SENTENCES), seed=seed)
    return DataLoader(inputs, batch_sampler=sampler, collate_fn=collator)


def validation_loss(corpus, seed, dropout=GlossaDropout, by_tokens=True):
    """Nats a token after `STEPS` steps with the seed."""
    set_seed(seed)
    model = GlossaForConditionalGeneration(glossa_config("tiny", corpus.tokenizer, "modern")).train()
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, GlossaDropout):
                setattr(module, name, dropout(0.3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = 0
    while steps < STEPS:
        for batch in batches(corpus, "train", seed if by_tokens else None):
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
            if steps == STEPS:
                break
    model.eval()
    with torch.no_grad():
        sums = [
            (model(**batch).loss * (n := (batch["labels"] != -100).sum()), n)
            for batch in batches(corpus, "validation")
        ]
    return (sum(loss for loss, _ in sums) / sum(n for _, n in sums)).item()


@pytest.mark.slow
def test_neither_dropout_s_generator_nor_batches_by_length_cost_quality(corpus):
    ours = [validation_loss(corpus, seed) for seed in SEEDS]
    others = {
        "torch's dropout": [validation_loss(corpus, seed, dropout=nn.Dropout) for seed in SEEDS],
        "sentences at random": [validation_loss(corpus, seed, by_tokens=False) for seed in SEEDS],
    }
    print("\nours", ours, others)
    spread = max(max(losses) - min(losses) for losses in (ours, *others.values()))
    for name, losses in others.items():
        assert abs(statistics.mean(ours) - statistics.mean(losses)) < spread, (name, ours, losses)
    # No dropout at all is told from either.
    without = validation_loss(corpus, 1, dropout=lambda p: nn.Identity())
    assert abs(without - ours[0]) > spread
