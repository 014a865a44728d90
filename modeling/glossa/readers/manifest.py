"""The manifest of a folder of prepared pairs. Imports no library."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError

MANIFEST = "prepared.json"


@dataclass(frozen=True)
class Entry:
    """A data source of a prepared folder.

    Attributes:
        name: Name of the source.
        files: Its files in the folder, with their sizes in bytes.
        pairs: Number of its training pairs.
        source_language: Its source language.
        target_language: Its target language.
        weight: How often each pair is seen in an epoch, on average.
        tag: Text before each source sentence in training.
    """

    name: str
    files: dict[str, int]
    pairs: int
    source_language: str
    target_language: str
    weight: float = 1.0
    tag: str = ""


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder, with each of its `sources` as an [`Entry`].

    Raises `GlossaError` if it is damaged.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sources = [Entry(**entry) for entry in manifest["sources"]]
        return {"settings": manifest["settings"], "held_out": manifest["held_out"]} | manifest | {"sources": sources}
    except (ValueError, KeyError, TypeError) as error:
        problem = str(error) if isinstance(error, ValueError) else "fields are missing or unknown"
        raise GlossaError(f"{folder / MANIFEST} is damaged: {problem}. Run glossa prepare again.") from error
