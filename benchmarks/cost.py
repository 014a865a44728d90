"""A model, not a measurement: time and price of the training runs of Vaswani et al. 2017 on other GPUs.

Operations and gradients are counted from Glossa's models of these sizes, speeds are options. A step takes

    compute        operations of the step / (GPUs x peak x utilization)
  + all-reduce     bytes per GPU / slowest link, less the part that runs during the backward pass

Each GPU sends 2 (n - 1) / n x the bytes of the gradients (ring all-reduce). The gradients of the layers can travel
during the backward pass, which is two thirds of the compute time. Those of the shared embedding matrix are complete
only at its end. Latency, evaluation, checkpoints and reading data are left out.
"""

import argparse
from dataclasses import dataclass

import torch

from glossa.configuration_glossa import PUBLISHED_2017, GlossaConfig
from glossa.errors import GlossaError
from glossa.modeling_glossa import GlossaForConditionalGeneration

from .sizes import forward_flops
from .timing import table

BACKWARD = 2 / 3  # of the operations of a step
PAPER_GPUS, PAPER_PEAK = 8, 9.5  # P100, TFLOPS in single precision: sections 5.2 and 6.1
PAPER_TOKENS = 25_000  # of a step on each side: section 5.1
MACHINES = ((1, 1), (1, 8), (4, 8))  # number, and GPUs of each


@dataclass(frozen=True)
class Published:
    """A run of the paper: its model (table 3), and what it says of its training (section 5.2, table 2)."""

    d_model: int
    ffn: int
    heads: int
    parameters: float
    steps: int
    step_seconds: float
    hours: float
    operations: float  # hours x GPUs x peak, as section 6.1 estimates them

    def config(self) -> GlossaConfig:
        """Glossa's model of this size, with the 37,000 tokens of section 5.1."""
        return GlossaConfig(
            **PUBLISHED_2017,
            vocab_size=37_000,
            d_model=self.d_model,
            encoder_layers=6,
            decoder_layers=6,
            encoder_attention_heads=self.heads,
            decoder_attention_heads=self.heads,
            encoder_ffn_dim=self.ffn,
            decoder_ffn_dim=self.ffn,
        )


PAPER = {
    "base": Published(512, 2048, 8, 65e6, 100_000, 0.4, 12, 3.3e18),
    "big": Published(1024, 4096, 16, 213e6, 300_000, 1.0, 3.5 * 24, 2.3e19),
}


@dataclass(frozen=True)
class Step:
    """A step of training: seconds of compute and of the all-reduce, and of the part of it that does not overlap."""

    compute: float
    all_reduce: float
    waiting: float

    @property
    def seconds(self) -> float:
        return self.compute + self.waiting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options = (
        ("peak", 989.0, "TFLOPS of a GPU; default: 989, bf16 without sparsity, H100 SXM data sheet"),
        ("utilization", 0.3, "of the peak while computing; default: 0.3, about what 12 hours of the base model on 8 "
         "P100 mean. A GPU with few tokens a step reaches less"),
        ("inside", 450.0, "GB/s that a GPU sends to another one of its machine; default: 450, NVLink in the H100 SXM "
         "data sheet (900 in both directions)"),
        ("between", 50.0, "GB/s between two machines; default: 50, one port of 400 Gbit/s"),
        ("gradient_bytes", 4.0, "of a gradient; default: 4, float32, in which they are summed also with bf16: true"),
        ("overlap", 1.0, "part of the backward pass in which gradients of layers can travel; default: 1 (Li et al. "
         "2020, section 3.2.3); 0: none"),
        ("tokens", PAPER_TOKENS, "of a step on each side; default: 25000, section 5.1 of the paper"),
        ("length", 25, "tokens of a sentence on each side, for attention; default: 25. 50 adds less than 1%% of "
         "operations"),
        ("price", 3.0, "US dollars for an hour of one GPU; default: 3, a round figure within the list prices of H100 "
         "in clouds in 2026 (2.5 to 4). Give yours"),
    )  # fmt: skip
    for name, default, meaning in options:
        parser.add_argument(f"--{name}", type=type(default), default=default, metavar="N", help=meaning)


