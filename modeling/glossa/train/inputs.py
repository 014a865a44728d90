"""The data of a run: loading, tokenization, and the description of the data in the model's config."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from datasets import Dataset, DatasetDict
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, PreTrainedTokenizerBase

from ..base.errors import GlossaError
from ..base.run_folder import RunFolder
from ..model.profile_glossa import TextProfile
from ..translate.engines.forced import decoder_inputs
from ..translate.languages import Languages
from .data.arguments import DataArguments
from .data.augmentation.shares import PLACEHOLDERS
from .data.cleaning.report import DataReport
from .data.cleaning.splitting import sample_rows
from .data.cleaning.statistics import (
    abbreviations,
    add_stops,
    has_paragraphs,
    length_ratio,
    lower_capitals,
    trained_length,
)
from .data.encoding.encoding import tokenize_pairs
from .data.encoding.links import LinkCollator
from .data.matching import with_matches
from .data.mixture import common_source, target_languages
from .data.pairs import fingerprints, load_pairs, prepare_pairs
from .data.streaming.streams import Stream, is_stream
from .data.texts import prepare_texts, tokenize_texts
from .plan.arguments import Settings
from .pretraining import pretraining_collator

logger = logging.getLogger(__name__)

WATCHED = 500  # maximum number of pairs, which are translated at each evaluation


@dataclass(frozen=True)
class Inputs:
    """The data of a run.

    Attributes:
        splits: Pairs, or texts for pretraining, in "train", "validation" and "test"; "watch" has the pairs of `watch`.
        report: The report of the data preparation, with the fingerprints of the splits.
        stream: The stream if the run trains on one; "train" is then a sample of it.
    """

    splits: DatasetDict
    report: DataReport
    stream: Stream | None


class PairCollator(DataCollatorForSeq2Seq):
    """Collates pairs into batches with `decoder_input_ids`, which some model families create only in `forward`."""

    def __call__(self, features: list[dict], return_tensors: str | None = None) -> Any:
        batch = super().__call__(features, return_tensors)
        if "decoder_input_ids" not in batch:
            batch["decoder_input_ids"] = decoder_inputs(self.model, batch["labels"])
        return batch


def load_inputs(settings: Settings) -> Inputs:
    """Prepare the pairs or texts of the settings. Raises `GlossaError` if settings or data are invalid."""
    pretrains = settings.translator.objective != "translation"
    stream = None if pretrains or not is_stream(settings.data) else Stream(settings.data)
    with settings.training.main_process_first():
        splits, report = prepare_texts(settings.data) if pretrains else prepare_pairs(settings.data, stream)
    report.fingerprints = fingerprints(splits)
    if stream is not None:
        report.fingerprints["train"] += stream.fingerprint()
    if settings.data.watch:
        with settings.training.main_process_first():
            splits["watch"] = load_watched(settings.data)
    return Inputs(splits, report, stream)


def load_watched(arguments: DataArguments) -> Dataset:
    """The pairs of the setting `watch`, at most `WATCHED`, drawn with `split_seed`.

    Raises `GlossaError` if there are no such pairs, or if the data have several target languages.
    """
    if target_languages(arguments):
        raise GlossaError("watch is for pairs of one target language, but the data have several. Leave it out.")
    run = RunFolder(arguments.watch[0])
    if run.recipe:
        pairs = run.load_held_out("test")
    else:
        names = ("source_language", "target_language", "source_column", "target_column")
        given: dict[str, Any] = {name: getattr(arguments, name) for name in names}
        pairs = load_pairs(DataArguments(dataset="files", data_path=arguments.watch, **given))
    return sample_rows(pairs.select_columns(["source", "target"]), WATCHED, arguments.split_seed)


def tokenize(
    settings: Settings, inputs: Inputs, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> tuple[DatasetDict, Callable]:
    """Tokenize all splits; returns them and the collator for their batches."""
    with settings.training.main_process_first():
        if settings.translator.objective != "translation":
            collator = pretraining_collator(settings, tokenizer)
            return tokenize_texts(inputs.splits, tokenizer, collator, settings.data.max_length), collator
        linked = settings.training.alignment_head
        splits = inputs.splits
        if settings.data.memory:
            own = {name: rows for name, rows in splits.items() if name != "watch"}
            splits = DatasetDict(splits | with_matches(DatasetDict(own)))
        tokenized = tokenize_pairs(splits, tokenizer, settings.data, inputs.report, linked)
        return tokenized, LinkCollator(PairCollator(tokenizer, model))


def describe(settings: Settings, inputs: Inputs, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write statistics of the training pairs to the model's config, which guide how text is split and translated."""
    pairs, shares, before = inputs.splits["train"], settings.data.shares, TextProfile.of(model.config)
    # A fine-tuned model keeps its earlier abilities. Statistics of the validation pairs are added after training.
    profile = TextProfile(
        split_sentences=not has_paragraphs(pairs),
        length_ratio=length_ratio(pairs),
        trained_length=max(trained_length(pairs, tokenizer, settings.data.max_length), before.trained_length or 0),
        abbreviations=before.abbreviations | set(abbreviations(pairs)),
        lower_capitals=lower_capitals(pairs),
        add_stops=add_stops(pairs),
        mask_items=bool(shares.get("items")) or before.mask_items,
        keeps_placeholders=bool(shares.get(PLACEHOLDERS)) or before.keeps_placeholders,
        reads_memory=settings.data.memory or before.reads_memory,
    )
    profile.write(model.config)
    logger.info(
        "Sentences of more than %d tokens will be split at clauses. Learned %d abbreviations from the sources.",
        profile.trained_length,
        len(profile.abbreviations),
    )
    target = settings.data.target_language
    Languages(common_source(settings.data), (target,) if target else ()).write(model, tokenizer)
