"""A stage of a job applies one function to many items and writes files, so that a killed job can continue.

A work function takes an item and the path prefix of its files, writes the files, and returns a result of plain types.
Its output must depend only on the item. Then the files of a job are identical, byte for byte, for any number of
processes or machines, and after any interruption.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from ..errors import GlossaError
from .records import hash_bytes, hash_file, read_record
from .whole_files import synchronize, write_whole

logger = logging.getLogger(__name__)

Work = Callable[[Any, Path], dict]
# Applies a function, which `load` returns once per process, to each item; yields the results as they complete.
Runner = Callable[[Callable[[], Callable[[Any], Any]], Sequence[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Stage:
    """A work function, its items and the folder of their files.

    Attributes:
        title: The title of the progress bar.
        folder: The folder of the files, which every machine must see.
        load: Returns the work function, once per process. It is pickled.
        items: The items by name. A finished item is recognized by its name, so the name must identify its content.
    """

    title: str
    folder: Path
    load: Callable[[], Work]
    items: Mapping[str, Any]

    def run(self, place: Runner, size: Callable[[Any], int] | None = None, unit: str = "it") -> dict[str, dict]:
        """Process the unfinished items; returns the result of every item by name, in order.

        `size` gives the units in an item, for the progress bar. An exception of the work function ends the stage;
        finished items are kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = {name: size(item) if size else 1 for name, item in self.items.items()}
        left = [name for name in self.items if not self.is_done(name)]
        done = sum(sizes.values()) - sum(sizes[name] for name in left)
        if left:
            given = [(name, self.items[name]) for name in left]
            with tqdm(total=sum(sizes.values()), initial=done, unit=f" {unit}", desc=self.title) as bar:
                for name in place(partial(_loaded, self.load, self.folder), given):
                    bar.update(sizes[name])
        return {name: self.result(name) for name in self.items}

    def is_done(self, name: str) -> bool:
        """Whether the files of an item match its record. Warns of a damaged file, whose item is processed again."""
        if not (self.folder / f"{name}.json").exists():
            return False
        changed = changed_files(self.folder, self._record(name))
        for file in changed[:1]:
            logger.warning("%s has changed since it was written. It will be written again.", self.folder / file)
        return not changed

    def join(self, suffix: str, path: Path) -> None:
        """Concatenate the files of all items with this suffix, in order, and write them to `path`.

        Raises `GlossaError` if one of them has changed.
        """
        with open(path, "wb") as together:
            for name in self.items:
                part = self.folder / f"{name}{suffix}"
                content = part.read_bytes()
                if hash_bytes([content]) != self._record(name)["files"][part.name]:
                    raise GlossaError(f"{part} has changed. Run the same command to write it again.")
                together.write(content)
            synchronize(together)

    def result(self, name: str) -> dict:
        """The return value of the work function for a finished item."""
        return self._record(name)["result"]

    def _record(self, name: str) -> dict:
        path = self.folder / f"{name}.json"
        remedy = "Remove it, and run the same command to make its part again."
        record = read_record(path, remedy)
        if not (isinstance(record.get("files"), dict) and isinstance(record.get("result"), dict)):
            raise GlossaError(f"{path} is damaged. {remedy}")
        return record


def changed_files(folder: Path, record: dict) -> list[str]:
    """The files of a finished item that do not match its record."""
    files = record["files"].items()
    return [file for file, known in files if not (folder / file).is_file() or hash_file(folder / file) != known]


def _loaded(load: Callable[[], Work], folder: Path) -> Callable[[tuple[str, Any]], str]:
    return partial(_do, load(), folder)


def _do(work: Work, folder: Path, given: tuple[str, Any]) -> str:
    """Process an item. Its record is written last, so an item with a record is complete."""
    name, item = given
    result = work(item, folder / name)
    files = {}
    for path in sorted(folder.glob(f"{name}.*")):
        if path.suffix in (".json", ".new"):
            continue
        with open(path, "r+b") as file:
            synchronize(file)
        files[path.name] = hash_file(path)
    write_whole(folder / f"{name}.json", json.dumps({"result": result, "files": files}))
    return name
