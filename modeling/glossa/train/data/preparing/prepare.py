"""`glossa prepare`: converts any number of raw rows to Parquet files of clean, split pairs, in resumable stages.

The same pairs are kept, counted and held out as in [`glossa.train.data.pairs.prepare_pairs`]. Rows are cleaned block
by block. Duplicates are found in ranges of their hashes, without the texts. Groups of pairs that share a sentence are
traced only from the few that may be held out.
"""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy
from datasets import Dataset, DatasetDict
from transformers import PreTrainedTokenizerBase

from ....base.caching import cache_in, versions
from ....base.jobs.records import hash_bytes
from ....base.jobs.stage import Runner, Stage
from ....base.jobs.whole_files import write_whole
from ....readers.columns import Columns
from ....readers.manifest import MANIFEST, Entry
from ....readers.rows import Groups, file_states, read_part
from .. import pairs
from ..arguments import CHECKS, DataArguments
from ..cleaning import filters, plausibility
from ..cleaning.alignment import Alignment
from ..cleaning.cleaning import (
    Cleaning,
    LoadedSource,
    check_sample,
    clean_sources,
    count_pairs,
    count_rows,
    evaluation_sides,
)
from ..cleaning.report import DataReport
from ..cleaning.splitting import check_overlap, hold_out, sample_rows, side_keys
from ..encoding.encoding import stamp_of
from ..encoding.prepared_ids import encode_file
from ..mixture import Source, sources_of
from ..prepared import TOKENIZER, add_tokens, write_manifest
from ..sources import training_parts
from .blocks import Block, Corpus, blocks_of, clean_block, load_array
from .duplicates import CleanedBlock, find_repeated, parts_of
from .rejects import Dropped, write_rejects
from .remaining import Remaining, distinct_rows, find_remaining, sentences_of
from .writing import File, Order, files_of, write_evaluation, write_file

logger = logging.getLogger(__name__)


@dataclass
class Job:
    """The state of a preparation.

    Attributes:
        sources: The sources of the recipe.
        arguments: The data settings of the recipe.
        folder: The folder for the files of the stages.
        place: Runs the stages, see [`Runner`].
        report: The report, completed by the stages.
        blocks: The cleaned blocks of all sources.
        raw: The raw rows of these blocks.
        cleanings: The cleaning rules of each source.
        counts: The row counts of each source.
    """

    sources: list[Source]
    arguments: DataArguments
    folder: Path
    place: Runner
    report: DataReport
    blocks: list[CleanedBlock] = field(default_factory=list)
    raw: list[Block] = field(default_factory=list)
    cleanings: list[Cleaning] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)

    def run(self, title: str, work: Callable, items: dict, size=None, unit: str = "parts") -> list[dict]:
        """Run a stage in a folder named by its title; returns the results of `work` for all items."""
        stage = Stage(title, self.folder / title, partial(_same, work), items)
        return list(stage.run(self.place, size, unit).values())

    def of_source(self, number: int, results: Sequence) -> list:
        """The results for the blocks of one source."""
        return [one for block, one in zip(self.blocks, results, strict=True) if block.source == number]


def _same(work: Callable) -> Callable:
    return work


# Trains a tokenizer for prepared pairs and saves it to a folder; returns it and the settings of its training.
Learn = Callable[[DataArguments, Path], tuple[PreTrainedTokenizerBase, dict]]


