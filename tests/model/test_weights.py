"""Initialization, loading, resizing and gradients of weights."""

import math

import pytest
import torch
from small_models import same
from torch import nn

from glossa import GlossaForConditionalGeneration, GlossaModel

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 14, 15, 16]])
LABELS = torch.tensor([[20, 21, 22, 23, 1], [30, 31, 1, -100, -100]])


def logits_of(model):
    return model(SOURCE, labels=LABELS).logits


def build(config):
    torch.manual_seed(0)
    return GlossaForConditionalGeneration(config)


def test_embeddings_neither_scaled_nor_tied_start_with_variance_one(tiny_config):
    sizes = {"vocab_size": 2000, "d_model": 64, "position_embedding_type": "learned"}
    torch.manual_seed(0)
    model = GlossaForConditionalGeneration(
        tiny_config(**sizes, scale_embedding=False, tie_word_embeddings=False, max_source_positions=500)
    )
    for embedding in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
        assert embedding.weight[1:].std().item() == pytest.approx(1, rel=0.05)
    assert model.model.encoder.embeddings.embed_positions.weight.std().item() == pytest.approx(1, rel=0.05)
    tied = GlossaForConditionalGeneration(tiny_config(**sizes, scale_embedding=False))
    assert tied.lm_head.weight.std().item() == pytest.approx(64**-0.5, rel=0.05), "logits of variance 1"


@pytest.mark.parametrize("tied", [True, False])
def test_xavier_uniform_initialization(tiny_config, tied):
    config = tiny_config(
        vocab_size=2000, d_model=64, norm_type="layer", query_key_value_bias=True, feed_forward_bias=True,
        position_embedding_type="learned", tie_word_embeddings=tied,
    )  # fmt: skip
    model = build(config)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and not (tied and name == "lm_head"):
            # Glorot and Bengio 2010, equation 16: uniform in +-sqrt(6 / (in + out)), deviation sqrt(2 / (in + out)).
            fans = module.in_features + module.out_features
            assert module.weight.abs().max() <= math.sqrt(6 / fans)
            assert module.weight.std().item() == pytest.approx(math.sqrt(2 / fans), rel=0.05)
            assert module.bias is None or module.bias.eq(0).all()
        if isinstance(module, nn.LayerNorm):
            assert module.weight.eq(1).all() and module.bias.eq(0).all()
    for embedding in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
        assert embedding.weight[1:].std().item() == pytest.approx(64**-0.5, rel=0.05)
        assert embedding.weight[0].eq(0).all()
    positions = model.model.encoder.embeddings.embed_positions.weight
    assert positions.std().item() == pytest.approx(64**-0.5, rel=0.05) and positions[0].ne(0).any()


def test_normal_initialization(tiny_config):
    model = build(tiny_config(vocab_size=2000, d_model=64, initialization="normal", init_std=0.05))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            assert module.weight.std().item() == pytest.approx(0.05, rel=0.05)
            assert module.weight.abs().max() > 3 * 0.05 * 0.9  # normal, not uniform
        if isinstance(module, nn.RMSNorm):
            assert module.weight.eq(1).all()


