"""What a run prints before it trains."""

import pytest
import torch
from small_models import QUIET

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer, train_tokenizer_pair
from glossa.train.progress import preview

SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}


@pytest.mark.parametrize(
    ("ties", "embeddings"),
    [
        ({}, 300 * 16), ({"share_encoder_decoder_embeddings": False}, (300 + 300) * 16),
        ({"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}, (300 + 300 + 300) * 16),
    ],
    ids=["one matrix", "two", "three"],
)  # fmt: skip
def test_parameters_are_counted_once(ties, embeddings):
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=300, **SIZES, **ties))
    tokenizer = train_tokenizer(["a b"], 260)
    batch = {"input_ids": torch.tensor([[4, 1]]), "labels": torch.tensor([[5, 1]])}
    # One layer each: 3 attentions of two full and two half matrices (2 of 4 heads), gated feed-forward, norms.
    layers = 3 * (2 * 16 * 16 + 2 * 16 * 8) + 2 * 3 * 16 * 32 + (2 + 3 + 2) * 16
    total = f"Parameters: {layers + embeddings:,}, of these {embeddings:,} in token embeddings and output layer"
    assert preview(model, tokenizer, batch).splitlines()[0] == total


def test_two_pairs_as_tokens_of_their_own_vocabulary():
    words = TokenizerArguments(vocab_size=60, target_vocab_size=60, tokenizer_model="word", min_frequency=1)
    tokenizer = train_tokenizer_pair(["Il vit ici .", "la " * 40], ["He lives here .", "la"], words)
    pairs = [("Il vit ici.", "He lives here."), ("Il vit", "la"), ("la", "la")]
    rows = [tokenizer(source, text_target=target) for source, target in pairs]
    batch = tokenizer.pad({"input_ids": [row["input_ids"] for row in rows]}, return_tensors="pt")
    labels = torch.full((3, 6), -100)
    for row, encoded in zip(labels, rows, strict=True):
        row[: len(encoded["labels"])] = torch.tensor(encoded["labels"])
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=60, **SIZES))
    assert preview(model, tokenizer, {"input_ids": batch["input_ids"], "labels": labels}).splitlines()[1:] == [
        "    source: Il | vit | ici | . | </s>", "    target: He | lives | here | . | </s>",
        "    source: Il | vit | </s>", "    target: la | </s>",
    ]  # fmt: skip
    ids = torch.tensor([tokenizer("la " * 40)["input_ids"]])
    line = preview(model, tokenizer, {"input_ids": ids, "labels": labels[:1]}).splitlines()[1]
    assert line == "    source: " + " | ".join(["la"] * 30) + " ..."


def test_a_run_prints_it_before_the_first_step(tmp_path, tiny_train, capsys):
    tiny_train(tmp_path / "run", **QUIET, max_steps=1, logging_steps=1)
    printed = capsys.readouterr().out
    assert printed.index("Parameters: ") < printed.index("step 1/1")
    assert printed.split("Parameters: ")[1].split("step 1/1")[0].count("source: ") == 2
