"""Architectures and models of a few thousand weights, shared by the tests."""

from dataclasses import replace

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.model.profile_glossa import TextProfile
from glossa.train.data.encoding.vocabulary import train_tokenizer

TINY = {
    "vocab_size": 50, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "max_source_positions": 32, "max_target_positions": 32, "dropout": 0.0,
}  # fmt: skip
# A very short run.
RUN = {
    "dataset": "files", "validation_size": 20, "test_size": 20, "vocab_size": 280, "d_model": 16, "encoder_layers": 1,
    "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "batch_tokens": 100, "warmup_steps": 4,
    "gradient_accumulation_steps": 1, "num_train_epochs": 2, "logging_steps": 3, "num_beams": 1, "max_new_tokens": 6,
    "eval_strategy": "steps", "eval_steps": 5, "save_strategy": "steps", "save_steps": 5, "report_to": "none",
    "disable_tqdm": True, "cpu_threads": 1, "bf16": False, "augmentation": "null",
}  # fmt: skip
# Settings of runs whose scores nobody reads: the scoring is a third of a very short run.
UNSCORED = {"max_new_tokens": 2, "max_validation_samples": 2, "max_test_samples": 2}
# Nor is anything evaluated while they train.
QUIET = UNSCORED | {"eval_strategy": "no", "load_best_model_at_end": False}
# A run that starts from a model has its sizes.
UNSIZED = dict.fromkeys(
    ("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim")
)
ARCHITECTURES = {
    "default": {},
    "published": PUBLISHED_2017,
    "learned": {
        "position_embedding_type": "learned", "decoder_vocab_size": 37, "share_encoder_decoder_embeddings": False,
        "embedding_norm": True, "decoder_layers": 1,
    },
    "multi-query": {
        "num_key_value_heads": 1, "head_dim": 6, "decoder_attention_heads": 2, "tie_word_embeddings": False,
    },
}  # fmt: skip
# Those that no export can express.
UNEXPORTED = {
    "latent": {"num_key_value_heads": None, "kv_lora_rank": 6, "q_lora_rank": 10},
    "experts": {
        "num_local_experts": 4, "num_shared_experts": 1, "rotary_cross_attention": True, "encoder_layers": 1,
        "decoder_layers": 1,
    },
}  # fmt: skip
SPECIAL = ["<pad>", "</s>", "<s>", "<unk>"]
SMALL = {
    "vocab_size": 40, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20, "max_source_positions": 32, "max_target_positions": 32, "decoder_start_token_id": 2,
}  # fmt: skip


def knows(owner, **changes):
    """Change what an engine, or the model of a configuration, has learned about texts."""
    if hasattr(owner, "profile"):
        owner.profile = replace(owner.profile, **changes)
    else:
        replace(TextProfile.of(owner), **changes).write(owner)


def command_line(settings):
    """Settings as words of a command line."""
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def write_pairs(path):
    """Write a file of 200 artificial pairs: "x y." and "y x!"."""
    path.write_text("".join(f"{a} {b}.\t{b} {a}!\n" for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"))
    return path


def same(left, right, tolerance=1e-10):
    torch.testing.assert_close(left, right, rtol=tolerance, atol=tolerance)


def weights(run):
    """The weights of a saved model, by name."""
    return load_file(run / "model.safetensors")


def same_weights(run, other):
    """Whether two saved models have the same weights, bit for bit."""
    first, second = weights(run), weights(other)
    return first.keys() == second.keys() and all(weight.equal(second[name]) for name, weight in first.items())


def words(rows, prefix="w"):
    vocabulary = {word: index for index, word in enumerate([*SPECIAL, *(f"{prefix}{i}" for i in range(4, rows))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def special(length=20):
    names = dict(zip(("pad_token", "eos_token", "bos_token", "unk_token"), SPECIAL, strict=True))
    return names | {"model_max_length": length, "model_input_names": ["input_ids", "attention_mask"]}


def build(**settings):
    torch.manual_seed(7)
    model = GlossaForConditionalGeneration(GlossaConfig(**(SMALL | settings))).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases away from 1 and 0
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def varied(texts):
    """A model that translates every sentence differently, and its tokenizer, which was trained on `texts`."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(texts * 4, 290, max_length=40)
    config = GlossaConfig(
        vocab_size=290, d_model=16, encoder_ffn_dim=24, decoder_ffn_dim=24, encoder_layers=1, decoder_layers=1
    )
    model = GlossaForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return model, tokenizer
