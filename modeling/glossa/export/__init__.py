"""Export of trained models to the formats of other programs."""

import importlib
from types import ModuleType

from ..errors import GlossaError


def require(package: str, extra: str = "engine") -> ModuleType:
    """Import a module of an optional package, which Glossa's `extra` installs.

    Raises `GlossaError` with installation instructions if it is missing.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise GlossaError(f'The package {name} is missing. Install it: pip install "glossa-mt[{extra}]".') from error
