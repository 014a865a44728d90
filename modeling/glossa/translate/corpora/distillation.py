"""New training pairs from trained models: distillation, data diversification and back-translation."""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sacrebleu.metrics import CHRF

from ...base.errors import GlossaError
from ...base.jobs.records import begin_job, lock_output, refuse_existing
from ...base.jobs.stage import Runner, Stage, Work
from ..build import load_engine
from ..interface import Checks, Execution, Search
from ..languages import Languages, Wanted
from ..translator import Translator
from .answers import ServerTeacher
from .command import CommandTranslator
from .servers import ServerTranslator

SERVER_CHUNK = 50  # rows that a server translates together
CHUNK = 2000  # rows that are translated together; it decides which share a batch, and what an interruption loses
Rows = Sequence[tuple[str, str | None]]


@dataclass
class Teacher:
    """A translator that makes new pairs.

    Attributes:
        name: The name for the pairs' `origin`.
        translator: The translator, a model, a program or a server, which gives as many translations per text as
            wanted.
        reverse: Whether it translates the targets of the pairs to new sources (back-translation, Sennrich et al.
            2016) instead of the sources to new targets (Kim and Rush 2016).
    """

    name: str
    translator: Translator | CommandTranslator | ServerTeacher
    reverse: bool = False


def is_reverse(names: list[str], languages: tuple[str, str]) -> bool:
    """Whether models translate from the second of two languages to the first; raises as [`load_teacher`]."""
    directions = {Languages.of(name).is_reverse_of(*languages, name) for name in names}
    if len(directions) > 1:
        raise GlossaError("--ensemble needs teachers of one direction.")
    return directions.pop()


def command_teacher(command: str, seconds: float, languages: tuple[str, str]) -> Teacher:
    """The program `command` as a teacher of pairs in two languages; see [`CommandTranslator`]."""
    return Teacher(command, CommandTranslator(command, seconds, languages))


def server_teacher(server: ServerTranslator) -> Teacher:
    """A server as a teacher; its name is that of its model, or its host."""
    return Teacher(server.model or server.host, ServerTeacher(server))


def load_teacher(
    names: list[str],
    languages: tuple[str, str],
    engine: str = "torch",
    num_beams: int | None = None,
    num_return_sequences: int = 1,
    sample: bool = False,
    batch_tokens: int = 4096,
) -> Teacher:
    """The model `names`, or an ensemble of several, as the teacher of pairs in `languages` (source, target).

    Args:
        names: Folders or Hub names.
        languages: Codes of the pairs' languages; the teacher translates in this direction or the opposite one.
        engine: As in [`build_translator`].
        num_beams: Beams. The default comes from the model.
        num_return_sequences: Translations of each text, and the smallest number of beams.
        sample: Draw the translations at random instead of searching for the most probable ones.
        batch_tokens: Most source tokens in a batch.

    Raises:
        GlossaError: if a model does not load, has other languages, or another direction than the others.
    """
    reverse = is_reverse(names, languages)
    # `top_k`: without it, transformers draws from the 50 most probable tokens only.
    options: dict[str, Any] = {"do_sample": True, "top_k": 0} if sample else {}
    loaded, tokenizer = load_engine(names, engine, Wanted(*(languages if reverse else languages[::-1])), **options)
    beams = 1 if sample else max(num_beams or loaded.num_beams, num_return_sequences)
    translator = Translator(
        loaded,
        tokenizer,
        Search(beams, num_return_sequences),
        Checks(on_error="blank"),
        Execution(batch_tokens, split_sentences=False),
    )
    return Teacher(" + ".join(names), translator, reverse)


@dataclass
class Counts:
    """Counts of texts, pairs and dropped translations of one or several chunks."""

    texts: int = 0
    pairs: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # translations, by what is wrong with them
    removed: dict[str, int] = field(default_factory=dict)  # what a server's answers had besides a translation

    def drop(self, problem: str) -> None:
        self.dropped[problem] = self.dropped.get(problem, 0) + 1

    def add(self, other: "Counts") -> None:
        self.texts += other.texts
        self.pairs += other.pairs
        self.dropped = dict(Counter(self.dropped) + Counter(other.dropped))
        self.removed = dict(Counter(self.removed) + Counter(other.removed))


