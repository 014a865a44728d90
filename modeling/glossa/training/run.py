"""A whole run: from settings to a folder with a trained and scored translator."""

import logging
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, DatasetDict
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.trainer_callback import TrainerState

from ..data.augmentation.shares import PLACEHOLDERS
from ..data.cleaning.report import DataReport
from ..data.cleaning.statistics import (
    abbreviations,
    add_stops,
    has_paragraphs,
    length_ratio,
    lower_capitals,
    trained_length,
)
from ..data.encoding.encoding import tokenize_pairs
from ..data.encoding.links import LinkCollator
from ..data.mixture import common_source
from ..data.pairs import by_language, fingerprints, prepare_pairs
from ..data.streaming.streams import Stream, is_stream
from ..data.texts import prepare_texts, tokenize_texts
from ..evaluation.metrics import bleu_tokenizer
from ..evaluation.samples import choose_samples
from ..evaluation.scoring import files_of, score_table, score_translators
from ..inference.confidence import FEWEST, SHARE, WORD_FEATURES, WORD_SHARE, learn
from ..inference.engines.engine import Search
from ..inference.languages import Languages
from ..inference.loading import load_tokenizer
from ..inference.options import Execution
from ..inference.plausibility import improbable_score
from ..inference.translator import Translator
from ..plan.arguments import Settings
from ..plan.devices import is_sharded, uses_deepspeed
from ..plan.precision import settle_precision
from ..plan.preflight import check_before_data
from ..plan.resume import check_checkpoint, check_data, check_settings, final_state, is_finished, starting_point
from ..plan.sizing import adopt_choices, choosable, show_choices
from ..plan.start import adopt_start, adopt_vocabulary, with_languages
from ..run_folder import RunFolder
from .advice import (
    advise,
    count_tokens,
    implausible_share,
    judge_length,
    judge_translations,
    judge_vocabulary,
)
from .averaging import average_into, choose_checkpoints
from .building import build_model, build_trainer, new_vocabulary
from .judging import Judged, judge, measure_confidence
from .monitoring import TrainingTime
from .pretraining import pretraining_collator, train_part, validation_loss
from .progress import augmentation_preview, duration, preview
from .restore import RestoreCallbacks, restore_callbacks, whole_model
from .streaming import StreamTrainer
from .trainer import GlossaTrainer
from .trial import choose_precision, try_out

logger = logging.getLogger(__name__)


def train(settings: Settings) -> Path:
    """Train or pretrain, score and save the model that `settings` describe; returns the folder of the run.

    Raises `GlossaError` before training starts if settings or data are invalid.
    """
    run = RunFolder(settings.training.output_dir)
    settings = settle_precision(adopt_start(adopt_choices(adopt_vocabulary(settings))))
    if is_finished(settings):
        check_settings(run, settings)
        logger.info("%s is finished; there is nothing to resume.", run.path)
        return run.path
    check_before_data(settings)
    with run.lock() if settings.training.should_save else nullcontext():
        _train(run, settings)
    return run.path


