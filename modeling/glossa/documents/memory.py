"""Translations that are there already: of a memory that the user gives, and of a job that was interrupted."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..data.intake.columns import Columns
from ..data.intake.readers import read_rows
from ..errors import GlossaError
from ..inference.engines.engine import Translation
from ..inference.texts.text import Sentence
from ..jobs.whole_files import synchronize
from ..sentences_glossa import clean_text
from ..spans_glossa import Span
from .formats.opening import Languages

READ = (".tmx", ".xliff", ".xlf", ".po", ".tsv", ".csv", ".jsonl")
CHUNK = 2048  # sentences that are translated before they are kept

Key = tuple[str, str, bool]  # a sentence, what the model reads of it, and whether it is a label
Translate = Callable[[Sequence[Sentence]], object]  # [`Translator.translate_segments`], perhaps in a queue


def read_memory(path: Path, languages: Languages) -> dict[str, str]:
    """The translations in a translation memory, a TMX or another file of pairs, or a folder of these.

    Of several translations of a text the last one counts. Raises `GlossaError` if there is none.
    """
    if languages.source is None or languages.target is None:
        raise GlossaError(
            "--memory needs to know the languages of the model, which does not say them. Give --target_language, and "
            "a model whose config has source_language and target_language."
        )
    found = pairs_of(path, languages.source, languages.target)
    if not found:
        raise GlossaError(
            f"--memory {path} has no pair of {languages.source} and {languages.target}. Give a file of both languages."
        )
    return found


def files_of(path: Path) -> list[Path]:
    """The files of a translation memory. Raises `GlossaError` if it is not there."""
    if not path.exists():
        raise GlossaError(f"--memory {path} is not there. Give a TMX file, or a folder of such files.")
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in READ) if path.is_dir() else [path]


def pairs_of(path: Path, source: str, target: str) -> dict[str, str]:
    """The translations between two languages in a translation memory, perhaps none."""
    found: dict[str, str] = {}
    columns = Columns(((source, target), ("source", "target")))
    for file in files_of(path):
        for text, translation, _, problem in read_rows((file,), columns, None):
            if not problem and text.strip() and translation.strip():
                found[clean_text(text)] = clean_text(translation)
    return found


class Kept:
    """Writes down the translations of sentences, and does not translate them again after an interruption.

    Args:
        translate: Translates sentences.
        path: Where the translations are written, one line of JSON each.
    """

    def __init__(self, translate: Translate, path: Path):
        self.translate_new, self.path = translate, path
        self.known: dict[Key, dict[str, Any]] = dict(self._read())
        self.found = len(self.known)

    def _read(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # the process was killed while it wrote this one
                row: dict[str, Any] = json.loads(line)
                yield (row.pop("source"), row.pop("asked"), row.pop("label", False)), row
        with open(self.path, "r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    def translate(self, sentences: Sequence[Sentence]) -> None:
        """Translate sentences, equal ones once."""
        new: dict[Key, Sentence] = {}
        waiting = [(_key(sentence), sentence) for sentence in sentences if not sentence.translations]
        for key, sentence in waiting:
            if key not in self.known:
                new.setdefault(key, sentence)
        keys = list(new)
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            self.translate_new([new[key] for key in chunk])
            rows = []
            for key in chunk:
                best, places = new[key].best, new[key].places[0]
                self.known[key] = {"translation": asdict(best), "places": list(places)}
                named = dict(zip(("source", "asked", "label"), key, strict=True))
                rows.append(json.dumps({**named, **self.known[key]}) + "\n")
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("".join(rows))
                synchronize(file)
        for key, sentence in waiting:
            if not sentence.translations:
                known = self.known[key]
                sentence.translations = [Translation(**known["translation"])]
                sentence.places = [[Span(*place) for place in known["places"]]]


def _key(sentence: Sentence) -> Key:
    return sentence.source, sentence.asked + sentence.match_read, sentence.label is not None
