"""Atomic writes: a file is complete or missing, whenever the process is killed."""

import os
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically: `path` is replaced only once the text is on disk."""
    new = path.with_name(f"{path.name}.new")
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        synchronize(file)
    new.replace(path)


def synchronize(file: Any) -> None:
    """Flush an open file to the disk."""
    file.flush()
    os.fsync(file.fileno())
