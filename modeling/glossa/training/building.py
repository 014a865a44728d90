"""Tokenizer, model and trainer of a run, from its settings and data."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from datasets import Dataset, DatasetDict
from huggingface_hub.errors import StrictDataclassError
from sacrebleu.metrics import BLEU, CHRF
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from ..configuration_glossa import GlossaConfig
from ..data.bpe_dropout import DropoutCollator
from ..data.corruption import special_tokens
from ..data.pairs import group_references, held_out_sides
from ..data.streams import Stream
from ..data.vocabulary import target_vocabulary, train_tokenizer, train_tokenizer_pair
from ..errors import GlossaError
from ..evaluation.metrics import bleu_tokenizer
from ..evaluation.samples import print_samples, spread
from ..inference.loading import load_model, load_tokenizer
from ..modeling_glossa import GlossaForConditionalGeneration
from .arguments import Settings
from .reuse import reused_tokenizer
from .streaming import StreamTrainer
from .trainer import GlossaTrainer, by_length

logger = logging.getLogger(__name__)


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
    stream: Stream | None = None,
) -> GlossaTrainer:
    """A trainer of `model` on the tokenized pairs or texts, with validation on the held-out ones.

    With a `stream`, it trains on its rows; "train" is a sample of them.
    """
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
    build: Callable = GlossaTrainer
    if stream is not None:
        build = partial(StreamTrainer, stream=stream, held_out=held_out_sides(data))
    return build(
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
