"""The translation memories of a server: shared ones for all requests, and one for each key."""

import hashlib
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from ...base.errors import GlossaError, require
from ...base.jobs.records import hash_texts
from ...model.sentences_glossa import clean_text
from ...translate.interface import Translation, UsedMatch
from ...translate.memory.building import open_memory, parts_of
from ...translate.memory.store import Match, Memory, Unit
from ...translate.texts.recall import Recall

Pair = tuple[str, str]  # codes of a source and a target language
PART = "sentences"  # the origin of units that are sentences of a suggestion


@dataclass
class Memories:
    """The memories of a server. Their files may be added, removed and replaced at any time.

    Attributes:
        shared: Memories for all requests, by languages.
        folder: Folder with a memory for each key, which saves its suggestions; None for none.
        writers: Names of the keys whose suggestions are saved in the shared memories instead.
        shows: Responses include the sources and translations of matches in the shared memories.
    """

    shared: dict[Pair, Memory] = field(default_factory=dict)
    folder: Path | None = None
    writers: frozenset[str] = frozenset()
    shows: bool = False
    open_files: dict[Path, tuple[Memory, int]] = field(default_factory=dict)  # by path, with their inode numbers
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def opened(
        cls, path: Path | None, pairs: Iterable[Pair], folder: Path | None, writers: Iterable[str], shows: bool
    ) -> "Memories":
        """Open the memory at `path` for all `pairs` of languages that it has.

        Raises `GlossaError` if it has none of them, or if `writers` are given and `path` is not a memory but a file of
        pairs.
        """
        if path or folder:
            require("rapidfuzz", "memory")
        found, problem = {}, ""
        for pair in pairs if path else ():
            try:
                found[pair] = open_memory(path, *pair)
            except GlossaError as error:  # it may have other languages
                problem = str(error)
        if path and not found:
            raise GlossaError(f"--memory {path} has no translations for the models: {problem}")
        writers = frozenset(writers)
        if writers and any(memory.folder is not None for memory in found.values()):
            raise GlossaError(
                f"--memory {path} is read at each start, so what --memory_writer adds would be lost. Make a memory of "
                f"it first: glossa memory build NEW.memory {path}."
            )
        return cls(found, folder, writers, shows)

    def recall(self, pair: Pair, key: str, threshold: int) -> Recall | None:
        """Matches for requests with a key: from its own memory first, then from the shared one. None without both."""
        found = [memory for memory in (self.key_memory(key, pair), self.shared_memory(pair)) if memory is not None]
        return Recall(found, threshold) if found else None

    def shared_memory(self, pair: Pair) -> Memory | None:
        """The shared memory for a direction, or None."""
        memory = self.shared.get(pair)
        if memory is None or memory.folder is not None:
            return memory
        if current := self._current(memory.path):
            current.check_languages(*pair)
        return current

    def key_memory(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory of a key, or None. `new` creates it."""
        if not key or self.folder is None:
            return None
        path = self._folder(self.folder, key) / f"{'-'.join(pair)}.memory"
        if new and not path.exists():
            _make(path, pair)
        return self._current(path)

    @staticmethod
    def _folder(folder: Path, key: str) -> Path:
        return (
            folder / hashlib.sha256(key.encode()).hexdigest()[:32]
        )  # names may have characters that file names may not

    def _current(self, path: Path) -> Memory | None:
        """The memory in a file as it is now, or None."""
        try:
            number = path.stat().st_ino
        except (FileNotFoundError, NotADirectoryError):
            return None
        with self.lock:
            memory, known = self.open_files.get(path, (None, 0))
            if memory is None or known != number:  # running requests keep the old file open
                memory = Memory.open(path)
                self.open_files[path] = memory, number
            return memory

    def accepts(self, key: str) -> bool:
        """Whether a memory saves the suggestions of a key."""
        return bool(key) and (self.folder is not None or key in self.writers)

    @property
    def accepts_any(self) -> bool:
        """Whether a memory saves the suggestions of any key."""
        return self.folder is not None or bool(self.writers)

    def memory_to_write(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory for the suggestions of a key, or None."""
        return self.shared_memory(pair) if key in self.writers else self.key_memory(key, pair, new)

    def add(self, key: str, pair: Pair, source: str, target: str) -> bool:
        """Save the translation of each line of a text, and of its sentences if both sides have equally many.

        Returns whether a memory has saved it.
        """
        memory = self.memory_to_write(key, pair, new=True)
        if memory is None:
            return False
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        both = zip(source.split("\n"), target.split("\n"), strict=True)
        lines = [Unit(*sides, date, key=key) for sides in both if sides[0].strip()]
        parts = [replace(part, file=PART) for line in lines for part in parts_of(line)]
        # Suggestions of their own stay so.
        known = [memory.exact(part.source) for part in parts]
        parts = [
            part
            for part, own in zip(parts, known, strict=True)
            if own is None or (own.target, own.origin.key, own.origin.file) != (clean_text(part.target), key, "")
        ]
        return not memory.add([*parts, *lines]).refused

    def take_back(self, key: str, pair: Pair, source: str) -> bool:
        """Remove the translations of a text's lines, and of those sentences that no other suggestion has.

        Returns whether there were any.
        """
        memory = self.memory_to_write(key, pair)
        if memory is None:
            return False
        found = [match for line in source.split("\n") if (match := memory.exact(line)) is not None]
        ids = {match.origin.id for match in found if match.origin.key == key}
        for part in (part for match in found if match.origin.id in ids for part in _parts(match)):
            own = memory.exact(part.source)
            if own is None or (own.target, own.origin.key, own.origin.file) != (part.target, key, PART):
                continue
            others = [each for each in memory.containing(part.source, key) if each.origin.id not in ids]
            if not any(part in _parts(each) for each in others if each.origin.file != PART):
                ids.add(own.origin.id)
        if ids:
            memory.remove(ids)
        return bool(ids)

    def version(self, key: str) -> str:
        """A version that changes with the memories of a key, and differs between keys."""
        paths = sorted(self._folder(self.folder, key).glob("*.memory")) if key and self.folder is not None else []
        found = [*map(self._current, paths), *map(self.shared_memory, self.shared)]
        return hash_texts([key, *(f"{memory.path} {memory.version}" for memory in found if memory is not None)])

    def hides(self, match: UsedMatch) -> bool:
        """Whether responses hide the sentences of a match."""
        return not self.shows and match.memory in {str(memory.path) for memory in self.shared.values()}

    def describe_matches(self, translation: Translation) -> list[dict[str, Any]]:
        """The matches of a translation as in responses."""
        found = []
        for match in translation.matches:
            sides = {} if self.hides(match) else {"source": match.source, "target": match.target}
            found.append({"score": match.score, "use": match.use} | sides)
        return found


def _parts(match: Match) -> list[Unit]:
    return parts_of(Unit(match.source, match.target))


def _make(path: Path, pair: Pair) -> None:
    """Create an empty memory, unless another process does. Raises `GlossaError` if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.locked"), tempfile.TemporaryDirectory(dir=path.parent) as folder:
            if path.exists():
                return
            for left in ("-wal", "-shm"):  # left by a removed memory
                Path(f"{path}{left}").unlink(missing_ok=True)
            new = Path(folder, path.name)
            Memory.create(new, *pair).close()
            new.replace(path)  # other processes see only the complete file
    except OSError as error:
        raise GlossaError(f"{path} cannot be written: {error.strerror}. Check the folder of --memories.") from error
