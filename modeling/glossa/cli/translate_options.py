"""The options of `glossa translate`, for lines and for documents."""

from dataclasses import dataclass
from pathlib import Path

from ..apps.documents.formats import MODULES
from ..translate.interface import OnError
from . import share, whole
from .options import argument, flag, option
from .shared_options import (
    BatchOptions,
    GlossaryOptions,
    KeepOptions,
    LanguageOptions,
    MemoryOptions,
    ModelsOptions,
    SearchOptions,
)


@dataclass(frozen=True)
class TranslateOptions(
    ModelsOptions, LanguageOptions, BatchOptions, SearchOptions, MemoryOptions, GlossaryOptions, KeepOptions
):
    """The options of `glossa translate`."""

    models: list[str] = argument("folder of a run, or Hub name", metavar="MODEL", nargs="*", default=[])
    pseudo: str | None = option(
        "instead of a model, put accents on letters; long: words are also a third longer, and sentences are marked",
        nargs="?",
        const="accents",
        metavar="long",
    )
    input: str | None = option("file to translate, or folder of documents (default: standard input)")
    output: str | None = option("file to write (default: standard output)")
    format: str | None = option(
        "format of a document (default: from its name); lines: each line is a text; paragraphs: joined lines",
        choices=tuple(MODULES),
    )
    keys: str | None = option(
        "of JSON and YAML, translate only values whose keys match one of these patterns: title,*.description",
        metavar="PATTERNS",
    )
    columns: str | None = option(
        "of CSV, TSV and XLSX, translate the cells of these columns in place, by names or numbers: text,title",
        metavar="COLUMNS",
    )
    update: Path | None = option(
        "a translation of an older version of the file, or a folder of these: values of its keys stay, and only new "
        "ones are translated",
        metavar="OLD",
    )
    previous: Path | None = option(
        "with --update, the source of OLD, or a folder of these: values that have changed since are translated again",
        metavar="SOURCE",
    )
    only: list[str] = option(
        "in PO, XLIFF, TS and string catalogs, translate entries without a translation (default), or with one that is "
        "fuzzy, unfinished or needs review, or both",
        default=["untranslated"],
        choices=("untranslated", "fuzzy"),
    )
    state: str = option(
        "what these formats say of new translations: translated (default), or that they need review; below "
        "--min_confidence they always do",
        choices=("translated", "review"),
        default="translated",
    )
    memory_threshold: int | None = option(
        "lowest score of a match in the memory, in percent (default: 70)", type=whole(50, 100)
    )
    take_matches: int | None = option(
        "take the translation of a match of at least SCORE percent instead of the model's; it needs review (default: "
        "never)",
        type=whole(50, 100),
        metavar="SCORE",
    )
    length_penalty: float | None = option(
        "with --num_beams, divide scores by the length to the power of X (default: the model's own)", metavar="X"
    )
    no_split_sentences: bool = flag("translate whole lines, not each sentence")
    on_error: OnError = option(
        "for a line that cannot be translated: a blank line (default), the source, or stop",
        choices=("blank", "copy", "stop"),
        default="blank",
    )
    retry_implausible: bool = flag("translate again with twice the beams if a translation is implausible")
    report: str | None = option(
        "write failed and implausible lines, worst first: number, problem, score and texts", metavar="FILE.jsonl"
    )
    report_all: bool = flag("write every line to the report, in order, with its score")
    prefix: str = option("text with which every translation begins", default="", metavar="TEXT")
    scores: bool = flag("print the log-probability before each translation")
    confidence: bool = flag("print before each translation the probability that it needs no correction")
    min_confidence: float = option(
        "report translations with a confidence below X (0 to 1) as uncertain, for review",
        type=share,
        default=0.0,
        metavar="X",
    )
    alignments: bool = flag("print a tab and the word alignment after each translation: 0-0 1-2 ...")
