"""The error shown to users, and the errors of libraries that are turned into it."""

import importlib
from types import ModuleType


class GlossaError(Exception):
    """Bad input from the user: a file, a row, a setting.

    The message says what was wrong (file, line, field, value), what is allowed and what to do. Commands print it
    without a traceback and exit with status 1; `--debug` shows the traceback.
    """


def require(module: str, extra: str, package: str = "") -> ModuleType:
    """Import a module of an optional package, which Glossa's `extra` installs; `package` if its name is another.

    Raises `GlossaError` with installation instructions if it is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        raise GlossaError(f'The package {name} is missing. Install it: pip install "glossa-mt[{extra}]".') from error


def http_errors() -> tuple[type[Exception], ...]:
    """What the HTTP client of huggingface_hub raises: `httpx.HTTPError` before its version 2, then `httpx2`'s.

    The second one is about an address that is none.
    """
    from huggingface_hub.utils import get_session  # slow to import

    client = importlib.import_module(type(get_session()).__module__.partition(".")[0])
    return client.HTTPError, client.InvalidURL
