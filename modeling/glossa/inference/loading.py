"""Load a trained model and its tokenizer, with errors that say what to do."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GlossaError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_model(name: str, device: str = "cpu") -> "PreTrainedModel":
    """Load the model in a folder or Hub repository, in evaluation mode. Code in the folder is not run.

    Args:
        name: The folder, or `user/model` on the Hub.
        device: A torch device, or "auto" for the accelerator if there is one.

    Raises:
        GlossaError: if there is no model, or it does not load.
    """
    check_name(name)
    import torch
    from transformers import AutoModelForSeq2SeqLM

    if device == "auto":
        device = str(torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu")
    model = _load(AutoModelForSeq2SeqLM, name).eval()
    return model if device == "cpu" else model.to(device)


def load_tokenizer(name: str) -> "PreTrainedTokenizerBase":
    """Load a tokenizer from its own folder or from the folder or Hub repository of a model.

    Raises `GlossaError` if it does not load.
    """
    if not (Path(name) / "tokenizer.json").is_file():
        check_name(name)
    from transformers import AutoTokenizer

    return _load(AutoTokenizer, name)


def load_languages(name: str) -> tuple[str | None, str | None]:
    """The codes of source and target language of a model; None where it does not say them.

    They are in its config, and for runs of earlier versions in their recipe. Raises `GlossaError` if the config does
    not load.
    """
    check_name(name)
    from transformers import AutoConfig

    from ..run_folder import RunFolder

    config = _load(AutoConfig, name)
    if getattr(config, "source_language", None) is not None:
        return config.source_language, config.target_language
    recipe = RunFolder(name).recipe or RunFolder(Path(name).parent).recipe  # of a run, or of a checkpoint's run
    if recipe.get("objective", "translation") != "translation":
        return None, None
    return recipe.get("source_language"), recipe.get("target_language")


def set_languages(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", source: str, target: str) -> None:
    """Write the languages into the config of a Glossa model and into its tokenizer, which save them.

    A tokenizer of another family has its own names of languages, or none, and stays as it is.
    """
    if model.config.model_type != "glossa":
        return
    model.config.source_language, model.config.target_language = source, target
    for name, code in (("src_lang", source), ("tgt_lang", target)):
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
    if not path.is_dir() and (str(name).count("/") != 1 or str(name).startswith((".", "/", "~"))):
        raise GlossaError(f"There is no folder {name}. Give the folder of a run, or a Hub name such as user/model.")


def _load(auto_class, name: str):
    from .. import registration  # noqa: F401  # the Auto classes must know Glossa

    try:
        return auto_class.from_pretrained(name, trust_remote_code=False)  # by default transformers asks on stdin
    except (OSError, ValueError) as error:
        raise GlossaError(f"{name} does not load: {error}") from error