def _train(run: RunFolder, settings: Settings) -> None:
    checkpoint = starting_point(settings)
    ended = None
    if checkpoint is not None:
        check_checkpoint(checkpoint, settings)
        ended = final_state(checkpoint, settings)
    set_seed(settings.training.seed)
    pretrains = settings.translator.objective != "translation"
    stream = None if pretrains or not is_stream(settings.data) else Stream(settings.data)
    with settings.training.main_process_first():
        data, data_report = prepare_texts(settings.data) if pretrains else prepare_pairs(settings.data, stream)
    if settings.training.should_save and checkpoint is not None:  # now all processes have chosen where to start
        for unusable, reason in run.remove_unusable_checkpoints(checkpoint).items():
            logger.warning("%s %s and is removed.", unusable, reason)
    data_report.fingerprints = fingerprints(data)
    if stream is not None:
        data_report.fingerprints["train"] += stream.fingerprint()
    if checkpoint is not None:
        check_data(checkpoint, data_report.fingerprints)
    settings, tokenizer = _vocabulary(settings, data, data_report, checkpoint)
    model = build_model(settings, tokenizer)
    if not pretrains:
        describe_data(model.config, data["train"], tokenizer, settings.data.max_length)
        for kind, name in (("items", "mask_items"), (PLACEHOLDERS, "keeps_placeholders")):
            known = bool(settings.data.shares.get(kind)) or getattr(model.config, name, False)
            setattr(model.config, name, known)
        target = settings.data.target_language
        Languages(common_source(settings.data), (target,) if target else ()).write(model, tokenizer)
    collator: Callable
    with settings.training.main_process_first():
        if pretrains:
            collator = pretraining_collator(settings, tokenizer)
            tokenized = tokenize_texts(data, tokenizer, collator, settings.data.max_length)
        else:
            collator = LinkCollator(DataCollatorForSeq2Seq(tokenizer, model))
            linked = settings.training.alignment_head
            tokenized = tokenize_pairs(data, tokenizer, settings.data, data_report, linked)
    with train_part(model, settings.translator.objective):
        settings = choose_precision(settings, model, tokenized["train"], collator)
        trainer = build_trainer(settings, model, tokenizer, data, tokenized, collator, stream)
        if isinstance(trainer, StreamTrainer) and checkpoint is not None:
            trainer.load_place(checkpoint)
        settings = try_out(settings, trainer, checkpoint)
        if settings.training.should_save:
            run.write_setup(settings.recipe(), data_report.to_dict(), data)
            print(preview(model, tokenizer, trainer.example_batch()), flush=True)
            if trainer.augmented is not None:
                print(augmentation_preview(trainer.augmented), flush=True)
        seconds = fit(settings, trainer, checkpoint, ended)
        losses = validation_loss(trainer, tokenized) if pretrains else {}
    if isinstance(trainer, StreamTrainer):
        trainer.count_rows(data_report)
        if settings.training.should_save:
            run.write_data_report(data_report.to_dict())
    _end(run, settings, trainer, DatasetDict() if pretrains else data, losses, seconds)


def _end(
    run: RunFolder, settings: Settings, trainer: GlossaTrainer, pairs: DatasetDict, losses: dict, seconds: float
) -> None:
    """Save the model, score it on the held-out `pairs` and write the reports. All processes must call this."""
    training, model = settings.training, whole_model(trainer)
    if training.should_save:
        save(run, trainer, model)
    scored = partial(score, run, settings, model, trainer.processing_class, pairs)
    # With FSDP and DeepSpeed only the main process scores.
    together = training.world_size > 1 and not (is_sharded(training) or uses_deepspeed(training))
    scores = scored(shared=True) if together else {}
    # The other processes end here; with an open process group one of them may be aborted at its exit.
    trainer.accelerator.end_training()
    if training.should_save:
        finish(run, settings, trainer, model, scores if together else scored(), losses, seconds)


def _vocabulary(
    settings: Settings, data: DatasetDict, report: DataReport, checkpoint: Path | None
) -> tuple[Settings, PreTrainedTokenizerBase]:
    """The tokenizer of `checkpoint`, or of a new run, whose settings are chosen first."""
    if checkpoint is not None:
        return settings, with_languages(load_tokenizer(str(checkpoint)), settings)
    settings, tokenizer = new_vocabulary(settings, data, report)
    show_choices(settings)
    return settings, tokenizer


