"""Translate documents: `glossa translate MODEL --input report.html --output report.fr.html`, or folders of them."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tqdm.auto import tqdm

from ...base.errors import GlossaError
from ...base.jobs.records import begin_job, lock_output
from ...translate.engines.engine import COPIED, Translation, UsedMatch
from ...translate.engines.stamps import stamp_models
from ...translate.review import Problems, find_problems
from ...translate.search.terms import count
from ...translate.texts.text import Sentence, Text
from .formats.keys import Keys
from .formats.opening import UNKNOWN, Languages, Opened, format_of, is_program, open_document
from .memory import Kept, Translate
from .places import Document, Edit, compose, line_numbers

if TYPE_CHECKING:
    from ...translate.translator import Translator

SHOWN = 5  # names of files that are left out
CHUNK = 500  # texts of a document that are translated together


@dataclass
class DocumentJob:
    """Documents to translate.

    Attributes:
        source: A file, or a folder of files.
        target: The file or folder that is written.
        format: Name of the format; None if names of files say it.
        languages: Codes of the languages, if known.
        settings: What decides the translations: only a job with the same ones continues an interrupted one.
        models: Names of the models, whose content does so too.
        keys: The keys in JSON and YAML whose values are translated; None for all.
    """

    source: Path
    target: Path
    format: str | None = None
    languages: Languages = UNKNOWN
    settings: dict[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()
    keys: Keys | None = None

    def files(self) -> list[tuple[Path, Path, str]]:
        """Each file, its place in the output, and its format. Raises `GlossaError` if there is none."""
        if not self.source.is_dir():
            return [(self.source, Path(self.source.name), format_of(self.source.name, self.format) or "paragraphs")]
        found = []
        others = []
        for path in sorted(file for file in self.source.rglob("*") if file.is_file()):
            kind = format_of(path.name) or ("paragraphs" if path.suffix.lower() == ".txt" else None)
            kind = None if kind is not None and is_program(path, kind) else kind
            others += [path] if kind is None else []
            if kind is not None and (self.format is None or kind == self.format):
                found.append((path, path.relative_to(self.source), kind))
        if not found:
            raise GlossaError(f"{self.source} has no documents of a known format. Give another --input.")
        if others:
            names = ", ".join(str(path.relative_to(self.source)) for path in others[:SHOWN])
            more = ", ..." if len(others) > SHOWN else ""
            print(
                f"{len(others):,} files in {self.source} are of no known format, and are left out: {names}{more}",
                file=sys.stderr,
            )
        return found

    def run(self, translator: "Translator", report: TextIO | None = None, every: bool = False) -> None:
        """Translate all files into the folder `OUTPUT.parts`, whose content becomes the output when all are done.

        An interrupted job continues. Raises `GlossaError` if the output is there or no text has some keys, and if
        texts or files of a folder could not be translated; all others are then.
        """
        files, broken = self._open()
        state = self.target.with_name(f"{self.target.name}.parts")
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with lock_output(self.target):
            begin_job(state, {**self.settings, **stamp_models(self.models)})
            kept = Kept(translator.translate_segments, state / "segments.jsonl")
            if kept.found:
                print(f"Continuing: {kept.found:,} sentences are already translated.", file=sys.stderr)
            work = Work(translator, kept.translate, Problems(report, every), several=self.source.is_dir())
            total = sum(len(document.places) for _, _, each in files for document in each.documents)
            with tqdm(total=total, unit=" texts", disable=not sys.stderr.isatty()) as progress:
                for path, name, each in files:
                    done = [work.translate(document, path, progress.update) for document in each.documents]
                    new = state / "output" / name
                    new.parent.mkdir(parents=True, exist_ok=True)
                    new.write_bytes(each.pack(done))
            whole = state / "output" if self.source.is_dir() else state / "output" / files[0][1]
            whole.replace(self.target)
            shutil.rmtree(state)
        print(work.summary(len(files)), file=sys.stderr)
        for problem in broken:
            print(problem, file=sys.stderr)
        work.problems.finish()
        if broken:
            raise GlossaError(f"{len(broken):,} of {len(files) + len(broken):,} files were not translated; see above.")

    def _open(self) -> tuple[list[tuple[Path, Path, Opened]], list[str]]:
        """The open files, each with its place in the output, and what is wrong with the others of a folder."""
        found, broken = [], []
        for path, name, kind in self.files():
            try:
                found.append((path, name, open_document(path, kind, self.languages, self.keys)))
            except GlossaError as error:
                broken.append(str(error))
        if not found:
            raise GlossaError(broken[0])
        if self.keys is not None:
            self.keys.check()
        return found, broken


@dataclass
class Work:
    """Translates documents, and counts their texts and sentences.

    Attributes:
        translator: Cuts texts into sentences, and joins their translations.
        translate_sentences: Translates these: [`Translator.translate_segments`], or what keeps or queues them first.
        problems: What is reported.
        several: Whether there are several files, whose names the report has.
        hides: Whether a document does not show the sentences of a match.
    """

    translator: "Translator"
    translate_sentences: Translate
    problems: Problems
    several: bool = False
    hides: Callable[[UsedMatch], bool] = lambda match: False
    texts: int = 0
    sentences: int = 0
    remembered: int = 0

    def translate(self, document: Document, path: Path, done: Callable[[int], object]) -> str:
        """The text of a document with its places translated; `done` gets the number of texts each time."""
        for found in self.steps(document, path):
            if isinstance(found, str):
                return found
            self.translate_sentences([sentence for text in found for sentence in text.sentences])
            done(len(found))
        raise AssertionError("the last step is the text")

    def steps(self, document: Document, path: Path) -> Iterator[list[Text] | str]:
        """The texts of a document, some at a time, whose sentences are to be translated each time; last, its text."""
        for note in document.notes:
            print(note, file=sys.stderr)
        edits = list(document.edits)
        doubts: dict[tuple[int, int], Edit] = {}  # by their characters; each takes the place of other edits of these
        number = line_numbers(document.text)
        for start in range(0, len(document.places), CHUNK):
            places = document.places[start : start + CHUNK]
            texts = self.translator.plan([document.tagged(place) for place in places])
            yield texts
            for place, text, pieces in zip(places, texts, self.translator.join_tagged(texts), strict=True):
                best, problem = _whole(text), ""
                doubtful = any(map(is_doubtful, text.sentences))
                if doubtful:
                    doubts |= {edit[:2]: edit for edit in place.doubt}
                if self.translator.recall and place.matched is not None:
                    copied = all(map(_is_copied, text.sentences))
                    matches = [
                        match._replace(source="", target="") if self.hides(match) else match for match in best.matches
                    ]
                    doubts |= {edit[:2]: edit for edit in place.matched(matches, copied, doubtful)}
                if best.text != text.source or doubtful:
                    edits.append(place.edit(pieces, doubtful))
                    problem = place.check(edits[-1].written) if place.check else ""
                    if problem:
                        doubts |= {edit[:2]: edit for edit in place.doubt}
                best.problem = best.problem or problem
                self._count(text, best, number(place.start), path)
        yield compose(document.text, [*(edit for edit in edits if edit[:2] not in doubts), *doubts.values()])

    def _count(self, text: Text, best: Translation, line: int, path: Path) -> None:
        self.texts += 1
        self.sentences += sum(not sentence.segment.copied for sentence in text.sentences)
        self.remembered += sum(sentence.remembered for sentence in text.sentences)
        rows = find_problems(line, text.source, best, self.problems.every)
        rows = [{"file": str(path), **row} for row in rows] if self.several else rows
        self.problems.add(1, rows, count([best]))

    def summary(self, files: int) -> str:
        """One line for the user."""
        known = f", {self.remembered:,} of them from the memory" if self.translator.recall else ""
        several = f" in {files:,} files" if files > 1 else ""
        return f"{self.texts:,} texts{several}: {self.sentences:,} sentences{known}."


def is_doubtful(sentence: Sentence) -> bool:
    """Whether a confidence is known and something is wrong with a translation, for which people should look at it."""
    return sentence.best.confidence is not None and bool(sentence.best.problem)


def _is_copied(sentence: Sentence) -> bool:
    """Whether a translation stands in a memory, or there is nothing to translate."""
    return sentence.segment.copied or any(match.use == COPIED for match in sentence.best.matches)


def _whole(text: Text) -> Translation:
    """The best translation of a text, with the scores of the sentences that were translated."""
    (whole,) = text.joined(1, scores=True, confident=False)
    if all(sentence.best.score is None or not sentence.best.tokens for sentence in text.sentences):
        whole.score = None
    whole.failed = any(sentence.best.failed for sentence in text.sentences)
    return whole
