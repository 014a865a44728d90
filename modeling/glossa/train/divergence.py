"""Guard against steps with a non-finite loss or gradients: skips them, or stops a diverged run."""

import logging
import math
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from ..base.errors import GlossaError
from ..base.run_folder import RunFolder

logger = logging.getLogger(__name__)

MOST_SKIPPED = 3  # consecutive steps without finite gradients that stop a run
SHOWN_ROWS = 3


class StepGuard:
    """Skips steps without finite gradients. Stops a run after three in a row, or after a non-finite fp16 or bf16 loss.

    Args:
        args: The settings of the training.
        tokenizer: Decodes the texts of a skipped step for the log.
        scaler: The gradient scaler of fp16, which itself skips steps with too large gradients; otherwise None.
    """

    def __init__(self, args: Any, tokenizer: PreTrainedTokenizerBase, scaler: Any):
        self.args, self.tokenizer, self.scaler = args, tokenizer, scaler
        self.losses: list[torch.Tensor] = []  # of the batches of the current step, on their device
        self.skipped_in_a_row = 0

    def check(self, model: torch.nn.Module, norm: float, step: int, batches: list[dict[str, torch.Tensor]]) -> None:
        """Remove the gradients of `model` if their `norm` is not finite.

        Raises `GlossaError` if the run cannot continue.
        """
        losses, self.losses = self.losses, []
        if math.isfinite(norm):
            self.skipped_in_a_row = 0
            return
        if (self.args.fp16 or self.args.bf16) and not all(loss.isfinite() for loss in losses):
            raise self._overflow(step)
        if self.scaler is not None:
            return
        for parameter in model.parameters():
            parameter.grad = None
        self.skipped_in_a_row += 1
        logger.warning("step %d is skipped: its gradients are not finite. %s", step, self._describe(batches))
        if self.skipped_in_a_row == MOST_SKIPPED:
            raise GlossaError(
                f"The gradients of steps {step - MOST_SKIPPED + 1} to {step} are not finite: the training has "
                f"diverged. {self._last()}. Start again with a lower --learning_rate, more --warmup_steps, or --bf16 "
                "false."
            )

    def _overflow(self, step: int) -> GlossaError:
        name, remedy = ("bf16", "--bf16 false, or with a lower --learning_rate")
        if self.args.fp16:
            name, remedy = ("fp16", "--fp16 false --bf16 true, which has the range of float32")
        return GlossaError(
            f"The loss of step {step} is not finite in {name}. {self._last()}. Start again with {remedy}."
        )

    def _last(self) -> str:
        whole = RunFolder(self.args.output_dir).checkpoints(whole=True)
        return f"The last checkpoint is {whole[-1]}" if whole else "There is no checkpoint yet"

    def _describe(self, batches: list[dict[str, torch.Tensor]]) -> str:
        """The first sources of the step's batches."""
        rows = [row for batch in batches for row in batch["input_ids"]]
        texts = [repr(self.tokenizer.decode(row, skip_special_tokens=True)) for row in rows[:SHOWN_ROWS]]
        return f"It has {len(rows)} pairs, beginning with {', '.join(texts)}."
