"""A trained model in the formats that other programs run."""

import importlib
from types import ModuleType

from ..errors import GlossaError


def require(package: str) -> ModuleType:
    """An optional package, or a `GlossaError` that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise GlossaError(f'The package {package} is missing. Install it: pip install "glossa[engine]".') from error
