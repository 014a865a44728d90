"""The options of `glossa score`, and their checks."""

from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import GlossaError
from ..base.paths import masked
from ..translate.languages import Languages
from ..translate.loading import check_name, load_tokenizer
from . import whole
from .options import argument, changed, flag, option
from .shared_options import BatchOptions, DataOptions, LanguageOptions, MemoryOptions, ModelsOptions

COLUMNS = ("source_column", "target_column")
METRICS = ("bleu", "chrf", "ter", "rouge", "cer", "wer")
RESAMPLES = 1000  # sacreBLEU's default
# Options that --robustness refuses, and those that --force refuses.
OF_SCORES = {"baseline", "length_penalty", "rerank", "metrics", "comet", "n_bootstrap", "memory", "force"}
OF_SCORES |= {"translations"}
# Options for translations of other systems without a model.
OF_SYSTEMS = {"translations", "names", "source", "reference", "system", "system_model", "metrics", "comet", "output"}
OF_SYSTEMS |= {"n_bootstrap", "bleu_tokenizer", "source_language", "target_language"}
OF_TRANSLATIONS = OF_SCORES - {"force"} | {"num_beams", "engine", "ray"}


@dataclass(frozen=True)
class ScoreOptions(ModelsOptions, LanguageOptions, DataOptions, BatchOptions, MemoryOptions):
    """The options of `glossa score`."""

    models: list[str] = argument("folder of a run, or Hub name", default=[], nargs="*", metavar="MODEL")
    translations: list[str] | None = option(
        "translations of other systems to score too: files with a line for each pair", metavar="FILE"
    )
    names: list[str] | None = option("name of each system (default: the file names)", metavar="NAME")
    source: str | None = option("sources of --translations without a model, one on each line", metavar="FILE")
    reference: str | None = option("references of --translations without a model", metavar="FILE")
    system: str | None = option(
        "ask this server of LibreTranslate, or with --system_model of OpenAI's interface, for the one file of "
        "--translations that does not exist, and write it",
        metavar="URL",
    )
    system_model: str | None = option("model that the server of --system is to use", metavar="ID")
    split: str = option("split of the run (default: test)", choices=("validation", "test"), default="test")
    bleu_tokenizer: str | None = option("tokenizer of sacreBLEU (default: the run's, or that for the target language)")
    num_beams: list[int] | None = option("beams (default: 1 and the model's own)")
    length_penalty: list[float] | None = option(
        "divide beam scores by the length to the power of X, for each X (default: the model's own)", metavar="X"
    )
    n_bootstrap: int = option(
        f"resamples for intervals, 0 for none (default: {RESAMPLES})", type=whole(0), default=RESAMPLES
    )
    metrics: list[str] = option(
        "bleu chrf ter (the default), rouge, cer (character error rate), wer (word error rate)",
        default=list(METRICS[:3]),
        choices=METRICS,
        metavar="NAME",
    )
    comet: bool = flag("also print COMET, if the command comet-score is installed")
    baseline: str | None = option("another model, for a significance test of the difference")
    robustness: bool = flag("measure BLEU on changed sources")
    force: bool = flag("print the perplexity of the references instead; --output has the log-probability of each")
    output: str | None = option("write scores and translations to this JSON file")


def check(arguments: ScoreOptions) -> None:
    """Raise `GlossaError` for a model or folder that does not exist, and for options that contradict each other."""
    check_systems(arguments)
    for name in [*arguments.models, arguments.baseline, arguments.rerank]:
        if name is not None:
            check_name(name)
    if arguments.output and not Path(arguments.output).parent.is_dir():
        raise GlossaError(f"{arguments.output}: there is no folder {Path(arguments.output).parent}. Make it first.")
    for name in changed(arguments):
        if arguments.robustness and name in OF_SCORES:
            raise GlossaError(
                f"--{name} is for one set of scores, but --robustness shows many. Leave one of them out."
            )
        if arguments.force and name in OF_TRANSLATIONS:
            raise GlossaError(f"--{name} is for translations, but --force makes none. Leave one of them out.")


def check_systems(arguments: ScoreOptions) -> None:
    """Raise `GlossaError` for options of other systems that are incomplete, or contradict the others."""
    files, texts = arguments.translations or [], (arguments.source, arguments.reference)
    missing = [file for file in files if not Path(file).is_file()]
    if arguments.models and any(texts):
        raise GlossaError("--source and --reference are for --translations without a model. Leave them or it out.")
    if not arguments.models and not (all(texts) and files):
        raise GlossaError(
            "There is nothing to score. Give the folder of a run; or --source, --reference and --translations, files "
            "with a line for each text."
        )
    if not arguments.models and (wrong := {*changed(arguments)} - OF_SYSTEMS):
        raise GlossaError(f"--{min(wrong)} is for models, but none is given. Leave it out.")
    for name in ("names", "system", "system_model"):
        needed = "system" if name == "system_model" else "translations"
        if getattr(arguments, name) and not getattr(arguments, needed):
            raise GlossaError(f"--{name} is for --{needed}. Give it too, or leave --{name} out.")
    if arguments.system and len(missing) != 1:
        raise GlossaError(
            f"--system is {masked(arguments.system)}, whose translations are written to the one file of "
            f"--translations that does not exist; {len(missing)} do not. Give one such file, or leave --system out."
        )
    if missing and not arguments.system:
        raise GlossaError(f"--translations: {missing[0]} does not exist. Give a file, or --system to have it written.")


def settle_languages(arguments: ScoreOptions) -> ScoreOptions:
    """Fill in the languages that are not given from the first model. Raises `GlossaError` if they are unknown."""
    model = arguments.models[0]
    own = Languages.of(model)
    if not arguments.data_path:
        check_held_out(arguments, own)
    source, target = arguments.source_language or own.source, arguments.target_language or own.target
    if own.tagged:
        tokenizer = load_tokenizer(model)
        Languages.choose(tokenizer, model, arguments.wanted)
        target = tokenizer.tgt_lang  # type: ignore[attr-defined]
    if arguments.data_path and None in (source, target):
        raise GlossaError(f"The languages of {model} are unknown. Give --source_language and --target_language.")
    return replace(arguments, source_language=source, target_language=target)


def check_held_out(arguments: ScoreOptions, own: Languages) -> None:
    """Raise `GlossaError` for options that contradict the held-out pairs of a run, or do not apply to them."""
    from ..base.languages import normalized_code

    for name in COLUMNS:
        if getattr(arguments, name):
            raise GlossaError(f"--{name} is for pairs of --data_path. Give these too, or leave it out.")
    languages = {"source_language": own.source} | ({} if own.tagged else {"target_language": own.target})
    for name, code in languages.items():
        given = getattr(arguments, name)
        if given and normalized_code(given) != code:
            raise GlossaError(
                f"--{name} {given} is for pairs of --data_path. The held-out pairs of {arguments.models[0]} have "
                f"{code}. Leave it out."
            )
