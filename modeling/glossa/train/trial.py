"""Trials on this machine that choose precision and threads on a CPU, and the number of epochs for `hours`."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from transformers import PreTrainedModel

from ..base.checkpoints import count_processes
from ..base.run_folder import RunFolder
from .cpu import choose_bf16, choose_threads, warn_of_emulation
from .data.encoding.encoding import IDS, LENGTHS, by_length
from .plan.arguments import Origin, Settings
from .plan.devices import available_cores, trial_step
from .plan.precision import is_open, with_bf16
from .plan.processes import lack_of_memory
from .plan.sizing import AUGMENTED_PASSES, LESS_DROPOUT, OVERHEAD, SHORT
from .trainer import GlossaTrainer

logger = logging.getLogger(__name__)

TRIAL_BATCHES = 8  # of the first epoch, evenly spaced


def choose_precision(settings: Settings, model: PreTrainedModel, rows: Dataset, collator: Callable) -> Settings:
    """Return the settings with `bf16`, chosen by a trial of a few steps on rows of medium length if still undecided.

    Without enough memory for bf16, float32 is chosen. All processes must call this. They run the trial at the same
    time, as in training, and the first process decides.
    """
    arguments = settings.training
    if is_open(settings):
        if lack := lack_of_memory(settings.recipe(), arguments.world_size):
            choice = [(False, Origin("device", lack))]
        else:
            bf16, times = _try_bf16(arguments, model, rows, collator)
            choice = [(bf16, Origin("trial", times))]
        broadcast_object_list(choice)
        settings = with_bf16(settings, *choice[0])
    bf16, origin = settings.training.bf16, settings.origins.get("bf16")
    if origin is not None and origin.kind not in ("recipe", "flag"):
        logger.info("Precision: %s (%s; --bf16 overrides)", "bf16" if bf16 else "float32", origin.reason)
    if bf16 and arguments.device.type == "cpu":
        warn_of_emulation(torch.cpu.get_capabilities())
    return settings


def _try_bf16(arguments: Any, model: PreTrainedModel, rows: Dataset, collator: Callable) -> tuple[bool, str]:
    """Whether steps on rows of medium length are faster in bf16, and a description of the times."""
    columns = [name for name in IDS if name in rows.column_names]
    middle = by_length(rows)[rows.num_rows // 2 :]
    longest = max(rows[middle[0]][name] for name in LENGTHS if name in rows.column_names)
    chosen = middle[: max(arguments.batch_tokens // longest, 1)]
    with torch.random.fork_rng(devices=[]):
        batch = collator(list(rows.select(chosen).select_columns(columns)))
        steps = {bf16: trial_step(model.train(), batch, bf16) for bf16 in (False, True)}
        return choose_bf16(steps, arguments.cpu_threads or 1)


def run_trials(settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None) -> Settings:
    """Choose threads and epochs by trials; sets them in the trainer and in the returned settings."""
    if settings.training.device.type == "cpu":
        settings = choose_cpu_threads(settings, trainer, checkpoint)
        torch.set_num_threads(settings.training.cpu_threads)
    if settings.training.hours is not None and checkpoint is None:
        settings = limit_passes(settings, trainer)
        trainer.args.num_train_epochs = settings.training.num_train_epochs
    return settings


def choose_cpu_threads(settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None) -> Settings:
    """Return the settings with a number of threads: that of the resumed run, 1 on a single core, or the fastest."""
    arguments = settings.training
    if arguments.cpu_threads is not None:
        return settings
    before = RunFolder(checkpoint.parent).recipe if checkpoint is not None else {}
    if (threads := before.get("cpu_threads")) and count_processes(checkpoint) == arguments.world_size:
        return settings.with_values({"cpu_threads": threads}, Origin("resumed", str(checkpoint.parent)))
    if available_cores() == 1:  # of this process
        return settings.with_values({"cpu_threads": 1}, Origin("trial", "the cores of a process"))
    with torch.random.fork_rng(devices=[]):
        step = trial_step(trainer.model.train(), trainer.example_batch(), arguments.bf16)
        threads = [choose_threads(step)]  # all processes at the same time, as in training
        broadcast_object_list(threads)
    return settings.with_values({"cpu_threads": threads[0]}, Origin("trial", "the fastest number for a few steps"))


def limit_passes(settings: Settings, trainer: GlossaTrainer) -> Settings:
    """Return the settings with the number of passes that fit into about `hours`, by a trial on this machine.

    The time excludes scoring and saving at the end. A fraction of a pass is possible. The learning rate schedule is
    shortened accordingly, and an augmentation that was chosen is dropped if fewer than `AUGMENTED_PASSES` fit.
    """
    arguments, hours = settings.training, settings.training.own_hours
    seconds = [OVERHEAD * seconds_per_pass(trainer)]
    broadcast_object_list(seconds)  # all processes must stop at the same step
    passes = 3600 * hours / seconds[0]
    logger.info(
        "A pass takes about %.1f minutes: %.2f of %g passes fit into %.3g h. Scoring and saving take more time.",
        seconds[0] / 60, min(passes, arguments.num_train_epochs), arguments.num_train_epochs, hours,
    )  # fmt: skip
    if passes < 1:
        smaller = "" if settings.translator.init_from else ", or a smaller model"
        logger.warning("Only %.0f%% of the training pairs will be seen. Give more --hours%s.", 100 * passes, smaller)
    config: Any = trainer.model.config
    dropout = settings.origins.get("dropout")  # chosen for these hours, or given
    is_given = dropout is None or dropout.kind != "chosen"
    if is_given and passes <= SHORT * arguments.num_train_epochs and config.dropout > LESS_DROPOUT:
        logger.info("A run of so few passes may translate better with --dropout %g.", LESS_DROPOUT)
    passes, found = min(arguments.num_train_epochs, passes), Origin("trial", f"what fits into {hours:.3g} h")
    augmentation = settings.origins.get("augmentation")
    if passes < AUGMENTED_PASSES and augmentation is not None and augmentation.kind == "chosen":
        trainer.drop_augmentation()
        settings = settings.with_values({"augmentation": {}}, found)
    return settings.with_values({"num_train_epochs": passes}, found)


def seconds_per_pass(trainer: GlossaTrainer) -> float:
    """Estimated time of forward and backward passes over all training pairs, from batches of different lengths."""
    batches = list(trainer.batch_sampler)
    rows = trainer.rows
    chosen = batches[:: max(len(batches) // TRIAL_BATCHES, 1)]
    seconds = []
    with torch.random.fork_rng():
        for batch in [chosen[0], *chosen]:  # the first call is a warm-up
            inputs = trainer._prepare_inputs(trainer.data_collator([rows[row] for row in batch]))
            step = trial_step(trainer.model.train(), inputs, trainer.args.bf16)
            started = time.perf_counter()
            step()
            if trainer.args.device.type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - started)
    return sum(seconds[1:]) / len(chosen) * len(trainer.get_train_dataloader())
