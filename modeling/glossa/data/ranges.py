"""The range of every setting that is a number, for recipes, flags and Python alike. This module imports no library."""

import math
from collections.abc import Iterable
from typing import Any

from ..errors import GlossaError

# In mathematical notation: [0, 1) is from 0 up to, and without, 1.
_NAMES = {
    "[1, inf)": (
        "max_train_samples max_validation_samples max_test_samples max_characters max_character_ratio "
        "max_length_ratio sampling_temperature min_frequency num_beams max_new_tokens "
        "per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps torch_empty_cache_steps "
        "eval_accumulation_steps save_total_limit dataloader_prefetch_factor ddp_bucket_cap_mb ddp_timeout "
        "generation_max_length generation_num_beams batch_tokens early_stopping_patience cpu_threads "
        "cpu_processes"
    ),
    # Sizes of matrices: the product of two must be a number that torch takes.
    "[1, 16777216]": (
        "vocab_size target_vocab_size d_model encoder_attention_heads decoder_attention_heads num_key_value_heads "
        "head_dim kv_lora_rank q_lora_rank qk_rope_head_dim encoder_ffn_dim decoder_ffn_dim num_experts_per_tok "
        "max_source_positions max_target_positions"
    ),
    "[1, 1000]": "encoder_layers decoder_layers",
    "[2, inf)": "max_length",
    "[2, 1000]": "num_local_experts",
    "[0, inf)": (
        "validation_size test_size num_shared_experts router_aux_loss_coef learning_rate warmup_steps weight_decay "
        "adam_epsilon max_grad_norm neftune_noise_alpha eval_delay dataloader_num_workers average_checkpoints "
        "eval_samples lora_rank"
    ),
    "(0, inf)": (
        "rotary_base norm_eps init_std num_train_epochs muon_learning_rate learning_rate_factor "
        "logging_steps eval_steps save_steps hours"
    ),
    "[0, 1]": "max_punctuation placeholder_augmentation",
    "[0, 1)": ("dropout attention_dropout activation_dropout adam_beta1 adam_beta2 label_smoothing_factor"),
    "[-1, inf)": "max_steps local_rank",
    "[0, 4294967295]": "split_seed seed data_seed",  # what NumPy takes
    "(-inf, inf)": "length_penalty",
}
RANGES = {name: interval for interval, names in _NAMES.items() for name in names.split()}


def range_problem(name: str, value: float) -> str | None:
    """What is wrong with `value` of the setting `name`, such as "it must be above 0"; None if it is allowed."""
    interval = RANGES[name]
    low, high = (float(bound) for bound in interval[1:-1].split(","))
    above = value > low or (interval[0] == "[" and value == low)
    below = value < high or (interval[-1] == "]" and value == high)
    if math.isfinite(value) and above and below:
        return None
    bounds = [f"{'at least' if interval[0] == '[' else 'above'} {low:g}"] if low > -math.inf else []
    bounds += [f"{'at most' if interval[-1] == ']' else 'below'} {high:.15g}"] if high < math.inf else []
    return f"it must be {' and '.join(bounds) or 'a finite number'}"


def check_ranges(settings: Any, names: Iterable[str]) -> None:
    """Raise `GlossaError` if an attribute of `settings` among `names` is a number beyond its range, or is none."""
    for name in names:
        value = getattr(settings, name)
        if name not in RANGES or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise GlossaError(f"{name} is {value!r}; give a number (in YAML 0.01, not 1e-2, which is text).")
        if problem := range_problem(name, value):
            raise GlossaError(f"{name} is {value}; {problem}.")
