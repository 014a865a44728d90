"""What makes a training fast leaves it as good: losses of several seeds, with and without."""

import statistics

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import DataCollatorForSeq2Seq, set_seed

from glossa import GlossaForConditionalGeneration
from glossa.benchmark.corpus import load_corpus
from glossa.benchmark.sizes import glossa_config
from glossa.data.batching import TokenBatchSampler
from glossa.modeling_glossa import GlossaDropout

SEEDS = (1, 2, 3)
STEPS = 100


def batches(corpus, split, seed):
    rows = corpus.tokenised[split]
    sampler = TokenBatchSampler(rows["source_length"], rows["target_length"], 400, seed=seed)
    inputs = rows.remove_columns(["source_length", "target_length"])
    return DataLoader(inputs, batch_sampler=sampler, collate_fn=DataCollatorForSeq2Seq(corpus.tokenizer))


def validation_loss(corpus, seed, dropout):
    """Nats a token after `STEPS` steps with the seed, and with `dropout` wherever the model has some."""
    set_seed(seed)
    model = GlossaForConditionalGeneration(glossa_config("tiny", corpus.tokenizer, "modern")).train()
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
def test_dropout_s_generator_does_not_change_quality():
    corpus = load_corpus(None)
    ours = [validation_loss(corpus, seed, GlossaDropout) for seed in SEEDS]
    torchs = [validation_loss(corpus, seed, nn.Dropout) for seed in SEEDS]
    print(f"\nours {ours}\ntorch's {torchs}")
    spread = max(max(losses) - min(losses) for losses in (ours, torchs))
    assert abs(statistics.mean(ours) - statistics.mean(torchs)) < spread
    # No dropout at all is told from either.
    without = validation_loss(corpus, 1, lambda p: nn.Identity())
    assert abs(without - ours[0]) > spread
