"""The cost of the defects of a published tutorial system: `python -m benchmarks defects --output_dir FOLDER`.

Trains `configuration/anki-en-fr-modern.yaml` twice, for the same number of steps and on the same split: unchanged, and
with the published defects, which this benchmark patches into the model's classes. Prints the scores of both on the
held-out test pairs. Takes every setting of `glossa train`; the package contains none of the defects.
"""

import argparse
from pathlib import Path

import torch
from torch import nn

from glossa import layers_glossa, modeling_glossa
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.run import train

RECIPE = Path(__file__).parents[1] / "configuration/anki-en-fr-modern.yaml"
# Keys and values of full width, so no grouped-query attention; and no final norm.
DEFECTIVE_SETTINGS = ["--num_key_value_heads", "8", "--final_norm", "false"]


def rotate_by_head(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The rotation of [B, heads, L, E] by the number of the head instead of the position."""
    heads = torch.arange(states.shape[1], device=states.device)
    cos, sin = layers_glossa.sinusoids(heads, states.shape[-1], 10000.0, states.dtype)  # [heads, E/2] each
    first, second = states.chunk(2, dim=-1)
    cos, sin = cos[None, :, None], sin[None, :, None]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class DoubledResidual(layers_glossa.GlossaResidual):
    """The residual of cross-attention, added twice."""

    def forward(self, hidden_states: torch.Tensor, sublayer_output: torch.Tensor) -> torch.Tensor:
        return hidden_states + super().forward(hidden_states, sublayer_output)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--setting value ...]"
    parser.set_defaults(settings=[])


def add_defects() -> None:
    """Patch the published defects into the classes of this process."""
    layers_glossa.rotate = rotate_by_head
    attention, layer, decoder = (
        layers_glossa.GlossaAttention,
        modeling_glossa.GlossaDecoderLayer,
        modeling_glossa.GlossaDecoder,
    )
    # Dropout stays on in decoding: attention ignores `eval()`.
    attention.train = lambda self, mode=True: nn.Module.train(self, True)  # type: ignore[method-assign]
    build, decode = layer.__init__, decoder.forward

    def build_layer(self, config, layer_idx):
        build(self, config, layer_idx)
        self.encoder_attn_residual = DoubledResidual(config)

    def decode_without_mask(self, *args, encoder_attention_mask=None, **kwargs):
        return decode(self, *args, encoder_attention_mask=None, **kwargs)  # so it attends to the source's padding

    layer.__init__, decoder.forward = build_layer, decode_without_mask  # type: ignore[method-assign]


def run(arguments: argparse.Namespace) -> None:
    folder = Path(parse_settings([str(RECIPE), *arguments.settings]).training.output_dir)
    scores = {}
    for name, settings in (("correct", []), ("defective", DEFECTIVE_SETTINGS)):
        if name == "defective":
            add_defects()
        output_dir = ["--output_dir", str(folder / name)]
        train(parse_settings([str(RECIPE), "--bf16", "false", *arguments.settings, *settings, *output_dir]))
        scores[name] = RunFolder(folder / name).metrics
    print("| system | parameters | steps | minutes | test BLEU | chrF++ |\n| --- | --- | --- | --- | --- | --- |")
    for name, metrics in scores.items():
        found = metrics["test"]["greedy"]["scores"]["single"]
        print(
            f"| {name} | {metrics['parameters']:,} | {metrics['steps']:,} | {metrics['training_seconds'] / 60:.0f} "
            f"| {found['bleu']['score']:.2f} | {found['chrf']['score']:.2f} |"
        )
