"""A whole run: from settings to a folder with a trained and scored translator."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from datasets import Dataset, DatasetDict
from huggingface_hub.errors import StrictDataclassError
from sacrebleu.metrics import BLEU, CHRF
from transformers import (
    DataCollatorForSeq2Seq,
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.trainer_callback import TrainerState

from ..configuration_glossa import GlossaConfig
from ..data.bpe_dropout import DropoutCollator
from ..data.corruption import special_tokens
from ..data.encoding import tokenize_pairs
from ..data.pairs import group_references, prepare_pairs
from ..data.statistics import has_paragraphs, length_ratio
from ..data.texts import prepare_texts, tokenize_texts
from ..data.vocabulary import target_vocabulary, train_tokenizer, train_tokenizer_pair
from ..errors import GlossaError
from ..evaluation.metrics import bleu_tokenizer
from ..evaluation.samples import choose_samples, print_samples, spread
from ..evaluation.scoring import score_table, score_translators
from ..inference.loading import load_model, load_tokenizer, set_languages
from ..inference.translator import Translator
from ..modeling_glossa import GlossaForConditionalGeneration
from ..plots import draw_curves
from ..run_folder import RunFolder
from .advice import advise, count_tokens, judge_vocabulary
from .arguments import Settings
from .averaging import average_into, choose_checkpoints
from .cpu import available_cores, choose_threads, describe_bf16, trial_step
from .preflight import check_before_data
from .pretraining import pretraining_collator, train_part, validation_loss
from .preview import preview
from .progress import duration
from .resume import check_data, check_settings, final_state, fingerprints, is_finished, starting_point
from .reuse import reused_tokenizer
from .sharding import whole_model
from .sizing import adopt_choices, choose_settings, limit_passes
from .trainer import GlossaTrainer, by_length

logger = logging.getLogger(__name__)


def train(settings: Settings) -> Path:
    """Train or pretrain, score and save the model that `settings` describe; returns the folder of the run.

    Raises `GlossaError` before training starts if settings or data are invalid.
    """
    run = RunFolder(settings.training.output_dir)
    adopt_choices(settings)
    if is_finished(settings):
        logger.info("%s is finished; there is nothing to resume.", run.path)
        return run.path
    check_before_data(settings)
    with run.lock() if settings.training.should_save else nullcontext():
        _train(run, settings)
    return run.path


def _train(run: RunFolder, settings: Settings) -> None:
    checkpoint = starting_point(settings)
    if settings.training.should_save and checkpoint is not None:
        for partial in run.remove_partial_checkpoints():
            logger.warning("%s was not written to its end and is removed.", partial)
    ended = None
    if checkpoint is not None:
        check_settings(checkpoint, settings)
        ended = final_state(checkpoint, settings)
    set_seed(settings.training.seed)
    pretrains = settings.translator.objective != "translation"
    with settings.training.main_process_first():
        data, data_report = prepare_texts(settings.data) if pretrains else prepare_pairs(settings.data)
    data_report.fingerprints = fingerprints(data)
    if checkpoint is not None:
        check_data(checkpoint, data_report.fingerprints)
    elif settings.given is not None:
        choose_settings(settings, len(data["train"]))
    tokenizer = load_tokenizer(str(checkpoint)) if checkpoint else build_tokenizer(settings, data)
    model = build_model(settings, tokenizer)
    if not pretrains:
        model.config.split_sentences = not has_paragraphs(data["train"])
        model.config.length_ratio = length_ratio(data["train"])
        set_languages(model, tokenizer, settings.data.source_language, settings.data.target_language)
    collator: Callable
    with settings.training.main_process_first():
        if pretrains:
            collator = pretraining_collator(settings, tokenizer)
            tokenized = tokenize_texts(data, tokenizer, collator, settings.data.max_length)
        else:
            collator = DataCollatorForSeq2Seq(tokenizer, model)
            tokenized = tokenize_pairs(data, tokenizer, settings.data, data_report)
    with train_part(model, settings.translator.objective):
        trainer = build_trainer(settings, model, tokenizer, data, tokenized, collator)
        _set_threads(settings, trainer, checkpoint)
        if settings.training.hours is not None and checkpoint is None:
            limit_passes(trainer, settings.training.hours)
        if settings.training.should_save:
            run.write_setup(settings.recipe(), data_report.to_dict(), data)
            print(preview(model, tokenizer, trainer.example_batch()), flush=True)
        seconds = fit(settings, trainer, checkpoint, ended)
        losses = validation_loss(trainer, tokenized) if pretrains else {}
    model = whole_model(trainer)
    if settings.training.should_save:
        finish(run, settings, trainer, model, DatasetDict() if pretrains else data, losses, seconds)


def build_tokenizer(settings: Settings, data: DatasetDict) -> PreTrainedTokenizerBase:
    """The tokenizer of `init_from`, the saved one of the settings, or a new one of the training split only."""
    if settings.translator.init_from:
        return load_tokenizer(settings.translator.init_from)
    if settings.tokenizer.tokenizer:
        return reused_tokenizer(settings)
    trained: list[PreTrainedTokenizerBase | None] = [None]
    if PartialState().is_main_process:
        columns = [_texts(data["train"], name) for name in data["train"].column_names]  # source and target, or text
        positions = max(settings.model.max_source_positions, settings.model.max_target_positions)
        options = settings.tokenizer
        if options.target_vocab_size is None:
            special = special_tokens(settings.translator.objective, settings.data.max_length)
            trained[0] = train_tokenizer(chain(*columns), options.vocab_size, positions, options, special)
        else:
            trained[0] = train_tokenizer_pair(columns[0], columns[1], options, positions)
    # All processes must use the same token ids, so only one of them trains the tokenizer.
    return broadcast_object_list(trained)[0]


def _texts(rows: Dataset, column: str) -> Iterator[list[str]]:
    return (batch[column] for batch in rows.iter(1000))


def build_model(settings: Settings, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """The model of `init_from`, or a new one, with the decoding settings of the run."""
    if settings.translator.init_from:
        model = load_model(settings.translator.init_from)
        model.config.label_smoothing = settings.training.label_smoothing_factor
    else:
        try:
            config = GlossaConfig(
                **settings.model_settings(),
                vocab_size=len(tokenizer),
                decoder_vocab_size=target_vocabulary(tokenizer).get_vocab_size(),
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
                bos_token_id=tokenizer.bos_token_id,
                decoder_start_token_id=tokenizer.bos_token_id,
            )
        except StrictDataclassError as error:
            raise GlossaError(str(error.__cause__ or error)) from error
        model = GlossaForConditionalGeneration(config)
    # On a CPU, eager attention is faster than fused kernels for sequences as short as sentences.
    model.set_attn_implementation("eager" if settings.training.device.type == "cpu" else "sdpa")
    beams = settings.translator.num_beams
    model.generation_config.update(
        num_beams=beams,
        # Greedy search has none, and transformers refuses to save one.
        length_penalty=settings.translator.length_penalty if beams > 1 else 1.0,
        # Saved as `max_length`, with the start token: a caller's `max_length` would lose against `max_new_tokens`.
        max_length=settings.translator.max_new_tokens + 1,
        max_new_tokens=None,
    )
    return model


def build_trainer(
    settings: Settings,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    data: DatasetDict,
    tokenized: DatasetDict,
    collator: Callable,
) -> GlossaTrainer:
    """A trainer of `model` on the tokenized pairs or texts, with validation on the held-out ones."""
    arguments = settings.training
    arguments.generation_num_beams = (
        1  # greedy decoding ranks checkpoints as well as beam search and is several times faster
    )
    validation, metrics = None, None
    if "validation" in data and arguments.eval_strategy != "no":
        if settings.translator.objective == "translation":
            fitting = _within_positions(tokenized["validation"], model.config)
            pairs, rows = data["validation"].select(fitting), tokenized["validation"].select(fitting)
            validation, sources, references = _validation_rows(pairs, rows)
            tokenize = bleu_tokenizer(settings.data.target_language, settings.translator.bleu_tokenizer)
            metrics = _metrics(tokenizer, sources, references, arguments.eval_samples, tokenize)
        else:
            validation = tokenized["validation"].select(by_length(tokenized["validation"]))
    rate, length = settings.tokenizer.bpe_dropout, settings.data.max_length
    dropout = DropoutCollator(tokenizer, collator, rate, length, arguments.order_seed) if rate else None
    patience = arguments.early_stopping_patience
    return GlossaTrainer(
        model=model,
        args=arguments,
        train_dataset=tokenized["train"],
        eval_dataset=validation,
        processing_class=tokenizer,
        data_collator=collator,
        compute_metrics=metrics,
        train_collator=dropout,
        callbacks=[EarlyStoppingCallback(patience)] if patience else None,
    )


def fit(
    settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None = None, ended: TrainerState | None = None
) -> float:
    """Train and put the final weights into the trainer's model. Returns the training time in seconds.

    Args:
        settings: Of the run.
        trainer: Of the run.
        checkpoint: To continue from.
        ended: The state of `checkpoint` if no step is left.
    """
    arguments = settings.training
    started = time.perf_counter()
    if checkpoint is not None and ended is not None:
        trainer.state = ended
        best = ended.best_model_checkpoint if arguments.load_best_model_at_end else None
        trainer.load_weights(Path(best) if best and Path(best).is_dir() else checkpoint)
    else:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    seconds = time.perf_counter() - started
    if arguments.average_checkpoints:
        chosen = choose_checkpoints(
            Path(arguments.output_dir),
            arguments.average_checkpoints,
            arguments.average_by,
            arguments.metric_for_best_model.removeprefix("eval_"),
            arguments.greater_is_better,
        )
        if chosen:
            logger.info("averaging %s", ", ".join(path.name for path in chosen))
            average_into(trainer.model, chosen)
    trainer.remove_autocast()
    return seconds


def finish(
    run: RunFolder,
    settings: Settings,
    trainer: GlossaTrainer,
    model: PreTrainedModel,
    pairs: DatasetDict,
    losses: dict,
    seconds: float,
) -> None:
    """Save the model, score it on the held-out `pairs` and write the reports."""
    tokenizer = trainer.processing_class
    model.save_pretrained(run.path)
    tokenizer.save_pretrained(run.path)
    history = trainer.state.log_history
    run.write_history(history)
    draw_curves({"": history}, run.curves)

    speeds = [entry["target_tokens_per_second"] for entry in history if "target_tokens_per_second" in entry]
    metrics = {
        "training_seconds": round(seconds, 1),
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "parameters": model.num_parameters(),
        "padding": round(trainer.batch_sampler.padding(), 4),
        "target_tokens_per_second": sorted(speeds)[len(speeds) // 2] if speeds else None,
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"cpu, {torch.get_num_threads()} threads",
    }
    if settings.training.world_size > 1:
        metrics |= {"processes": settings.training.world_size, "imbalance": trainer.batch_sampler.imbalance()}
    metrics |= trainer.energy.metrics() | losses
    tokenize = bleu_tokenizer(settings.data.target_language, settings.translator.bleu_tokenizer)
    for split in ("validation", "test"):
        if split in pairs:
            metrics[split] = _score_split(run, split, model, tokenizer, pairs[split], tokenize)
    run.write_metrics(metrics)
    if settings.training.push_to_hub:
        trainer.push_to_hub()
    for line in _advice(settings, trainer, metrics):
        print(f"Advice: {line}")
    print(f"Padding: {metrics['padding']:.1%}. Training time: {duration(seconds)}. Saved in {run.path}")
    if pairs:
        print(f"Try it: echo 'A sentence.' | glossa translate {run.path}")


def _advice(settings: Settings, trainer: GlossaTrainer, metrics: dict) -> list[str]:
    """What to change next time, from the log, the scores and the training data."""
    greedy = metrics.get("validation", {}).get("greedy")  # pretraining gives no translations
    averaged = (
        greedy["scores"]["single"]["bleu"]["score"] if greedy and settings.training.average_checkpoints else None
    )
    lines = advise(trainer.state.log_history, averaged)
    learned = settings.translator.init_from is None and settings.tokenizer.tokenizer is None
    if learned and settings.tokenizer.tokenizer_model == "bpe" and "labels" in trainer.train_dataset.column_names:
        config: Any = trainer.model.config
        lines.append(judge_vocabulary(count_tokens(trainer.train_dataset, config)))
    return [line for line in lines if line]


def _score_split(run: RunFolder, split: str, model, tokenizer, pairs: Dataset, tokenize: str) -> dict:
    """Print the scores of one split, greedy and with the model's beams, and return them without the texts."""
    beams = sorted({1, model.generation_config.num_beams or 1})
    translators = [Translator(model, tokenizer, num_beams=count) for count in beams]
    results = score_translators(translators, pairs, tokenize)
    print(f"\n{split}, {len(pairs)} pairs\n{score_table(results)}\n")
    if split == "test" or not run.held_out_file("test").exists():
        run.write_samples(choose_samples(results))
    texts = {"sources", "references", "translations"}
    return {name: {k: v for k, v in result.items() if k not in texts} for name, result in results.items()}


