"""The translation memories of a server: one that all requests read, and one of each key."""

import hashlib
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from ...base.errors import GlossaError, require
from ...base.jobs.records import stamp_texts
from ...model.sentences_glossa import split_text
from ...translate.engines.engine import Translation, UsedMatch
from ...translate.memory.building import open_memory, parts_of
from ...translate.memory.store import Memory, Unit
from ...translate.texts.recall import Recall

Pair = tuple[str, str]  # codes of a source and a target language


@dataclass
class Memories:
    """The memories of a server, by languages. Their files may come, go, and be replaced at any time.

    Attributes:
        shared: What all requests read.
        folder: Where each key has memories of its own, which its suggestions enter; None for none.
        writers: Names of the keys whose suggestions enter the shared ones instead.
        shows: Whether answers show what the shared ones hold: the sources and translations of their matches.
    """

    shared: dict[Pair, Memory] = field(default_factory=dict)
    folder: Path | None = None
    writers: frozenset[str] = frozenset()
    shows: bool = False
    open_ones: dict[Path, tuple[Memory, int]] = field(default_factory=dict)  # each with the number of its file
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def opened(
        cls, path: Path | None, pairs: Iterable[Pair], folder: Path | None, writers: Iterable[str], shows: bool
    ) -> "Memories":
        """The memory at `path`, for all of `pairs` whose languages it has.

        Raises `GlossaError` if it has none of them, or if `writers` are given and it is a file of pairs, not a memory.
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
        """What requests with a key take from memories: its own first, then the shared one; None if there are none."""
        found = [memory for memory in (self.own(key, pair), self.of_all(pair)) if memory is not None]
        return Recall(found, threshold) if found else None

    def of_all(self, pair: Pair) -> Memory | None:
        """The shared memory, if there is one."""
        memory = self.shared.get(pair)
        if memory is None or memory.folder is not None:
            return memory
        if current := self._current(memory.path):
            current.check_languages(*pair)
        return current

    def own(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory of a key, which `new` makes if it has none."""
        if not key or self.folder is None:
            return None
        path = self._folder(self.folder, key) / f"{'-'.join(pair)}.memory"
        if new and not path.exists():
            _make(path, pair)
        return self._current(path)

    @staticmethod
    def _folder(folder: Path, key: str) -> Path:
        return folder / hashlib.sha256(key.encode()).hexdigest()[:32]  # a name may hold what no file name does

    def _current(self, path: Path) -> Memory | None:
        """The memory that is in a file now, if there is one."""
        try:
            number = path.stat().st_ino
        except (FileNotFoundError, NotADirectoryError):
            return None
        with self.lock:
            memory, known = self.open_ones.get(path, (None, 0))
            if memory is None or known != number:  # requests that still use another file keep it until they end
                memory = Memory.open(path)
                self.open_ones[path] = memory, number
            return memory

    def takes(self, key: str) -> bool:
        """Whether suggestions of a key enter a memory."""
        return bool(key) and (self.folder is not None or key in self.writers)

    @property
    def takes_any(self) -> bool:
        """Whether suggestions of any key enter a memory."""
        return self.folder is not None or bool(self.writers)

    def written(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory that the suggestions of a key enter."""
        return self.of_all(pair) if key in self.writers else self.own(key, pair, new)

    def add(self, key: str, pair: Pair, source: str, target: str) -> bool:
        """Keep the approved translation of each line of a text, and of its sentences if both sides have as many.

        Returns whether there is a memory that takes it.
        """
        memory = self.written(key, pair, new=True)
        if memory is None:
            return False
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        both = zip(source.split("\n"), target.split("\n"), strict=True)
        lines = [Unit(*sides, date, key=key) for sides in both if sides[0].strip()]
        return not memory.add([each for line in lines for each in (line, *parts_of(line))]).refused

    def take_back(self, key: str, pair: Pair, source: str) -> bool:
        """Remove the approved translations of the lines of a text, and of their sentences; whether there was one."""
        memory = self.written(key, pair)
        if memory is None:
            return False
        texts = [text for line in source.split("\n") for text in (line, *split_text(line)[0])]
        found = [match for text in texts if (match := memory.exact(text)) is not None]
        ids = {match.origin.id for match in found if match.origin.key == key}
        if ids:
            memory.remove(ids)
        return bool(ids)

    def version(self, key: str) -> str:
        """What changes with every memory that a key reads, and differs between keys."""
        paths = sorted(self._folder(self.folder, key).glob("*.memory")) if key and self.folder is not None else []
        found = [*map(self._current, paths), *map(self.of_all, self.shared)]
        return stamp_texts([key, *(f"{memory.path} {memory.version}" for memory in found if memory is not None)])

    def hides(self, match: UsedMatch) -> bool:
        """Whether answers do not show the sentences of a match."""
        return not self.shows and match.memory in {str(memory.path) for memory in self.shared.values()}

    def described(self, translation: Translation) -> list[dict[str, Any]]:
        """The matches behind a translation as they are answered."""
        found = []
        for match in translation.matches:
            sides = {} if self.hides(match) else {"source": match.source, "target": match.target}
            found.append({"score": match.score, "use": match.use} | sides)
        return found


def _make(path: Path, pair: Pair) -> None:
    """Make an empty memory, unless another process does. Raises `GlossaError` if it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.locked"), tempfile.TemporaryDirectory(dir=path.parent) as folder:
            if path.exists():
                return
            for left in ("-wal", "-shm"):  # of one that was removed
                Path(f"{path}{left}").unlink(missing_ok=True)
            new = Path(folder, path.name)
            Memory.create(new, *pair).close()
            new.replace(path)  # others open it when it is whole
    except OSError as error:
        raise GlossaError(f"{path} cannot be written: {error.strerror}. Check the folder of --memories.") from error
