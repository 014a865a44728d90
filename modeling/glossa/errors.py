"""The one error that is meant for the person at the keyboard, and those of the network that become one."""

import importlib

import httpx2
from huggingface_hub.utils import get_session

# The Hub's client speaks through httpx before its version 2, and through httpx2 since.
_client = importlib.import_module(type(get_session()).__module__.partition(".")[0])
HTTP_ERRORS: tuple[type[Exception], ...] = (httpx2.HTTPError, _client.HTTPError)


class GlossaError(Exception):
    """A mistake in what the user gave: a file, a row, a setting.

    The message says what was wrong (file, line, field, value), what is allowed and what to do. Scripts print
    it without a traceback and exit with status 1; `--debug` brings the traceback back.
    """