def describe_data(config: Any, pairs: Dataset, tokenizer: PreTrainedTokenizerBase, longest: int) -> None:
    """Write into the model's `config` what its training pairs say about the text that it can translate."""
    config.split_sentences = not has_paragraphs(pairs)
    config.length_ratio = length_ratio(pairs)
    config.lower_capitals, config.add_stops = lower_capitals(pairs), add_stops(pairs)
    # Those of the model that training starts from; all are learned again at the end.
    config.improbable_score = config.confidence = config.word_confidence = None
    # A model that is trained further knows what it was taught before.
    config.trained_length = max(
        trained_length(pairs, tokenizer, longest), getattr(config, "trained_length", None) or 0
    )
    config.abbreviations = sorted({*abbreviations(pairs), *(getattr(config, "abbreviations", None) or ())})
    logger.info(
        "Sentences of more than %d tokens will be cut at clauses; %d abbreviations are learned from the sources.",
        config.trained_length,
        len(config.abbreviations),
    )


def fit(
    settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None = None, ended: TrainerState | None = None
) -> float:
    """Train and put the final weights into the trainer's model.

    Returns the seconds of training, those before `checkpoint` included.

    Args:
        settings: The settings of the run.
        trainer: The trainer of the run.
        checkpoint: The checkpoint to continue from.
        ended: The state of `checkpoint` if no step is left.
    """
    arguments = settings.training
    clock = TrainingTime()
    trainer.add_callback(clock)
    trainer.add_callback(RestoreCallbacks(trainer))
    if checkpoint is not None and ended is not None:
        trainer.state = ended
        restore_callbacks(trainer, ended)
        best = ended.best_model_checkpoint if arguments.load_best_model_at_end else None
        trainer.load_weights(Path(best) if best and Path(best).is_dir() else checkpoint)
    else:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    seconds = clock.seconds
    if arguments.average_checkpoints:
        chosen = choose_checkpoints(Path(arguments.output_dir), arguments.average_checkpoints)
        if chosen:
            logger.info("averaging %s", ", ".join(path.name for path in chosen))
            average_into(trainer.model, chosen)
    trainer.remove_autocast()
    return seconds


def save(run: RunFolder, trainer: GlossaTrainer, model: PreTrainedModel) -> None:
    """Save the model and the log of the training."""
    from ..plots import draw_curves  # matplotlib takes a second to import, and training begins without it

    model.save_pretrained(run.path)
    trainer.processing_class.save_pretrained(run.path)
    history = trainer.state.log_history
    run.write_history(history)
    draw_curves({"": history}, run.curves)


def score(run: RunFolder, settings: Settings, model, tokenizer, pairs: DatasetDict, shared: bool = False) -> dict:
    """The scores on the held-out `pairs`, by split; the first process prints them.

    With `shared`, all processes must call this, and share the translations.
    """
    found: dict = {}
    for split in ("validation", "test"):
        if split in pairs:
            found[split], judged = _score_split(run, split, model, tokenizer, pairs[split], settings, shared)
            if split == "validation":
                _learn_from(judged, model)
            elif judged:
                found["confidence"] = measure_confidence(model.config.confidence, judged)
    return found


def finish(
    run: RunFolder,
    settings: Settings,
    trainer: GlossaTrainer,
    model: PreTrainedModel,
    scores: dict,
    losses: dict,
    seconds: float,
) -> None:
    """Save what scoring has taught the model, and write the reports."""
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
    metrics |= trainer.energy.metrics() | losses | scores
    run.write_metrics(metrics)
    if settings.training.push_to_hub:
        trainer.push_to_hub()
    for line in _advice(settings, trainer, metrics):
        print(f"Advice: {line}")
    print(f"Padding: {metrics['padding']:.1%}. Training time: {duration(seconds)}. Saved in {run.path}")
    if settings.translator.objective == "translation":
        several = getattr(trainer.processing_class, "target_languages", [])
        into = f" --target_language {several[0]}" if several else ""
        print(f"Try it: echo 'A sentence.' | glossa translate {shlex.quote(str(run.path))}{into}")


