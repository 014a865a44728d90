"""Where the time of a measured turn goes: operators by kind, in shares of the whole."""

import time
from collections.abc import Callable
from typing import TypeVar

from torch.profiler import ProfilerActivity, profile

Measured = TypeVar("Measured")

MATRICES = "matrix multiplication"
REST = "other operators"
OUTSIDE = "Python, and what no operator counts"
KINDS = {
    MATRICES: ("mm", "addmm", "addmm_", "bmm", "baddbmm"),
    "attention in one operator": ("_scaled_dot_product_flash_attention_for_cpu",),
    "softmax, exponentials, sums": ("_softmax", "_log_softmax", "_softmax_backward_data", "exp_", "sum", "sub_"),
    "copies, zeros, gathering": ("copy_", "fill_", "zero_", "cat", "index_select", "gather", "index"),
    "random numbers": ("random_", "bernoulli_"),
    "norms": ("native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward"),
    "additions, products, activations": (
        "add", "add_", "mul", "mul_", "div", "div_", "ge", "clamp_min", "threshold_backward", "silu", "silu_backward",
    ),
    "optimizer, clipping": ("_fused_adamw_", "linalg_vector_norm", "_foreach_norm", "_foreach_mul_"),
    "search": ("topk", "argmax", "where", "sort", "isin"),
}  # fmt: skip


def time_by_kind(turn: Callable[[], Measured]) -> tuple[Measured, dict[str, float]]:
    """What `turn` returns, and the seconds of each of `KINDS` in it, with what is left; they add up to its time.

    Being watched makes every operator some microseconds slower, which goes to the last two kinds most of all.
    """
    started = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        result = turn()
        seconds = time.perf_counter() - started
    kinds = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}
    found = dict.fromkeys([*KINDS, REST], 0.0)
    for event in watched.key_averages():
        if event.key.startswith("aten::"):
            found[kinds.get(event.key, REST)] += event.self_cpu_time_total / 1e6
    found[OUTSIDE] = max(seconds - sum(found.values()), 0.0)
    return result, found


def profile_rows(found: dict[str, float]) -> list[dict[str, str]]:
    """What [`time_by_kind`] found, the longest first, those that took nothing left out."""
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return [{"time goes to": kind, "share": f"{seconds / total:.1%}"} for kind, seconds in ordered if seconds > 0]
