"""The limits of requests: those of the endpoint handler, which travels with models, and some of the server alone."""

import importlib.util
from types import ModuleType

from ..shipped import shipped

MAX_BODY = 1 << 20  # bytes; a character may take twelve in JSON
MAX_FILE = 10 << 20  # bytes
MAX_TERMS = 200  # lines of a glossary
MAX_GLOSSARY = 10_000  # characters of it
# Of texts that are translated at once with a glossary: a sentence that lacks many terms takes seconds.
MAX_WITH_GLOSSARY = 2_000
MAX_REQUESTS = 256  # at the same time


def _handler() -> ModuleType:
    spec = importlib.util.spec_from_file_location("glossa_handler", shipped("model_card") / "handler.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


handler = _handler()
BadRequest = handler.BadRequest
MAX_SECONDS: int = handler.MAX_SECONDS
MAX_CHARACTERS: int = handler.MAX_CHARACTERS
MAX_TEXTS: int = handler.MAX_TEXTS
MAX_TRANSLATIONS: int = handler.NUMBERS["num_return_sequences"][2]
