"""The error shown to users, and library errors that are converted to it."""

import importlib
from importlib.util import find_spec
from types import ModuleType


class GlossaError(Exception):
    """Invalid input from the user: a file, a row or a setting.

    The message says what is wrong (file, line, field, value), what is allowed and what to do. Commands print it
    without a traceback and exit with status 1; `--debug` shows the traceback.
    """


def require(module: str, extra: str, package: str = "", file: object = None) -> ModuleType:
    """Import a module of an optional package.

    Args:
        module: The name of the module.
        extra: The extra of Glossa that installs it.
        package: The name of its package; by default the first part of the module's name.
        file: The file that needs it, to name in the error.

    Raises:
        GlossaError: with installation instructions if it is missing, or with the import error if it does not load.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        first = module.partition(".")[0]
        place = "" if file is None else f"{file}: "
        name, command = package or first, f'pip install "glossa-mt[{extra}]"'
        if find_spec(first) is None:
            raise GlossaError(f"{place}The package {name} is missing. Install it: {command}.") from error
        problem = f"The package {name} is installed, but does not load: {error}."
        raise GlossaError(f"{place}{problem} Reinstall it: pip uninstall {name}, then {command}.") from error


def http_errors() -> tuple[type[Exception], ...]:
    """The exceptions of huggingface_hub's HTTP client: for failed requests, and for invalid URLs.

    They are those of `httpx` before version 2 of the client, then those of `httpx2`.
    """
    from huggingface_hub.utils import get_session  # slow to import

    client = importlib.import_module(type(get_session()).__module__.partition(".")[0])
    return client.HTTPError, client.InvalidURL
