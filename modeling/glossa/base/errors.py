"""The error shown to users, and the errors of libraries that are turned into it."""

import importlib
from importlib.util import find_spec
from types import ModuleType


class GlossaError(Exception):
    """Bad input from the user: a file, a row, a setting.

    The message says what was wrong (file, line, field, value), what is allowed and what to do. Commands print it
    without a traceback and exit with status 1; `--debug` shows the traceback.
    """


def require(module: str, extra: str, package: str = "", file: object = None) -> ModuleType:
    """Import a module of an optional package, which Glossa's `extra` installs.

    Args:
        module: The name of the module.
        extra: The extra of Glossa that installs it.
        package: The name of its package, if that is not the first part of the module's.
        file: The file that it is needed for, if there is one.

    Raises:
        GlossaError: with installation instructions if it is missing, or with its own error if it does not load.
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
        raise GlossaError(f"{place}{problem} Repair it: pip uninstall {name}, then {command}.") from error


def http_errors() -> tuple[type[Exception], ...]:
    """What the HTTP client of huggingface_hub raises: `httpx.HTTPError` before its version 2, then `httpx2`'s.

    The second one is about an invalid address.
    """
    from huggingface_hub.utils import get_session  # slow to import

    client = importlib.import_module(type(get_session()).__module__.partition(".")[0])
    return client.HTTPError, client.InvalidURL
