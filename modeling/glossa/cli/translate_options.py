"""The options of `glossa translate`, for lines and for documents."""

from dataclasses import dataclass

from ..apps.documents.formats.opening import FORMATS
from ..translate.engines.engine import ENGINES
from ..translate.languages import Wanted
from ..translate.options import OnError
from . import share, whole
from .options import argument, flag, option
from .places import ray_option


@dataclass(frozen=True)
class TranslateOptions:
    """The options of `glossa translate`."""

    models: list[str] = argument("folder of a run, or Hub name", metavar="MODEL")
    engine: str = option("default: auto", choices=ENGINES, default="auto")
    input: str | None = option("file to translate, or folder of documents (default: standard input)")
    output: str | None = option("file to write (default: standard output)")
    format: str | None = option(
        "format of a document (default: by its name); lines: each line is a text; paragraphs: lines are joined",
        choices=FORMATS,
    )
    keys: str | None = option(
        "of JSON and YAML, translate only values whose dotted keys match: patterns with commas between, such as "
        "title,*.description",
        metavar="PATTERNS",
    )
    memory: str | None = option(
        "a translation memory of `glossa memory`, or a TMX file or a table of pairs, or a folder of these",
        metavar="FILE",
    )
    memory_threshold: int | None = option(
        "the least score of a match in the memory, in percent (default: 70)", type=whole(50, 100)
    )
    target_language: str | None = option(
        "code or name of the language to translate into, for a model of several; a line may begin with "
        "another one's tag, such as <2fr>",
        metavar="CODE",
    )
    source_language: str | None = option(
        "code or name of the language of the source, for a model that must know it (NLLB, M2M100, mBART)",
        metavar="CODE",
    )
    num_beams: int | None = option("beams; 1 is greedy (default: the model's own)")
    length_penalty: float | None = option(
        "with --num_beams, divide scores by the length to the power of X (default: the model's own)", metavar="X"
    )
    num_return_sequences: int = option("translations per line (default: 1)", default=1)
    batch_tokens: int = option("source tokens per batch (default: 4096)", default=4096)
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
    rerank: str | None = option("rank the translations with this model too, and print the best", metavar="OTHER")
    glossary: str | None = option(
        "terms that translations must have: a table of two columns (TSV, CSV, ...), or TBX", metavar="FILE"
    )
    forbid: list[str] = option(
        "a word or several that no translation may have; for others, give the option again",
        action="append",
        default=[],
        metavar="WORDS",
    )
    prefix: str = option("how every translation begins", default="", metavar="TEXT")
    scores: bool = flag("print each translation's log-probability before it")
    confidence: bool = flag("print the probability that each translation needs no correction before it")
    min_confidence: float = option(
        "list translations with less confidence than X (0 to 1) as uncertain, for people to look at",
        type=share,
        default=0.0,
        metavar="X",
    )
    alignments: bool = flag(
        "print the links of each translation's words with the source's after it: a tab, and 0-0 1-2 ..."
    )
    workers: int | None = option("processes for a large file (default: none)", metavar="N")
    ray: str | None = ray_option()

    @property
    def all_models(self) -> list[str]:
        """The models that translate, and the one that ranks their translations."""
        return [*self.models, *([self.rerank] if self.rerank else [])]

    @property
    def wanted(self) -> Wanted:
        """The languages that the model is asked for."""
        return Wanted(self.target_language, self.source_language)
