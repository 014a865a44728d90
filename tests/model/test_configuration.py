import json
import logging
import re

import pytest
import torch
from transformers import AutoConfig

from glossa import GlossaConfig, GlossaForConditionalGeneration

# Every field differs from its default, so that a lost field is noticed.
UNUSUAL = {
    "text_profile": {"trained_length": 31, "abbreviations": ["geg"], "confidence": {"score": 0.5}},
    "source_language": "de", "target_language": "pt_BR", "vocab_size": 90,
    "decoder_vocab_size": 70, "d_model": 24, "encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 6,
    "decoder_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 10, "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 56, "activation_function": "gelu", "gated_feed_forward": False, "num_local_experts": 5,
    "num_experts_per_tok": 1, "num_shared_experts": 2, "router_aux_loss_coef": 0.3,
    "position_embedding_type": "learned", "rotary_base": 500.5, "max_source_positions": 33, "max_target_positions": 44,
    "dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.15, "norm_type": "layer",
    "norm_position": "post", "norm_eps": 1e-5, "final_norm": False, "embedding_norm": True,
    "query_key_value_bias": True, "attention_output_bias": True, "feed_forward_bias": True, "scale_embedding": False,
    "tie_word_embeddings": False, "share_encoder_decoder_embeddings": False, "initialization": "normal",
    "init_std": 0.03, "label_smoothing_type": "exclude_padding", "use_cache": False,
    "pad_token_id": 4, "eos_token_id": 5, "bos_token_id": 6, "decoder_start_token_id": 7,
}  # fmt: skip
# The fields that do not go with those.
ROTARY = {
    "rotary_cross_attention": True, "kv_lora_rank": 12, "q_lora_rank": 20, "qk_rope_head_dim": 6,
    "num_key_value_heads": 4,
}  # fmt: skip
LATENT = {"num_key_value_heads": None, "kv_lora_rank": 8}
UNUSUAL |= {"alignment_layer": 0}
LEARNED = {"position_embedding_type": "learned"}
SMALL = {"vocab_size": 100, "decoder_vocab_size": 60, "d_model": 8, "share_encoder_decoder_embeddings": False}


def test_unusual_covers_every_field():
    inherited = {"is_encoder_decoder", *GlossaConfig.__mro__[1]().to_dict()}
    own = set(GlossaConfig.__annotations__) - inherited
    assert own - set(UNUSUAL) - set(ROTARY) == set()
    assert all(getattr(GlossaConfig(), field) != value for field, value in [*UNUSUAL.items(), *ROTARY.items()])


@pytest.mark.parametrize("settings", [{}, UNUSUAL, ROTARY], ids=["default", "unusual", "rotary"])
def test_json_round_trip_is_exact(settings, tmp_path):
    config = GlossaConfig(**settings)
    config.save_pretrained(tmp_path)
    loaded = GlossaConfig.from_pretrained(tmp_path)
    assert loaded.to_json_string(use_diff=False) == config.to_json_string(use_diff=False)
    saved = json.loads((tmp_path / "config.json").read_text())
    for field, value in settings.items():
        assert saved[field] == value and getattr(loaded, field) == value


def test_decoder_vocab_size_defaults_to_vocab_size():
    assert GlossaConfig().decoder_vocab_size == 8000
    assert GlossaConfig(vocab_size=300).decoder_vocab_size == 300
    assert GlossaConfig(**SMALL).decoder_vocab_size == 60
    assert GlossaConfig(vocab_size=90, decoder_vocab_size=60, tie_word_embeddings=False).decoder_vocab_size == 60


def saved(folder, **settings):
    """A folder with the default configuration and these settings."""
    (folder / "config.json").write_text(json.dumps({"model_type": "glossa"} | settings))
    return folder


@pytest.mark.parametrize(("heads", "expected"), [(1, 1), (None, 4)])
def test_a_folder_with_the_old_name_of_the_heads_loads(tmp_path, heads, expected):
    loaded = GlossaConfig.from_pretrained(saved(tmp_path, key_value_heads=heads))
    assert loaded.num_key_value_heads == loaded.key_value_heads == expected
    assert GlossaConfig.from_pretrained(tmp_path, num_key_value_heads=2).num_key_value_heads == 2
    loaded.save_pretrained(tmp_path / "new")
    settings = json.loads((tmp_path / "new" / "config.json").read_text())
    assert settings["num_key_value_heads"] == expected and "key_value_heads" not in settings


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"key_value_heads": 3}, r"num_key_value_heads is 3; it must divide encoder_attention_heads \(4\)"),
        ({"num_key_value_heads": 3}, r"num_key_value_heads is 3; it must divide encoder_attention_heads \(4\)"),
        ({"vocab_size": 50}, "decoder_vocab_size is 8000 and vocab_size 50"),
        (
            {"num_attention_heads": 6, "head_dim": None},
            r"encoder_attention_heads is 6; it must divide d_model \(256\)",
        ),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("auto", [AutoConfig, GlossaConfig])
