"""Translate documents: `glossa translate MODEL --input report.html --output report.fr.html`, or folders of them."""

import json
import logging
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy
from tqdm.auto import tqdm

from ..errors import GlossaError
from ..inference.engines.engine import Translation
from ..inference.engines.stamps import stamp_models
from ..inference.review import Problems, find_problems
from ..inference.search.terms import count
from ..inference.texts.alignment import Aligner, AttentionAligner, Pair, align_by_form
from ..inference.texts.marks import take_off
from ..inference.texts.segment import MOVED, Result, Texts
from ..jobs.records import check_same, locked, read_record
from ..jobs.whole_files import write_whole
from .formats.opening import UNKNOWN, Languages, format_of, open_document
from .memory import Kept, read_memory
from .places import Document, Edit, compose, line_of

if TYPE_CHECKING:
    from ..inference.texts.segment import TextTranslator

logger = logging.getLogger(__name__)

CHUNK = 500  # texts of a document that are translated together


@dataclass
class DocumentJob:
    """Documents to translate.

    Attributes:
        source: A file, or a folder of files.
        target: The file or folder that is written.
        format: Name of the format; None if names of files say it.
        languages: Codes of the languages, if known.
        memory: File or folder with translations to use as they are.
        settings: What decides the translations: only a job with the same ones continues an interrupted one.
        models: Names of the models, whose content does so too.
    """

    source: Path
    target: Path
    format: str | None = None
    languages: Languages = UNKNOWN
    memory: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()

    def files(self) -> list[tuple[Path, Path, str]]:
        """Each file, its place in the output, and its format. Raises `GlossaError` if there is none."""
        if not self.source.is_dir():
            return [(self.source, Path(self.source.name), format_of(self.source.name, self.format) or "paragraphs")]
        found = []
        others = 0
        for path in sorted(file for file in self.source.rglob("*") if file.is_file()):
            kind = format_of(path.name) or ("paragraphs" if path.suffix.lower() == ".txt" else None)
            others += kind is None
            if kind is not None and (self.format is None or kind == self.format):
                found.append((path, path.relative_to(self.source), kind))
        if not found:
            raise GlossaError(f"{self.source} has no documents of a known format. Give another --input.")
        if others:
            print(f"{others:,} files in {self.source} are of no known format, and are left out.", file=sys.stderr)
        return found

    def run(
        self, translator: "TextTranslator", aligner: Aligner, report: TextIO | None = None, every: bool = False
    ) -> None:
        """Translate all files into the folder `OUTPUT.parts`, whose content becomes the output when all are done.

        An interrupted job continues. Raises `GlossaError` if a file is broken or the output is there, and if texts
        could not be translated; all others are then.
        """
        files = self.files()
        opened = [open_document(path, kind, self.languages) for path, _, kind in files]
        memory = read_memory(self.memory, self.languages) if self.memory else {}
        state = self.target.with_name(f"{self.target.name}.parts")
        self.target.parent.mkdir(parents=True, exist_ok=True)
        work = Work(Problems(report, every), several=len(files) > 1)
        with locked(self.target):
            self._check_state(state)
            kept = Kept(translator, state / "segments.jsonl")
            if kept.found:
                print(f"Continuing: {kept.found:,} sentences are already translated.", file=sys.stderr)
            texts = Texts(kept, aligner, memory)
            total = sum(len(document.places) for each in opened for document in each.documents)
            with tqdm(total=total, unit=" texts", disable=not sys.stderr.isatty()) as progress:
                for (path, name, _), each in zip(files, opened, strict=True):
                    done = [work.translate(document, texts, path, progress.update) for document in each.documents]
                    new = state / "output" / name
                    new.parent.mkdir(parents=True, exist_ok=True)
                    new.write_bytes(each.pack(done))
            whole = state / "output" if self.source.is_dir() else state / "output" / files[0][1]
            whole.replace(self.target)
            shutil.rmtree(state)
        print(work.summary(len(files), bool(memory)), file=sys.stderr)
        work.problems.finish()

    def _check_state(self, state: Path) -> None:
        """Make the folder of the job's state, or check that it is of the same job."""
        wanted = json.loads(json.dumps({**self.settings, **stamp_models(self.models)}))
        record = state / "job.json"
        if record.exists():
            check_same(read_record(record), wanted, str(state), f"remove {state}")
            return
        state.mkdir(parents=True, exist_ok=True)
        write_whole(record, json.dumps(wanted))


