"""The sources of a recipe and their weights. Imports no library."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...base.errors import GlossaError
from ...base.languages import same_language
from ...base.paths import OPUS, PACKED
from ...base.values import MEANINGS, nearest, typed
from .filters import check_filters, nest_filters

# Settings of the recipe that a source may override, by type, in addition to its name, weight, tag and filters.
SETTINGS = {
    "dataset": str, "dataset_config": str, "data_path": list, "source_column": str, "target_column": str,
    "validation_path": list, "test_path": list, "max_train_samples": int, "source_language": str,
    "target_language": str, "repair_text": bool,
}  # fmt: skip
KINDS: dict[str, type] = {"name": str, "weight": float, "tag": str, "filters": dict} | SETTINGS


@dataclass(frozen=True)
class Source:
    """A corpus of a recipe.

    Attributes:
        name: Its name in the report.
        settings: The `DataArguments` of this corpus: the recipe's settings, overridden by those of the corpus.
        weight: How often each training row is seen in an epoch, on average.
        tag: Text before each source sentence in training.
        language: The target language of its rows if the recipe has several, otherwise "".
    """

    name: str
    settings: Any
    weight: float = 1.0
    tag: str = ""
    language: str = ""


def sources_of(arguments: Any) -> list[Source]:
    """The sources of checked `DataArguments`: the entries of `sources`, or the one that the flat settings describe."""
    if not arguments.sources:
        return [Source(_derived_name(arguments.dataset, arguments.data_path), arguments)]
    sources = [_source(arguments, number, entry) for number, entry in enumerate(arguments.sources, 1)]
    several = _distinct(source.settings.target_language for source in sources)
    if len(several) == 1:
        return sources
    return [replace(source, language=_variant(source.settings.target_language, several)) for source in sources]


def target_languages(arguments: Any) -> list[str]:
    """The target languages of the sources in checked `DataArguments` if there are several, in order; else []."""
    return list(dict.fromkeys(source.language for source in sources_of(arguments) if source.language))


def common_source(arguments: Any) -> str | None:
    """The source language of the recipe; with several target languages None, unless all sources have the same one."""
    if not target_languages(arguments):
        return arguments.source_language
    found = _distinct(source.settings.source_language for source in sources_of(arguments))
    return found[0] if len(found) == 1 else None


def language_of_held_out(arguments: Any) -> str:
    """The target language of `validation_path` and `test_path` of a recipe that has several, else ""."""
    return _variant(arguments.target_language, target_languages(arguments))


def check_sources(arguments: Any) -> list[dict]:
    """The `sources` of `DataArguments` with every value of its type. Raises `GlossaError` if they cannot be used."""
    given = _entries(arguments.sources)
    if arguments.data_path or arguments.dataset not in ("embedded", "sources"):
        other = "data_path" if arguments.data_path else "dataset"
        raise GlossaError(f"sources and {other} are both given. Make {other} one of the sources, or leave it out.")
    entries = [_typed_entry(number, entry) for number, entry in enumerate(given, 1)]
    weighted = [number for number, entry in enumerate(entries, 1) if "weight" in entry]
    if weighted and arguments.sampling_temperature is not None:
        raise GlossaError(
            f"sources, entry {weighted[0]}, has a weight, and sampling_temperature is "
            f"{arguments.sampling_temperature}, which computes the weights. Leave one of the two out."
        )
    found: dict[str, int] = {}
    sources = [_source(arguments, number, entry) for number, entry in enumerate(entries, 1)]
    for number, source in enumerate(sources, 1):
        name = source.name
        if name in found:
            raise GlossaError(
                f"sources, entries {found[name]} and {number}, are both named {name!r}. Give one of them another name."
            )
        found[name] = number
    _check_target(arguments, _distinct(source.settings.target_language for source in sources))
    return entries


def _check_target(arguments: Any, languages: list[str]) -> None:
    """Raise `GlossaError` if no source has the recipe's target language, where this matters."""
    wanted = arguments.target_language
    if _variant(wanted, languages):
        return
    if len(languages) == 1 and "language" not in arguments.trust_data:
        raise GlossaError(
            f"target_language is {wanted!r}, but the target language of all sources is {languages[0]!r}. Set "
            f"target_language to {languages[0]!r}. To train on these sources anyway, set trust_data to language."
        )
    for name in ("validation_path", "test_path"):
        if len(languages) > 1 and getattr(arguments, name):
            raise GlossaError(
                f"{name} has pairs of target_language, which is {wanted!r}, but the sources have "
                f"{', '.join(languages)}. Set target_language to one of these, or give each source its own {name}."
            )


