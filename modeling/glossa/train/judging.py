"""Scoring of the trained model on held-out pairs, and confidence models learned from its validation translations."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from datasets import Dataset, DatasetDict
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..base.metrics import bleu_tokenizer
from ..base.run_folder import RunFolder
from ..model.profile_glossa import TextProfile
from ..model.sentences_glossa import clean_text
from ..translate.confidence import (
    FEWEST,
    NEEDS_NONE,
    SHARE,
    WORD_FEATURES,
    WORD_SHARE,
    confidence,
    features,
    learn,
    tokens_by_word,
    word_features,
)
from ..translate.engines.forced import force, token_scores
from ..translate.interface import READ, Checks, Execution, Search
from ..translate.memory.store import Memory
from ..translate.plausibility import improbable_score
from ..translate.texts.recall import Recall
from ..translate.translator import Translator
from .data.pairs import by_language, group_references
from .evaluation.calibration import calibration_error, reliability, right_words, sentence_chrf
from .evaluation.samples import choose_samples
from .evaluation.scoring import NORMALIZED, files_of, score_table, score_translators
from .plan.arguments import Settings

logger = logging.getLogger(__name__)

WORDS_OF = 500  # translations whose words are judged, over a thousand words


class Judged(NamedTuple):
    """A translation: its log-probability per token, its features, whether it needs no correction, and its words.

    A word has its features, and whether it is correct, that is, occurs in a reference.
    """

    token_score: float
    features: list[float]
    is_right: bool
    words: Sequence[tuple[list[float], bool]] = ()


def judge(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    results: dict[str, dict],
    words: bool = False,
    shared: bool = False,
) -> list[Judged]:
    """Judge the non-blank translations with the model's beams in `results` of [`score_translators`].

    With `words`, the first `WORDS_OF` translations include their words. With `shared`, all processes must call this.
    """
    whole = [found for name, found in results.items() if "file" not in found and not name.endswith(NORMALIZED)][-1]
    texts = zip(whole["sources"], whole["translations"], whole["references"], strict=True)
    rows = [row for row in texts if row[1]]
    sources, translations, references = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    scores = force(model, tokenizer, sources, translations, shared=shared)
    ratio = TextProfile.of(model.config).length_ratio
    judged, known = [], []
    quality = sentence_chrf(translations, references)
    rows = list(zip(sources, translations, references, strict=True))
    for (source, translation, targets), score, chrf in zip(rows, scores, quality, strict=True):
        if score.tokens:
            pieces = len(tokenizer(clean_text(source))["input_ids"])
            token_score = score.log_probability / score.tokens
            values = features(source, translation, token_score, pieces, ratio)
            judged.append(Judged(token_score, values, chrf >= NEEDS_NONE))
            known.append((source, translation, targets))
    if words:
        some = known[:WORDS_OF]
        for number, own in enumerate(_judged_words(model, tokenizer, some)):
            judged[number] = judged[number]._replace(words=own)
    return judged


def _judged_words(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    known: Sequence[tuple[str, str, Sequence[str]]],
) -> Iterator[list[tuple[list[float], bool]]]:
    """The words of each translation, from tuples of source, translation and references."""
    sources, translations = [source for source, *_ in known], [translation for _, translation, _ in known]
    scores = tokens_by_word(partial(token_scores, model, tokenizer), tokenizer, sources, translations)
    for (_, translation, references), tokens in zip(known, scores, strict=True):
        right = [fits for fits, own in zip(right_words(translation, references), tokens, strict=True) if own]
        yield list(zip(word_features(tokens), right, strict=True))


def measure_confidence(weights: Mapping[str, float], judged: Sequence[Judged]) -> dict:
    """The expected calibration error of a confidence model as `error`, and ten equal-sized bins as `bins`.

    A bin has the mean confidence of its translations, the share that needs no correction, and their number.
    """
    values = [confidence(weights, each.features) for each in judged]
    right = [each.is_right for each in judged]
    bins = [[round(mean, 4), round(share, 4), size] for mean, share, size in reliability(values, right)]
    return {"error": round(calibration_error(values, right), 4), "bins": bins}


def score(run: RunFolder, settings: Settings, model, tokenizer, pairs: DatasetDict, shared: bool = False) -> dict:
    """Score the model on the held-out `pairs`; returns the scores by split. The first process prints them.

    With `shared`, all processes must call this and share the translation work.
    """
    found: dict = {}
    for split in ("validation", "test"):
        if split in pairs:
            found[split], judged = _score_split(run, split, model, tokenizer, pairs[split], settings, shared)
            if split == "validation":
                if settings.data.memory:
                    judged += _judged_with_memory(model, tokenizer, pairs, shared)
                _learn_from(judged, model)
            elif judged:
                found["confidence"] = measure_confidence(TextProfile.of(model.config).confidence, judged)
    return found


def _score_split(
    run: RunFolder, split: str, model, tokenizer, pairs: Dataset, settings: Settings, shared: bool
) -> tuple[dict, list[Judged]]:
    """Score one split with greedy decoding and with the model's beams; the first process prints the scores.

    Returns the scores without the texts, and the judged translations. Translations of test pairs are judged if the
    model has learned a confidence.

    With several target languages or files, each is scored separately, with its name before the decoding method, such
    as "de, greedy".
    """
    beams = sorted({1, model.generation_config.num_beams or 1})
    kept, samples = {}, []
    judged: list[Judged] = []
    for language, rows in by_language(pairs):
        tokenize = bleu_tokenizer(language or settings.data.target_language, settings.translator.bleu_tokenizer)
        own = tokenizer.into(language) if language else tokenizer
        translators = [Translator(model, own, Search(count), execution=Execution(shared=shared)) for count in beams]
        results = score_translators(translators, rows, tokenize, files=files_of(rows))
        if split == "validation" or TextProfile.of(model.config).confidence:
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


def _judged_with_memory(model, tokenizer, pairs: DatasetDict, shared: bool) -> list[Judged]:
    """Judge the validation translations that use a match from the training pairs."""
    ratio, judged = TextProfile.of(model.config).length_ratio, []
    for language, rows in by_language(pairs["validation"]):
        known = dict(by_language(pairs["train"])).get(language, pairs["train"])
        own = tokenizer.into(language) if language else tokenizer
        sources, references = zip(*group_references(rows), strict=True)
        with Memory.temporary(zip(known["source"][:], known["target"][:], strict=True)) as memory:
            search = Search(model.generation_config.num_beams or 1, scores=True)
            translator = Translator(model, own, search, Checks("blank"), Execution(shared=shared)).with_recall(
                Recall([memory])
            )
            found = [best for best, *_ in translator.translate(sources)]
        quality = sentence_chrf([each.text for each in found], references)
        for source, each, chrf in zip(sources, found, quality, strict=True):
            reads = [match.score for match in each.matches if match.use == READ]
            if reads and each.token_score is not None:
                pieces = len(own(clean_text(source))["input_ids"])
                values = features(source, each.text, each.token_score, pieces, ratio, min(reads))
                judged.append(Judged(each.token_score, values, chrf >= NEEDS_NONE))
    return judged


def _learn_from(judged: list[Judged], model: PreTrainedModel) -> None:
    """Learn the threshold for improbable translations, and confidence models for sentences and words."""
    right = [each.is_right for each in judged]
    confidence = learn([each.features for each in judged], right)
    if confidence is None:
        logger.info(
            "No confidence is learned. It takes %d validation translations, of which at least %.0f%% need a "
            "correction and as many need none. Of %d, %d need none.", FEWEST, 100 * SHARE, len(right), sum(right),
        )  # fmt: skip
    words = [word for each in judged for word in each.words]
    values, right = [values for values, _ in words], [is_right for _, is_right in words]
    replace(
        TextProfile.of(model.config),
        improbable_score=improbable_score([each.token_score for each in judged]),
        confidence=confidence,
        word_confidence=learn(values, right, WORD_FEATURES, WORD_SHARE),
    ).write(model.config)
