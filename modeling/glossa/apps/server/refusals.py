"""Errors and limits of requests."""

import importlib.util
from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from ...base.shipped import shipped


class Refused(Exception):
    """A request that the server refuses.

    Args:
        message: The error message for the client.
        status: HTTP status: 400 for an invalid request, 403 without permission, 429 for too many requests, 500 for a
            server error.
        headers: Further headers of the response.
    """

    def __init__(self, message: str, status: int = 400, headers: Mapping[str, str] = MappingProxyType({})):
        super().__init__(message)
        self.status, self.headers = status, dict(headers)


def too_many(why: str) -> Refused:
    return Refused(f"The server is busy: {why} Send the request again later.", 429, {"Retry-After": "1"})


MAX_BODY = 1 << 20  # bytes, unless more characters are allowed
MAX_TERMS = 200  # lines of a glossary
MAX_GLOSSARY = 10_000  # characters of a glossary
# Characters of a request with a glossary, unless it is streamed: a sentence that lacks many terms takes seconds.
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
MAX_TRANSLATIONS: int = handler.NUMBERS["num_return_sequences"][2]
