"""Build the tokenizer, the model and the trainer of a run from its settings and data."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from datasets import Dataset, DatasetDict, concatenate_datasets
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
)

from ..base.errors import GlossaError
from ..base.metrics import bleu_tokenizer
from ..base.pair import Pair
from ..base.tokens import target_vocabulary
from ..model.batches_glossa import position_limits
from ..model.modeling_glossa import GlossaForConditionalGeneration
from ..translate.loading import load_tokenizer
from .data.arguments import DataArguments
from .data.augmentation.augmentation import Augmentation
from .data.cleaning.report import DataReport
from .data.encoding.augmented import CHUNK, AugmentedRows
from .data.encoding.corruption import special_tokens
from .data.encoding.encoding import IDS, LENGTHS, by_length
from .data.encoding.vocabulary import AddedTokens, has_marks, train_tokenizer, train_tokenizer_pair
from .data.mixture import sources_of, target_languages
from .data.pairs import by_language, group_references, prepare_pairs
from .data.streaming.streams import Stream
from .evaluation.samples import print_samples, spread
from .forecasting import Forecast
from .learning import FirstEvaluation, RunLength
from .plan.arguments import Settings
from .plan.sizing import choosable, choose_for_pairs, resolve_vocabulary_size
from .plan.start import (
    add_pieces,
    adopt_start,
    grow,
    load_start,
    prepared_tokenizer,
    private_tokens,
    reused_tokenizer,
    with_languages,
    with_tokens,
)
from .replay import replayed_in_a_pass
from .streaming import StreamTrainer
from .trainer import GlossaTrainer

logger = logging.getLogger(__name__)

LOGS = 10  # least number of log lines of a run
SAMPLE = 1000  # rows checked for combining marks
VOCABULARY = ("lower_case", "items")  # kinds of augmentation that the vocabulary is also learned from


def build_tokenizer(settings: Settings, data: DatasetDict) -> PreTrainedTokenizerBase:
    """The tokenizer of `init_from`, a saved tokenizer, or a new one trained on the training split."""
    if settings.translator.init_from:
        tokenizer = with_tokens(load_tokenizer(settings.translator.init_from), settings)
        if settings.translator.add_vocabulary:
            add_pieces(
                tokenizer, chain.from_iterable(_texts(data["train"], "target")), settings.translator.add_vocabulary
            )
        return tokenizer
    if saved := settings.tokenizer.tokenizer or prepared_tokenizer(settings):
        return with_tokens(reused_tokenizer(settings, saved), settings)
    trained: list[PreTrainedTokenizerBase | None] = [None]
    chosen = "vocab_size" in choosable(settings)
    if PartialState().is_main_process:
        names = [name for name in ("source", "target", "text") if name in data["train"].column_names]
        columns: list[Iterator[list[str]]] = [_texts(data["train"], name) for name in names]
        augmentation = augmentation_of(settings)
        if augmentation is not None:
            changed = [_changed_texts(data["train"], augmentation, name) for name in names]
            columns = [chain(*both) for both in zip(columns, changed, strict=True)]
        some = data["train"].select(range(0, len(data["train"]), -(-len(data["train"]) // SAMPLE)))
        marks = any(has_marks(some[name][:]) for name in names)
        objective = settings.translator.objective
        added = AddedTokens(
            special_tokens(objective, settings.data.max_length),
            target_languages(settings.data) if objective == "translation" else [],
            private_tokens(settings.data),
        )
        positions = max(settings.model.max_source_positions, settings.model.max_target_positions)
        options = settings.tokenizer
        if options.target_vocab_size is None:
            texts = chain(*columns)
            trained[0] = train_tokenizer(texts, options.vocab_size, positions, options, added, not chosen, marks)
        else:
            trained[0] = train_tokenizer_pair(columns[0], columns[1], options, positions, added, marks)
    # Only one process trains the tokenizer, so that all use the same token ids.
    return broadcast_object_list(trained)[0]


def new_vocabulary(
    settings: Settings, data: DatasetDict, report: DataReport
) -> tuple[Settings, PreTrainedTokenizerBase]:
    """Choose the settings of a new run that are not named, and build its tokenizer; returns both."""
    settings = choose_for_pairs(settings, data["train"], report)
    tokenizer = build_tokenizer(settings, data)
    return resolve_vocabulary_size(settings, tokenizer), tokenizer


def choose_vocabulary(
    settings: Settings, data: DatasetDict, report: DataReport, checkpoint: Path | None
) -> tuple[Settings, PreTrainedTokenizerBase]:
    """The tokenizer of `checkpoint`, or that of a new run with its chosen settings, as in [`new_vocabulary`]."""
    if checkpoint is not None:
        return settings, with_languages(load_tokenizer(str(checkpoint)), settings)
    return new_vocabulary(settings, data, report)


def learn_vocabulary(
    settings: Settings, data: DataArguments, folder: Path
) -> tuple[PreTrainedTokenizerBase, dict[str, Any]]:
    """Build the tokenizer for the prepared pairs of `data`, as for a run that streams them, and save it to `folder`.

    Also returns the settings that determine whether a run uses it.
    """
    pairs, report = prepare_pairs(data, Stream(data))
    settings, tokenizer = new_vocabulary(adopt_start(replace(settings, data=data)), pairs, report)
    tokenizer.save_pretrained(folder)
    values = asdict(settings.tokenizer)
    if values.pop("tokenizer"):
        values["vocab_size"] = len(tokenizer)
    return load_tokenizer(str(folder)), values | {"augmentation": settings.data.shares}


def augmentation_of(settings: Settings) -> Augmentation | None:
    """The augmentation of the training pairs; None without augmentation and memory."""
    shares = settings.data.shares
    if not shares and not settings.data.memory:
        return None
    tags = [source.tag for source in sources_of(settings.data)]
    return Augmentation(shares, settings.training.order_seed, settings.data.source_language, tags)


def _changed_texts(rows: Dataset, augmentation: Augmentation, side: str) -> Iterator[list[str]]:
    """One side of augmented pairs of the kinds `VOCABULARY`, so that the vocabulary has pieces for them.

    It needs no pieces for typing errors, which are random.
    """
    for first in range(0, len(rows), CHUNK):
        batch = rows[first : first + CHUNK]
        pairs = list(map(Pair, batch["source"], batch["target"]))
        changed = augmentation.apply(pairs, 0, first, batch.get("language", ()))
        yield [getattr(pair, side) for kind, pair in changed.values() if kind in VOCABULARY]


def _texts(rows: Dataset, column: str) -> Iterator[list[str]]:
    return (batch[column] for batch in rows.iter(1000))


def build_model(settings: Settings, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """The model of `init_from`, or a new one, with the decoding settings of the run."""
    if settings.translator.init_from:
        model = load_start(settings)
        if settings.translator.add_language or settings.translator.add_vocabulary:
            grow(model, tokenizer, len(load_tokenizer(settings.translator.init_from)))
    else:
        config = settings.config(
            vocab_size=len(tokenizer),
            decoder_vocab_size=target_vocabulary(tokenizer).get_vocab_size(),
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=tokenizer.bos_token_id,
            decoder_start_token_id=tokenizer.bos_token_id,
        )
        model = GlossaForConditionalGeneration(config)
    if model.config.model_type == "glossa":  # without its loss, the head soon aligns no better than other heads
        last_but_one = max(model.config.decoder_layers - 2, 0)
        model.config.alignment_layer = last_but_one if settings.training.alignment_head else None
    # On a CPU, eager attention is faster than fused kernels for sequences as short as sentences.
    model.set_attn_implementation("eager" if settings.training.device.type == "cpu" else "sdpa")
    set_search(model, tokenizer, settings)
    return model


def set_search(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: Settings) -> None:
    """Write the decoding settings of the run to the model; other families keep theirs unless a setting is named."""
    beams, longest = settings.translator.num_beams, settings.translator.max_new_tokens
    longest = min(longest, position_limits(model.config)[1] or longest)
    if model.config.model_type != "glossa":
        own, named = model.generation_config, settings.named
        chosen: dict[str, Any] = {
            name: getattr(settings.translator, name) for name in ("num_beams", "length_penalty") if name in named
        }
        if "max_new_tokens" in named or own.max_length is None:
            chosen |= {"max_length": longest + 1, "max_new_tokens": None}
        if chosen.get("num_beams") == 1:  # settings of beam search cannot be saved with greedy search
            chosen |= {"length_penalty": None, "early_stopping": None}
        own.update(**chosen)
        ask_for_language(model, tokenizer, None if target_languages(settings.data) else tokenizer.tgt_lang)
        return
    model.generation_config.update(
        num_beams=beams,
        # transformers refuses to save a length penalty with greedy search.
        length_penalty=settings.translator.length_penalty if beams > 1 else 1.0,
        # `max_length` includes the start token. With `max_new_tokens`, a caller's `max_length` would be ignored.
        max_length=longest + 1,
        max_new_tokens=None,
    )


def ask_for_language(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, language: str | None) -> None:
    """Make `generate` start with the language token, for a model that reads it in the decoder; None removes it."""
    if not getattr(tokenizer, "codes", None):
        return
    decoding = model.generation_config
    forced, start = None, decoding.decoder_start_token_id
    if language is not None:
        *before, code = tokenizer.into(language).prompt(start)  # type: ignore[attr-defined]
        forced, start = (code, start) if before else (None, code)
    decoding.update(forced_bos_token_id=forced, decoder_start_token_id=start)


def build_trainer(
    settings: Settings,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    data: DatasetDict,
    tokenized: DatasetDict,
    collator: Callable,
    stream: Stream | None = None,
) -> GlossaTrainer:
    """Create the trainer for `model`, with tokenized pairs or texts for training and validation.

    With a `stream`, it trains on the rows of the stream; "train" is then a sample of them.
    """
    arguments = settings.training.for_trainer()
    arguments.gradient_accumulation_steps = arguments.accumulated
    # Greedy decoding ranks checkpoints as well as beam search and is several times faster.
    arguments.generation_num_beams = 1
    validation, metrics, watched = None, None, None
    if "validation" in data and arguments.eval_strategy != "no":
        if settings.translator.objective == "translation":
            evaluated = partial(_evaluated, data, tokenized, model, tokenizer, settings)
            validation, metrics = evaluated("validation", arguments.eval_samples)
            watched = evaluated("watch", 0) if "watch" in data else None
        else:
            validation = tokenized["validation"].select(by_length(tokenized["validation"]))
    if metrics is not None and settings.translator.init_from:
        arguments.eval_on_start = True
    callbacks: list[TrainerCallback] = [RunLength(0 if "logging_steps" in settings.named else LOGS)]
    if metrics is not None:
        start = settings.translator.init_from
        callbacks += [FirstEvaluation(tokenized["train"], start), Forecast(not start)]
    if patience := arguments.early_stopping_patience:
        callbacks.append(EarlyStoppingCallback(patience))
    rows, augmentation, replayed = tokenized["train"], augmentation_of(settings), (0, 0)
    if "replay" in tokenized:
        replayed = len(tokenized["replay"]), replayed_in_a_pass(settings.data, data["train"], data["replay"])
        rows = concatenate_datasets([tokenized["replay"], rows])
    augmented = None
    if augmentation is not None:
        augmented = AugmentedRows(rows, tokenizer, augmentation, settings.data)
        rows = rows.select_columns([*IDS, *LENGTHS, *({"links"} & set(rows.features))])
    build: Callable = GlossaTrainer
    if stream is not None:
        build = partial(StreamTrainer, stream=stream)
    return build(
        model=model,
        args=arguments,
        augmented=augmented,
        watched=watched,
        replayed=replayed,
        train_dataset=rows,
        eval_dataset=validation,
        processing_class=tokenizer,
        data_collator=collator,
        compute_metrics=metrics,
        callbacks=callbacks,
    )


def _evaluated(
    data: DatasetDict,
    tokenized: DatasetDict,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    settings: Settings,
    split: str,
    samples: int,
) -> tuple[Dataset, Callable[[EvalPrediction], dict[str, float]]]:
    """The rows of a split translated at each evaluation, and the function that scores the translations."""
    fitting = _within_positions(split, tokenized[split], model.config)
    rows, shown = _validation_rows(data[split].select(fitting), tokenized[split].select(fitting))
    return rows, _metrics(tokenizer, shown, samples, settings)


def _within_positions(split: str, tokenized: Dataset, config: PreTrainedConfig) -> np.ndarray:
    """Indices of the rows that fit the model's maximum positions; warns about the other rows."""
    limits = position_limits(config)
    fits = np.ones(len(tokenized), dtype=bool)
    for side, limit in zip(("source_length", "target_length"), limits, strict=True):
        if limit is not None:
            fits &= tokenized.data.column(side).to_numpy() <= limit
    if not fits.any():
        raise GlossaError(
            f"Every {split} pair is longer than the positions of the model ({limits[0]} and "
            f"{limits[1]} tokens). Raise max_source_positions and max_target_positions."
        )
    if not fits.all():
        logger.warning(
            "%s: %d of %d pairs are longer than the model's maximum positions. They are left out during training, but "
            "not in the final scores.",
            split,
            *((~fits).sum(), len(fits)),
        )
    return np.flatnonzero(fits)


