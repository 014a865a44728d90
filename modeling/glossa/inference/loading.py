"""Loading a trained model and its tokenizer, with an error a newcomer understands."""

from pathlib import Path

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from ..errors import GlossaError


def load_model(name: str) -> PreTrainedModel:
    """The model in a folder or Hub repository, on the CPU, in evaluation mode. Code that it carries is not run."""
    return _load(AutoModelForSeq2SeqLM, name).eval()


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer beside a model."""
    return _load(AutoTokenizer, name)


def _load(auto_class, name: str):
    path = Path(name)
    if path.is_file():
        raise GlossaError(f"{name} is a file; give the folder that holds config.json and model.safetensors.")
    if path.is_dir() and not (path / "config.json").is_file():
        raise GlossaError(
            f"{name} is not a model folder: it has no config.json. Give the output_dir of a finished run, or one of "
            "its checkpoint folders."
        )
    if not path.is_dir() and (name.count("/") != 1 or name.startswith((".", "/", "~"))):
        raise GlossaError(f"There is no folder {name}. Give the folder of a run, or a Hub name such as user/model.")
    try:
        return auto_class.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise GlossaError(f"{name} does not load: {error}") from error
