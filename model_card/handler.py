"""The handler for Inference Endpoints, with the requests and responses of the Hub's translation widget."""

from pathlib import Path
from typing import Any

import torch
from transformers import pipeline

MAX_TEXTS = 64  # per request
MAX_CHARACTERS = 20_000  # per text
MAX_BEAMS = 16
SETTINGS = {"num_beams", "num_return_sequences", "length_penalty", "max_new_tokens", "return_scores", "batch_size"}
# Parameters that the widget and the Hub's clients send, but that a model for one direction does not need.
IGNORED = {"src_lang", "tgt_lang", "clean_up_tokenization_spaces", "truncation", "generate_parameters"}


class EndpointHandler:
    """Loads the model in the folder `path` and answers requests.

    A request is `{"inputs": text or list of texts, "parameters": {...}}`. The answer is a list with one
    `{"translation_text": ...}` per text, or a list of them if `num_return_sequences` is above 1. Long text is
    translated sentence by sentence. The answer to an invalid request is `{"error": message}`.
    """

    def __init__(self, path: str | Path = ""):
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
        self.translate = pipeline("translation", model=str(path), trust_remote_code=True, device=device)

    def __call__(self, data: dict[str, Any]) -> list | dict[str, str]:
        problem = check(data)
        if problem:
            return {"error": problem}
        parameters = {name: value for name, value in (data.get("parameters") or {}).items() if name in SETTINGS}
        try:
            return self.translate(data["inputs"], split_sentences=True, **parameters)
        except (ValueError, TypeError) as error:
            return {"error": str(error)}


def check(data: Any) -> str:
    """The error message for an invalid request, or ""."""
    if not isinstance(data, dict) or "inputs" not in data:
        return 'A request is {"inputs": text or list of texts, "parameters": {...}}; "inputs" is missing.'
    texts = data["inputs"] if isinstance(data["inputs"], list) else [data["inputs"]]
    if not all(isinstance(text, str) for text in texts):
        return '"inputs" must be a text or a list of texts.'
    if len(texts) > MAX_TEXTS:
        return f"{len(texts)} texts in one request; at most {MAX_TEXTS} are allowed."
    longest = max((len(text) for text in texts), default=0)
    if longest > MAX_CHARACTERS:
        return f"A text has {longest:,} characters; at most {MAX_CHARACTERS:,} are allowed."
    parameters = data.get("parameters") or {}
    if not isinstance(parameters, dict):
        return '"parameters" must be an object of names and values.'
    unknown = sorted(parameters.keys() - SETTINGS - IGNORED)
    if unknown:
        return f"There is no parameter {unknown[0]!r}; the parameters are {', '.join(sorted(SETTINGS))}."
    for name in ("num_beams", "num_return_sequences"):
        value = parameters.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BEAMS:
            return f"{name} is {value!r}; it must be an integer from 1 to {MAX_BEAMS}."
    return ""
