"""Translation of documents by `glossa translate`."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..apps.documents.formats.format import Chosen, LanguagePair
from ..apps.documents.formats.keys import COLUMNS, KEYS, Keys
from ..apps.documents.job import DocumentJob
from ..base.errors import GlossaError
from ..base.jobs.records import hash_file
from ..base.matches import USED
from .translate_options import TranslateOptions

if TYPE_CHECKING:
    from ..apps.documents.glossary import Glossary
    from ..translate.texts.recall import Recall
    from ..translate.translator import Translator

# Options that are for lines only, with advice.
LINES_ONLY = {
    "scores": "Give --report, whose rows have the scores.",
    "alignments": "Leave it out.",
    "confidence": "Give --min_confidence, which reports and marks the texts below it.",
    "workers": "Leave it out: a document is translated in this process, and an interrupted job continues.",
    "ray": "Leave it out: a document is translated in this process, and an interrupted job continues.",
}
# Options that do not change the translations, or are recorded elsewhere.
NOT_RECORDED = ("input", "output", "report", "report_all", "format", "memory", "models", "workers", "ray", "on_error")


def run(arguments: TranslateOptions, build: Callable[[TranslateOptions], "Translator"], report: TextIO | None) -> None:
    """Translate a document or a folder of documents with the translator from `build`."""
    if not arguments.output:
        raise GlossaError(f"{arguments.input} is a document. Give --output for its translation.")
    for name, advice in LINES_ONLY.items():
        if getattr(arguments, name):
            raise GlossaError(f"--{name} is for lines of text. {advice}")
    if arguments.num_return_sequences > 1 and not arguments.rerank:
        raise GlossaError("--num_return_sequences is for lines of text: a document has one translation of each text.")
    if arguments.prefix:
        raise GlossaError("--prefix is for lines of text, and a document has many texts. Leave it out.")
    # A blank translation would lose text of the document.
    arguments = replace(arguments, on_error="stop" if arguments.on_error == "stop" else "copy")
    job = DocumentJob(
        Path(arguments.input),
        Path(arguments.output),
        arguments.format,
        languages_of(arguments),
        settings_of(arguments, NOT_RECORDED),
        arguments.all_models,
        Chosen(_patterns(arguments.keys, KEYS), _patterns(arguments.columns, COLUMNS), arguments.only),
        arguments.update,
        arguments.previous,
        arguments.state == "review",
    )
    if job.previous is not None and job.old is None:
        raise GlossaError("--previous is the source of an older translation. Give this translation with --update.")
    for name, older in (("update", job.old), ("previous", job.previous)):
        if older is not None and not (older.is_file() if job.source.is_file() else older.is_dir()):
            kind = "file" if job.source.is_file() else "folder"
            raise GlossaError(f"--{name}: {older} is not a {kind}, as {job.source} is. Give the older {kind}.")
    if job.old is not None and job.old.samefile(job.source):
        raise GlossaError(f"--update is the file of --input, {job.source}. Give its older translation.")
    if job.target.exists() and job.target.is_file() == job.source.is_file():
        raise GlossaError(
            f"{job.target} exists. Give another --output, or remove it. To keep its translations, give another "
            f"--output and --update {job.target}, for formats with keys."
        )
    job.files()  # before a model is loaded
    job.run(build(arguments), report, arguments.report_all)


def _patterns(given: str | None, option: str) -> Keys | None:
    return None if given is None else Keys.of(given, option)


def settings_of(arguments: TranslateOptions, ignored: Collection[str]) -> dict[str, Any]:
    """The options that determine the translations: all except those in `ignored`, and hashes of the files."""
    settings = {name: value for name, value in vars(arguments).items() if name not in ignored}
    if arguments.glossary:
        settings["glossary"] = hash_file(Path(arguments.glossary))
    for name in ("update", "previous"):
        if older := settings.get(name):
            settings[name] = hash_file(older) if older.is_file() else str(older)
    if settings.get("memory"):
        from ..translate.memory.building import stamp_of

        settings["memory"] = stamp_of(settings["memory"])
    return settings


def glossary_of(arguments: TranslateOptions) -> "Glossary | None":
    """Read the glossary of --glossary, if given."""
    return arguments.read_glossary(languages_of(arguments)) if arguments.glossary else None


def recall_of(arguments: TranslateOptions) -> "Recall | None":
    """Open the translation memory of --memory, if given."""
    if arguments.memory is None:
        for name in ("memory_threshold", "take_matches"):
            if getattr(arguments, name) is not None:
                raise GlossaError(f"--{name} needs a memory. Give --memory FILE.")
        return None
    languages, taken = languages_of(arguments), arguments.take_matches
    threshold = min(arguments.memory_threshold or USED, taken or USED)
    return arguments.open_memory(languages.source, languages.target, threshold, taken)


def languages_of(arguments: TranslateOptions) -> LanguagePair:
    """The source and target languages, if known."""
    from ..base.languages import normalized_code
    from ..translate.languages import Languages

    if arguments.pseudo:
        return arguments.pair
    known = Languages.of(arguments.models[0])
    source, target = (
        normalized_code(given) if given else None for given in (arguments.source_language, arguments.target_language)
    )
    return LanguagePair(known.source or source, target or known.target)
