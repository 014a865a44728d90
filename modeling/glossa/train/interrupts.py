"""Signal handling in training: the run saves a checkpoint, logs how to continue, and ends."""

import logging
import signal
import threading
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

from ..base.run_folder import RunFolder

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(SystemExit):
    """Exits with the status that shells expect after a signal: 128 plus its number."""

    def __init__(self, number: int):
        super().__init__(128 + number)


class SaveOnSignal(TrainerCallback):
    """On SIGTERM or Ctrl-C, saves after the current step and raises [`Interrupted`]. A second signal ends at once.

    An evaluation ends with its current batch, whose search is cut short, and its scores are lost. With several
    processes, all of them stop after the same step or batch, even if only one received the signal.
    """

    def __init__(self, trainer: Trainer):
        self.trainer = trainer
        self.received: int | None = None
        self.stops = False
        self.previous: dict[int, Any] = {}

    def on_train_begin(self, args, state, control, **kwargs):
        if threading.current_thread() is threading.main_thread():  # only the main thread may set handlers
            self.previous = {number: signal.signal(number, self._receive) for number in SIGNALS}

    def restore(self) -> None:
        """Restore the signal handlers from before the training."""
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.previous = {}

    def _receive(self, number: int, frame) -> None:
        self.received = number
        name = signal.Signals(number).name
        logger.warning(
            "%s: saving a checkpoint after this step, without its evaluation. A second signal ends at once.", name
        )
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)

    def on_step_end(self, args, state, control, **kwargs):
        self.stops = self._agree()
        control.should_save = control.should_save or self.stops

    def on_prediction_step(self, args, state, control, **kwargs):
        if not self.previous or not self._agree():  # scores after the training have no handlers
            return
        if state.global_step == 0:
            logger.warning("Nothing is trained yet, so there is no checkpoint. Start again with the same command.")
            raise Interrupted(self.received)
        self.stops = True
        self.trainer._save_checkpoint(self.trainer.model_wrapped, None)
        self.trainer.callback_handler.on_save(args, state, control)  # ends in `on_save` below

    def cut_search(self, input_ids: torch.Tensor, scores: Any, **kwargs) -> torch.Tensor:
        """A stopping criterion of `generate`: after a signal, the translations of a batch [B, T] are not needed."""
        return torch.full((len(input_ids),), self.received is not None, dtype=torch.bool, device=input_ids.device)

    def on_save(self, args, state, control, **kwargs):
        alone = self.trainer.accelerator.num_processes == 1
        if self.received is None or not (self.stops or alone):
            return
        if args.should_save:
            last = RunFolder(args.output_dir).checkpoints(whole=True)[-1]
            logger.warning("Saved %s. Continue with the same command and --resume_from_checkpoint true.", last)
        raise Interrupted(self.received)

    def _agree(self) -> bool:
        """Whether any process has received a signal; all processes return the same value.

        A signal that arrives during this exchange takes effect at the next step, since the other processes would wait
        forever for one that stops alone.
        """
        accelerator = self.trainer.accelerator
        if accelerator.num_processes == 1:
            return self.received is not None
        if self.received is not None:
            accelerator.set_trigger()
        stops = accelerator.check_trigger()
        if stops:
            self.received = self.received or signal.SIGTERM
        return stops
