"""A stage of a job: one function over many items, which writes files, so that a killed job can continue.

A work function takes an item and the beginning of the names of its files, writes these, and returns what is to be
known of the item, in plain types. What it writes may depend on the item only: then the files of a job are the same,
byte for byte, on any number of processes or machines, and after any interruption.
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
from .records import read_record, stamp, stamp_file
from .whole_files import synchronize, write_whole

logger = logging.getLogger(__name__)

Work = Callable[[Any, Path], dict]
# Calls a function, which `load` makes once in each process, with each of the items; yields the results as they come.
Place = Callable[[Callable[[], Callable[[Any], Any]], Sequence[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Stage:
    """A work function and its items, with the folder of their files.

    Attributes:
        title: What is shown with the progress.
        folder: Where the files are; every machine must see it.
        load: Makes the work function, once in each process. It is pickled.
        items: The items by name. A finished item is found again by its name, so the name stands for its content.
    """

    title: str
    folder: Path
    load: Callable[[], Work]
    items: Mapping[str, Any]

    def run(self, place: Place, size: Callable[[Any], int] | None = None, unit: str = "it") -> dict[str, dict]:
        """Work on the items that are not done; returns the result of every item by name, in order.

        `size` counts what is in an item, for the progress. An exception of the work function ends the stage; finished
        items stay.
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
        """Whether the files of an item are there as its record says; a damaged one is made again."""
        if not (self.folder / f"{name}.json").exists():
            return False
        changed = changed_files(self.folder, self._record(name))
        for file in changed[:1]:
            logger.warning("%s is not what was written there; it is made again.", self.folder / file)
        return not changed

    def join(self, suffix: str, path: Path) -> None:
        """Write the files of all items with this ending into one, in order.

        Raises `GlossaError` if one is not what was written there.
        """
        with open(path, "wb") as together:
            for name in self.items:
                part = self.folder / f"{name}{suffix}"
                content = part.read_bytes()
                if stamp([content]) != self._record(name)["files"][part.name]:
                    raise GlossaError(f"{part} has changed. The same command makes it again.")
                together.write(content)
            synchronize(together)

    def result(self, name: str) -> dict:
        """What the work function returned for a finished item."""
        return self._record(name)["result"]

    def _record(self, name: str) -> dict:
        path = self.folder / f"{name}.json"
        remedy = "Remove it, and the same command makes its part again."
        record = read_record(path, remedy)
        if not (isinstance(record.get("files"), dict) and isinstance(record.get("result"), dict)):
            raise GlossaError(f"{path} is damaged. {remedy}")
        return record


def changed_files(folder: Path, record: dict) -> list[str]:
    """The files of a finished item that are not as its record says."""
    files = record["files"].items()
    return [file for file, known in files if not (folder / file).is_file() or stamp_file(folder / file) != known]


def _loaded(load: Callable[[], Work], folder: Path) -> Callable[[tuple[str, Any]], str]:
    return partial(_do, load(), folder)


def _do(work: Work, folder: Path, given: tuple[str, Any]) -> str:
    """Work on an item: its record is written last, so it is whole if the record is there."""
    name, item = given
    result = work(item, folder / name)
    files = {}
    for path in sorted(folder.glob(f"{name}.*")):
        if path.suffix in (".json", ".new"):
            continue
        with open(path, "r+b") as file:
            synchronize(file)
        files[path.name] = stamp_file(path)
    write_whole(folder / f"{name}.json", json.dumps({"result": result, "files": files}))
    return name
