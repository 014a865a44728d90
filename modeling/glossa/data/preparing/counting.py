"""The report of prepared data, from what is known of each block."""

from collections import Counter
from collections.abc import Sequence

from ...errors import GlossaError
from ..arguments import DataArguments
from ..cleaning import plausibility
from ..cleaning.cleaning import Loaded, reasons, refuse_nothing
from ..cleaning.report import EXAMPLES, DataReport


def count_rows(report: DataReport, loaded: Loaded, rules: dict, results: Sequence[dict], several: bool) -> None:
    """Add the counts of a source, as far as its rows are judged one by one; `results` are those of its blocks.

    Raises `GlossaError` if no pair is left, too many rows are malformed or, with `strict`, one is.
    """
    outcomes: Counter = Counter()
    for result in results:
        outcomes.update(result["outcomes"])
    examples = merged_examples(results)
    malformed = examples.pop("malformed", [])
    if loaded.settings.strict and malformed:
        first = malformed[0]
        raise GlossaError(
            f"{first['file']}, line {first['line']}: {first['reason']}: {first['excerpt']!r}. Correct the row, or set "
            "strict to false to drop such rows."
        )
    counts = {"read": sum(result["read"] for result in results)}
    if not outcomes["kept"]:
        where = f"train split{f' of {loaded.name}' * several}"
        refuse_nothing(where, counts["read"], dict(+outcomes), malformed or next(iter(examples.values()), []))
    if loaded.settings.split_sentences:
        counts["split"] = sum(result["rows"] for result in results) - counts["read"]
    counts |= {name: outcomes[name] for name in reasons(loaded.settings, rules, dict(+outcomes))}
    report.add_counts("train", loaded.name, counts)
    report.malformed_rows = (report.malformed_rows + malformed)[:EXAMPLES]
    _add_examples(report, {reason: examples[reason] for reason in counts if reason in examples})
    plausibility.check_malformed("train", counts, malformed, loaded.settings)


def count_pairs(report: DataReport, name: str, settings: DataArguments, results: Sequence[dict]) -> dict[str, int]:
    """Add the counts of a source that depend on all pairs; returns them."""
    chosen = ["duplicates"]
    chosen += [reason for reason in ("near_duplicates", "filter_alignment") if getattr(settings, reason)]
    counts = {reason: sum(result["counts"].get(reason, 0) for result in results) for reason in chosen}
    counts["kept"] = sum(result["kept"] for result in results)
    if settings.repair_text:
        counts["repaired"] = sum(result["repaired"] for result in results)
    whole = dict(report.sources[name]) | counts
    report.add_counts("train", name, counts)
    report.sources[name] = whole
    examples = merged_examples(results)
    _add_examples(report, {reason: examples[reason] for reason in counts if reason in examples})
    return counts


def merged_examples(results: Sequence[dict]) -> dict[str, list[dict]]:
    """The first examples of each reason."""
    found: dict[str, list[dict]] = {}
    for result in results:
        for reason, examples in result["examples"].items():
            found[reason] = (found.get(reason, []) + examples)[:EXAMPLES]
    return found


def _add_examples(report: DataReport, examples: dict[str, list[dict]]) -> None:
    for reason, found in examples.items():
        report.examples[reason] = report.examples.get(reason, []) + found