def _within_positions(tokenized: Dataset, config: PreTrainedConfig) -> np.ndarray:
    """Numbers of the rows that a model with a table of positions takes; the others are counted and left out."""
    longest = getattr(config, "max_position_embeddings", None)  # of models of other families
    limits = {"source_length": longest, "target_length": longest}
    if getattr(config, "position_embedding_type", None) == "learned":
        limits = {"source_length": config.max_source_positions, "target_length": config.max_target_positions}
    fits = np.ones(len(tokenized), dtype=bool)
    for side, limit in limits.items():
        if limit is not None:
            fits &= tokenized.data.column(side).to_numpy() <= limit
    if not fits.any():
        raise GlossaError(
            f"Every validation pair is longer than the positions of the model ({limits['source_length']} and "
            f"{limits['target_length']} tokens). Raise max_source_positions and max_target_positions."
        )
    if not fits.all():
        logger.warning(
            "validation: %d of %d pairs are longer than the positions of the model and are left out while training; "
            "scores at the end have all.",
            *((~fits).sum(), len(fits)),
        )
    return np.flatnonzero(fits)


def _validation_rows(pairs: Dataset, tokenized: Dataset) -> tuple[Dataset, list[str], list[list[str]]]:
    """One row per distinct source with its first reference, sorted by length; the sources; all references."""
    grouped = dict(group_references(pairs))
    first: dict[str, int] = {}
    for row, source in enumerate(pairs["source"]):
        first.setdefault(source, row)
    rows, sources = tokenized.select(list(first.values())), list(first)
    order = by_length(rows)
    sources = [sources[row] for row in order]
    return rows.select(order), sources, [grouped[source] for source in sources]


