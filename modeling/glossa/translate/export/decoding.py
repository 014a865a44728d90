"""The settings of generation_config.json that ask for something of a search."""

from collections.abc import Set

from transformers import GenerationConfig

IGNORED = {"bos_token_id", "pad_token_id", "max_new_tokens", "max_length", "use_cache", "output_attentions"}
IGNORED |= {"output_hidden_states", "output_scores", "return_dict_in_generate", "transformers_version"}
IGNORED |= {"_from_model_config"}
# Of an assistant model, which nobody has here.
IGNORED |= {"assistant_confidence_threshold", "assistant_lookbehind", "num_assistant_tokens"}
IGNORED |= {"num_assistant_tokens_schedule", "target_lookbehind"}
SAMPLING = {"temperature", "top_k", "top_p", "typical_p", "epsilon_cutoff", "eta_cutoff"}
# Values that ask for nothing. The Trainer writes them when it evaluates with `generate`.
NEUTRAL = {
    "do_sample": False, "diversity_penalty": 0.0, "encoder_no_repeat_ngram_size": 0, "encoder_repetition_penalty": 1.0,
    "min_length": 0, "no_repeat_ngram_size": 0, "num_beam_groups": 1, "num_return_sequences": 1,
    "remove_invalid_values": False, "repetition_penalty": 1.0,
}  # fmt: skip


def not_supported(decoding: GenerationConfig, supported: Set[str]) -> list[str]:
    """What is wrong with each setting that asks for something and is not `supported`."""
    settings = decoding.to_diff_dict()
    asked = {name for name, value in settings.items() if name not in NEUTRAL or NEUTRAL[name] != value}
    if not settings.get("do_sample"):
        asked -= SAMPLING
    return [
        f"{name} in generation_config.json is {settings[name]!r}, it must not be set"
        for name in sorted(asked - supported - IGNORED)
    ]
