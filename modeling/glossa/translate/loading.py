"""Load a trained model and its tokenizer, with errors that say what to do; stamps of models.

A long job continues only with the models that it began with, which it knows by their stamps.
"""

import logging
import os
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import GlossaError
from ..base.jobs.records import hash_bytes, hash_file, read_record

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

TRUSTED = "GLOSSA_TRUST_REMOTE_CODE"  # in the environment of a command with --trust_remote_code
RESTORE = "Restore the folder from a copy."
# The files of a model's folder that decide its translations.
MODEL_FILES: tuple[str, ...] = (
    "config.json",
    "generation_config.json",
    "*tokenizer*.json",
    "special_tokens_map.json",
    "vocab*",
)
MODEL_FILES += ("*vocabulary*", "merges.txt", "*.model", "*.spm", "*.safetensors*", "*.bin*")


def load_config(name: str) -> "PreTrainedConfig":
    """Load the configuration of the model in a folder or Hub repository. Raises `GlossaError` if it does not load."""
    check_name(name)
    from transformers import AutoConfig

    return _load(AutoConfig, name)


def read_config(name: str) -> dict[str, Any]:
    """The fields of a configuration as [`load_config`] loads it, for a folder without importing transformers."""
    path = Path(name) / "config.json"
    if not path.is_file():
        return load_config(name).to_dict()
    return read_record(path, RESTORE)


def load_model(name: str, device: str = "cpu", **changes: Any) -> "PreTrainedModel":
    """Load the model in a folder or Hub repository, in evaluation mode. Code in it is run only with [`TRUSTED`].

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

    The tokenizer of another family is a [`FamilyTokenizer`]. Raises `GlossaError` if it does not load.
    """
    if not (Path(name) / "tokenizer.json").is_file():
        check_name(name)
    from transformers import AutoTokenizer

    from ..model.tokenization_glossa import TARGET_TOKENIZER_FILE, GlossaTokenizer

    # The config of a model in the format of CTranslate2 does not name a class.
    if (Path(name) / TARGET_TOKENIZER_FILE).is_file():
        return _load(GlossaTokenizer, name)
    try:
        with warnings.catch_warnings():  # Marian's tokenizer has no use for what it recommends
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
            tokenizer = _load(AutoTokenizer, name)
    except ImportError as error:
        raise GlossaError(
            f"The tokenizer of {name} needs a library that is not installed. Run: pip install "
            f"'glossa-mt[families]' ({_on_one_line(error)})"
        ) from error
    alone = Path(name).is_dir() and not (Path(name) / "config.json").is_file()
    if alone or read_config(name).get("model_type", "glossa") == "glossa":
        return tokenizer
    from .families import FamilyTokenizer

    return FamilyTokenizer(tokenizer, load_config(name))  # type: ignore[return-value]


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
        code = _with_code(name) if os.environ.get(TRUSTED) else {"trust_remote_code": False}
        return auto_class.from_pretrained(name, **code, **changes)
    except (OSError, ValueError) as error:
        if "trust_remote_code" in str(error):
            raise GlossaError(
                f"{name} brings code of its own, which is not run unless you allow it. Read its .py files, then give "
                "--trust_remote_code."
            ) from error
        raise GlossaError(f"{name} does not load: {_on_one_line(error)}") from error
    except ImportError:  # of a library that another family needs
        raise
    except BaseException as error:
        # A damaged file raises whatever error its reader hits first; the tokenizer's is not an `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        kind = type(error).__name__
        if "Weights only load failed" in str(error):
            raise GlossaError(
                f"{name} does not load: its weights are a pickle that holds more than tensors, which could run code. "
                "Give a folder with model.safetensors."
            ) from error
        raise GlossaError(
            f"{name} does not load: a file of it is damaged, or was made for another model ({kind}: "
            f"{_on_one_line(error)}). {RESTORE}"
        ) from error


@cache
def _with_code(name: str) -> dict[str, Any]:
    """The arguments that let transformers run the code of a model; on the Hub, at the newest commit, which it logs."""
    if Path(name).is_dir():
        if list(Path(name).glob("*.py")):
            logger.info("The code in %s is run, as --trust_remote_code allows.", name)
        return {"trust_remote_code": True}
    from huggingface_hub import HfApi

    commit = HfApi().model_info(name).sha
    logger.info("The code of %s at commit %s is run, as --trust_remote_code allows.", name, commit)
    return {"trust_remote_code": True, "revision": commit, "code_revision": commit}


def _on_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500]


def stamp_models(names: Iterable[str]) -> dict[str, str]:
    """A hash of the files that matter of each model, a folder or a Hub name, as "model NAME"."""
    return {f"model {name}": _stamp_model(name) for name in names}


def _stamp_model(name: str) -> str:
    folder = Path(name)
    if not folder.is_dir():
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(name, "config.json")
        if not isinstance(cached, str):
            return ""  # it is not here yet
        return Path(cached).parent.name  # the commit
    files = sorted({path for pattern in MODEL_FILES for path in folder.glob(pattern) if path.is_file()})
    return hash_bytes(f"{path.name}\0{hash_file(path)}\n".encode() for path in files)