def _metrics(
    tokenizer: PreTrainedTokenizerBase, sources: list[str], references: list[list[str]], samples: int, tokenize: str
):
    """A function for BLEU and chrF++ against the first reference of each source; it also prints `samples` rows."""
    streams = [[targets[0] for targets in references]]

    def compute(prediction: EvalPrediction) -> dict[str, float]:
        ids = np.asarray(prediction.predictions)
        ids[ids == -100] = tokenizer.pad_token_id
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        if PartialState().is_main_process:
            print_samples(
                {"source": sources[row], "reference": references[row][0], "prediction": texts[row]}
                for row in spread(len(texts), samples)
            )
        return {
            "bleu": BLEU(tokenize=tokenize).corpus_score(texts, streams).score,
            "chrf": CHRF(word_order=2).corpus_score(texts, streams).score,
        }

    return compute


def _set_threads(settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None) -> None:
    """On a CPU, set the number of threads from the settings, the resumed run or a trial, in this order."""
    arguments = settings.training
    if arguments.device.type != "cpu":
        return
    logger.info(describe_bf16(torch.cpu.get_capabilities(), arguments.bf16))
    if arguments.cpu_threads is None and checkpoint is not None:
        arguments.cpu_threads = RunFolder(checkpoint.parent).recipe.get("cpu_threads")
    if arguments.cpu_threads is None and arguments.world_size > 1:
        arguments.cpu_threads = available_cores()
    if arguments.cpu_threads is None:
        with torch.random.fork_rng(devices=[]):
            step = trial_step(trainer.model.train(), trainer.example_batch(), arguments.bf16)
            arguments.cpu_threads = choose_threads(step)
    torch.set_num_threads(arguments.cpu_threads)
