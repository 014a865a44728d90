"""New training pairs from trained models: distillation, data diversification and back-translation."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import xxhash
from sacrebleu.metrics import CHRF

from ..errors import GlossaError
from ..jobs.records import check_same, locked, read_record, refuse_existing, stamp_file
from ..jobs.whole_files import synchronize, write_whole
from .languages import Languages
from .translator import Translator
from .translators import load_engine

CHUNK = 2000  # rows between two points from which an interrupted job continues


@dataclass
class Teacher:
    """A translator that makes new pairs.

    Attributes:
        name: The name for the pairs' `origin`.
        translator: The translator, which gives as many translations per text as wanted.
        reverse: Whether it translates the targets of the pairs to new sources (back-translation, Sennrich et al.
            2016) instead of the sources to new targets (Kim and Rush 2016).
    """

    name: str
    translator: Translator
    reverse: bool = False


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
    directions = {Languages.of(name).is_reverse_of(*languages, name) for name in names}
    if len(directions) > 1:
        raise GlossaError("--ensemble needs teachers of one direction.")
    (reverse,) = directions
    # `top_k`: without it, transformers draws from the 50 most probable tokens only.
    options: dict[str, Any] = {"do_sample": True, "top_k": 0} if sample else {}
    loaded, tokenizer = load_engine(names, engine, languages[0 if reverse else 1], **options)
    beams = 1 if sample else max(num_beams or loaded.num_beams, num_return_sequences)
    translator = Translator(
        loaded, tokenizer, beams, num_return_sequences, batch_tokens, split_sentences=False, on_error="blank"
    )
    return Teacher(" + ".join(names), translator, reverse)


@dataclass
class Counts:
    """The progress of a job."""

    texts: int = 0
    pairs: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # translations, by what is wrong with them

    def drop(self, problem: str) -> None:
        self.dropped[problem] = self.dropped.get(problem, 0) + 1


def new_pairs(
    teacher: Teacher, rows: Sequence[tuple[str, str | None]], counts: Counts, closest: bool = False, tag: str = ""
) -> Iterator[dict[str, str]]:
    """`source`, `target` and `origin` of the pairs that `teacher` makes of `rows`.

    Translations that cannot be right (see `find_problem`) are dropped and counted.

    Args:
        teacher: The teacher that translates.
        rows: Source and target. The side that is not translated may be None, which is text in one language.
        counts: Counts of what happens to the rows, which grow.
        closest: Keep only the one of several translations that is most similar to the reference, by chrF++.
        tag: Put before sources that are translations (Caswell et al. 2019).
    """
    texts = [str(target if teacher.reverse else source) for source, target in rows]
    references = [source if teacher.reverse else target for source, target in rows]
    metric = CHRF(word_order=2)
    for text, reference, translations in zip(texts, references, teacher.translator.translate(texts), strict=True):
        counts.texts += 1
        found = []
        for translation in translations:
            if translation.problem or not translation.text:
                counts.drop(translation.problem or "empty")
            elif translation.text not in found:
                found.append(translation.text)
        if closest and found:
            found = [max(found, key=lambda text: metric.sentence_score(text, [str(reference)]).score)]
        for new in found:
            counts.pairs += 1
            source, target = (f"{tag}{new}", text) if teacher.reverse else (text, new)
            yield {"source": source, "target": target, "origin": teacher.name}


class Job:
    """Writes the pairs of several teachers to a file of JSON lines; an interrupted job continues where it stopped.

    Until the job is finished the pairs are in `FILE.partial`, and `FILE.progress` says how much of it is whole.

    Args:
        output: The file.
        settings: Values of plain types, with stamps of the data and the teachers; a job continues only with those it
            began with.

    Raises:
        GlossaError: if the file exists already, or an interrupted job had other settings.
    """

    def __init__(self, output: Path, settings: dict[str, Any]):
        self.output = output
        self.partial, self.progress = (Path(f"{output}.{name}") for name in ("partial", "progress"))
        self.settings = settings
        self.done, self.size, self.counts = 0, 0, Counts()
        refuse_existing(output)
        self._continue()

    def _continue(self) -> None:
        """Take over the state of an interrupted job."""
        if not self.progress.is_file():
            return
        saved = read_record(self.progress)
        remedy = f"remove {self.partial.name} and {self.progress.name}"
        check_same(saved["settings"], json.loads(json.dumps(self.settings)), str(self.progress), remedy)
        size = self.partial.stat().st_size if self.partial.is_file() else 0
        if size < saved["size"] or stamp_file(self.partial, saved["size"]) != saved["stamp"]:
            raise GlossaError(f"{self.partial} is not what was written there. To begin again, {remedy}.")
        self.done, self.size, self.counts = saved["done"], saved["size"], Counts(**saved["counts"])

    def run(self, chunks: Iterator[tuple[int, Callable[[Counts], Iterator[dict]]]]) -> Counts:
        """Write the pairs of all `chunks`, each a number (from 0, in order) and a function that makes its pairs."""
        self.output.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.output):
            self._continue()
            return self._write(chunks)

    def _write(self, chunks: Iterator[tuple[int, Callable[[Counts], Iterator[dict]]]]) -> Counts:
        with open(self.partial, "r+b" if self.done else "wb") as file:
            digest = xxhash.xxh3_128(self.partial.read_bytes()[: self.size] if self.done else b"")
            file.truncate(self.size)
            file.seek(self.size)
            for number, make in chunks:
                if number < self.done:
                    continue
                torch.manual_seed(number)  # so that sampling does not depend on interruptions
                for pair in make(self.counts):
                    line = json.dumps(pair, ensure_ascii=False).encode() + b"\n"
                    file.write(line)
                    digest.update(line)
                synchronize(file)
                self._save(number + 1, file.tell(), digest.hexdigest())
        self.partial.replace(self.output)
        self.progress.unlink(missing_ok=True)
        return self.counts

    def _save(self, done: int, size: int, stamp: str) -> None:
        state = {"settings": self.settings, "done": done, "size": size, "stamp": stamp, "counts": asdict(self.counts)}
        write_whole(self.progress, json.dumps(state))
