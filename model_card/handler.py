"""The handler for Inference Endpoints, with the requests and responses of the Hub's translation widget."""

import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import Pipeline

logger = logging.getLogger(__name__)

# Of a request.
MAX_TEXTS = 64
MAX_CHARACTERS = 20_000  # of all texts together
MAX_TOKENS = 10_000  # of all texts together
MAX_SECONDS = 30  # with the time that it waits for its turn
# Of a batch: sentences times beams. With scores, every step keeps its scores in memory.
MAX_ROWS = 64
MAX_ROWS_WITH_SCORES = 16
# Names, kinds and ranges of the parameters.
NUMBERS = {
    "num_beams": (int, 1, 16),
    "num_return_sequences": (int, 1, 16),
    "length_penalty": (float, -5, 5),
    "max_new_tokens": (int, 1, 512),
    "batch_size": (int, 1, 64),
}
SETTINGS = (*NUMBERS, "return_scores")
# Parameters that the widget and the Hub's clients send. Only a model of several target languages needs one: tgt_lang.
IGNORED = {"src_lang": str, "tgt_lang": str, "clean_up_tokenization_spaces": bool, "truncation": (bool, str)}
KINDS = {str: "a text", bool: "true or false", (bool, str): "true, false or a text"}


class BadRequest(Exception):
    """A request that is not answered; the message is for its sender."""


class EndpointHandler:
    """Loads the model in the folder `path` and answers requests; threads may share it.

    A model of several target languages needs the parameter `tgt_lang`: the code of one of them.

    A request is `{"inputs": text or list of texts, "parameters": {...}}`. The answer is a list with one
    `{"translation_text": ...}` per text, or a list of them if `num_return_sequences` is above 1. Long text is
    translated sentence by sentence. The answer to an invalid request is `{"error": message}`, where the message names
    the field and what is allowed. Requests are translated one at a time; the others wait for their turn.

    Args:
        path (`str` or `Path`): The folder, or the name on the Hub, of the model.
        model_kwargs (`dict`, *optional*): For `from_pretrained` of the model.
        translate (`Pipeline`, *optional*): A translation pipeline, instead of the one in `path`.
    """

    def __init__(
        self,
        path: str | Path = "",
        model_kwargs: dict[str, Any] | None = None,
        translate: "Pipeline | None" = None,
    ):
        self.translate = _load(path, model_kwargs) if translate is None else translate
        self.turn = threading.Lock()
        self.request = threading.local()  # its `deadline`, in the thread that translates it
        # A translation of many batches has many calls of `generate`, and all of them many calls of the model.
        self.translate.model.register_forward_pre_hook(self._check_time)

    def __call__(self, data: Any) -> list | dict[str, str]:
        deadline = time.monotonic() + MAX_SECONDS
        try:
            texts, settings = check(data)
            if not self.turn.acquire(timeout=MAX_SECONDS):
                raise BadRequest(f"The server is busy: no turn within {MAX_SECONDS} seconds. Send the request again.")
            try:
                self.request.deadline = deadline
                return self._answer(texts, settings)
            finally:
                del self.request.deadline
                self.turn.release()
        except BadRequest as error:
            return {"error": str(error)}
        except Exception:
            logger.exception("A request could not be answered.")
            return {"error": "The request could not be answered; the log of the server says why."}

    def _answer(self, texts: str | list[str], settings: dict[str, Any]) -> list:
        default = self.translate.model.generation_config.num_beams or 1
        beams = settings.get("num_beams", default)
        if settings.get("num_return_sequences", 1) > beams:
            raise BadRequest(f"num_return_sequences must be at most num_beams, which is {beams}.")
        language = settings.pop("tgt_lang", None)
        try:
            tokenizer = self.translate.tokenizer_into(language)
        except ValueError as error:
            raise BadRequest(str(error)) from error
        ids = tokenizer([texts] if isinstance(texts, str) else texts, verbose=False)["input_ids"]
        tokens = sum(map(len, ids))
        if tokens > MAX_TOKENS:
            raise BadRequest(f"inputs have {tokens:,} tokens in total; at most {MAX_TOKENS:,} are allowed.")
        rows = MAX_ROWS_WITH_SCORES if settings.get("return_scores") else MAX_ROWS
        size = min(settings.pop("batch_size", rows), max(rows // beams, 1))
        return self.translate(texts, split_sentences=True, batch_size=size, tgt_lang=language, **settings)

    def _check_time(self, *_) -> None:
        deadline = getattr(self.request, "deadline", None)
        if deadline is not None and time.monotonic() > deadline:
            raise BadRequest(f"The request took more than {MAX_SECONDS} seconds. Send less text, or take fewer beams.")


def _load(path: str | Path, model_kwargs: dict[str, Any] | None) -> "Pipeline":
    # Here, since `glossa serve` takes the limits of this file, and may need neither of the two.
    import torch
    from transformers import pipeline

    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    return pipeline("translation", model=str(path), trust_remote_code=True, device=device, model_kwargs=model_kwargs)


def check(data: Any) -> tuple[str | list[str], dict[str, Any]]:
    """The texts and the settings of a request. Raises `BadRequest` unless all of it is allowed; computes nothing."""
    if not isinstance(data, dict) or "inputs" not in data or not data.keys() <= {"inputs", "parameters", "options"}:
        raise BadRequest('A request must be {"inputs": text or list of texts, "parameters": {...}}.')
    check_texts(data["inputs"])
    given = _object(data.get("parameters"), "parameters")
    nested = _object(given.pop("generate_parameters", None), "generate_parameters")
    if twice := sorted(given.keys() & nested.keys() & set(SETTINGS)):
        raise BadRequest(f"{twice[0]} is in parameters and in generate_parameters; give it once.")
    settings = given | nested
    for name, value in settings.items():
        _check_parameter(name, value)
    return data["inputs"], {name: value for name, value in settings.items() if name in (*SETTINGS, "tgt_lang")}


def check_texts(inputs: Any) -> None:
    """Raise `BadRequest` unless `inputs` is a text or a list of texts that is allowed."""
    texts = inputs if isinstance(inputs, list) else [inputs]
    if not 1 <= len(texts) <= MAX_TEXTS or not all(isinstance(text, str) for text in texts):
        raise BadRequest(f"inputs must be a text or a list of 1 to {MAX_TEXTS} texts.")
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise BadRequest(f"inputs have {characters:,} characters in total; at most {MAX_CHARACTERS:,} are allowed.")
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise BadRequest("inputs must be valid Unicode; a text has half of a surrogate pair.")


def _object(value: Any, name: str) -> dict[str, Any]:
    """A copy of an object without the fields that are null."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise BadRequest(f"{name} must be an object of names and values.")
    return {key: item for key, item in value.items() if item is not None}


def _check_parameter(name: str, value: Any) -> None:
    if name in NUMBERS:
        kind, lowest, highest = NUMBERS[name]
        number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        if not number or not lowest <= value <= highest:  # NaN is in no range
            article = "an integer" if kind is int else "a number"
            raise BadRequest(f"{name} must be {article} from {lowest} to {highest}.")
    elif name in IGNORED or name == "return_scores":
        kind = IGNORED.get(name, bool)
        if not isinstance(value, kind):
            raise BadRequest(f"{name} must be {KINDS[kind]}.")
    else:
        raise BadRequest(f"There is no parameter {name[:40]!r}; the parameters are {', '.join(sorted(SETTINGS))}.")
