"""Where the time of a turn goes: seconds of each kind of operator, and their shares."""

import time
from collections.abc import Callable
from typing import TypeVar

from torch.profiler import ProfilerActivity, profile

Measured = TypeVar("Measured")

MATRICES = "matrix multiplication"
REST = "other operators"
OUTSIDE = "Python, outside of operators"
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
    """What `turn` returns, and its seconds in each of `KINDS`, in other operators and in Python.

    The profiler makes every operator some microseconds slower; most of that counts as the last two kinds.
    """
    started = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        result = turn()
        seconds = time.perf_counter() - started
    kinds = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}
    found = dict.fromkeys([*KINDS, REST], 0.0)
    for event in profiler.key_averages():
        if event.key.startswith("aten::"):
            found[kinds.get(event.key, REST)] += event.self_cpu_time_total / 1e6
    found[OUTSIDE] = max(seconds - sum(found.values()), 0.0)
    return result, found


def profile_rows(found: dict[str, float]) -> list[dict[str, str]]:
    """What [`time_by_kind`] found, the longest first, without the kinds that took no time."""
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return [{"time goes to": kind, "share": f"{seconds / total:.1%}"} for kind, seconds in ordered if seconds > 0]
