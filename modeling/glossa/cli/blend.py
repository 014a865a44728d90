"""Blend a tuned model with the model that it was tuned from: `glossa blend START TUNED --share 0.6 --output FOLDER`.

Tuning on few texts gains there and loses elsewhere. A blend keeps most of the gain and avoids most of the loss
(Wortsman et al. 2022). Each weight becomes START + share * (TUNED - START), so 0 is START and 1 is TUNED. TUNED may be
a folder of PEFT's with a LoRA adapter of START; the share is then its scale. Both models must have the same family,
architecture and vocabulary. `glossa train --init_from START --watch general.tsv` finds the best share itself.
"""

from dataclasses import dataclass
from pathlib import Path

from ..translate.loading import check_name
from . import share
from .options import argument, option, read


@dataclass(frozen=True)
class BlendOptions:
    """The options of `glossa blend`."""

    start: str = argument("folder or Hub name of the model that was tuned", metavar="START")
    tuned: str = argument("folder or Hub name of the tuned model, or folder of its LoRA adapter", metavar="TUNED")
    share: float = option("share of the tuned weights, from 0 to 1", required=True, type=share)
    output: Path = option("folder to write", required=True, metavar="FOLDER")


def parse(argv: list[str]) -> BlendOptions:
    return read(BlendOptions, "blend", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_name(arguments.start)
    from ..train.blending import blend_folders

    blend_folders(arguments.start, arguments.tuned, arguments.share, arguments.output)
    print(f"{arguments.output} has {arguments.share:.0%} of {arguments.tuned} and the rest of {arguments.start}.")
