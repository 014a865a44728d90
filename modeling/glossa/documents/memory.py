"""Translations that are there already: of a memory that the user gives, and of a job that was interrupted."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..data.intake.columns import Columns
from ..data.intake.readers import read_rows
from ..errors import GlossaError
from ..inference.engines.engine import Translation
from ..inference.texts.segment import TextTranslator
from ..jobs.whole_files import synchronize
from ..segments_glossa import Segment
from ..sentences_glossa import clean_text
from .formats.opening import Languages

READ = (".tmx", ".xliff", ".xlf", ".po", ".tsv", ".csv", ".jsonl")
CHUNK = 2048  # texts that are translated before they are kept


def read_memory(path: Path, languages: Languages) -> dict[str, str]:
    """The translations in a translation memory, a TMX or another file of pairs, or a folder of these.

    Of several translations of a text the last one counts. Raises `GlossaError` if there is none.
    """
    if not path.exists():
        raise GlossaError(f"--memory {path} is not there. Give a TMX file, or a folder of such files.")
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in READ) if path.is_dir() else [path]
    if languages.source is None or languages.target is None:
        raise GlossaError(
            "--memory needs to know the languages of the model, which does not say them. Give --target_language, and "
            "a model whose config has source_language and target_language."
        )
    columns = Columns(((languages.source, languages.target), ("source", "target")))
    found: dict[str, str] = {}
    for file in files:
        for source, target, _, problem in read_rows((file,), columns, None):
            if not problem and source.strip() and target.strip():
                found[clean_text(source)] = clean_text(target)
    if not found:
        raise GlossaError(
            f"--memory {path} has no pair of {languages.source} and {languages.target}. Give a file of both languages."
        )
    return found


class Kept:
    """A translator that writes down what it translates, and does not translate it again after an interruption.

    Args:
        translator: Translates.
        path: Where the translations are written, one line of JSON each.
    """

    def __init__(self, translator: TextTranslator, path: Path):
        self.translator, self.path = translator, path
        self.known: dict[str, Translation] = dict(self._read())
        self.found = len(self.known)

    def _read(self) -> Iterator[tuple[str, Translation]]:
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # the process was killed while it wrote this one
                row: dict[str, Any] = json.loads(line)
                yield row.pop("source"), Translation(**row)
        with open(self.path, "r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    def segments(self, text: str) -> list[Segment]:
        return self.translator.segments(text)

    def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """The best translation of each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            rows = []
            for text, (best, *_) in zip(chunk, self.translator.translate(chunk), strict=True):
                self.known[text] = best
                rows.append(json.dumps({"source": text, **asdict(best)}) + "\n")
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("".join(rows))
                synchronize(file)
        return [[self.known[text]] for text in texts]
