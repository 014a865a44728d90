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
from .data.cleaning.cleaning import clean
from .data.cleaning.report import DataReport
from .data.cleaning.splitting import LARGEST_SPLIT, sample_rows, split_by_component
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
from .data.pairs import fingerprints, in_both_directions, prepare_pairs
from .data.sources import load_source
from .data.streaming.streams import Stream, is_stream
from .data.texts import prepare_texts, tokenize_texts
from .plan.arguments import Settings
from .pretraining import pretraining_collator
from .replay import check_languages, load_replay, without_sides
from .stages.last import load_further

logger = logging.getLogger(__name__)

WATCHED = 500  # maximum number of pairs, which are translated at each evaluation
OVERLAP = 0.1  # maximum share of watched pairs that share a sentence with training


@dataclass(frozen=True)
class Inputs:
    """The data of a run.

    Attributes:
        splits: Pairs, or texts for pretraining, in "train", "validation" and "test". "watch" has the pairs of `watch`
            that are scored at each evaluation, "watch_test" those that choose nothing, and "replay" the pairs mixed
            into training.
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
        own = DatasetDict(splits)
        if settings.data.watch:
            splits |= load_watched(settings.data, splits["train"])
        if (replay := load_replay(settings, splits, report)) is not None:
            splits["replay"] = own["replay"] = replay
        if settings.data.both_directions:
            splits["train"] = in_both_directions(splits["train"])
        elif (further := load_further(settings, splits, report)) is not None:
            splits["replay"] = further  # not in `own`: the data of the run are its pairs
    report.fingerprints = fingerprints(own)
    if stream is not None:
        report.fingerprints["train"] += stream.fingerprint()
    return Inputs(splits, report, stream)


def load_watched(arguments: DataArguments, train: Dataset) -> dict[str, Dataset]:
    """The pairs of the setting `watch`: "watch" to choose with, and "watch_test", which choose nothing.

    A run's are its validation and its test pairs. Those of files are split by sentences, half of them for each, but at
    most `WATCHED` to choose with. Pairs that share a sentence with training are left out and counted.

    Raises `GlossaError` if there are no such pairs, they are in other languages, over a tenth of them share a sentence
    with the pairs `train`, or the data have several target languages.
    """
    if target_languages(arguments):
        raise GlossaError("watch is for pairs of one target language, but the data have several. Leave it out.")
    name, run = arguments.watch[0], RunFolder(arguments.watch[0])
    if run.recipe:
        check_languages("watch", name, arguments)
        language = arguments.target_language if Languages.of(name).tagged else None
        held_out = [split for split in ("validation", "test") if run.held_out_file(split).is_file()]
        parts = [run.load_held_out(split, language) for split in held_out or ["test"]]
    else:
        names = ("source_language", "target_language", "source_column", "target_column", "trust_data")
        given: dict[str, Any] = {name: getattr(arguments, name) for name in names}
        files = DataArguments(dataset="files", data_path=arguments.watch, **given)
        try:
            parts = [clean(load_source(files), files)[0]["train"]]
        except GlossaError as error:
            raise GlossaError(f"watch: {error}") from error
    parts = [pairs.select_columns(["source", "target"]) for pairs in parts]
    apart = [without_sides(pairs, [train]) for pairs in parts]
    total, lost = (sum(map(len, found)) for found in (parts, apart))
    lost = total - lost
    if lost:
        message = f"watch is {name}, of whose {total:,} pairs {lost:,} share a sentence with the training pairs"
        if lost > OVERLAP * total:
            raise GlossaError(f"{message}. They would not show what is forgotten. Give other pairs.")
        logger.warning("%s, and are left out.", message)
    if len(apart) == 1:
        split = split_by_component(apart[0], min(WATCHED, len(apart[0]) // 2), 0, arguments.split_seed)
        apart = [split["validation"], split["train"]]
    most = (WATCHED, LARGEST_SPLIT)
    drawn = [sample_rows(*both, arguments.split_seed) for both in zip(apart, most, strict=True)]
    return dict(zip(("watch", "watch_test"), drawn, strict=True))


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
            own = {name: rows for name, rows in splits.items() if not name.startswith("watch")}
            splits = DatasetDict(splits | with_matches(DatasetDict(own)))
        tokenized = tokenize_pairs(splits, tokenizer, settings.data, inputs.report, linked)
        return tokenized, LinkCollator(PairCollator(tokenizer, model))


def describe(settings: Settings, inputs: Inputs, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write statistics of the training pairs to the model's config, which guide how text is split and translated."""
    pairs, shares, before = inputs.splits["train"], settings.data.shares, TextProfile.of(model.config)
    if settings.data.both_directions:
        pairs = pairs.select(range(len(pairs) // 2))  # those of the wanted direction
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
        keep=settings.data.keep or before.keep,
    )
    profile.write(model.config)
    logger.info(
        "Sentences of more than %d tokens will be split at clauses. Learned %d abbreviations from the sources.",
        profile.trained_length,
        len(profile.abbreviations),
    )
    target = settings.data.target_language
    Languages(common_source(settings.data), (target,) if target else ()).write(model, tokenizer)