def new_pairs(
    teacher: Teacher, rows: Rows, counts: Counts, closest: bool = False, tag: str = ""
) -> Iterator[dict[str, str]]:
    """`source`, `target` and `origin` of the pairs that `teacher` makes of `rows`.

    Translations that cannot be right (see `find_problem`) are dropped and counted.

    Args:
        teacher: The teacher that translates.
        rows: Source and target. Text in one language has None, or the text itself, as the other side.
        counts: Counts of what happens to the rows, which grow.
        closest: Keep only one of several translations: the most similar to the reference, by chrF++; without a
            reference, to the others (minimum Bayes risk; Eikema and Aziz 2020, section 5).
        tag: Put before sources that are translations (Caswell et al. 2019).
    """
    texts = [str(target if teacher.reverse else source) for source, target in rows]
    references = [source if teacher.reverse else target for source, target in rows]
    for text, reference, translations in zip(texts, references, teacher.translator.translate(texts), strict=True):
        counts.texts += 1
        found = []
        for translation in translations:
            if translation.problem or not translation.text:
                counts.drop(translation.problem or "empty")
            else:
                found.append(translation.text)
        if closest and found:
            found = [closest_of(found, reference if reference != text else None)]
        for new in dict.fromkeys(found):
            counts.pairs += 1
            source, target = (f"{tag}{new}", text) if teacher.reverse else (text, new)
            yield {"source": source, "target": target, "origin": teacher.name}


def closest_of(translations: Sequence[str], reference: str | None) -> str:
    """The translation most similar to the reference, or without one to all translations; the first of equal ones."""
    metric, references = CHRF(word_order=2), translations if reference is None else [reference]

    def similarity(text: str) -> float:
        return sum(metric.sentence_score(text, [each]).score for each in references)

    return max(dict.fromkeys(translations), key=similarity)


@dataclass(frozen=True)
class Chunk:
    """A part of the work of a job.

    Attributes:
        teacher: Number of the teacher that translates; None if the pairs stay as they are.
        rows: Source and target of each pair, as in [`new_pairs`].
        seed: Seed of translations that are drawn.
    """

    teacher: int | None
    rows: Rows
    seed: int


def chunks_of(rows: Rows, teachers: int, with_original: bool, size: int | None = None) -> dict[str, Chunk]:
    """The work of a job by name: what each of the teachers does with all rows, `size` at once, in a fixed order."""
    size = size or CHUNK
    numbers = [*([None] if with_original else []), *range(teachers)]
    parts = [(number, rows[first : first + size]) for number in numbers for first in range(0, len(rows), size)]
    return {f"{seed:06d}": Chunk(number, part, seed) for seed, (number, part) in enumerate(parts)}


class Job:
    """Writes the pairs of several teachers to a file of JSON lines; an interrupted job continues where it stopped.

    Until the job is finished, the pairs are in the folder `FILE.parts`.

    Args:
        output: The file.
        settings: Values of plain types, with stamps of the data and the teachers; a job continues only with those it
            began with.

    Raises:
        GlossaError: if the file exists already, or an interrupted job had other settings.
    """

    def __init__(self, output: Path, settings: dict[str, Any]):
        self.output, self.folder = output, Path(f"{output}.parts")
        refuse_existing(output)
        begin_job(self.folder, settings)

    def run(self, load: Callable[[], Work], chunks: dict[str, Chunk], place: Runner) -> Counts:
        """Write the pairs of all chunks. `load` makes the function that translates one, once in each process."""
        stage = Stage("translating", self.folder, load, chunks)
        total = Counts()
        with lock_output(self.output):
            for result in stage.run(place, lambda chunk: len(chunk.rows), "texts").values():
                total.add(Counts(**result))
            stage.join(".jsonl", self.folder / "output")
            (self.folder / "output").replace(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)
        return total


def chunk_writer(load: Callable[[int], Teacher], closest: bool, tag: str) -> Work:
    """The function that writes the pairs of a chunk as JSON lines; `load` gives the teacher with a number."""
    return partial(_write, lru_cache(1)(load), closest, tag)  # chunks come in the order of their teachers


def _write(load: Callable[[int], Teacher], closest: bool, tag: str, chunk: Chunk, stem: Path) -> dict:
    counts, translator = Counts(), None
    if chunk.teacher is None:
        pairs: Iterable[dict] = ({"source": s, "target": t, "origin": "original"} for s, t in chunk.rows)
    else:
        teacher = load(chunk.teacher)
        if "torch" in sys.modules:  # an exported teacher needs none, and does not sample
            sys.modules["torch"].manual_seed(chunk.seed)
        translator = teacher.translator
        if isinstance(translator, ServerTeacher):
            translator.journal = stem.with_suffix(".answers")
        pairs = new_pairs(teacher, chunk.rows, counts, closest, tag)
    with open(stem.with_suffix(".jsonl"), "wb") as file:
        file.writelines(json.dumps(pair, ensure_ascii=False).encode() + b"\n" for pair in pairs)
    if isinstance(translator, ServerTeacher):
        counts.removed = dict(translator.removed)
        translator.removed.clear()
        stem.with_suffix(".answers").unlink()
    return asdict(counts)
