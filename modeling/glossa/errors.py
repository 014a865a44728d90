"""The error shown to users, and the network errors that are turned into it."""

import importlib

import httpx2
from huggingface_hub.utils import get_session

# huggingface_hub uses httpx before version 2, and httpx2 from then on.
_client = importlib.import_module(type(get_session()).__module__.partition(".")[0])
HTTP_ERRORS: tuple[type[Exception], ...] = (httpx2.HTTPError, _client.HTTPError)


class GlossaError(Exception):
    """Bad input from the user: a file, a row, a setting.

    The message says what was wrong (file, line, field, value), what is allowed and what to do. Scripts print it
    without a traceback and exit with status 1; `--debug` shows the traceback.
    """
