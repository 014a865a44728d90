"""What a part finds, in a file that is written after each finding. Needs the standard library only."""

import json
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LAST_LINES = 8  # of a traceback


@dataclass(frozen=True)
class Options:
    """What the command line says to a part.

    Attributes:
        device: `cuda` or `cpu`. `cpu` is a rehearsal: sizes are tiny and steps few.
        data: The folder of Multi30k or Anki; None for the corpus in the package.
        folder: Gets the files of the parts.
        seconds: Until the part is stopped.
    """

    device: str
    data: str | None
    folder: Path
    seconds: float

    @property
    def rehearsal(self) -> bool:
        return self.device == "cpu"

    @property
    def bf16(self) -> bool:
        """Whether training computes in bf16. A rehearsal does not: some CPUs are many times slower with it."""
        return not self.rehearsal


def empty(folder: Path) -> Path:
    """The folder, without anything that an earlier command left there."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


class Record:
    """Tables and errors of a part. The file at `path` always has all of them, so a part that is stopped keeps its."""

    def __init__(self, path: Path):
        self.path = path
        self.tables: dict[str, list[dict]] = {}
        self.errors: list[str] = []

    def add(self, table: str, **row) -> None:
        """Add a row of JSON values to a table."""
        self.tables.setdefault(table, []).append(row)
        print(f"{table}: " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        self._write()

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """An error inside is kept, and ends neither the part nor the command."""
        try:
            yield
        except Exception as error:
            lines = traceback.format_exc().strip().splitlines()[-LAST_LINES:]
            print("\n".join(lines), flush=True)
            self.errors.append(f"{what}: {type(error).__name__}: {error}\n" + "\n".join(lines))
            self._write()

    def _write(self) -> None:
        text = json.dumps({"tables": self.tables, "errors": self.errors}, indent=1)
        new = self.path.with_suffix(".new")  # a part may be stopped while it writes
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(self.path)
