"""Translators from the names of models, as the commands are given them."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from ..base.errors import GlossaError
from .engines.exported import COMPARED, ComparedEngine, load_exported
from .engines.generate import GenerateEngine
from .interface import Batch, Checks, Engine, Execution, Search, Translation
from .languages import Languages, Wanted
from .loading import load_model, load_tokenizer
from .search.terms import Terms, Wording
from .translator import Translator

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..base.jobs.stage import Runner
    from .engines.forced import Reranker
    from .search.constrained import ConstrainedEngine

logger = logging.getLogger(__name__)


def engine_for(engine: str, length_penalties: Sequence[float | None]) -> str:
    """`engine`, but "torch" instead of "auto" for a negative length penalty, with which CTranslate2 stops too late."""
    if engine != "auto" or not any(penalty is not None and penalty < 0 for penalty in length_penalties):
        return engine
    logger.info("With a negative length_penalty, generate translates: CTranslate2 ends such a search at another time.")
    return "torch"


def build_translator(
    names: list[str],
    engine: str = "torch",
    language: str | Wanted | None = None,
    rerank: str | None = None,
    wording: Wording = Wording(),  # noqa: B008  # frozen
    search: Search = Search(),  # noqa: B008
    checks: Checks = Checks(),  # noqa: B008
    execution: Execution = Execution(),  # noqa: B008
) -> Translator:
    """A translator with the model `names`, or an ensemble of several, into `language`.

    Args:
        names: Folders or Hub names.
        engine: "torch" for `generate`; "ctranslate2" for one folder that `glossa export --to ctranslate2` wrote;
            "auto" for CTranslate2 if it supports the model (see [`load_exported`]), otherwise `generate`.
        language: Code or name of the target language, for a model of several. Texts that begin with the tag of a
            language, such as <2fr>, are translated into that one.
        rerank: A model that reranks the translations.
        wording: Terms that translations must have, and words that they must not have.
        search: Beams and number of translations, for [`Translator`], like `checks` and `execution`.

    Raises:
        GlossaError: if a model does not load, does not translate into `language`, or does not fit the others.
    """
    engine = engine_for(engine, [search.length_penalty])
    loaded, tokenizer = load_engine(names, engine, language, by_line=True)
    reranker = load_reranker(names[0], rerank, language) if rerank else None
    (glossary, forbidden), terms, own = wording, None, Languages.of_tokenizer(tokenizer)
    known = own if own.targets else Languages.of(names[0])  # which imports more
    kept = keeps_sentinels(names[0], loaded)
    if kept or glossary is not None or forbidden is not None:
        wanted = getattr(tokenizer, "tgt_lang", None) if own.tagged else None
        if own.tagged and wanted is None and glossary is not None:
            raise GlossaError(
                f"A glossary is for one language, and {names[0]} translates into {', '.join(own.targets)}. Give "
                "--target_language."
            )
        terms = Terms(
            lambda: constrained_engine(*torch_model(names, loaded, language)), glossary, forbidden or (), wanted, kept
        )
    return Translator(
        loaded,
        tokenizer,
        search,
        checks,
        execution,
        reranker,
        terms,
        (own.source or known.source, None if own.targets else known.target),
    )


def pseudo_translator(
    lengthened: bool = False,
    checks: Checks = Checks("copy"),  # noqa: B008
    execution: Execution = Execution(),  # noqa: B008
) -> Translator:
    """A translator without a model; `lengthened` is that of [`pseudo_engine`], the rest of [`Translator`]."""
    from .engines.pseudo import CharacterTokenizer, pseudo_engine

    return Translator(pseudo_engine(lengthened), CharacterTokenizer(), checks=checks, execution=execution)


def keeps_sentinels(name: str, loaded: Engine) -> bool:
    """Whether a model has learned `SENTINELS`, and can search translations that have each of them once."""
    exported = not isinstance(loaded, GenerateEngine) and _is_exported(name)
    return loaded.profile.keeps_placeholders and not exported


def _is_exported(name: str) -> bool:
    return (Path(name) / "model.bin").is_file()


def constrained_engine(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> "ConstrainedEngine":
    """The search for terms with a model in torch. Raises `GlossaError` if the model does not support it."""
    from .search.constrained import ConstrainedEngine

    return ConstrainedEngine(model, tokenizer)


def torch_model(
    names: list[str], loaded: Engine, language: str | Wanted | None
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The models in torch and their tokenizer: the engine's own, or loaded if it has none.

    Raises `GlossaError` for an exported folder, which has no weights for torch.
    """
    own = loaded.exact if isinstance(loaded, ComparedEngine) else loaded
    if isinstance(own, GenerateEngine):
        return own.pipeline.model, own.pipeline.tokenizer  # type: ignore[return-value]
    if _is_exported(names[0]):
        raise GlossaError(
            f"{names[0]} is an exported model, and CTranslate2 has no search for terms, forbidden words and given "
            "beginnings. Give the folder that it was exported from."
        )
    from .engines.ensemble import load_models

    return load_models(names, language, by_line=True)