def prepare(
    arguments: DataArguments,
    output: Path,
    place: Runner,
    folder: Path,
    with_rejects: bool = False,
    learn: Learn | None = None,
) -> DataReport:
    """Write the prepared pairs to the folder `output`; the files of finished stages are in `folder`.

    `output` has Parquet files with the training pairs of each source and with the evaluation pairs, the report as
    `report.json`, and a manifest for training; `with_rejects` also the dropped rows, in `rejects`. With `learn`, the
    training pairs have token ids, and the tokenizer is in `tokenizer`. Raises `GlossaError` if the settings or the
    data are invalid.
    """
    arguments = replace(arguments, streaming=False)
    sources = sources_of(arguments)
    for source in sources:
        filters.check(source.settings)
    _read(sources, place, folder)
    with cache_in(folder / "raw"):
        loaded = pairs.load_sources(sources, arguments)
        others = [_without_training(one) for one in loaded if set(one.splits) - {"train"}]
        given, report = clean_sources(others)
        report.teachers = pairs.teachers_of(sources)
        overlap = evaluation_sides(loaded)
    job = Job(sources, arguments, folder, place, report)
    _clean(job, loaded[: len(sources)], overlap)
    corpus, stems = _find_remaining(job)
    splits, held_out = _hold_out(job, corpus, stems, given)
    written = _write(job, corpus, stems, held_out, splits)
    if with_rejects:
        _write_rejects(job, stems)
    if learn is not None:
        with cache_in(job.folder / "sample"):
            written = _encode(job, written, learn)
    for record in [*written.glob("train-*.json"), *written.glob("rejects/*.json")]:
        record.unlink()  # records of the last stages are not part of the result
    new = output.with_name(f"{output.name}.new")  # since moving to another disk takes time
    shutil.rmtree(new, ignore_errors=True)
    shutil.move(written, new)
    new.rename(output)
    shutil.rmtree(job.folder)  # cleaned blocks are kept
    return report


def _read(sources: Sequence[Source], place: Runner, folder: Path) -> None:
    """Read the files of all sources in parallel if there are several parts."""
    parts = [part for source in sources for part in training_parts(source.settings)]
    items = {hash_bytes([repr((file_states(part[0]), part, versions())).encode()]): part for part in parts}
    if len(items) > 1:
        Stage("reading", folder / "reading", partial(partial, _read_part, folder / "raw"), items).run(place)


def _read_part(folder: Path, part: tuple[Groups, Columns], stem: Path) -> dict:
    """Read files into the cache of `datasets`, from which all are loaded later."""
    with cache_in(folder):
        return {"rows": len(read_part(*part))}


def _without_training(loaded: LoadedSource) -> LoadedSource:
    return replace(loaded, splits=DatasetDict({name: rows for name, rows in loaded.splits.items() if name != "train"}))


def _clean(job: Job, loaded: Sequence[LoadedSource], overlap: frozenset[int]) -> None:
    """Clean the rows block by block."""
    items: dict[str, Block] = {}
    job.cleanings += [Cleaning.of(one, "train", overlap, len(loaded) > 1) for one in loaded]
    for number, one in enumerate(loaded):
        items |= blocks_of(number, one.splits["train"], job.cleanings)
    job.raw = list(items.values())
    results = job.run("cleaning", partial(clean_block, job.cleanings), items, lambda block: len(block.rows), "rows")
    first = 0
    for (name, item), result in zip(items.items(), results, strict=True):
        kept = result["outcomes"].get("kept", 0)
        near = job.cleanings[item.source].rules.near_duplicates
        job.blocks.append(CleanedBlock(job.folder / "cleaning" / name, first, kept, item.source, near))
        first += kept
    for number, cleaning in enumerate(job.cleanings):
        job.counts.append(count_rows(job.report, cleaning, job.of_source(number, results)))


def _find_remaining(job: Job) -> tuple[Corpus, list[Path]]:
    """Find the distinct, aligned pairs; returns them and the stems of their files by block."""
    # From here on, stages depend on all blocks and their order.
    known = [(block.stem.name, block.source) for block in job.blocks]
    job.folder /= hash_bytes([repr((known, job.arguments, versions())).encode()])
    parts = {f"{number:06d}": part for number, part in enumerate(parts_of(job.blocks))}
    job.run("duplicates", partial(find_repeated, job.blocks), parts)
    repeated = [job.folder / "duplicates" / name for name in parts]
    alignments, starts = _learn_alignments(job, repeated)
    given = Remaining(repeated, alignments, starts, job.cleanings, job.arguments.split_seed)
    items = {f"{number:06d}": block for number, block in enumerate(job.blocks)}
    results = job.run("remaining", partial(find_remaining, given), items, lambda block: block.pairs, "pairs")
    stems = [job.folder / "remaining" / name for name in items]
    corpus = Corpus([block.stem for block in job.blocks], [load_array(stem, "rows") for stem in stems])
    for number in range(len(job.sources)):
        _judge(job, corpus, number, job.of_source(number, results))
    return corpus, stems


