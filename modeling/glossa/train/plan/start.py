"""Starting points of a run: a saved tokenizer for a new model, or a trained model."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from ...base.errors import GlossaError
from ...base.languages import find_language
from ...base.run_folder import RunFolder
from ...base.tokens import target_vocabulary
from ...model.spans_glossa import MEMORY, SENTINELS
from ...model.tokenization_glossa import language_token
from ...translate.families import FamilyTokenizer
from ...translate.languages import Languages
from ...translate.loading import load_config, load_model, load_tokenizer
from ..data.arguments import DataArguments, TokenizerArguments
from ..data.encoding.corruption import special_tokens
from ..data.encoding.extension import extend_vocabulary, piece_parts
from ..data.mixture import sources_of, target_languages
from ..data.prepared import tokens_of
from .arguments import Origin, Settings
from .settings import ModelArguments

logger = logging.getLogger(__name__)

DROPOUT = ("dropout", "attention_dropout", "activation_dropout")  # may differ from those of a trained starting model
SMOOTHING = "label_smoothing_factor"
FEWEST_TOKENS = 3  # without SentencePiece's file, transformers creates a tokenizer of special tokens and one mark
MODEL = [field.name for field in fields(ModelArguments)]
VOCABULARY = {field.name for field in fields(TokenizerArguments)} - {"tokenizer"}


def adopt_start(settings: Settings) -> Settings:
    """Return the settings with model and vocabulary of `init_from`, except for explicitly set dropout.

    A resumed run has them in its recipe, so the starting model need not exist any longer. Warns about explicitly set
    values that differ. Raises `GlossaError` if the model's configuration does not load.
    """
    start, named = settings.translator.init_from, settings.named
    if start is None:
        return settings
    own = asdict(settings.model) | asdict(settings.tokenizer) | {SMOOTHING: settings.training.label_smoothing_factor}
    recipe = RunFolder(settings.training.output_dir).recipe
    if recipe.get("init_from") == start:
        found = {name: recipe[name] for name in (*MODEL, *VOCABULARY, SMOOTHING) if name in recipe}
    else:
        found = _settings_of(start)
    changed = {name: value for name, value in found.items() if value != own[name]}
    free = {*DROPOUT, SMOOTHING} & named
    changed = {name: value for name, value in changed.items() if name not in free}
    contradicted = [name for name in changed if name in named and own[name] is not None]
    if ignored := [f"{name} is {changed[name]}, not {own[name]}" for name in contradicted]:
        logger.warning("init_from keeps the model and vocabulary of %s: %s.", start, ", ".join(ignored))
    return settings.with_values(changed, Origin("start", start))


def adopt_vocabulary(settings: Settings) -> Settings:
    """Return the settings with the tokenizer settings of a prepared folder, if its tokenizer is used."""
    if not prepared_tokenizer(settings):
        return settings
    known = tokens_of(sources_of(settings.data))
    assert known is not None
    values = {name: value for name, value in known.vocabulary.items() if name in VOCABULARY}
    return settings.with_values(values, Origin("prepared", str(known.folder)))


def prepared_tokenizer(settings: Settings) -> str | None:
    """The folder of the tokenizer of prepared pairs; None if there is none or the settings need another vocabulary."""
    if settings.translator.objective != "translation" or settings.translator.init_from or settings.tokenizer.tokenizer:
        return None
    known = tokens_of(sources_of(settings.data))
    if known is None or settings.data.memory or known.vocabulary["augmentation"] != settings.data.shares:
        return None
    own = asdict(settings.tokenizer)
    other = any(own[name] != known.vocabulary[name] for name in VOCABULARY & settings.named)
    return None if other else str(known.tokenizer)


def _settings_of(start: str) -> dict[str, Any]:
    """The model and vocabulary settings of a trained model; for other families, only dropout and label smoothing."""
    config = load_config(start)
    names = MODEL if config.model_type == "glossa" else DROPOUT
    found = {name: getattr(config, name) for name in names if hasattr(config, name)}
    if config.model_type != "glossa":
        found[SMOOTHING] = float(getattr(config, "label_smoothing", None) or 0.0)
    if recipe := RunFolder(start).recipe or RunFolder(Path(start).parent).recipe:  # of a run, or of a checkpoint's run
        chosen = asdict(TokenizerArguments()) | recipe
        found |= {name: chosen[name] for name in VOCABULARY}
    return found


def check_family(settings: Settings) -> None:
    """Raise `GlossaError` if the model of `init_from` cannot be trained, or not with these settings.

    These are models of speech or images, encoder-only, quantized and inconsistent models.
    """
    start = str(settings.translator.init_from)
    config = load_config(start)
    if config.model_type == "glossa":
        return
    named = sorted((settings.named & {*MODEL, *VOCABULARY}) - {*DROPOUT})
    problem = ""
    if not is_text_model(config):
        problem = "which does not translate text to text. Allowed are models of AutoModelForSeq2SeqLM for text"
    elif getattr(config, "quantization_config", None):
        problem = "whose weights are quantized. Give the original model"
    elif named:
        problem = f"which keeps its architecture and vocabulary. Leave {named[0]} out"
    elif settings.training.muon_learning_rate and "muon_learning_rate" in settings.named:
        problem = "which Muon does not support. Leave muon_learning_rate out"
    elif settings.training.fp16 and "t5" in config.model_type:
        problem = "whose values are too large for float16: its loss becomes NaN. Set bf16 to true instead of fp16"
    elif settings.translator.objective != "translation":
        problem = f"which Glossa does not pretrain. Leave objective {settings.translator.objective} out"
    if problem:
        raise GlossaError(f"init_from is {start}, a model of the family {config.model_type}, {problem}.")
    problem = _contradiction(config, load_tokenizer(start))
    if problem:
        raise GlossaError(f"init_from is {start}, {problem}. Restore the folder from a copy, or give another model.")


def is_text_model(config: PreTrainedConfig) -> bool:
    """Whether the family has an encoder and a decoder that read and write text."""
    if not config.is_encoder_decoder:
        return False
    if "AutoModelForSeq2SeqLM" in getattr(config, "auto_map", {}):
        return True
    models: Any = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING
    return type(config) in models and models[type(config)].main_input_name == "input_ids"


def _contradiction(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> str:
    """The inconsistency between the files of a model; "" if there is none."""
    sides = [getattr(config, side, None) or config for side in ("encoder", "decoder")]
    rows = [getattr(side, "vocab_size", None) or config.vocab_size for side in sides]
    rows[1] = getattr(config, "decoder_vocab_size", None) or rows[1]
    start = getattr(config, "decoder_start_token_id", None)
    if tokenizer.pad_token_id is None:
        return "whose tokenizer has no token for padding"
    if tokenizer.eos_token_id is None:
        return "whose tokenizer has no token for the end of a sentence"
    if start is not None and start >= rows[1]:
        return f"whose decoder starts with token {start}, but it has {rows[1]:,} tokens"
    known = tokenizer.get_vocab()
    special = {*map(str, tokenizer.all_special_tokens)}
    if sum(token not in special and not token.startswith("<") for token in known) < FEWEST_TOKENS:
        return "whose tokenizer has no tokens of text, as if a file of it were missing"
    longest = max(*known.values(), *getattr(tokenizer, "code_ids", ()))
    if longest >= rows[0]:
        return f"whose tokenizer has the token id {longest:,}, but its embeddings have {rows[0]:,} rows"
    return ""


def load_start(settings: Settings) -> PreTrainedModel:
    """Load the model of `init_from` in float32, with the dropout of the settings."""
    start = str(settings.translator.init_from)
    config = load_config(start)
    dropout = {name: getattr(settings.model, name) for name in DROPOUT if hasattr(config, name)}
    if "dropout_rate" in vars(config) and "dropout" in settings.named:  # T5's name
        config.dropout_rate = settings.model.dropout
        dropout["config"] = config
    # In half precision, small updates of the weights would be lost.
    model = load_model(start, dtype=torch.float32, **dropout)
    if Path(start).is_dir() and not any(Path(start).glob("*.safetensors")):
        logger.info("Read only tensors from the pickled weights of %s. They will be saved as safetensors.", start)
    for name, weight in model.state_dict().items():
        if not torch.isfinite(weight).all():
            raise GlossaError(
                f"init_from is {start}, whose weight {name} has values that are not finite: its training failed. Give "
                "another model, or an earlier checkpoint."
            )
    if config.model_type != "glossa":
        _try_search(model, start)
    return model


def _try_search(model: PreTrainedModel, start: str) -> None:
    """Raise `GlossaError` if `generate` fails with the generation config of the model."""
    ids = torch.zeros(1, 1, dtype=torch.long, device=model.device)
    try:
        model.generate(ids, attention_mask=torch.ones_like(ids), stopping_criteria=[_at_once])  # type: ignore
    except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
        raise GlossaError(
            f"init_from is {start}, whose generation_config.json does not work: {' '.join(str(error).split())} Repair "
            "that file, or give another model."
        ) from error


def _at_once(input_ids: torch.Tensor, scores: torch.Tensor, **_: Any) -> torch.Tensor:
    return torch.ones(len(input_ids), dtype=torch.bool, device=input_ids.device)


def with_tokens(tokenizer: PreTrainedTokenizerBase, settings: Settings) -> PreTrainedTokenizerBase:
    """Like [`with_languages`], but raises `GlossaError` if the tokenizer lacks tokens that the data settings need."""
    lacking = [token for token in private_tokens(settings.data) if token not in tokenizer.get_vocab()]
    if lacking:
        setting = "memory" if MEMORY in lacking else "placeholder_augmentation"
        value = str(getattr(settings.data, setting)).lower()
        name = "init_from" if settings.translator.init_from else "tokenizer"
        place = settings.translator.init_from or settings.tokenizer.tokenizer
        raise GlossaError(
            f"{setting} is {value}, but {name} is {place}, whose vocabulary has no tokens for it. Leave one of the "
            f"two out, or give a model that was trained with {setting}."
        )
    return with_languages(tokenizer, settings)


def private_tokens(data: DataArguments) -> list[str]:
    """The special tokens that placeholder augmentation and memory insert into texts."""
    return [*(SENTINELS if data.placeholder_augmentation else ""), *(MEMORY if data.memory else "")]


def with_languages(tokenizer: PreTrainedTokenizerBase, settings: Settings) -> PreTrainedTokenizerBase:
    """Return `tokenizer`, set to the target language of the data if it has several and the data have one.

    Raises `GlossaError` if it lacks a target language of the data.
    """
    if settings.translator.objective != "translation":
        return tokenizer
    several, source = target_languages(settings.data), settings.data.source_language
    if settings.translator.add_language:
        add_language(tokenizer, settings.translator.add_language)
    if isinstance(tokenizer, FamilyTokenizer):
        _with_family_languages(tokenizer, source, several or [settings.data.target_language], settings)
    languages = Languages.of_tokenizer(tokenizer)
    own = languages.targets if languages.tagged else ()
    wanted = several or ([settings.data.target_language] if own else [])
    if lacking := [language for language in wanted if find_language(language, own) is None]:
        name = "init_from" if settings.translator.init_from else "tokenizer"
        place = settings.translator.init_from or settings.tokenizer.tokenizer
        allowed = f"which knows {', '.join(own)} only" if own else "which was trained for one target language"
        raise GlossaError(
            f"{name} is {place}, {allowed}, but the data are in {', '.join(wanted)}: its vocabulary lacks "
            f"{language_token(lacking[0])}. Leave {name} out, or give one of these languages."
        )
    if own and not several:
        tokenizer.tgt_lang = settings.data.target_language  # type: ignore[attr-defined]
    return tokenizer


def add_language(tokenizer: PreTrainedTokenizerBase, language: str) -> None:
    """Add a token for a target language to `tokenizer`, unless it has one.

    Raises `GlossaError` for tokenizers with fixed languages or a single target language.
    """
    known = Languages.of_tokenizer(tokenizer)
    if find_language(language, known.targets) is not None and known.tagged:
        return
    kind = type(getattr(tokenizer, "tokenizer", tokenizer)).__name__
    if not known.tagged or kind not in ("GlossaTokenizer", "NllbTokenizer"):
        raise GlossaError(
            f"add_language is {language}, but the model of init_from does not support new languages: its tokenizer is "
            f"a {kind}{'' if known.tagged else ' of one target language'}. Give a Glossa model of several target "
            "languages, or NLLB."
        )
    token = language_token(language) if kind == "GlossaTokenizer" else nllb_code(language)
    tokenizer.add_special_tokens({"extra_special_tokens": [*tokenizer.extra_special_tokens, token]})
    if isinstance(tokenizer, FamilyTokenizer):
        tokenizer.codes[language] = token


def add_pieces(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str], count: int) -> None:
    """Add the next `count` pieces that byte-pair encoding would learn from `texts` to `tokenizer`.

    Raises `GlossaError` for other kinds of tokenizers, and for two vocabularies.
    """
    own: Any = getattr(tokenizer, "tokenizer", tokenizer)
    if not hasattr(own, "backend_tokenizer"):
        raise GlossaError(
            f"add_vocabulary is {count}, which {type(own).__name__} does not support. Leave add_vocabulary out."
        )
    shared = target_vocabulary(own)
    if shared.get_vocab() != own.backend_tokenizer.get_vocab():
        raise GlossaError(f"add_vocabulary is {count}, but the model has two vocabularies. Leave add_vocabulary out.")
    first, sentences = len(tokenizer), list(texts)
    if hasattr(own, "target_tokenizer"):
        own.target_tokenizer = extend_vocabulary(own.target_tokenizer, sentences, count, first)
        own._tagged.clear()
    own._tokenizer = extend_vocabulary(own.backend_tokenizer, sentences, count, first)
    logger.info("add_vocabulary: %d pieces were learned from the training targets.", len(tokenizer) - first)


def nllb_code(language: str) -> str:
    """The code of a language as NLLB writes it: "ita_Latn" for "it". Raises `GlossaError` for what is no language."""
    import langcodes

    try:
        found = langcodes.Language.get(language).maximize()
        return f"{found.to_alpha3()}_{found.script}"
    except LookupError as error:
        raise GlossaError(
            f"add_language is {language}, which is no code of a language. Give one, such as it."
        ) from error


def grow(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, known: int) -> None:
    """Give `model` embeddings for tokens that were added to its tokenizer.

    A language begins as the mean of the others, a piece as the mean of the old pieces that it consists of.

    Args:
        model: The model of `init_from`, which may have more rows than its tokenizer has tokens.
        tokenizer: Its tokenizer, with more tokens.
        known: The number of tokens before.
    """
    target = len(tokenizer)
    if hasattr(tokenizer, "target_vocab_size") and tokenizer.target_vocab_size != target:
        target = tokenizer.target_vocab_size
    parts = [model.get_encoder().get_input_embeddings(), model.get_decoder().get_input_embeddings()]
    before = [part.weight.shape[0] for part in parts]
    several = getattr(tokenizer, "target_languages", ())
    names = getattr(tokenizer, "codes", None) or {code: language_token(code) for code in several}
    ids: Any = tokenizer.convert_tokens_to_ids(list(names.values()))
    pieces = piece_parts(tokenizer.backend_tokenizer, known) if hasattr(tokenizer, "backend_tokenizer") else {}
    if before[0] >= len(tokenizer) and before[1] >= target:
        logger.info("The embeddings of the model have rows left for the new tokens.")
    elif target == len(tokenizer):
        model.resize_token_embeddings(target, mean_resizing=False)
    else:
        model.resize_token_embeddings(len(tokenizer), decoder_new_num_tokens=target, mean_resizing=False)  # type: ignore
    parts = [model.get_encoder().get_input_embeddings(), model.get_decoder().get_input_embeddings()]
    with torch.no_grad():
        added = len(tokenizer) - known
        sizes = (len(tokenizer), target, target)
        for part, size in zip((*parts, model.get_output_embeddings()), sizes, strict=True):
            weight, first = part.weight, size - added
            mean = weight[[index for index in ids if index < first] or slice(first)].mean(0)
            for row in range(first, size):
                weight[row] = weight[pieces[row]].mean(0) if row in pieces else mean


def _with_family_languages(
    tokenizer: FamilyTokenizer, source: str, targets: Sequence[str], settings: Settings
) -> None:
    """Note the source language of the data, and give T5 a text for each target language."""
    for target in targets:
        tokenizer.add_prefix(source, target)
    if not tokenizer.codes:
        return
    tokenizer.src_lang = tokenizer.named(source)
    if tokenizer.src_lang is None:
        raise GlossaError(
            f"init_from is {settings.translator.init_from}, which knows {', '.join(tokenizer.codes)} only, but the "
            f"data are from {source}. Give another model, or one of these as source_language."
        )


def reused_tokenizer(settings: Settings, name: str) -> PreTrainedTokenizerBase:
    """The saved tokenizer with this folder or name, with the longest text of the new model.

    Raises `GlossaError` if there is no tokenizer, or a new model cannot use it: it lacks a token for padding, start,
    end or the objective, does not end a target, or has two vocabularies for a model with one embedding matrix.
    """
    model = settings.model
    if Path(name).is_dir() and not (Path(name) / "tokenizer.json").is_file():
        raise GlossaError(
            f"tokenizer is {name}, which holds no tokenizer.json. Give the folder of a run or of a saved tokenizer."
        )
    tokenizer = load_tokenizer(name)
    missing = [role for role in ("pad_token", "eos_token", "bos_token") if getattr(tokenizer, role) is None]
    if missing:
        raise GlossaError(
            f"tokenizer is {name}, which has no {' and no '.join(missing)}. Give the tokenizer of a Glossa run."
        )
    if tokenizer(text_target="a")["input_ids"][-1:] != [tokenizer.eos_token_id]:
        raise GlossaError(
            f"tokenizer is {name}, which does not put {tokenizer.eos_token} after a target, so translations would not "
            "end. Give the tokenizer of a Glossa run."
        )
    lacking = [
        token
        for token in special_tokens(settings.translator.objective, settings.data.max_length)
        if token not in tokenizer.get_vocab()
    ]
    if lacking:
        raise GlossaError(
            f"tokenizer is {name}, which lacks {lacking[0]}; objective {settings.translator.objective} with "
            f"max_length {settings.data.max_length} needs it. Leave tokenizer out."
        )
    shared = model.tie_word_embeddings and model.share_encoder_decoder_embeddings
    target = target_vocabulary(tokenizer)
    one = Languages.of_tokenizer(tokenizer).tagged and target.get_vocab() == tokenizer.get_vocab()
    if shared and target is not tokenizer.backend_tokenizer and not one:
        raise GlossaError(
            f"tokenizer is {name}, which has separate vocabularies for source and target: they cannot share an "
            "embedding matrix. Set share_encoder_decoder_embeddings to false."
        )
    tokenizer.model_max_length = max(model.max_source_positions, model.max_target_positions)
    return tokenizer