def load_engine(
    names: list[str], engine: str, language: str | Wanted | None, by_line: bool = False, **options: Any
) -> tuple[Engine, Any]:
    """The engine and its tokenizer, which asks for translations into `language`; `generate` takes `options`.

    With `by_line`, a model of several languages needs none.
    """
    if engine == "ctranslate2":
        if len(names) > 1:
            raise GlossaError("--engine ctranslate2 takes one model. For several models, leave --engine out.")
        from .engines import ctranslate2

        exported, tokenizer = ctranslate2.load_engine(names[0])
        Languages.choose(tokenizer, names[0], language, by_line)
        return exported, tokenizer
    if engine == "auto" and not options and (found := load_exported(names)):
        Languages.choose(found[1], names[0], language, by_line)
        return found
    from .engines.ensemble import load_models

    model, tokenizer = load_models(names, language, by_line)
    return GenerateEngine(model, tokenizer, **options), tokenizer


def settle_engine(names: list[str], engine: str, language: str | Wanted | None, lines: Iterable[str]) -> str:
    """`engine`, or for "auto" what it is for processes that load the model later; it is exported here if need be.

    The translations of the first `lines` are then compared. Raises `GlossaError` as [`build_translator`].
    """
    if engine == "auto" and (found := load_exported(names)):
        loaded, tokenizer = found
        Languages.choose(tokenizer, names[0], language, by_line=True)
        if isinstance(loaded, ComparedEngine):
            Translator(loaded, tokenizer, checks=Checks(on_error="blank")).best(list(islice(lines, COMPARED)))
            loaded.report()
        return engine
    Languages.choose(load_tokenizer(names[0]), names[0], language, by_line=True)
    return "torch" if engine == "auto" else engine


def load_reranker(model: str, other: str, language: str | Wanted | None = None) -> "Reranker":
    """`other`, to rerank the translations of `model`; of the same direction unless it says the opposite one.

    If one of the two has several target languages, both translate into `language`, by default the language of `model`.
    """
    from .engines.forced import Reranker

    own, others = Languages.of(model), Languages.of(other)
    theirs = load_tokenizer(other)
    if own.tagged or others.tagged:
        Languages.choose(theirs, other, language or own.target)
        return Reranker(load_model(other, "auto"), theirs)
    known = None not in (*own.pair, *others.pair)
    if known and {*own.pair} != {*others.pair}:
        raise GlossaError(
            f"{other} translates from {others.source} to {others.target}, {model} from {own.source} to "
            f"{own.target}. Give a model of the same two languages."
        )
    return Reranker(load_model(other, "auto"), theirs, reverse=known and own.pair != others.pair)


def ways_to_search(
    names: list[str],
    language: str | Wanted | None = None,
    beams: Sequence[int] | None = None,
    length_penalties: Sequence[float] | None = None,
    rerank: str | None = None,
    batch_tokens: int = 4096,
    engine: str = "torch",
    place: "Runner | None" = None,
) -> list[Translator]:
    """A translator for each number of beams, and with beams for each length penalty; all processes share their work.

    With a `place`, the processes of that place translate, and each of them loads the models by their names.

    Without `beams`, greedy and the model's own number. `rerank` reranks as many translations as there are beams.
    Raises `GlossaError` as [`build_translator`], and for settings of beams with none.
    """
    language = Languages.of(names[0]).asked(language)
    load = partial(load_engine, names, engine_for(engine, length_penalties or []), language)
    loaded, tokenizer = load()
    run_batches = partial(translated_at, place, load) if place else None
    execution = Execution(batch_tokens, shared=place is None, run_batches=run_batches)
    beams = beams or sorted({1, loaded.num_beams})
    for name, given in (("length_penalty", length_penalties), ("rerank", rerank)):
        if given and max(beams) == 1:
            raise GlossaError(
                f"--{name} needs beam search, but {names[0]} is scored with greedy search. Give --num_beams 5."
            )
    reranker = load_reranker(names[0], rerank, language) if rerank else None
    penalties: Sequence[float | None] = length_penalties or [None]
    ways = []
    for beam in beams:
        for penalty in penalties if beam > 1 else [None]:
            second = reranker if beam > 1 else None
            count = beam if second else 1
            search = Search(beam, count, length_penalty=penalty)
            ways.append(Translator(loaded, tokenizer, search, execution=execution, reranker=second))
    return ways


def translated_at(
    place: "Runner", load: Callable[[], tuple[Engine, Any]], batches: list[Batch], search: Search, progress: bool
) -> list[list[Translation]]:
    """The translations of each batch, in order, by processes of `place`, each of which loads the engine once."""
    answers = place(partial(_numbered, load, search), list(enumerate(batches)))
    shown = tqdm(answers, desc="translating", unit="batch", total=len(batches), disable=None if progress else True)
    found = dict(shown)
    return [found[number] for number in range(len(batches))]


def _numbered(load: Callable[[], tuple[Engine, Any]], search: Search) -> Callable[[tuple[int, Batch]], tuple]:
    engine, _ = load()
    return partial(_translate_numbered, engine, search)


def _translate_numbered(engine: Engine, search: Search, given: tuple[int, Batch]) -> tuple[int, list[Translation]]:
    number, sources = given
    return number, engine.translate(sources, search)
