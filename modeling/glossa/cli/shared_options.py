"""Groups of options that several commands share. The options of a command inherit from its groups."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ..translate.interface import ENGINES
from ..translate.languages import Wanted
from .options import argument, flag, option

if TYPE_CHECKING:
    from ..apps.documents.formats.format import LanguagePair
    from ..apps.documents.glossary import Glossary
    from ..translate.texts.recall import Recall


@dataclass(frozen=True)
class ModelOptions:
    """The one model of a command."""

    model: str = argument("folder of a run, or Hub name")


@dataclass(frozen=True)
class ModelsOptions:
    """The models that translate together, and one that ranks their translations."""

    models: list[str] = argument("folder of a run, or Hub name", metavar="MODEL")
    rerank: str | None = option(
        "rank the translations of a search with beams with this model too, and take the best", metavar="OTHER"
    )

    @property
    def all_models(self) -> list[str]:
        """The models, and the one that ranks."""
        return [*self.models, *([self.rerank] if self.rerank else [])]


@dataclass(frozen=True)
class TargetOptions:
    """The target language."""

    target_language: str | None = option(
        "code or name of the target language (default: the model's); needed for a model of several", metavar="CODE"
    )


@dataclass(frozen=True)
class LanguageOptions(TargetOptions):
    """The languages to translate from and into."""

    source_language: str | None = option(
        "code or name of the source language (default: the model's); needed for NLLB, M2M100 and mBART", metavar="CODE"
    )

    @property
    def wanted(self) -> Wanted:
        """The languages to ask the model for."""
        return Wanted(self.target_language, self.source_language)

    @property
    def pair(self) -> "LanguagePair":
        """The codes of both languages. Raises `GlossaError` for a language that no standard lists."""
        from ..apps.documents.formats.format import LanguagePair
        from ..base.languages import known_code

        given = (self.source_language, self.target_language)
        return LanguagePair(*(known_code(name) if name else None for name in given))


@dataclass(frozen=True)
class DataOptions:
    """Pairs from files instead of the pairs of a run."""

    data_path: list[str] | None = option("files of pairs to use instead of the run's, in any format for training")
    source_column: str | None = option("of --data_path, by name or number (default: the run's)")
    target_column: str | None = option("of --data_path, by name or number (default: the run's)")


@dataclass(frozen=True)
class EngineOptions:
    """The program that translates."""

    engine: str = option(
        "CTranslate2 for a model that it supports or that was exported to it, or torch (default: auto)",
        choices=ENGINES,
        default="auto",
    )


@dataclass(frozen=True)
class RayOptions:
    """A cluster."""

    ray: str | None = option(
        "run on a Ray cluster: auto (already running here), local (start one), HOST:PORT or ray://HOST:PORT; all "
        'machines must see the files (pip install "glossa-mt[ray]")',
        metavar="ADDRESS",
    )


@dataclass(frozen=True)
class BatchOptions(EngineOptions, RayOptions):
    """How and where many texts are translated."""

    batch_tokens: int = option("source tokens per batch (default: 4096)", default=4096)


@dataclass(frozen=True)
class SearchOptions:
    """The search for translations, and the processes that share the texts."""

    num_beams: int | None = option("beams; 1 is greedy (default: the model's own)")
    num_return_sequences: int = option("translations per text (default: 1)", default=1)
    workers: int | None = option("processes that share the texts (default: none)", metavar="N")


@dataclass(frozen=True)
class BackTranslationOptions:
    """How training pairs are made from translations."""

    sample: bool = flag("draw translations at random instead of searching")
    tag: str = option('text before sources that are translations, such as "<bt> "', default="")


@dataclass(frozen=True)
class GlossaryOptions:
    """What translations must have, and may not have."""

    glossary: Path | None = option(
        "terms that translations must have: a table of two columns (TSV, CSV, ...) or TBX", metavar="FILE"
    )
    forbid: list[str] = option(
        "one or several words that no translation may have; may be repeated",
        action="append",
        default=[],
        metavar="WORDS",
    )

    def read_glossary(self, languages: "LanguagePair") -> "Glossary | None":
        """Read the glossary, if given."""
        if self.glossary is None:
            return None
        from ..apps.documents.glossary import read_glossary

        return read_glossary(self.glossary, languages, self.forbid)


@dataclass(frozen=True)
class KeepOptions:
    """What translations keep."""

    keep: list[str] = option(
        "a regular expression of Python: what it matches is a placeholder that translations keep; may be repeated",
        action="append",
        default=[],
        metavar="REGEX",
    )


@dataclass(frozen=True)
class MemoryOptions:
    """A translation memory whose matches are used."""

    memory: Path | None = option(
        "a translation memory of `glossa memory`, or a TMX file or a table of pairs, or a folder of these",
        metavar="FILE",
    )

    def open_memory(
        self, source: str | None, target: str | None, threshold: int | None = None, taken: int | None = None
    ) -> "Recall | None":
        """Open the memory, if given. Raises `GlossaError` if it has other languages."""
        if self.memory is None:
            return None
        from ..base.matches import USED
        from ..translate.texts.recall import Recall

        return Recall.opened(self.memory, source, target, threshold or USED, taken or inf)
