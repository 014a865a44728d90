"""Scores of translations that come from outside: files of other systems, and servers."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from datasets import Dataset

from ...base.errors import GlossaError
from ...base.jobs.records import hash_texts
from ...base.metrics import paired_bootstrap, score_both
from ...readers.files import lines
from ...translate.corpora.servers import ServerTranslator
from ..data.pairs import each_line, group_references

logger = logging.getLogger(__name__)


def read_lines(file: str) -> list[str]:
    """The lines of a text file. Raises `GlossaError` if it is missing, or a line is not UTF-8."""
    if not Path(file).is_file():
        raise GlossaError(f"{file} does not exist. Give a text file with a line for each text.")
    found = []
    for number, (text, problem) in enumerate(lines(Path(file)), 1):
        if problem:
            raise GlossaError(f"{file}, line {number}: {problem}. Correct the line.")
        found.append(text.strip())
    return found


def check_rows(first: str, count: int, file: str, own: int) -> None:
    """Raise `GlossaError` unless `file`, with `own` lines, has as many as `first`, with `count`."""
    if own != count:
        raise GlossaError(
            f"{file} has {own:,} lines, and {first} has {count:,}. Line n of each must belong to the same text: give "
            "the translations of all lines, an empty line for a missing one."
        )


def score_system(
    file: str, pairs: Dataset, place: str, tokenize: str, n_bootstrap: int, files: Sequence[str] | None = None
) -> dict:
    """Score the translations in `file`, line n of which is that of the source of pair n.

    Args:
        file: A text file.
        pairs: Sources and references. A source of several pairs has as many references, and is scored once, with its
            first translation.
        place: Where the pairs are, for errors.
        tokenize: sacreBLEU's tokenizer.
        n_bootstrap: Resamples for the intervals.
        files: The file of each pair; every pair then counts, as in [`score_translators`].

    Returns:
        `scores`, `sources`, `references` and `translations`, as [`score_translator`] does.

    Raises:
        GlossaError: if the file cannot be read, or has another number of lines than there are pairs.
    """
    found = read_lines(file)
    check_rows(place, len(pairs), file, len(found))
    if empty := found.count(""):
        logger.warning("%s: %d of %d lines are empty, and count as wrong.", file, empty, len(found))
    grouped = group_references(pairs) if files is None else each_line(pairs)
    if files is None:
        first: dict[str, str] = {}
        other = sum(first.setdefault(*both) != both[1] for both in zip(pairs["source"][:], found, strict=True))
        if other:
            logger.warning("%s: %d sources come again with another translation; the first ones count.", file, other)
        found = list(first.values())
    references = [targets for _, targets in grouped]
    return {
        "scores": score_both(found, references, n_bootstrap, tokenize),
        "sources": [source for source, _ in grouped],
        "references": references,
        "translations": found,
    }


def compare_systems(results: Mapping[str, dict], tokenize: str) -> dict[str, dict]:
    """Paired bootstrap tests of each but the first of `results`, which have the same sources, against the first."""
    first, *others = results
    return {
        f"{name}, against {first}": paired_bootstrap(
            results[first]["translations"],
            results[name]["translations"],
            results[first]["references"],
            tokenize=tokenize,
        )
        for name in others
    }


def ask_server(translator: ServerTranslator, sources: Sequence[str], file: str) -> None:
    """Write the server's translation of each source to `file`. What an earlier call has finished is not asked."""
    part = Path(f"{file}.{hash_texts(sources)[:8]}.part")
    known = len(read_lines(str(part))) if part.is_file() else 0
    logger.info("%s: %d of %d texts are asked for.", file, len(sources) - known, len(sources))
    with open(part, "a", encoding="utf-8") as output:
        for translation in translator.translate(sources[known:]):
            output.write(f"{translation}\n")
            output.flush()
    part.replace(file)


def names_of(files: Iterable[str], names: Sequence[str] | None) -> list[str]:
    """The names of systems: `names`, or those of the files without endings. Raises `GlossaError` if two are equal."""
    files = list(files)
    found = list(names) if names else [Path(file).stem for file in files]
    if len(found) != len(files):
        raise GlossaError(
            f"--names has {len(found)} names for {len(files)} files of --translations. Give one for each."
        )
    if twice := [name for name in found if found.count(name) > 1]:
        raise GlossaError(f"Two systems are named {twice[0]}. Give each a name of its own with --names.")
    return found