def test_a_setting_given_while_loading_is_checked(tmp_path, auto, override, message):
    GlossaConfig().save_pretrained(tmp_path)
    with pytest.raises(Exception, match="validate_architecture") as refusal:
        auto.from_pretrained(tmp_path, **override)
    assert re.search(message, str(refusal.value.__cause__))
    config, rest = auto.from_pretrained(tmp_path, dropout=0.3, foo=1, return_unused_kwargs=True)
    assert config.dropout == 0.3 and rest == {"foo": 1}


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({}, (2, 64)), ({"num_key_value_heads": None}, (4, 64)),
        ({"head_dim": 6, "encoder_attention_heads": 2}, (2, 6)),
        ({"decoder_attention_heads": 2, "num_key_value_heads": None}, (2, 128)),
        ({"decoder_attention_heads": 8, "num_key_value_heads": 1}, (1, 32)),
    ],
    ids=str,
)  # fmt: skip
def test_the_configuration_has_the_shape_of_the_cache(settings, shape, tmp_path):
    config = GlossaConfig(vocab_size=20, encoder_layers=1, decoder_layers=1, **settings)
    config.save_pretrained(tmp_path)
    config = GlossaConfig.from_pretrained(tmp_path)
    if config.encoder_attention_heads == config.decoder_attention_heads:
        assert (config.num_key_value_heads, config.head_dim) == shape
    side = config.get_text_config(decoder=True)  # as transformers reads it
    heads = side.num_key_value_heads or side.num_attention_heads
    assert (heads, side.head_dim or side.hidden_size // side.num_attention_heads) == shape
    outputs = GlossaForConditionalGeneration(config)(torch.tensor([[5, 1]]), decoder_input_ids=torch.tensor([[2, 6]]))
    for cache in (outputs.past_key_values.self_attention_cache, outputs.past_key_values.cross_attention_cache):
        assert cache.layers[0].keys.shape == (1, shape[0], 2, shape[1])


def test_common_names_of_transformers_map_to_fields():
    config = GlossaConfig(hidden_size=32, num_hidden_layers=5, num_attention_heads=8)
    assert (config.d_model, config.encoder_layers, config.encoder_attention_heads) == (32, 5, 8)
    config = GlossaConfig(d_model=40, encoder_layers=7, encoder_attention_heads=2)
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (40, 7, 2)
    assert "hidden_size" not in config.to_dict()


POSITIVE = (
    "vocab_size", "decoder_vocab_size", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim",
    "max_source_positions", "max_target_positions", "encoder_attention_heads", "decoder_attention_heads",
)  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "field", "value", "allowed"),
    [
        *(({field: 0}, field, "0", "at least 1") for field in POSITIVE),
        ({"decoder_vocab_size": -4}, "decoder_vocab_size", "-4", "at least 1"),
        ({"d_model": -8}, "d_model", "-8", "at least 1"),
        ({"num_key_value_heads": 0}, "num_key_value_heads", "0", "at least 1, or None"),
        ({"head_dim": -2}, "head_dim", "-2", "at least 1, or None"),
        ({"dropout": 1.0}, "dropout", "1.0", "at least 0 and below 1"),
        ({"attention_dropout": -0.1}, "attention_dropout", "-0.1", "at least 0 and below 1"),
        ({"activation_dropout": 2}, "activation_dropout", "2", "at least 0 and below 1"),
        ({"encoder_attention_heads": 6}, "encoder_attention_heads", "6", "divide d_model (256)"),
        ({"decoder_attention_heads": 6}, "decoder_attention_heads", "6", "divide d_model (256)"),
        ({"num_key_value_heads": 3}, "num_key_value_heads", "3", "divide encoder_attention_heads (4)"),
        ({"decoder_attention_heads": 1}, "num_key_value_heads", "2", "divide decoder_attention_heads (1)"),
        ({"activation_function": "sliu"}, "activation_function", "'sliu'", "silu"),
        ({"d_model": 36, "head_dim": 9}, "head size", "9", "even"),
        ({"d_model": 12, "decoder_attention_heads": 4}, "decoder_attention_heads 4", "3", "even"),
        ({"position_embedding_type": "sinusoidal", "d_model": 9, "head_dim": 4}, "d_model", "9", "even"),
        ({"decoder_vocab_size": 60}, "decoder_vocab_size", "60", "share_encoder_decoder_embeddings to False"),
        ({"position_embedding_type": "alibi"}, "position_embedding_type", "alibi", "'rotary'"),
        ({"norm_type": "batch"}, "norm_type", "batch", "'layer'"),
        ({"norm_position": "sandwich"}, "norm_position", "sandwich", "'post'"),
        ({"initialization": "he"}, "initialization", "got he", "'normal'"),
        ({"label_smoothing_type": "unigram"}, "label_smoothing_type", "unigram", "'exclude_padding'"),
        ({"d_model": "256"}, "d_model", "256", "int"),
        ({"kv_lora_rank": 0}, "kv_lora_rank", "0", "at least 1, or None"),
        ({"kv_lora_rank": 8}, "num_key_value_heads", "2", "to the number of heads"),
        (LATENT | {"q_lora_rank": -1}, "q_lora_rank", "-1", "at least 1, or None"),
        (LATENT | {"qk_rope_head_dim": 7}, "qk_rope_head_dim", "7", "even"),
        (LATENT | {"head_dim": 6}, "head size", "6", "Give qk_rope_head_dim"),
        (LATENT | LEARNED | {"qk_rope_head_dim": 8}, "qk_rope_head_dim", "8", "None without rotary positions"),
        (LATENT | {"num_key_value_heads": 4, "decoder_attention_heads": 8}, "decoder_attention_heads", "8", "to None"),
        ({"q_lora_rank": 8}, "q_lora_rank", "8", "Set kv_lora_rank too"),
        ({"qk_rope_head_dim": 8}, "qk_rope_head_dim", "8", "Set kv_lora_rank too"),
        (LEARNED | {"rotary_cross_attention": True}, "position_embedding_type", "'learned'", "'rotary'"),
        ({"num_local_experts": 1}, "num_local_experts", "1", "at least 2, or None"),
        ({"num_local_experts": 4, "num_experts_per_tok": 5}, "num_experts_per_tok", "5", "at most num_local_experts"),
        ({"num_local_experts": 4, "num_experts_per_tok": 0}, "num_experts_per_tok", "0", "at least 1"),
        ({"num_shared_experts": 1}, "num_shared_experts", "1", "Set num_local_experts too"),
        ({"num_shared_experts": -1}, "num_shared_experts", "-1", "at least 0"),
        ({"router_aux_loss_coef": -0.1}, "router_aux_loss_coef", "-0.1", "at least 0"),
        ({"pad_token_id": 8000}, "pad_token_id", "8000", "below the number of embeddings (8000"),
        (SMALL | {"pad_token_id": 60}, "pad_token_id", "60", "below the number of embeddings (60"),
        (SMALL | {"eos_token_id": [1, 77]}, "eos_token_id", "77", "below the number of embeddings (60"),
        (SMALL | {"decoder_start_token_id": 60}, "decoder_start_token_id", "60", "(60"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_an_invalid_setting_raises_with_field_value_and_what_is_allowed(settings, field, value, allowed):
    if settings.get("d_model") == 12:
        settings = settings | {"encoder_attention_heads": 2}
    with pytest.raises(Exception) as refusal:
        GlossaConfig(**settings)
    message = f"{refusal.value} {refusal.value.__cause__}"
    for part in (field, value, allowed):
        assert part in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads is 3; it must divide"),
        ({"vocab_size": 2}, "decoder_start_token_id is 2; it must be below the number of embeddings"),
        ({"eos_token_id": 9000}, "eos_token_id is 9000; it must be below the number of embeddings"),
        ({"pad_token_id": 8000}, "pad_token_id is 8000; it must be below the number of embeddings"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_fields_that_are_set_later_are_checked_when_a_model_is_built(changes, message):
    config = GlossaConfig()
    for field, value in changes.items():
        setattr(config, field, value)
    with torch.device("meta"), pytest.raises(ValueError, match=message):
        GlossaForConditionalGeneration(config)


def test_a_new_size_of_shared_embeddings_is_that_of_both(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    config = GlossaConfig()
    config.vocab_size = 50
    with torch.device("meta"):
        model = GlossaForConditionalGeneration(config)
    assert model.lm_head.out_features == config.decoder_vocab_size == 50
    assert model.get_input_embeddings().num_embeddings == 50
    assert "decoder_vocab_size was 8000 and vocab_size 50; shared embeddings have one size" in caplog.text


def test_ids_are_checked_when_a_saved_model_is_loaded_with_fewer_rows(tmp_path):
    config = GlossaConfig(**SMALL | {"eos_token_id": 55, "encoder_layers": 1, "decoder_layers": 1})
    GlossaForConditionalGeneration(config).save_pretrained(tmp_path)
    with pytest.raises(Exception, match="validate_architecture") as refusal:
        GlossaForConditionalGeneration.from_pretrained(tmp_path, decoder_vocab_size=50)
    assert "eos_token_id is 55; it must be below the number of embeddings (50" in str(refusal.value.__cause__)