def _advice(settings: Settings, trainer: GlossaTrainer, metrics: dict) -> list[str]:
    """What to change next time, from the log, the scores and the training data."""
    validation = metrics.get("validation", {})  # pretraining gives no translations
    greedy = validation.get("greedy") or validation.get("all, greedy")
    averaged = (
        greedy["scores"]["single"]["bleu"]["score"] if greedy and settings.training.average_checkpoints else None
    )
    training = settings.training
    lines = advise(trainer.state.log_history, training, trainer.state.max_steps, averaged)
    lowest = 0.0
    if settings.translator.objective == "translation":
        decodings = [found for found in validation.values() if "file" not in found]
        scores = [found["scores"]["single"]["bleu"]["score"] for found in decodings]
        lowest, folder = min(scores, default=0), str(training.output_dir)
        for found, bleu in zip(decodings, scores, strict=True):
            lines.append(judge_length(found["length"], found["num_beams"], bleu, found["implausible"], folder))
        worst: dict[str, float] = max((found["implausible"] for found in decodings), key=implausible_share, default={})
        lines.append(judge_translations(worst, lowest, training))
    learned = settings.translator.init_from is None and settings.tokenizer.tokenizer is None
    learned = learned and settings.tokenizer.tokenizer_model == "bpe" and "vocab_size" not in choosable(settings)
    if learned and "labels" in trainer.train_dataset.column_names:
        config: Any = trainer.model.config
        lines.append(judge_vocabulary(count_tokens(trainer.train_dataset, config), lowest))
    return [line for line in lines if line]


def _score_split(
    run: RunFolder, split: str, model, tokenizer, pairs: Dataset, settings: Settings, shared: bool
) -> tuple[dict, list[Judged]]:
    """The scores of one split, greedy and with the model's beams; the first process prints them.

    Returns the scores without the texts, and the judged translations. Translations of test pairs are judged if the
    model has learned a confidence.

    Each of several target languages is scored apart, and named before the way of decoding: "de, greedy". So is each
    of several files, before all of them.
    """
    beams = sorted({1, model.generation_config.num_beams or 1})
    kept, samples = {}, []
    judged: list[Judged] = []
    for language, rows in by_language(pairs):
        tokenize = bleu_tokenizer(language or settings.data.target_language, settings.translator.bleu_tokenizer)
        own = tokenizer.into(language) if language else tokenizer
        translators = [Translator(model, own, Search(count), execution=Execution(shared=shared)) for count in beams]
        results = score_translators(translators, rows, tokenize, files=files_of(rows))
        if split == "validation" or model.config.confidence:
            judged += judge(model, own, results, words=split == "validation", shared=shared)
        title = f"{split}, {language}" if language else split
        if settings.training.should_save:
            print(f"\n{title}, {len(rows)} pairs\n{score_table(results)}\n")
        if split == "test" or not run.held_out_file("test").exists():
            samples += [({"language": language} if language else {}) | row for row in choose_samples(results)]
        texts = {"sources", "references", "translations", "files"}
        for name, result in results.items():
            name = f"{language}, {name}" if language else name
            kept[name] = {key: value for key, value in result.items() if key not in texts}
    if samples and settings.training.should_save:
        run.write_samples(samples)
    return kept, judged


def _learn_from(judged: list[Judged], model: PreTrainedModel) -> None:
    """Learn what is improbable, and the confidence of sentences and words."""
    model.config.improbable_score = improbable_score([each.token_score for each in judged])
    right = [each.is_right for each in judged]
    model.config.confidence = learn([each.features for each in judged], right)
    if model.config.confidence is None:
        logger.info(
            "No confidence is learned: it takes %d validation translations, of which at least %.0f%% need a "
            "correction and as many need none. Of %d, %d need none.", FEWEST, 100 * SHARE, len(right), sum(right),
        )  # fmt: skip
    words = [word for each in judged for word in each.words]
    values, right = [values for values, _ in words], [is_right for _, is_right in words]
    model.config.word_confidence = learn(values, right, WORD_FEATURES, WORD_SHARE)
