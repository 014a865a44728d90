"""Translation memory matches of a run's pairs among its training pairs."""

from collections.abc import Callable

from datasets import Dataset, DatasetDict, Features, Value, concatenate_datasets

from ...base.caching import cached_map
from ...base.matches import MATCH, MATCH_SCORE, USED
from ...translate.memory import index, store, terms
from ...translate.memory.store import Memory
from .pairs import by_language


def with_matches(pairs: DatasetDict) -> DatasetDict:
    """Add the best match of each pair to all splits: the columns `MATCH` and its score, or blanks and 0.

    Matches are training or replayed pairs of the same target language with a different source. Raises `GlossaError`
    if the package rapidfuzz is missing.
    """
    known = pairs["train"]
    if "replay" in pairs:
        known = concatenate_datasets(
            [pairs[name].select_columns(["source", "target"]) for name in ("train", "replay")]
        )
    features = Features({name: Value("string") for name in MATCH} | {MATCH_SCORE: Value("int32")})
    find = _finder(known)
    found = {
        name: cached_map(
            rows,
            find,
            (known._fingerprint, USED),
            code=[store, index, terms],
            features=Features(rows.features | features),
            desc=f"matches of {name}",
        )
        for name, rows in pairs.items()
    }
    return DatasetDict(found)


def _finder(known: Dataset) -> Callable[[dict], dict]:
    """A function that finds the matches of a batch of rows. It builds the memories on the first call."""
    memories: dict[str, Memory] = {}

    def find(batch: dict) -> dict:
        if not memories:
            for language, rows in by_language(known):
                memories[language or ""] = Memory.temporary(zip(rows["source"][:], rows["target"][:], strict=True))
        languages = batch.get("language") or [""] * len(batch["source"])
        best = [
            next(iter(memories[language].matches(source, USED, other_than=source)), None)
            if language in memories
            else None
            for source, language in zip(batch["source"], languages, strict=True)
        ]
        return {
            MATCH[0]: [match.source if match else "" for match in best],
            MATCH[1]: [match.target if match else "" for match in best],
            MATCH_SCORE: [match.score if match else 0 for match in best],
        }

    return find
