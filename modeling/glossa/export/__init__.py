"""Export of trained models to the formats of other programs."""

import importlib
from types import ModuleType

from ..errors import GlossaError


def require(package: str) -> ModuleType:
    """Import an optional package. Raises `GlossaError` with installation instructions if it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise GlossaError(f'The package {package} is missing. Install it: pip install "glossa[engine]".') from error
