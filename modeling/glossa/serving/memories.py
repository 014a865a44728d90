"""The translation memories of a server: one that all requests read, and one of each key."""

import hashlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import GlossaError
from ..inference.engines.engine import Translation
from ..inference.texts.recall import Recall
from ..memory.building import open_memory
from ..memory.store import Memory, Unit

Pair = tuple[str, str]  # codes of a source and a target language


@dataclass
class Memories:
    """The memories of a server, by languages.

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
    opened_ones: dict[tuple[str, Pair], Memory] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def opened(
        cls, path: Path | None, pairs: Iterable[Pair], folder: Path | None, writers: Iterable[str], shows: bool
    ) -> "Memories":
        """The memory at `path` for those of `pairs` that it has. Raises `GlossaError` if it has none of them."""
        found, problem = {}, ""
        for pair in pairs if path else ():
            try:
                found[pair] = open_memory(path, *pair)
            except GlossaError as error:  # it may have other languages
                problem = str(error)
        if path and not found:
            raise GlossaError(f"--memory {path} has no translations for the models: {problem}")
        return cls(found, folder, frozenset(writers), shows)

    def recall(self, pair: Pair, key: str, threshold: int) -> Recall | None:
        """What requests with a key take from memories: its own first, then the shared one; None if there are none."""
        found = [memory for memory in (self.own(key, pair), self.shared.get(pair)) if memory is not None]
        return Recall(found, threshold) if found else None

    def own(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory of a key, which `new` makes if it has none."""
        if not key or self.folder is None:
            return None
        with self.lock:
            if (key, pair) not in self.opened_ones:
                # A name may hold what no file name does.
                name = hashlib.sha256(key.encode()).hexdigest()[:32]
                path = self.folder / name / f"{'-'.join(pair)}.memory"
                if not path.exists() and not new:
                    return None
                path.parent.mkdir(parents=True, exist_ok=True)
                self.opened_ones[key, pair] = Memory.open(path) if path.exists() else Memory.create(path, *pair)
            return self.opened_ones[key, pair]

    def takes(self, key: str) -> bool:
        """Whether suggestions of a key enter a memory."""
        return bool(key) and (self.folder is not None or key in self.writers)

    def written(self, key: str, pair: Pair, new: bool = False) -> Memory | None:
        """The memory that the suggestions of a key enter."""
        return self.shared.get(pair) if key in self.writers else self.own(key, pair, new)

    def add(self, key: str, pair: Pair, source: str, target: str) -> bool:
        """Keep an approved translation; whether there is a memory for it."""
        memory = self.written(key, pair, new=True)
        if memory is None:
            return False
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        memory.add([Unit(source, target, date, key=key)])
        return True

    def take_back(self, key: str, pair: Pair, source: str) -> bool:
        """Remove the approved translation of a text by a key; whether there was one."""
        memory = self.written(key, pair)
        match = None if memory is None else memory.exact(source)
        if memory is None or match is None or match.origin.key != key:
            return False
        memory.remove([match.origin.id])
        return True

    def version(self, key: str) -> int:
        """A number that changes with every memory that a key reads."""
        with self.lock:
            own = [memory for (name, _), memory in self.opened_ones.items() if name == key]
        return sum(memory.version for memory in [*own, *self.shared.values()])

    def described(self, translation: Translation) -> list[dict[str, Any]]:
        """The matches behind a translation as they are answered."""
        hidden = set() if self.shows else {str(memory.path) for memory in self.shared.values()}
        return [
            {"score": score, "use": use} | ({} if path in hidden else {"source": source, "target": target})
            for score, use, source, target, path in translation.matches
        ]