def test_loading_goes_through_the_meta_device_and_restores_everything(tiny_model, architecture, tmp_path):
    model = tiny_model(**architecture)
    model.save_pretrained(tmp_path)
    loaded, report = GlossaForConditionalGeneration.from_pretrained(
        tmp_path, dtype=torch.float64, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert not loaded.training
    weights = model.state_dict()
    assert loaded.state_dict().keys() == weights.keys()
    for name, weight in loaded.state_dict().items():
        assert weight.device.type == "cpu" and weight.equal(weights[name])
    # Buffers outside the state dict would be lost on the meta device.
    assert not list(model.buffers())
    same(logits_of(loaded), logits_of(model))


def test_missing_weights_are_initialized(tiny_config, tmp_path):
    model = build(tiny_config())
    weights = {name: weight for name, weight in model.state_dict().items() if "layers.1" not in name}
    model.save_pretrained(tmp_path, state_dict=weights)
    loaded, report = GlossaForConditionalGeneration.from_pretrained(tmp_path, output_loading_info=True)
    assert report["missing_keys"] and all("layers.1" in name for name in report["missing_keys"])
    fresh = loaded.model.encoder.layers[1]
    assert fresh.self_attn_residual.norm_before.weight.eq(1).all()
    assert fresh.self_attn.q_proj.weight.std().item() == pytest.approx(math.sqrt(2 / 32), rel=0.2)
    assert loaded.get_input_embeddings().weight.equal(model.get_input_embeddings().weight)


@pytest.mark.parametrize("re_entrant", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_gradient_checkpointing_gives_equal_gradients(tiny_model, architecture, re_entrant, dropout):
    model = tiny_model(**architecture, dropout=dropout).train()

    def gradients():
        model.zero_grad()
        torch.manual_seed(1)
        model(SOURCE, labels=LABELS).loss.backward()
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    plain = gradients()
    calls = []
    model.model.encoder.layers[0].self_attn.register_forward_pre_hook(lambda *_: calls.append(1))
    model.gradient_checkpointing_enable({"use_reentrant": re_entrant})
    for name, gradient in gradients().items():
        torch.testing.assert_close(gradient, plain[name], rtol=1e-10, atol=1e-12)
    assert len(calls) == 2  # in the forward pass and again in the backward pass
    assert min(gradient.abs().max() for gradient in plain.values()) > 0


@pytest.mark.parametrize(
    "settings", [{}, {"share_encoder_decoder_embeddings": False}, {"tie_word_embeddings": False}],
    ids=["shared", "target-tied", "untied"],
)  # fmt: skip
@pytest.mark.parametrize("size", [64, 45])
def test_resizing_one_vocabulary_resizes_every_matrix(tiny_model, tmp_path, settings, size):
    model = tiny_model(**settings)
    before = logits_of(model)
    model.resize_token_embeddings(size)
    kept = min(size, 50)
    same(logits_of(model)[..., :kept], before[..., :kept])
    model.save_pretrained(tmp_path)
    loaded = GlossaForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    for instance in (model, loaded):
        assert (instance.config.vocab_size, instance.config.decoder_vocab_size) == (size, size)
        output, target = instance.lm_head, instance.model.decoder.embed_tokens
        assert output.weight.shape == target.weight.shape == instance.get_input_embeddings().weight.shape == (size, 16)
        assert output.out_features == target.num_embeddings == size
        assert (output.weight is target.weight) == instance.config.tie_word_embeddings
        shared = instance.config.tie_word_embeddings and instance.config.share_encoder_decoder_embeddings
        assert (target.weight is instance.get_input_embeddings().weight) == shared
    same(logits_of(loaded), logits_of(model))


def test_resizing_pads_to_a_multiple_and_without_a_size_changes_nothing(tiny_model):
    model = tiny_model()
    assert model.resize_token_embeddings() is model.get_input_embeddings()
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (50, 50)
    model.resize_token_embeddings(51, pad_to_multiple_of=8)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (56, 56)
    assert logits_of(model).shape[-1] == 56


@pytest.mark.parametrize(("around_the_mean", "expected"), [(True, 100), (False, 0)])
def test_new_rows_are_drawn_around_the_mean_of_the_old_ones_or_around_zero(tiny_config, around_the_mean, expected):
    model = build(tiny_config(tie_word_embeddings=False))
    matrices = {name: weight for name, weight in model.named_parameters() if len(weight) == 50}
    with torch.no_grad():
        for matrix in matrices.values():
            matrix.fill_(100.0)
    model.resize_token_embeddings(60, mean_resizing=around_the_mean)
    assert len(matrices) == 3
    for name in matrices:
        new = model.get_parameter(name)[50:]
        assert len(new) == 10 and (new - expected).abs().max() < 10, name


@pytest.mark.parametrize("tied", [True, False])
def test_two_vocabularies_are_resized_separately(tiny_model, tmp_path, tied):
    model = tiny_model(decoder_vocab_size=37, share_encoder_decoder_embeddings=False, tie_word_embeddings=tied)
    before = logits_of(model)
    model.resize_token_embeddings(60, decoder_new_num_tokens=37)
    same(logits_of(model), before)
    model.resize_token_embeddings(60, decoder_new_num_tokens=41)
    same(logits_of(model)[..., :37], before)
    model.save_pretrained(tmp_path)
    loaded = GlossaForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    for instance in (model, loaded):
        assert (instance.config.vocab_size, instance.config.decoder_vocab_size) == (60, 41)
        assert instance.get_input_embeddings().weight.shape == (60, 16)
        assert instance.model.decoder.embed_tokens.weight.shape == instance.lm_head.weight.shape == (41, 16)
        assert (instance.lm_head.weight is instance.model.decoder.embed_tokens.weight) == tied
    same(logits_of(loaded), logits_of(model))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("target", [70, 40])
def test_tokens_are_added_to_two_vocabularies_of_different_sizes(tiny_model, tied, target):
    """As in `resize_token_embeddings(len(tokenizer))` after a tokenizer of two vocabularies has got new tokens."""
    model = tiny_model(decoder_vocab_size=target, share_encoder_decoder_embeddings=False, tie_word_embeddings=tied)
    before = model.model.decoder.embed_tokens.weight.detach().clone()
    model.resize_token_embeddings(53)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (53, target + 3)
    assert model.lm_head.weight.shape[0] == model.model.decoder.embed_tokens.num_embeddings == target + 3
    assert model.model.decoder.embed_tokens.weight[:target].equal(before)
    with pytest.raises(
        ValueError, match=f"cuts the source vocabulary of 53, and the target vocabulary has {target + 3}"
    ):
        model.resize_token_embeddings(51)
    model.resize_token_embeddings(51, decoder_new_num_tokens=target)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (51, target)


def test_a_shared_matrix_refuses_two_sizes(tiny_model):
    model = tiny_model()
    with pytest.raises(ValueError, match=r"37 .* 60"):
        model.resize_token_embeddings(60, decoder_new_num_tokens=37)
    assert logits_of(model).shape[-1] == 50


def test_frozen_matrices_stay_frozen_when_resized(tiny_model):
    model = tiny_model(tie_word_embeddings=False)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model.resize_token_embeddings(60)
    assert not any(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(("tied", "shared"), [(True, True), (True, False), (False, True), (False, False)])
def test_new_input_embeddings_are_those_of_the_target_if_the_two_share(tiny_config, tied, shared):
    model = GlossaModel(tiny_config(tie_word_embeddings=tied, share_encoder_decoder_embeddings=shared))
    old, new = model.decoder.embed_tokens, nn.Embedding(50, 16)
    model.set_input_embeddings(new)
    assert model.get_input_embeddings() is new
    assert model.decoder.embed_tokens is (new if tied and shared else old)
