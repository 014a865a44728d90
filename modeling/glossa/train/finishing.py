"""The end of a run: save and score the model, and write the reports."""

import shlex
from functools import partial
from typing import Any

import torch
from datasets import DatasetDict
from transformers import PreTrainedModel, TrainerState

from ..base.run_folder import RunFolder
from .advice import (
    advise,
    count_tokens,
    diverged,
    implausible_share,
    judge_length,
    judge_translations,
    judge_vocabulary,
)
from .evaluation.blends import last_line
from .evaluation.verdict import count_pairs
from .judging import score
from .plan.arguments import Settings
from .plan.devices import is_sharded, uses_deepspeed
from .plan.settings import GlossaTrainingArguments
from .plan.sizing import choosable
from .progress import duration
from .restore import whole_model
from .trainer import GlossaTrainer
from .verdict import conclusion

SAME_SCORE = 0.05  # maximum difference of two BLEU scores that are printed alike


def finish(
    run: RunFolder,
    settings: Settings,
    trainer: GlossaTrainer,
    pairs: DatasetDict,
    losses: dict,
    seconds: float,
    wanted: float,
    blend: dict | None = None,
) -> None:
    """Save the model, score it on the held-out `pairs` and write the reports. All processes must call this.

    `wanted` are the passes before `hours` lowered them, `blend` is what [`turn`] has found.
    """
    training, model = settings.training, whole_model(trainer)
    if training.should_save:
        save(run, trainer, model, blend)
    scored = partial(score, run, settings, model, trainer.processing_class, pairs)
    # With FSDP and DeepSpeed, only the main process scores.
    together = training.world_size > 1 and not (is_sharded(training) or uses_deepspeed(training))
    scores = scored(shared=True) if together else {}
    # The other processes end here. They close the process group, since an open one may abort a process at exit.
    trainer.accelerator.end_training()
    if training.should_save:
        report(run, settings, trainer, model, losses | (scores if together else scored()), seconds, wanted, blend)


def save(run: RunFolder, trainer: GlossaTrainer, model: PreTrainedModel, blend: dict | None = None) -> None:
    """Save the model, the training log, and pictures of both."""
    from ..base.plots import draw_blends, draw_curves  # matplotlib is slow to import and not needed to start training

    model.config.use_cache = True  # the Trainer turns it off for training
    model.save_pretrained(run.path)
    trainer.processing_class.save_pretrained(run.path)
    history = trainer.state.log_history
    run.write_history(history)
    draw_curves({"": history}, run.curves)
    if blend and trainer.watched:
        draw_blends(blend["points"], blend["share"], run.blends)


def report(
    run: RunFolder,
    settings: Settings,
    trainer: GlossaTrainer,
    model: PreTrainedModel,
    scores: dict,
    seconds: float,
    wanted: float,
    blend: dict | None = None,
) -> None:
    """Save the statistics that scoring added to the config, write the metrics, and print advice."""
    model.config.save_pretrained(run.path)
    history = trainer.state.log_history
    speeds = [entry["target_tokens_per_second"] for entry in history if "target_tokens_per_second" in entry]
    metrics = {
        "training_seconds": round(seconds, 1),
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "parameters": model.num_parameters(),
        "padding": round(trainer.padding(), 4),
        "target_tokens_per_second": sorted(speeds)[len(speeds) // 2] if speeds else None,
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"cpu, {torch.get_num_threads()} threads",
    }
    if settings.training.world_size > 1:
        metrics |= {"processes": settings.training.world_size, "imbalance": trainer.batch_sampler.imbalance()}
    metrics |= trainer.energy.metrics() | scores
    run.write_metrics(metrics | ({"blend": blend} if blend else {}))
    if (not blend or blend["share"] == 1) and (line := explain_scores(trainer.state, settings.training, scores)):
        print(line)
    if settings.training.push_to_hub:
        trainer.push_to_hub()
    # What an earlier stage has learned is of no interest by itself.
    for line in [] if run.is_stage else _advice(settings, trainer, metrics, wanted):
        print(f"Advice: {line}")
    translates = settings.translator.objective == "translation" and not run.is_stage
    if translates:
        for line in conclusion(settings, count_pairs(run.data_report), wanted, metrics):
            print(line)
    print(f"Padding: {metrics['padding']:.1%}. Training time: {duration(seconds)}. Saved in {run.path}")
    if translates:
        several = getattr(trainer.processing_class, "target_languages", [])
        chosen = getattr(trainer.processing_class, "tgt_lang", None)  # set for models of other families
        into = f" --target_language {several[0]}" if several and chosen not in several else ""
        print(f"Try it: echo 'A sentence.' | glossa translate {shlex.quote(str(run.path))}{into}")
    if blend and (line := last_line(blend, str(settings.translator.init_from), settings.data.watch_loss)):
        print(line)


def explain_scores(state: TrainerState, training: GlossaTrainingArguments, scores: dict) -> str:
    """Why the final greedy BLEU of the validation pairs is not that of the same weights in training; "" if it is.

    Args:
        state: The state of the finished training.
        training: The settings of the training.
        scores: The final scores by split.
    """
    step = state.best_global_step if training.load_best_model_at_end else state.global_step
    found = [entry["eval_bleu"] for entry in state.log_history if entry["step"] == step and "eval_bleu" in entry]
    greedy = scores.get("validation", {}).get("greedy")
    if not found or not greedy or training.average_checkpoints:
        return ""
    final = greedy["scores"]["single"]["bleu"]["score"]
    if abs(final - found[-1]) < SAME_SCORE:
        return ""
    precision = " in bf16" if training.bf16 else ""
    return (
        f"Greedy validation BLEU is {final:.2f}, and was {found[-1]:.2f} at step {step:,} with the same weights: "
        f"training translates a text whole and once{precision}, and `glossa translate` sentence by sentence, with a "
        "second search where a translation looks wrong."
    )


def _advice(settings: Settings, trainer: GlossaTrainer, metrics: dict, wanted: float) -> list[str]:
    """Advice on settings, from the log, the scores and the training data."""
    validation = metrics.get("validation", {})  # empty in pretraining
    greedy = validation.get("greedy") or validation.get("all, greedy")
    averaged = (
        greedy["scores"]["single"]["bleu"]["score"] if greedy and settings.training.average_checkpoints else None
    )
    training = settings.training
    config: Any = trainer.model.config
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    tokens = getattr(config, "decoder_vocab_size", None) or getattr(config, "vocab_size", None)
    if tokens and (line := diverged(losses, tokens)):
        return [line]  # other advice is for runs that learn
    lines = advise(trainer.state.log_history, training, trainer.state.max_steps, averaged, wanted)
    lowest = 0.0
    if settings.translator.objective == "translation":
        decodings = [found for found in validation.values() if "file" not in found]
        scores = [found["scores"]["single"]["bleu"]["score"] for found in decodings]
        lowest, folder = min(scores, default=0), str(training.output_dir)
        for found, bleu in zip(decodings, scores, strict=True):
            lines.append(judge_length(found["length"], found["num_beams"], bleu, found["implausible"], folder))
        worst: dict[str, float] = max((found["implausible"] for found in decodings), key=implausible_share, default={})
        lines.append(judge_translations(worst, lowest, training, wanted))
    learned = settings.translator.init_from is None and settings.tokenizer.tokenizer is None
    learned = learned and settings.tokenizer.tokenizer_model == "bpe" and "vocab_size" not in choosable(settings)
    if learned and "labels" in trainer.train_dataset.column_names:
        lines.append(judge_vocabulary(count_tokens(trainer.train_dataset, config), lowest))
    return [line for line in lines if line]
