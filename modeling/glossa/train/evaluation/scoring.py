"""Translate held-out pairs and score the translations."""

import logging
import time
from collections.abc import Callable

from datasets import Dataset

from ...base.errors import GlossaError
from ...base.metrics import score_both
from ...base.tokens import target_vocabulary
from ...translate.plausibility import rates
from ...translate.translator import Translator
from ..data.pairs import each_line, group_references
from .further_metrics import FURTHER

logger = logging.getLogger(__name__)

METRICS = {"bleu": "BLEU", "chrf": "chrF++", "ter": "TER"}
REFERENCES = {"single": "first", "multi": "all"}
NORMALIZED = "normalized references"
CASED = "Well-known!"  # changed by normalization of case or punctuation


def score_translators(
    translators: list[Translator],
    pairs: Dataset,
    tokenize: str = "13a",
    n_bootstrap: int = 1000,
    files: list[str] | None = None,
) -> dict[str, dict]:
    """Score each translator with [`score_translator`]; returns the results by the name of the decoding method.

    If a model's tokenizer normalizes case or punctuation, its translations are also scored against references with the
    same normalization, in a separate entry.

    `files` names the file of each pair. Every pair then counts, even if sources repeat, as in sacreBLEU. With
    several files, there are entries for each file, before the entries for all files together.
    """
    results: dict[str, dict] = {}
    for translator in translators:
        name = decoding_name(translator.search.beams, translator.search.length_penalty)
        result = score_translator(translator, pairs, tokenize, n_bootstrap, files)
        if len(places := dict.fromkeys(result.get("files", ()))) > 1:
            results |= {f"{file}, {name}": _of_file(result, file, tokenize, n_bootstrap) for file in places}
            name = f"all, {name}"
        results[name] = result
        normalize = _normalizer(translator)
        if normalize is not None:
            translations = list(map(normalize, results[name]["translations"]))
            references = [list(map(normalize, targets)) for targets in results[name]["references"]]
            results[f"{name}, {NORMALIZED}"] = results[name] | {
                "translations": translations,
                "references": references,
                "scores": score_both(translations, references, n_bootstrap, tokenize),
            }
    return results


def files_of(pairs: Dataset) -> list[str] | None:
    """The file of each held-out pair, from the column `file`; None unless there are several files."""
    files = pairs["file"][:] if "file" in pairs.column_names else []
    return files if len(set(files)) > 1 else None


def _of_file(result: dict, file: str, tokenize: str, n_bootstrap: int) -> dict:
    """The result of [`score_translator`] for one of several files."""
    rows = [row for row, own in enumerate(result["files"]) if own == file]
    texts = {name: [result[name][row] for row in rows] for name in ("sources", "references", "translations")}
    scores = score_both(texts["translations"], texts["references"], n_bootstrap, tokenize)
    return {"file": file, "num_beams": result["num_beams"], "scores": scores} | texts


def _normalizer(translator: Translator) -> Callable[[str], str] | None:
    backend = hasattr(translator.tokenizer, "backend_tokenizer")  # not in slow tokenizers
    normalizer = target_vocabulary(translator.tokenizer).normalizer if backend else None
    changes = normalizer is not None and normalizer.normalize_str(CASED) != CASED
    return normalizer.normalize_str if changes else None