def _learn_alignments(job: Job, repeated: list[Path]) -> tuple[dict[int, Alignment], dict[Path, int]]:
    """The alignment models of sources with filter `alignment`, and the number of each block's first distinct pair."""
    alignments: dict[int, Alignment] = {}
    starts: dict[Path, int] = {}
    for number, source in enumerate(job.sources):
        if "alignment" in source.settings.filters:
            own = [block for block in job.blocks if block.source == number]
            distinct = Corpus([block.stem for block in own], [distinct_rows(repeated, block) for block in own])
            alignments[number] = Alignment(distinct)  # type: ignore[arg-type]
            starts |= {block.stem: int(start) for block, start in zip(own, distinct.starts[:-1], strict=True)}
    return alignments, starts


def _judge(job: Job, corpus: Corpus, number: int, results: list[dict]) -> None:
    """Count the remaining pairs of a source, and check a sample of them."""
    cleaning = job.cleanings[number]
    count_pairs(job.report, cleaning, job.counts[number], results)
    if kept := sum(result["kept"] for result in results):
        first = next(start for start, block in zip(corpus.starts, job.blocks, strict=False) if block.source == number)
        rows = corpus.table(plausibility.sample(kept) + first, ("source", "target", "line", "file")).to_pydict()
        places = [f"{file}, line {line}" for file, line in zip(rows.pop("file"), rows.pop("line"), strict=True)]
        check_sample(job.report, cleaning, Dataset.from_dict(rows), places)


def _hold_out(
    job: Job, corpus: Corpus, stems: list[Path], given: DatasetDict
) -> tuple[dict[str, Dataset], dict[str, numpy.ndarray]]:
    """The evaluation pairs, and the numbers of the pairs that were drawn from the training pairs."""
    arguments, splits = job.arguments, dict(given)
    sizes = [0 if name in given else getattr(arguments, f"{name}_size") for name in ("validation", "test")]
    drawn: dict[str, numpy.ndarray] = {}
    if any(size != 0 for size in sizes):
        drawn = hold_out([sentences_of(stem) for stem in stems], sizes[0], sizes[1], arguments.split_seed)
        del drawn["train"]
    several = any(source.language for source in job.sources)
    for name, rows in drawn.items():
        splits[name] = corpus.select(rows)
        if several:
            languages = [job.sources[number].language for number in _sources_at(job, corpus, rows)]
            splits[name] = splits[name].add_column("language", languages)
    limits = {name: getattr(arguments, f"max_{name}_samples") for name in splits}
    return {
        name: sample_rows(rows, limits[name], arguments.split_seed)
        for name, rows in splits.items()
        if limits[name] != 0
    }, drawn


def _sources_at(job: Job, corpus: Corpus, rows: numpy.ndarray) -> list[int]:
    """The source number of each pair in `rows`."""
    return [job.blocks[index].source for index in numpy.searchsorted(corpus.starts, rows, "right") - 1]