@dataclass
class Work:
    """Counts of translated texts and sentences, and of sentences from a memory."""

    problems: Problems
    several: bool = False
    texts: int = 0
    sentences: int = 0
    remembered: int = 0

    def translate(self, document: Document, texts: Texts, path: Path, done: Callable[[int], object]) -> str:
        """The text of a document with its places translated."""
        edits = list(document.edits)
        for start in range(0, len(document.places), CHUNK):
            places = document.places[start : start + CHUNK]
            marked = [take_off(place.parts) for place in places]
            for place, source, result in zip(places, marked, texts.translate(marked), strict=True):
                problem = ""
                if result.text != source.text or not place.keep:
                    doubtful = any(sentence.doubtful for sentence in result.sentences)
                    written = place.write(result.pieces, doubtful)
                    if doubtful:
                        spans = {edit[:2] for edit in place.doubt}
                        edits = [edit for edit in edits if edit[:2] not in spans] + place.doubt
                    edits.append(Edit(place.start, place.end, written))
                    problem = place.check(written) if place.check else ""
                self._count(result, line_of(document.text, place.start), path, source.text, problem)
            done(len(places))
        return compose(document.text, edits)

    def _count(self, result: Result, line: int, path: Path, source: str, problem: str) -> None:
        self.texts += 1
        self.sentences += sum(not sentence.copied for sentence in result.sentences)
        self.remembered += sum(sentence.remembered for sentence in result.sentences)
        found = _whole(result, problem)
        rows = find_problems(line, source, found, self.problems.every)
        rows = [{"file": str(path), **row} for row in rows] if self.several else rows
        self.problems.add(1, rows, count([found]))

    def summary(self, files: int, memory: bool) -> str:
        """One line for the user."""
        known = f", {self.remembered:,} of them from the memory" if memory else ""
        several = f" in {files:,} files" if files > 1 else ""
        return f"{self.texts:,} texts{several}: {self.sentences:,} sentences{known}."


def _whole(result: Result, problem: str) -> Translation:
    """The translation of a text; `problem` is one of its place. Placeholders count more than other problems."""
    found_problems = [sentence.problem for sentence in result.sentences if sentence.problem]
    problem = MOVED if MOVED in found_problems else next(iter(found_problems), problem)
    failed = any(sentence.failed for sentence in result.sentences)
    scores = [sentence.score for sentence in result.sentences if sentence.score is not None]
    terms = tuple(term for sentence in result.sentences for term in sentence.terms)
    return Translation(
        result.text,
        sum(score for score, _ in scores) if scores else None,
        problem,
        failed,
        sum(tokens for _, tokens in scores),
        terms=terms,
    )


class LazyAligner:
    """The attention of a model that is loaded when words are to be linked; without weights, what words look like.

    Args:
        names: Folders or Hub names of the models that translate; the first one aligns.
        language: The target language, for a model of several.
    """

    def __init__(self, names: Sequence[str], language: str | None = None):
        self.names, self.language = list(names), language
        self.aligner: Aligner | None = None

    def __call__(self, pairs: Sequence[Pair]) -> list[numpy.ndarray]:
        if self.aligner is None:
            self.aligner = self._load()
        return self.aligner(pairs)

    def _load(self) -> Aligner:
        if (Path(self.names[0]) / "model.bin").is_file():
            logger.warning(
                "%s has no weights for transformers, so words are linked by what they look like. Give the folder of "
                "the run to link them by the attention of the model.", self.names[0],
            )  # fmt: skip
            return align_by_form
        from ..inference.engines.ensemble import load_models

        model, tokenizer = load_models(self.names[:1], "auto", self.language)
        return AttentionAligner(model, tokenizer)