def score_translator(
    translator: Translator,
    pairs: Dataset,
    tokenize: str = "13a",
    n_bootstrap: int = 1000,
    files: list[str] | None = None,
) -> dict:
    """Translate each distinct source of `pairs` once and score it against its references.

    With `files`, the file of each pair, every pair counts, and the result has the `files` of the translated pairs.

    Returns `scores` (see [`score_both`]), `sources` and `translations` in order, `references` (a list per source),
    `num_beams`, the translation time in `seconds`, `length` (characters of the translations divided by those of the
    first references), and `implausible` (the share of translations with each problem of [`find_problem`]).
    """
    grouped = group_references(pairs) if files is None else each_line(pairs)
    sources, references = [source for source, _ in grouped], [targets for _, targets in grouped]
    started = time.perf_counter()
    translator = translator.with_checks(on_error="blank")
    found = [translations[0] for translations in translator.translate(sources, progress=True)]
    seconds = time.perf_counter() - started
    translated = [row for row, translation in enumerate(found) if not translation.failed]
    if len(translated) < len(found):
        logger.warning("%d of %d sources are too long and are left out.", len(found) - len(translated), len(found))
        sources, references = [sources[row] for row in translated], [references[row] for row in translated]
        found = [found[row] for row in translated]
        files = files and [files[row] for row in translated]
    if not found:
        raise GlossaError("Every source is longer than the model's maximum length, so there is nothing to score.")
    translations = [translation.text for translation in found]
    return {
        "num_beams": translator.search.beams,
        "scores": score_both(translations, references, n_bootstrap, tokenize),
        "seconds": round(seconds, 2),
        "length": round(sum(map(len, translations)) / max(sum(len(targets[0]) for targets in references), 1), 4),
        "implausible": rates((translation.problem for translation in found), len(found)),
        "sources": sources,
        "references": references,
        "translations": translations,
    } | ({} if files is None else {"files": files})


def decoding_name(num_beams: int, length_penalty: float | None = None) -> str:
    """The name of a decoding method in tables; with `length_penalty` unless it is None, the model's default."""
    beams = "greedy" if num_beams == 1 else f"beam {num_beams}"
    return beams if length_penalty is None else f"{beams}, length penalty {length_penalty:g}"


def score_table(results: dict[str, dict]) -> str:
    """A table of scores, with 95% confidence intervals if available, followed by the signatures of each metric.

    `results` maps row labels to results of [`score_translator`]. Scores against all references have a row only if
    they differ from the scores against the first reference.
    """
    rows: list[list[str]] = []
    signatures: dict[str, dict[str, None]] = {}
    for name, result in results.items():
        kinds = distinct_kinds(result["scores"])
        for kind in kinds:
            scores = result["scores"][kind]
            label = name if len(kinds) == 1 else f"{name}, {REFERENCES[kind]}"
            rows.append([label, *map(_with_interval, scores.values())])
            for metric, found in scores.items():
                signatures.setdefault(metric, {})[found["signature"]] = None
    names = METRICS | FURTHER
    lines = align_columns([["", *(names[metric] for metric in signatures)], *rows])
    return "\n".join([*lines, *(f"{names[name]}: {text}" for name, texts in signatures.items() for text in texts)])


def _with_interval(score: dict) -> str:
    interval = f" [{score['low']:.1f}, {score['high']:.1f}]" if "low" in score else ""
    return f"{score['score']:.2f}{interval}"


def comparison_table(tests: dict[str, dict]) -> str:
    """A table of results of [`paired_bootstrap`]: both scores, their difference and the p-value."""
    rows = [["", "metric", "baseline", "system", "difference", "p-value"]]
    for name, metrics in tests.items():
        for metric, found in metrics.items():
            baseline, system = found["baseline"], found["system"]
            scores = [f"{baseline:.2f}", f"{system:.2f}", f"{system - baseline:+.2f}", f"{found['p_value']:.3f}"]
            rows.append([name, METRICS[metric], *scores])
    return "\n".join(
        [*align_columns(rows), "p-value: probability of a difference this large by chance alone (Koehn 2004)."]
    )


def distinct_kinds(scores: dict[str, dict]) -> list[str]:
    """The kinds of references to report; "multi" only if further references change the scores."""
    same = [s["score"] for s in scores["multi"].values()] == [s["score"] for s in scores["single"].values()]
    return ["single"] if same else ["single", "multi"]


def align_columns(rows: list[list[str]]) -> list[str]:
    """The lines of a table, with all columns but the first aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    first, *others = widths
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))])
        for row in rows
    ]
