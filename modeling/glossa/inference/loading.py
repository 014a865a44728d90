"""Load a trained model and its tokenizer, with errors that say what to do."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.languages import settled_code
from ..errors import GlossaError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


def load_config(name: str) -> "PreTrainedConfig":
    """Load the configuration of the model in a folder or Hub repository. Raises `GlossaError` if it does not load."""
    check_name(name)
    from transformers import AutoConfig

    return _load(AutoConfig, name)


def load_model(name: str, device: str = "cpu", **changes: Any) -> "PreTrainedModel":
    """Load the model in a folder or Hub repository, in evaluation mode. Code in the folder is not run.

    Args:
        name: The folder, or `user/model` on the Hub.
        device: A torch device, or "auto" for the accelerator if there is one.
        changes: Fields of its configuration with other values.

    Raises:
        GlossaError: if there is no model, or it does not load.
    """
    check_name(name)
    import torch
    from transformers import AutoModelForSeq2SeqLM

    if device == "auto":
        device = str(torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu")
    model = _load(AutoModelForSeq2SeqLM, name, **changes).eval()
    return model if device == "cpu" else model.to(device)


def load_tokenizer(name: str) -> "PreTrainedTokenizerBase":
    """Load a tokenizer from its own folder or from the folder or Hub repository of a model.

    Raises `GlossaError` if it does not load.
    """
    if not (Path(name) / "tokenizer.json").is_file():
        check_name(name)
    from transformers import AutoTokenizer

    from ..tokenization_glossa import TARGET_TOKENIZER_FILE, GlossaTokenizer

    # The config of a model in the format of CTranslate2 does not name a class.
    ours = (Path(name) / TARGET_TOKENIZER_FILE).is_file()
    return _load(GlossaTokenizer if ours else AutoTokenizer, name)


def load_languages(name: str) -> tuple[str | None, str | None]:
    """The codes of source and target language of a model; None if it does not say them, or has several.

    They are in its config, for runs of earlier versions in their recipe, and for an exported engine in its tokenizer.
    Raises `GlossaError` if config or tokenizer do not load.
    """
    check_name(name)
    if (Path(name) / "model.bin").is_file():
        said = load_tokenizer(name).init_kwargs
        return said.get("src_lang"), said.get("tgt_lang")
    from ..run_folder import RunFolder

    config = load_config(name)
    if getattr(config, "target_languages", None):
        return config.source_language, None
    if getattr(config, "source_language", None) is not None:
        return config.source_language, config.target_language
    recipe = RunFolder(name).recipe or RunFolder(Path(name).parent).recipe  # of a run, or of a checkpoint's run
    if recipe.get("objective", "translation") != "translation":
        return None, None
    return recipe.get("source_language"), recipe.get("target_language")


def load_targets(name: str) -> list[str]:
    """The codes of the target languages of a model that has several, else []; raises as [`load_tokenizer`].

    Its tokenizer says them, even for an exported model.
    """
    return getattr(load_tokenizer(name), "target_languages", [])


def choose_language(tokenizer: "PreTrainedTokenizerBase", name: str, wanted: str | None) -> None:
    """Make `tokenizer` of the model `name` ask for translations into `wanted`, a code or name of a language.

    Raises `GlossaError` if the model does not translate into it, or has several languages and none is wanted.
    """
    several = getattr(tokenizer, "target_languages", [])
    code = None if wanted is None else settled_code(wanted)
    if several and code not in several:
        given = "is not given" if wanted is None else f"is {wanted}"
        raise GlossaError(
            f"--target_language {given}, but {name} translates into {', '.join(several)}. Give one of them."
        )
    own = getattr(tokenizer, "tgt_lang", None) or tokenizer.init_kwargs.get("tgt_lang")  # plain ones only keep this
    if several:
        tokenizer.tgt_lang = code  # type: ignore[attr-defined]
    elif code is not None and own is not None and code != own:
        raise GlossaError(f"--target_language is {wanted}, but {name} translates into {own} only. Leave it out.")


def set_languages(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", source: str | None, target: str | None
) -> None:
    """Write the languages into the config of a Glossa model and into its tokenizer, which save them.

    A new model of several target languages gets the languages of its tokenizer. A tokenizer of another family has its
    own names of languages, or none, and stays as it is.
    """
    if model.config.model_type != "glossa":
        return
    several = getattr(tokenizer, "target_languages", None) or None
    if several and model.config.target_languages == several:
        return
    model.config.source_language, model.config.target_language = source, several or target
    for name, code in (("src_lang", source), ("tgt_lang", None if several else target)):
        if code is None:
            continue
        setattr(tokenizer, name, code)
        tokenizer.init_kwargs[name] = code  # a plain fast tokenizer saves only what it was made with


def check_name(name: str) -> None:
    """Raise `GlossaError` unless `name` is a model folder or could be a model on the Hub. Imports no libraries."""
    path = Path(name)
    if path.is_file():
        raise GlossaError(f"{name} is a file; give the folder that holds config.json and model.safetensors.")
    if path.is_dir() and not (path / "config.json").is_file():
        raise GlossaError(
            f"{name} is not a model folder: it has no config.json. Give the output_dir of a finished run, or one of "
            "its checkpoint folders."
        )
    # A name such as user/model may be on the Hub, unless its first part is a folder here, or the one for runs.
    local = path.parts[:1] and (path.parts[0] == "runs" or Path(path.parts[0]).is_dir())
    if not path.is_dir() and (local or str(name).count("/") != 1 or str(name).startswith((".", "/", "~"))):
        raise GlossaError(f"There is no folder {name}. Give the folder of a run, or a Hub name such as user/model.")


def _load(auto_class, name: str, **changes: Any):
    from .. import registration  # noqa: F401  # the Auto classes must know Glossa

    try:
        # By default transformers asks on stdin about code in the folder.
        return auto_class.from_pretrained(name, trust_remote_code=False, **changes)
    except (OSError, ValueError) as error:
        raise GlossaError(f"{name} does not load: {_on_one_line(error)}") from error
    except ImportError:  # of a library that another family needs
        raise
    except BaseException as error:
        # A damaged file raises whatever error its reader hits first; the tokenizer's is not an `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        kind = type(error).__name__
        raise GlossaError(
            f"{name} does not load: a file of it is damaged, or was made for another model ({kind}: "
            f"{_on_one_line(error)}). Restore the folder from a copy."
        ) from error


def _on_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500]
