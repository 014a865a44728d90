"""Files that nobody here wrote, from public repositories: translated, and checked by what reads their formats.

`real_documents.tsv` lists them: repository, commit, path. An engine that writes capitals and ends each sentence with a
period stands for the model, so it changes every placeholder and the end of every label.
"""

import csv
import io
import json
import plistlib
import re
import subprocess
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from xml.etree import ElementTree

import yaml

from glossa.documents.formats.opening import UNKNOWN, Languages, format_of, open_document
from glossa.documents.job import Work
from glossa.errors import GlossaError
from glossa.inference.options import Checks
from glossa.inference.review import Problems
from glossa.inference.texts.labels import End
from glossa.inference.texts.spans import MOVED
from glossa.inference.texts.text import Text

from .documents import Characters, FunctionEngine, InOrder

LIST = Path(__file__).with_name("real_documents.tsv")
BILINGUAL = (
    "po",
    "xliff",
    "tmx",
    "ts",
    "xcstrings",
    "table",
)  # formats whose translations stand next to their sources

# The language of the translations that a file of these formats says.
_LANGUAGE = re.compile(rb"\"Language: ([\w@-]+)|<TS[^>]*\blanguage=\"([\w-]+)|target-language=\"([\w-]+)")


def shouted(text: str) -> str:
    """A sentence in capitals, with a period."""
    return text.upper().rstrip(".:!?… ") + "."


def _checked_by(module: str, read: Callable[[Any, io.BytesIO], object]) -> Callable[[bytes], object] | None:
    return (lambda content: read(import_module(module), io.BytesIO(content))) if find_spec(module) else None


def _check_po(content: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".po") as file:
        file.write(content)
        file.flush()
        subprocess.run(["msgfmt", "--check-format", "-o", "/dev/null", file.name], check=True, capture_output=True)


def _check_fluent(content: bytes) -> None:
    syntax = import_module("fluent.syntax")
    assert not any(isinstance(entry, syntax.ast.Junk) for entry in syntax.parse(content.decode("utf-8")).body)


# What reads a format, and raises for a broken file.
CHECKS: dict[str, Callable[[bytes], object] | None] = {
    **dict.fromkeys(("xliff", "tmx", "android", "resx", "ts"), ElementTree.fromstring),
    **dict.fromkeys(("json", "xcstrings"), json.loads),
    "yaml": lambda content: list(yaml.compose_all(content.decode("utf-8-sig"), yaml.SafeLoader)),
    "toml": lambda content: tomllib.loads(content.decode("utf-8")),
    "stringsdict": plistlib.loads,
    "po": _check_po if which("msgfmt") else None,
    "fluent": _check_fluent if find_spec("fluent") else None,
    "ipynb": _checked_by("nbformat", lambda reader, file: reader.validate(reader.read(file, as_version=4))),
    "docx": _checked_by("docx", lambda reader, file: reader.Document(file)),
    "pptx": _checked_by("pptx", lambda reader, file: reader.Presentation(file)),
    "xlsx": _checked_by("openpyxl", lambda reader, file: reader.load_workbook(file)),
}


@dataclass
class _Counting(Work):
    """Counts placeholders and ends of labels of the texts that it translates."""

    counts: Counter[str] = field(default_factory=Counter)

    def look_at(self, texts: list[Text]) -> None:
        for text in texts:
            (best, *_) = text.joined(1, scores=False, confident=False)
            for sentence in text.sentences:
                pairs = zip(sentence.segment.spans, sentence.places[0], strict=False)
                kept = [sentence.source[slice(*own)] == sentence.best.text[slice(*theirs)] for own, theirs in pairs]
                self.counts["placeholders"] += len(sentence.segment.spans)
                self.counts["kept"] += sum(kept)
                self.counts["moved"] += sentence.best.problem == MOVED
            if text.tagged.label is not None:
                self.counts["labels"] += 1
                self.counts["changed"] += End.of(text.source).kind != End.of(best.text).kind

    def translated(self, path: Path, languages: Languages) -> bytes:
        opened = open_document(path, str(format_of(path.name)), languages)
        done = []
        for document in opened.documents:
            before: list[Text] = []
            for found in self.steps(document, path):
                self.look_at(before)
                if isinstance(found, str):
                    done.append(found)
                    break
                self.translate_sentences([sentence for text in found for sentence in text.sentences])
                before = found
        return opened.pack(done)


def _work(function: Callable[[str], str]) -> _Counting:
    translator = InOrder(FunctionEngine(function), Characters(), checks=Checks("copy"))
    return _Counting(translator, translator.translate_segments, Problems(None))


def _is_valid(kind: str, content: bytes) -> bool:
    try:
        CHECKS[kind](content)
    except Exception:  # whatever the reader of the format raises
        return False
    return True


def _try(path: Path, row: Counter[str]) -> None:
    """Translate a file twice, and add to the figures of its format."""
    kind, content = str(format_of(path.name)), path.read_bytes()
    row["files"] += 1
    started = time.process_time()
    try:
        said = _LANGUAGE.search(content)
        known = (
            Languages("en", (said[1] or said[2] or said[3]).decode() if said else "fr")
            if kind in BILINGUAL
            else UNKNOWN
        )
        row["equal"] += _work(str).translated(path, known) == content
        work = _work(shouted)
        found = work.translated(path, known)
    except GlossaError:
        row["refused"] += 1
        return
    row["milliseconds"] += round((time.process_time() - started) * 1000)
    row["texts"] += work.texts
    row.update(work.counts)
    if CHECKS.get(kind) is not None and _is_valid(kind, content):
        row["valid"] += 1
        row["valid after"] += _is_valid(kind, found)


COLUMNS = (
    "files",
    "refused",
    "equal",
    "valid",
    "valid after",
    "texts",
    "placeholders",
    "kept",
    "moved",
    "labels",
    "changed",
)


def _print(figures: dict[str, Counter[str]]) -> None:
    """A line for each format: files, refused ones, those that an engine without changes leaves equal, ..."""
    print(f"{'':12}{''.join(f'{column:>13}' for column in COLUMNS)}{'seconds':>10}")
    total: Counter[str] = Counter()
    for kind, row in [*sorted(figures.items()), ("all", total)]:
        total.update(row if kind != "all" else {})
        print(f"{kind:12}{''.join(f'{row[column]:13,}' for column in COLUMNS)}{row['milliseconds'] / 1000:10.1f}")


def run_real(folder: Path) -> dict[str, dict[str, int]]:
    """Translate the listed files from the clones in a folder, named `owner+name`; print and return the figures."""
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as place, open(LIST, encoding="utf-8", newline="") as rows:
        for repository, commit, name in csv.reader(rows, delimiter="\t"):
            clone = folder / repository.replace("/", "+")
            clone = clone / "repo" if (clone / "repo").is_dir() else clone
            shown = subprocess.run(["git", "-C", clone, "show", f"{commit}:{name}"], capture_output=True)
            if shown.returncode:
                raise GlossaError(f"{clone} has no {name} of {commit[:10]}. Clone {repository} there.")
            path = Path(place, Path(name).name)
            path.write_bytes(shown.stdout)
            _try(path, figures[str(format_of(path.name))])
    _print(figures)
    return {kind: dict(row) for kind, row in figures.items()}