def run(arguments: argparse.Namespace) -> None:
    for name, value in _assumed(arguments):
        if value < 0 or (value == 0 and name not in ("overlap", "price")) or (name == "overlap" and value > 1):
            allowed = "between 0 and 1" if name == "overlap" else "above 0"
            raise GlossaError(f"--{name} is {value}; it must be {allowed}.")
    print(table([row for name in PAPER for row in rows(name, arguments)]))
    print("\nA model, not a measurement. " + ", ".join(f"{name} {value}" for name, value in _assumed(arguments)))
    for name, paper in PAPER.items():
        operations = step_operations(paper.config(), PAPER_TOKENS, arguments.length) * paper.steps
        share = operations / (paper.hours * 3600 * PAPER_GPUS * PAPER_PEAK * 1e12)
        print(f"{name}: the paper's {paper.hours:g} hours on 8 P100 mean a utilization of {share:.0%}.")


def _assumed(arguments: argparse.Namespace) -> list[tuple[str, float]]:
    return [(name, value) for name, value in vars(arguments).items() if name != "command"]


def step_operations(config: GlossaConfig, tokens: int, length: int) -> float:
    """Floating-point operations of a step, forward and backward, on `tokens` of each side."""
    return 3 * forward_flops(config, 1, length, length) * tokens / length


def count_parameters(config: GlossaConfig) -> tuple[int, int]:
    """Parameters of the model, and how many of them are its shared embedding matrix."""
    with torch.device("meta"):
        model = GlossaForConditionalGeneration(config)
    return model.num_parameters(), model.get_input_embeddings().weight.numel()


def all_reduce_bytes(gradients: float, processes: int) -> float:
    """What each process sends, and receives, in a ring all-reduce of `gradients` bytes.

    A ring sums the n parts of the gradients in n - 1 rounds and hands the sums around in n - 1 more.
    """
    return 2 * (processes - 1) / processes * gradients


def estimate(
    operations: float, parameters: tuple[int, int], machines: int, gpus: int, arguments: argparse.Namespace
) -> Step:
    """A step of `operations` on `machines` of `gpus` each; `parameters` as of [`count_parameters`]."""
    processes = machines * gpus
    link = arguments.inside if machines == 1 else min(arguments.inside, arguments.between)
    seconds = [
        all_reduce_bytes(count * arguments.gradient_bytes, processes) / (link * 1e9)
        for count in (parameters[0] - parameters[1], parameters[1])
    ]
    compute = operations / (processes * arguments.peak * 1e12 * arguments.utilization)
    exposed = max(seconds[0] - arguments.overlap * BACKWARD * compute, 0.0)
    return Step(compute, sum(seconds), exposed + seconds[1])


def rows(name: str, arguments: argparse.Namespace) -> list[dict[str, str]]:
    """The paper's run of the model `name`, and the model of it on [`MACHINES`]."""
    paper = PAPER[name]
    config = paper.config()
    operations, parameters = step_operations(config, arguments.tokens, arguments.length), count_parameters(config)
    result = [
        {
            "run": f"{name}, paper: 8 P100",
            "parameters": f"{paper.parameters / 1e6:.0f}M",
            "operations": f"{paper.operations:.1e}",
            "compute": "",
            "all-reduce": "",
            "a GPU sends": "",
            "step": f"{paper.step_seconds * 1000:.0f} ms",
            "target tokens/s": f"{PAPER_TOKENS / paper.step_seconds:,.0f}",
            "hours": f"{paper.hours:.2f}",
            "price": "",
        }
    ]
    for machines, gpus in MACHINES:
        step = estimate(operations, parameters, machines, gpus, arguments)
        hours = paper.steps * step.seconds / 3600
        sent = all_reduce_bytes(parameters[0] * arguments.gradient_bytes, machines * gpus)
        result.append(
            {
                "run": f"{name}, {machines * gpus} GPU{'s' * (gpus > 1)}"
                + (f" on {machines} machines" if machines > 1 else ""),
                "parameters": f"{parameters[0] / 1e6:.0f}M",
                "operations": f"{operations * paper.steps:.1e}",
                "compute": f"{step.compute * 1000:.1f} ms",
                "all-reduce": f"{step.all_reduce * 1000:.1f} ms",
                "a GPU sends": f"{sent / 1e6:,.0f} MB",
                "step": f"{step.seconds * 1000:.1f} ms",
                "target tokens/s": f"{arguments.tokens / step.seconds:,.0f}",
                "hours": f"{hours:.2f}",
                "price": f"${hours * machines * gpus * arguments.price:,.0f}",
            }
        )
    return result
