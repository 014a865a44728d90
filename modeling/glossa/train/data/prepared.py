"""Folders of prepared pairs as sources of a run. Imports no library."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...base.errors import GlossaError
from ...base.jobs.whole_files import write_whole
from ...readers.manifest import MANIFEST, Entry, read_manifest
from .filters import FILTERS, PREFIX, enabled_filters, nest_filters

TOKENIZER = "tokenizer"  # the folder of the tokenizer in a prepared folder
# Settings that determine which pairs are kept. `glossa prepare` applies them once.
APPLIED = ("repair_text", "keep_out", "split_sentences", "max_train_samples")


def applied_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """The filters that `glossa prepare` applies."""
    return {name: value for name, value in filters.items() if FILTERS[name].step != "tokens"}


@dataclass(frozen=True)
class Tokens:
    """The token ids in the files of a prepared folder.

    Attributes:
        stamp: The hash of the tokenizer, see [`glossa.train.data.encoding.encoding.stamp_of`].
        vocabulary: The settings with which its vocabulary was learned, by name; "augmentation" has the shares.
        folder: The prepared folder.
    """

    stamp: str
    vocabulary: dict[str, Any]
    folder: Path

    @property
    def tokenizer(self) -> Path:
        """The folder of the tokenizer."""
        return self.folder / TOKENIZER


def write_manifest(folder: Path, arguments: Any, entries: Sequence[Entry], held_out: dict[str, dict]) -> None:
    """Write the manifest; `held_out` has the files of each evaluation split with their sizes, by language."""
    names = ("source_language", "target_language", "sampling_temperature", *APPLIED)
    settings = {name: getattr(arguments, name) for name in names}
    content = {
        "settings": settings | {"filters": applied_filters(arguments.filters)},
        "sources": [asdict(entry) for entry in entries],
        "held_out": held_out,
    }
    write_whole(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False))


def add_tokens(folder: Path, before: Path, stamp: str, vocabulary: dict[str, Any]) -> None:
    """Write the manifest of `folder`, which has the files of the folder `before` with token ids."""
    content = json.loads((before / MANIFEST).read_text(encoding="utf-8"))
    for entry in content["sources"]:
        entry["files"] = {name: (folder / name).stat().st_size for name in entry["files"]}
    content["tokens"] = {"stamp": stamp, "vocabulary": vocabulary}
    write_whole(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False))


def tokens_of(sources: Sequence[Any]) -> Tokens | None:
    """The token ids of all training rows, if the sources are a prepared folder with token ids."""
    folder = prepared_folder([path for source in sources for path in source.settings.data_path])
    if folder is None:
        return None
    manifest = read_manifest(folder)
    if "tokens" not in manifest:
        return None
    entries = [entry for entry in manifest["sources"] if entry.pairs]
    if len(entries) != len(sources) or not all(map(_is_whole, entries, sources)):
        return None
    return Tokens(**manifest["tokens"], folder=folder)


def _is_whole(entry: Entry, source: Any) -> bool:
    """Whether a source of a run is a complete, unchanged source of a prepared folder."""
    given = source.settings
    paths = [Path(path).name for path in given.data_path]
    same = (given.source_language, given.target_language, source.tag, paths)
    changed = not given.keep_overlap or any(getattr(given, name) not in (None, False, []) for name in APPLIED)
    changed = changed or bool(applied_filters(given.filters))
    return not changed and same == (entry.source_language, entry.target_language, entry.tag, list(entry.files))


def prepared_folder(paths: Sequence[str]) -> Path | None:
    """The prepared folder given by `paths`, which are the folder or some of its files; None for other data."""
    folders = {Path(path) if Path(path).is_dir() else Path(path).parent for path in paths}
    return folders.pop() if len(folders) == 1 and (next(iter(folders)) / MANIFEST).is_file() else None


def prepared_settings(arguments: Any) -> dict[str, Any]:
    """The settings for a prepared folder given as `data_path` of `DataArguments`; empty for other data.

    Raises `GlossaError` if the folder is incomplete, or was prepared with other languages or settings.
    """
    paths = arguments.data_path
    if len(paths) != 1 or not Path(paths[0]).is_dir() or not (folder := prepared_folder(paths)):
        return {}
    manifest = read_manifest(folder)
    settings, entries, held_out = nest_filters(manifest["settings"]), manifest["sources"], manifest["held_out"]
    evaluation = [files for by_language in held_out.values() for files in by_language.values()]
    for files in [*(entry.files for entry in entries), *evaluation]:
        for name, size in files.items():
            if not (folder / name).is_file() or (folder / name).stat().st_size != size:
                raise GlossaError(f"{folder / name} is missing or has changed. Run glossa prepare again.")
    found = _without_applied(arguments, settings, folder)
    entries = [entry for entry in entries if entry.pairs]  # all pairs of a source may be duplicates
    temperature = settings["sampling_temperature"]
    found |= {"data_path": [], "dataset": "embedded", "sampling_temperature": temperature}
    found["sources"] = [_source(folder, entry, temperature) for entry in entries]
    # Training pairs share no side with the prepared evaluation pairs, but must be compared with others.
    given = arguments.validation_path or arguments.test_path
    found["keep_overlap"] = arguments.keep_overlap or not given
    for split in ("validation", "test"):
        if not getattr(arguments, f"{split}_path"):
            found |= _held_out(split, found["sources"], entries, folder, held_out.get(split, {}))
        if getattr(arguments, f"{split}_size") is None:
            found[f"{split}_size"] = 0
    return found


def _held_out(
    split: str, sources: list[dict], entries: list[Entry], folder: Path, files: dict[str, dict]
) -> dict[str, Any]:
    """The setting with the evaluation pairs; with several languages, it is set in a source of each language."""
    found = {}
    for language, names in files.items():
        paths = [str(folder / name) for name in names]
        if language:
            own = [number for number, entry in enumerate(entries) if entry.target_language == language]
            if not own:
                raise GlossaError(
                    f"{folder} has {split} pairs, but no training pair of target language {language!r}. Run glossa "
                    "prepare without its sources, or with more pairs."
                )
            sources[own[0]][f"{split}_path"] = paths
        else:
            found[f"{split}_path"] = paths
    return found


def _without_applied(arguments: Any, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Values that turn off the settings `glossa prepare` has applied. Raises `GlossaError` if one differs."""
    for name in ("source_language", "target_language"):
        if getattr(arguments, name) != settings[name]:
            raise GlossaError(
                f"{name} is {getattr(arguments, name)!r}, but {folder} was prepared with {settings[name]!r}. Set "
                f"{name} to {settings[name]!r}."
            )
    before, wanted = enabled_filters(settings["filters"]), applied_filters(arguments.filters)
    known = {name: (getattr(arguments, name), settings[name]) for name in APPLIED}
    known |= {f"{PREFIX}{name}": (value, before.get(name, False)) for name, value in wanted.items()}
    for name, (given, prepared) in known.items():
        if given not in (None, False, []) and given != prepared:
            raise GlossaError(
                f"{name} is {given!r}, but {folder} was prepared with {prepared!r}. Run glossa prepare with it, or "
                "leave it out."
            )
    found: dict[str, Any] = {"filters": {name: own for name, own in arguments.filters.items() if name not in wanted}}
    for name in APPLIED:
        given = getattr(arguments, name)
        found[name] = False if isinstance(given, bool) else [] if isinstance(given, list) else None
    return found


def _source(folder: Path, entry: Entry, temperature: float | None) -> dict:
    found: dict[str, Any] = {"name": entry.name, "data_path": [str(folder / name) for name in entry.files]}
    found |= {"source_language": entry.source_language, "target_language": entry.target_language}
    if temperature is None:
        found["weight"] = entry.weight
    return found | ({"tag": entry.tag} if entry.tag else {})