def _validation_rows(pairs: Dataset, tokenized: Dataset) -> tuple[Dataset, list[dict]]:
    """A row per distinct source and target language, sorted by length, and its source, reference and language."""
    shown = [
        {"source": source, "reference": targets[0], "language": language}
        for language, rows in by_language(pairs)
        for source, targets in group_references(rows)
    ]
    first: dict[tuple[str, str], int] = {}
    languages = pairs["language"][:] if "language" in pairs.column_names else [""] * len(pairs)
    for row, key in enumerate(zip(pairs["source"][:], languages, strict=True)):
        first.setdefault(key, row)
    rows = tokenized.select([first[row["source"], row["language"]] for row in shown])
    order = by_length(rows)
    return rows.select(order), [shown[row] for row in order]


def _metrics(
    tokenizer: PreTrainedTokenizerBase, shown: list[dict], samples: int, settings: Settings
) -> Callable[[EvalPrediction], dict[str, float]]:
    """A function that computes BLEU and chrF++ against the first reference of each source, and prints `samples` rows.

    With several target languages, both are means over the languages, and each language has its `bleu_LANGUAGE`. A
    joint BLEU would be dominated by the language with the most text, and have a single tokenizer.
    """
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(shown):
        rows.setdefault(row["language"], []).append(number)
    choice = settings.translator.bleu_tokenizer
    tokenizers = {name: bleu_tokenizer(name or settings.data.target_language, choice) for name in rows}

    def compute(prediction: EvalPrediction, samples: int = samples) -> dict[str, float]:
        from .evaluation.translation_metric import TranslationMetric

        ids = np.asarray(prediction.predictions)
        ids[ids == -100] = tokenizer.pad_token_id
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        if PartialState().is_main_process:
            print_samples(
                {name: shown[row][name] for name in ("language", "source", "reference") if shown[row][name]}
                | {"prediction": texts[row]}
                for row in spread(len(texts), samples)
            )
        found = {}
        for language, own in rows.items():
            scores = TranslationMetric(keep_in_memory=True).compute(
                predictions=[texts[row] for row in own],
                references=[[shown[row]["reference"]] for row in own],
                tokenize=tokenizers[language],
                metrics=("bleu", "chrf"),
            )
            found[language] = [scores["single"][name]["score"] for name in ("bleu", "chrf")]
        bleu, mean_chrf = np.mean(list(found.values()), axis=0).tolist()
        each = {f"bleu_{language}": scores[0] for language, scores in found.items() if len(found) > 1}
        return {"bleu": bleu, "chrf": mean_chrf} | each

    return compute
