"""Export to architectures that ship with transformers: the same translations without custom code.

| target | norm | positions | norm on embeddings | final norms |
| --- | --- | --- | --- | --- |
| marian | post | sinusoidal | no | no |
| pegasus | pre | sinusoidal | no | yes |
| bart | post | learned | yes | no |
| mbart | pre | learned | yes | yes |

All four have layer norms with epsilon 1e-5, plain feed-forwards and heads that divide `d_model`. Missing biases become
zeros and grouped key-value heads are repeated, so the exported model computes exactly the same function. None has
latent attention or experts.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedConfig,
    PreTrainedModel,
)

from ...base.errors import GlossaError
from ...base.tokens import target_vocabulary
from ...model.configuration_glossa import GlossaConfig
from ...model.modeling_glossa import GlossaForConditionalGeneration
from ...model.profile_glossa import TextProfile


@dataclass(frozen=True)
class Target:
    """An architecture of transformers, and the settings that a Glossa model must have to be exported to it."""

    config: type[PreTrainedConfig]
    model: type[PreTrainedModel]
    norm_position: str
    position_embedding_type: str
    embedding_norm: bool
    final_norm: bool
    shared_only: bool = True  # needs one embedding matrix for source, target and output


TARGETS = {
    "marian": Target(MarianConfig, MarianMTModel, "post", "sinusoidal", False, False, shared_only=False),
    "pegasus": Target(PegasusConfig, PegasusForConditionalGeneration, "pre", "sinusoidal", False, True),
    "bart": Target(BartConfig, BartForConditionalGeneration, "post", "learned", True, False),
    "mbart": Target(MBartConfig, MBartForConditionalGeneration, "pre", "learned", True, True),
}
LEARNED_OFFSET = 2  # BART and mBART do not use the first two rows of their position tables

COPIED: tuple[str, ...] = (
    "vocab_size",
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
)
COPIED += ("encoder_attention_heads", "decoder_attention_heads", "activation_function", "dropout", "init_std")
COPIED += ("attention_dropout", "activation_dropout", "scale_embedding", "tie_word_embeddings", "use_cache")
COPIED += ("pad_token_id", "eos_token_id", "bos_token_id", "decoder_start_token_id")

RENAMED = (
    (r"_residual\.norm_(before|after)\.", "_layer_norm."),
    (r"feed_forward_layer_norm\.", "final_layer_norm."),
    (r"feed_forward\.up_proj\.", "fc1."),
    (r"feed_forward\.down_proj\.", "fc2."),
    (r"(encoder|decoder)\.final_norm\.", r"\1.layer_norm."),
    (r"embeddings\.norm\.", "layernorm_embedding."),
    (r"embeddings\.embed_positions\.", "embed_positions."),
)


def export_model(model: GlossaForConditionalGeneration, target: str) -> PreTrainedModel:
    """The model converted to the architecture `target`, one of [`TARGETS`].

    Raises `GlossaError` if the conversion would not be exact; the message names every setting that prevents it.
    """
    family, config = TARGETS[target], model.config
    if problems := _problems(config, family):
        raise GlossaError(f"This model cannot be exported to {target}: {'; '.join(problems)}.")
    settings = {name: getattr(config, name) for name in COPIED}
    settings["max_position_embeddings"] = max(config.max_source_positions, config.max_target_positions)
    if not family.shared_only:
        settings["decoder_vocab_size"] = config.decoder_vocab_size
        settings["share_encoder_decoder_embeddings"] = _shares(config)
    exported = family.model(family.config(**(settings | {"forced_eos_token_id": None}))).eval()
    weights = _weights(model, exported)
    parameters = exported.state_dict()
    shared = {"model.shared.weight"}  # two vocabularies share nothing
    if unused := sorted(weights.keys() - parameters.keys() - shared):
        raise GlossaError(f"This model cannot be exported to {target}, which has no place for its weight {unused[0]}.")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if name.endswith("embed_positions.weight") and family.position_embedding_type == "sinusoidal":
                continue  # not a weight: the architecture computes the same table
            offset = LEARNED_OFFSET if name.endswith("embed_positions.weight") else 0
            if name in weights:
                parameter[offset : offset + len(weights[name])].copy_(weights[name])
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                raise GlossaError(f"{target} has a weight {name} that this model cannot fill.")
    exported.generation_config = model.generation_config
    # What translating needs to know.
    exported.config.source_language, exported.config.target_language = config.source_language, config.target_language
    TextProfile.of(config).write(exported.config)
    return exported


def save_tokenizer(tokenizer, folder: Path) -> None:
    """Save a plain fast tokenizer under the class name that every release of transformers has.

    A tokenizer with separate vocabularies keeps its own class.
    """
    tokenizer.save_pretrained(folder)
    if target_vocabulary(tokenizer) is not tokenizer.backend_tokenizer:
        return
    path = folder / "tokenizer_config.json"
    path.write_text(
        re.sub(r'("tokenizer_class": )"\w+"', r'\1"PreTrainedTokenizerFast"', path.read_text(encoding="utf-8")),
        encoding="utf-8",
    )


def unsupported(config: GlossaConfig, **required) -> list[str]:
    """Every setting of `config` that is not as `required`, with its value and the required one."""
    return [
        f"{name} is {getattr(config, name)!r}, it must be {value!r}"
        for name, value in required.items()
        if getattr(config, name) != value
    ]


def _shares(config: GlossaConfig) -> bool:
    return config.tie_word_embeddings and config.share_encoder_decoder_embeddings


def _problems(config: GlossaConfig, family: Target) -> list[str]:
    required = {
        "norm_position": family.norm_position,
        "position_embedding_type": family.position_embedding_type,
        "embedding_norm": family.embedding_norm,
        "final_norm": family.final_norm,
        "norm_type": "layer",
        "norm_eps": nn.LayerNorm(1).eps,
        "gated_feed_forward": False,
        "kv_lora_rank": None,
        "num_local_experts": None,
        "rotary_cross_attention": False,
    }
    problems = unsupported(config, **required)
    for heads in ("encoder_attention_heads", "decoder_attention_heads"):
        if config.head_dim is not None and config.head_dim * getattr(config, heads) != config.d_model:
            problems.append(f"head_dim is {config.head_dim}, it must be d_model divided by {heads}")
    if family.shared_only and not _shares(config):
        problems.append("tie_word_embeddings and share_encoder_decoder_embeddings must both be True")
    return problems


def _weights(model: GlossaForConditionalGeneration, exported: PreTrainedModel) -> dict[str, torch.Tensor]:
    """The model's weights under their new names, with key-value heads repeated to match the query heads."""
    repeats = {
        f"{name}.{side}": module.num_key_value_groups
        for name, module in model.named_modules()
        if hasattr(module, "num_key_value_groups")
        for side in ("k_proj", "v_proj")
    }
    weights = {}
    for name, weight in model.state_dict().items():
        module = name.rpartition(".")[0]
        if repeats.get(module, 1) > 1:
            attention: Any = model.get_submodule(module.rpartition(".")[0])
            heads = weight.unflatten(0, (-1, attention.head_dim))  # [G, E, D] or [G, E]
            weight = heads.repeat_interleave(repeats[module], dim=0).flatten(0, 1)
        for pattern, replacement in RENAMED:
            name = re.sub(pattern, replacement, name)
        weights[name] = weight
    weights["model.shared.weight"] = weights["model.decoder.embed_tokens.weight"]
    return weights