def without_mixing(settings: dict) -> dict:
    """Remove weights and tags from data settings, so that every row is seen once and unchanged."""
    plain = {name: value for name, value in settings.items() if name != "sampling_temperature"}
    if sources := plain.get("sources"):
        mixing = ("weight", "tag")
        plain["sources"] = [{name: entry[name] for name in entry if name not in mixing} for entry in sources]
    return plain


def weights(counts: Sequence[int], sources: Sequence[Source], temperature: float | None) -> list[float]:
    """The weight of each source with `counts` training rows.

    With a temperature T, shares are proportional to count^(1/T), and the largest source has weight 1 (Arivazhagan et
    al. 2019, section 4.2).
    """
    if temperature is None:
        return [source.weight for source in sources]
    largest = max(counts)
    return [(count / largest) ** (1 / temperature) * largest / count if count else 0.0 for count in counts]


def _entries(given: Any) -> list[dict]:
    """The entries of a recipe or a command line, where each word is the JSON of an entry or of a list of entries."""
    entries: list = []
    for word in given if isinstance(given, list) else [given]:
        try:
            entry = json.loads(word) if isinstance(word, str) else word
        except json.JSONDecodeError:
            entry = word
        entries += entry if isinstance(entry, list) else [entry]
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise GlossaError(
                f"sources, entry {number}, is {entry!r}; give the settings of a source: in a recipe `data_path: "
                'a.tsv` and so on, on the command line \'{"data_path": "a.tsv"}\'.'
            )
    return entries


def _distinct(languages: Iterable[str]) -> list[str]:
    """Each language once, in order; variants in the same script, such as pt_BR, count as the first of them."""
    found: list[str] = []
    for language in languages:
        if not _variant(language, found):
            found.append(language)
    return found


def _variant(language: str, languages: Sequence[str]) -> str:
    """The first of `languages` that is `language` or a variant in the same script; "" if there is none."""
    return next((other for other in languages if same_language(language, other)), "")


def _source(arguments: Any, number: int, entry: dict) -> Source:
    own = {name: value for name, value in entry.items() if name in SETTINGS}
    if "dataset" not in own and "data_path" not in own:
        raise GlossaError(f"sources, entry {number}, has neither dataset nor data_path; give one of them.")
    none: dict[str, Any] = {"sources": [], "sampling_temperature": None, "validation_path": [], "test_path": []}
    own = {"dataset": "files", "data_path": []} | none | own
    own["filters"] = arguments.filters | entry.get("filters", {})
    name = entry.get("name") or _derived_name(own["dataset"], own["data_path"])
    weight = entry.get("weight", 1.0)
    try:
        if not 0 < weight <= 1000:
            raise GlossaError(f"weight is {weight}; it must be above 0 and at most 1000.")
        return Source(name, replace(arguments, **own), weight, entry.get("tag", ""))
    except GlossaError as error:
        raise GlossaError(f"sources, entry {number} ({name}): {error}") from error


def _derived_name(dataset: str, data_path: Sequence[str]) -> str:
    """The name of the first file without extensions, of the OPUS corpus, or of the dataset."""
    if not data_path:
        return dataset
    first = data_path[0].partition("?")[0].rstrip("/")
    if first.startswith(OPUS):
        return first.removeprefix(OPUS).partition("/")[0]
    path = Path(first)
    return Path(path.stem).stem if path.suffix in PACKED else path.stem


def _typed_entry(number: int, entry: dict) -> dict:
    found: dict[str, Any] = {}
    for name, value in nest_filters(entry).items():
        if name not in KINDS:
            hint = nearest(str(name), KINDS)
            raise GlossaError(
                f"sources, entry {number}: a source has no setting `{name}`.{hint} Allowed are {', '.join(KINDS)}."
            )
        if value is None or value in ("null", "~"):
            continue
        if name == "filters":
            found[name] = check_filters(value, f"sources, entry {number}: ")
            continue
        found[name] = typed(KINDS[name], value)
        if found[name] is None:
            raise GlossaError(f"sources, entry {number}: {name} is {value!r}; give {MEANINGS[KINDS[name]]}.")
    return found
