"""Translate documents and folders: `glossa translate MODEL --input report.html --output report.fr.html`."""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tqdm.auto import tqdm

from ...base.errors import GlossaError
from ...base.jobs.records import begin_job, lock_output
from ...translate.interface import COPIED, TAKEN, Translation, UsedMatch
from ...translate.loading import stamp_models
from ...translate.review import Problems, find_problems
from ...translate.search.terms import count
from ...translate.texts.text import Sentence, Text
from .formats import LINES
from .formats.format import UNKNOWN, UNTRANSLATED, Chosen, LanguagePair, Opened
from .formats.opening import find_format, format_of, format_of_file, open_document
from .places import Answer, Document, DocumentWriter, Place, Recalled, chunks, line_numbers
from .resuming import SavedTranslations, Translate

if TYPE_CHECKING:
    from ...translate.translator import Translator

SHOWN = 5  # names of skipped files in a message


@dataclass
class DocumentJob:
    """Documents to translate.

    Attributes:
        source: A file, or a folder of files.
        target: The file or folder to write.
        format: The name of the format; None to find it by the names of files.
        languages: The languages.
        settings: The settings that translations depend on. A job continues an interrupted one with the same settings.
        models: The names of the models. A job continues an interrupted one with the same content of models.
        chosen: Which texts are translated.
        old: A translation of an older version of the file, or the folder of these; its values stay.
        for_review: Whether catalogs say of all new translations that they are to be reviewed.
        previous: This older version, or the folder of these; values that have changed since are translated again.
    """

    source: Path
    target: Path
    format: str | None = None
    languages: LanguagePair = UNKNOWN
    settings: dict[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()
    chosen: Chosen = Chosen()  # noqa: RUF009  # frozen
    old: Path | None = None
    previous: Path | None = None
    for_review: bool = False

    def files(self) -> list[tuple[Path, Path, str]]:
        """Each file, its path in the output, and its format. Raises `GlossaError` if there is no document."""
        if not self.source.is_dir():
            return [(self.source, Path(self.source.name), format_of(self.source.name, self.format) or LINES)]
        found = []
        others = []
        for path in sorted(file for file in self.source.rglob("*") if file.is_file()):
            kind = format_of_file(path)
            others += [path] if kind is None else []
            if kind is not None and (self.format is None or kind == self.format):
                found.append((path, path.relative_to(self.source), kind))
        if not found:
            raise GlossaError(f"{self.source} has no documents of a known format. Give another --input, or --format.")
        if others:
            names = ", ".join(str(path.relative_to(self.source)) for path in others[:SHOWN])
            more = ", ..." if len(others) > SHOWN else ""
            print(
                f"{len(others):,} files in {self.source} have an unknown format and are skipped: {names}{more}",
                file=sys.stderr,
            )
        return found

    def run(self, translator: "Translator", report: TextIO | None = None, every: bool = False) -> None:
        """Translate all files into the folder `OUTPUT.parts`, whose content becomes the output at the end.

        An interrupted job continues. Raises `GlossaError` if the output exists or keys match no text, and at the end
        if some texts or files were not translated.
        """
        files, broken = self.open()
        state = self.target.with_name(f"{self.target.name}.parts")
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with lock_output(self.target):
            begin_job(state, {**self.settings, **stamp_models(self.models)})
            saved = SavedTranslations(translator.translate_segments, state / "segments.jsonl")
            if saved.found:
                print(f"Continuing: {saved.found:,} sentences are already translated.", file=sys.stderr)
            work = Work(translator, saved.translate, Problems(report, every), several=self.source.is_dir())
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

    def open(self) -> tuple[list[tuple[Path, Path, Opened]], list[str]]:
        """The open files with their paths in the output, and the error messages of the others.

        Raises `GlossaError` if no file can be read.
        """
        found, broken = [], []
        for path, name, kind in self.files():
            old, previous = self.old, self.previous
            chosen, for_review = self.chosen, self.for_review
            if self.source.is_dir():  # a file may be new
                old, previous = (each / name if each and (each / name).is_file() else None for each in (old, previous))
                if not find_format(kind).states:  # other documents are translated as usual
                    chosen, for_review = replace(chosen, only=(UNTRANSLATED,)), False
            try:
                opened = open_document(path, kind, self.languages, chosen, old, previous, for_review)
                found.append((path, name, opened))
            except GlossaError as error:
                broken.append(str(error))
        if not found:
            raise GlossaError(broken[0])
        for patterns in filter(None, (self.chosen.keys, self.chosen.columns)):
            patterns.check()
        return found, broken


@dataclass
class Work:
    """Translates documents, and counts their texts and sentences.

    Attributes:
        translator: Splits texts into sentences, and joins their translations.
        translate_sentences: Translates sentences: [`Translator.translate_segments`], or a function that calls it.
        problems: The report.
        several: Whether the report has the names of files.
        hides: Whether a document must not show the sentences of a match.
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
        """Translate a document. `done` is called with the number of texts after each chunk."""
        for note in document.notes:
            print(note, file=sys.stderr)
        writer, number = DocumentWriter(document), line_numbers(document.text)
        for places in chunks(document.places):
            texts = self.plan(document, places)
            self.translate_sentences([sentence for text in texts for sentence in text.sentences])
            for place, text, (best, answer) in zip(places, texts, self.answers(texts), strict=True):
                problem = writer.write(place, answer)
                best.problem = best.problem or problem
                self.count(text, best, number(place.start), path)
            done(len(places))
        return writer.text()

    def plan(self, document: Document, places: Sequence[Place]) -> list[Text]:
        """The texts of places, whose sentences are to be translated."""
        return self.translator.plan([document.tagged(place) for place in places])

    def answers(self, texts: Sequence[Text]) -> list[tuple[Translation, Answer]]:
        """The translation of each text whose sentences are translated."""
        found = []
        for text, pieces in zip(texts, self.translator.join_tagged(texts), strict=True):
            best, sentences = _whole(text), text.sentences
            approved = all(sentence.remembered or sentence.segment.copied for sentence in sentences)
            doubtful = any(map(is_doubtful, sentences))
            recalled = self._recalled(text, best) if self.translator.recall else None
            found.append((best, Answer(pieces, best.text != text.source, approved, doubtful, recalled)))
        return found

    def _recalled(self, text: Text, best: Translation) -> Recalled:
        matches = [match._replace(source="", target="") if self.hides(match) else match for match in best.matches]
        taken = next((match for match in matches if match.use == TAKEN and len(text.sentences) == 1), None)
        return Recalled(matches, all(map(_is_copied, text.sentences)), False, taken)

    def count(self, text: Text, best: Translation, line: int, path: Path) -> None:
        """Count a text and its problems."""
        self.texts += 1
        self.sentences += sum(not sentence.segment.copied for sentence in text.sentences)
        self.remembered += sum(sentence.remembered for sentence in text.sentences)
        rows = find_problems(line, text.source, best, self.problems.every)
        rows = [{"file": str(path), **row} for row in rows] if self.several else rows
        self.problems.add(1, rows, count([best]))

    def summary(self, files: int) -> str:
        """A summary of the job, in a line."""
        known = f", {self.remembered:,} of them from the memory" if self.translator.recall else ""
        several = f" in {files:,} files" if files > 1 else ""
        return f"{self.texts:,} texts{several}: {self.sentences:,} sentences{known}."


def is_doubtful(sentence: Sentence) -> bool:
    """Whether people should look at a translation: of another text, or with a confidence and a problem."""
    taken = any(match.use == TAKEN for match in sentence.best.matches)
    return taken or (sentence.best.confidence is not None and bool(sentence.best.problem))


def _is_copied(sentence: Sentence) -> bool:
    """Whether a translation is copied from a memory or the source."""
    return sentence.segment.copied or any(match.use == COPIED for match in sentence.best.matches)


def _whole(text: Text) -> Translation:
    """The best translation of a text, with the scores of its translated sentences."""
    (whole,) = text.joined(1, scores=True, confident=False)
    if all(sentence.best.score is None or not sentence.best.tokens for sentence in text.sentences):
        whole.score = None
    whole.failed = any(sentence.best.failed for sentence in text.sentences)
    return whole