def _write(
    job: Job, corpus: Corpus, stems: list[Path], drawn: dict[str, numpy.ndarray], splits: dict[str, Dataset]
) -> Path:
    """Write all files and count their pairs; returns their folder."""
    for name, rows in drawn.items():
        for number, count in enumerate(numpy.bincount(_sources_at(job, corpus, rows), minlength=len(job.sources))):
            job.report.sources[job.sources[number].name][name] = int(count)
    held_out = numpy.sort(numpy.concatenate([numpy.zeros(0, numpy.int64), *drawn.values()]))
    files: dict[str, File] = {}
    for number, source in enumerate(job.sources):
        counts = job.report.sources[source.name]
        counts["train"] = counts["kept"] - sum(counts.get(name, 0) for name in drawn)
        files |= {file.name: file for file in files_of(number, int(counts["train"]))}
    order = Order(job.blocks, stems, corpus.starts[:-1].tolist(), held_out)
    job.run("writing", partial(write_file, order), files, unit="files")
    folder = job.folder / "writing"
    entries = []
    for number, source in enumerate(job.sources):
        own = {f"{file.name}.parquet" for file in files.values() if file.source == number}
        sizes = {name: (folder / name).stat().st_size for name in sorted(own)}
        count = int(job.report.sources[source.name]["train"])
        languages = source.settings.source_language, source.settings.target_language
        entries.append(Entry(source.name, sizes, count, *languages, source.weight, source.tag))
    evaluation = {name: write_evaluation(folder, name, rows) for name, rows in splits.items()}
    job.report.sizes = {"train": sum(entry.pairs for entry in entries)}
    job.report.sizes |= {name: len(splits[name]) for name in ("validation", "test") if name in splits}
    job.report.overlap = _overlap(stems, corpus, held_out, splits)
    write_whole(folder / "report.json", json.dumps(job.report.to_dict(), indent=1, ensure_ascii=False))
    write_manifest(folder, job.arguments, entries, evaluation)
    return folder


def _write_rejects(job: Job, stems: list[Path]) -> None:
    """Write the dropped rows, a file per block with such rows."""
    items = {
        f"{block.source:02d}-{number:06d}": Dropped(raw, block.stem, stem)
        for number, (raw, block, stem) in enumerate(zip(job.raw, job.blocks, stems, strict=True))
    }
    job.run("writing/rejects", partial(write_rejects, job.cleanings), items, unit="blocks")


def _encode(job: Job, written: Path, learn: Learn) -> Path:
    """Add token ids to the training pairs, and move all files to another folder, which is returned."""
    given = DataArguments(
        data_path=[str(written)],
        source_language=job.arguments.source_language,
        target_language=job.arguments.target_language,
        split_seed=job.arguments.split_seed,
        streaming=True,
        trust_data=CHECKS,
        augmentation=job.arguments.augmentation,
        placeholder_augmentation=job.arguments.placeholder_augmentation,
    )
    saved = job.folder / TOKENIZER
    shutil.rmtree(saved, ignore_errors=True)
    tokenizer, vocabulary = learn(given, saved)
    sources = sources_of(given)
    known = stamp_of(tokenizer, any(source.language for source in sources))
    items = {
        Path(path).stem: (Path(path).name, source.tag, source.language)
        for source in sources
        for path in source.settings.data_path
    }
    encoding = replace(job, folder=job.folder / known)
    encoding.run("encoding", partial(encode_file, tokenizer, written), items, unit="files")
    folder = encoding.folder / "encoding"
    for path in (saved, *written.iterdir()):
        if not path.name.startswith("train-") and path.name != MANIFEST:
            shutil.rmtree(folder / path.name, ignore_errors=True)
            path.replace(folder / path.name)
    add_tokens(folder, written, known, vocabulary)
    return folder


def _overlap(
    stems: list[Path], corpus: Corpus, held_out: numpy.ndarray, splits: dict[str, Dataset]
) -> dict[str, dict[str, int]]:
    """As [`check_overlap`], with only the training pairs that share a side with an evaluation pair."""
    sides: list[list[numpy.ndarray]] = [[numpy.zeros(0, numpy.uint64)], [numpy.zeros(0, numpy.uint64)]]
    wanted = numpy.unique(
        numpy.concatenate([sides[0][0], *(key for own in splits.values() for key in side_keys(own))])
    )
    for stem, first in zip(stems, corpus.starts, strict=False):
        part = sentences_of(stem)
        found = part.pairs_with(wanted)
        found = found[~numpy.isin(found + first, held_out)]
        sides[0].append(part.sources[found])
        sides[1].append(part.targets[found])
    return check_overlap(DatasetDict(splits), (numpy.concatenate(sides[0]), numpy.concatenate(sides[1])))
