"""A translation memory: one SQLite file, which several processes may use at once."""

import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import xxhash

from ...base.errors import GlossaError, require
from ...base.languages import direction, normalized_code, same_language
from ...model.sentences_glossa import clean_text
from . import index
from .file import damaged, errors_refused, exists, made, opened
from .terms import key_of
from .units import Counts, Match, Origin, Unit

BLOCK = 50_000  # units that are added at once
_UNITS = (
    "SELECT units.id, target, units.hash, context, date, files.name, units.key FROM units "
    "JOIN files ON files.id = file WHERE source = ? AND replaced_by IS NULL ORDER BY date DESC, units.id DESC"
)


class Memory:
    """The approved translations from one language into another.

    `create`, `open` and `temporary` make one; close it, or use it as a context manager. Threads may share it; forked
    processes may not, and open their own.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, folder: tempfile.TemporaryDirectory | None = None):
        self.path, self.connection, self.folder = path, connection, folder
        self.name = str(path)  # of a temporary one, that of the file that it was made of
        self.lock = threading.RLock()
        self.number = 0  # of the next source, while units are added
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        self.source_language, self.target_language = facts["source_language"], facts["target_language"]

    @classmethod
    def create(cls, path: Path, source_language: str, target_language: str) -> "Memory":
        """Make an empty memory. Raises `GlossaError` if there is something at `path`."""
        if path.exists():
            raise exists(path)
        with errors_refused(path):
            return cls(path, made(path, normalized_code(source_language), normalized_code(target_language)))

    @classmethod
    def open(cls, path: Path) -> "Memory":
        """Open a memory. Raises `GlossaError` if it is not there, is damaged, or is of a newer version."""
        with errors_refused(path):
            return cls(path, opened(path))

    @classmethod
    def temporary(
        cls, pairs: Iterable[tuple[str, str]], source_language: str = "", target_language: str = ""
    ) -> "Memory":
        """A memory of pairs in a temporary file, which is removed when it is closed."""
        folder = tempfile.TemporaryDirectory(prefix="glossa-memory-", ignore_cleanup_errors=True)
        path = Path(folder.name, "memory")
        memory = cls(path, made(path, source_language, target_language), folder)
        memory.add(Unit(*pair) for pair in pairs)
        return memory

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a temporary one is removed."""
        with self.lock:
            self.connection.close()
            if self.folder is not None:
                self.folder.cleanup()

    def check_languages(self, source: str, target: str) -> None:
        """Raise `GlossaError` if it is not from `source` into `target`."""
        if not (same_language(self.source_language, source) and same_language(self.target_language, target)):
            own, wanted = direction(self.source_language, self.target_language), direction(source, target)
            raise GlossaError(f"{self.path} is a memory from {own}, but {wanted} is needed. Give another one.")

    @property
    def version(self) -> int:
        """A number that grows with every change, by any process."""
        return self._fact("SELECT value FROM facts WHERE name = 'version'")

    def __len__(self) -> int:
        """The number of units that count."""
        return self._fact("SELECT count(*) FROM units WHERE replaced_by IS NULL")

    def __bool__(self) -> bool:
        return True  # an empty memory is one too, and may get units at any time

    @property
    def is_empty(self) -> bool:
        return not self._fact("SELECT EXISTS (SELECT 1 FROM units)")

    def facts(self) -> dict[str, Any]:
        """What `glossa memory show` shows."""
        return {
            "source language": self.source_language,
            "target language": self.target_language,
            "units": len(self),
            "replaced by newer ones": self._fact("SELECT count(*) FROM units WHERE replaced_by IS NOT NULL"),
            "different sources": self._fact("SELECT count(*) FROM sources"),
            "files": self._fact("SELECT count(*) FROM files"),
            "newest": self._fact("SELECT max(date) FROM units") or "",
            "bytes": self.path.stat().st_size,
            "changes": self.version,
        }

    def _fact(self, question: str) -> Any:
        with self.lock, errors_refused(self.path):
            return self.connection.execute(question).fetchone()[0]

    def add(self, units: Iterable[Unit]) -> Counts:
        """Add units, `BLOCK` at a time: a block is added as a whole or not at all.

        Of several translations of a source (in one context) the newest counts, by its date, then by the order in which
        they were added; the others are kept, and marked as replaced. Raises `GlossaError` if another process writes
        for more than ten seconds.
        """
        counts, ahead = Counts(), iter(units)
        while block := list(islice(ahead, BLOCK)):
            cleaned = [(unit, _cleaned(unit.source), _cleaned(unit.target)) for unit in block]
            with self._writing():
                (last,) = self.connection.execute("SELECT max(id) FROM sources").fetchone()
                self.number = 0 if last is None else index.number_of(last) + 1
                sources: list[tuple[int, str]] = []
                for unit, source, target in cleaned:
                    if source and target:
                        self._add(unit, source, target, counts, sources)
                    else:
                        counts.refused["a side is empty or no text"] += 1
                index.insert(self.connection, sources)
        return counts

    def _add(self, unit: Unit, source: str, target: str, counts: Counts, sources: list[tuple[int, str]]) -> None:
        """Add a unit; a new source is added to `sources`, with its key."""
        id = self._source(source)
        if id is None:
            key = key_of(source)
            id = self._new_id(key)
            text = (id, source, key if key != source else None, _hash(source))
            self.connection.execute("INSERT INTO sources VALUES (?, ?, ?, ?)", text)
            sources.append((id, key))
            known = []
        else:
            known = self.connection.execute(
                "SELECT id, target, date, replaced_by IS NULL, key FROM units WHERE source = ? AND context IS ?",
                (id, unit.context),
            ).fetchall()
        winner = next((row for row in known if row[3]), None)
        # Units of different keys stay apart, so that taking one back loses no other.
        same = next((row for row in known if row[1] == target and row[4] == unit.key), None)
        newer = winner is None or unit.date >= winner[2]
        counts.duplicates += any(row[1] == target for row in known)
        counts.conflicts += winner is not None and winner[1] != target
        origin = (unit.date, self._file(unit.file), unit.key)
        if same is None:
            counts.units += 1
            row = (id, target, _hash(target), unit.context, *origin, None if newer or winner is None else winner[0])
            own = self.connection.execute(
                "INSERT INTO units (source, target, hash, context, date, file, key, replaced_by) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row,
            ).lastrowid  # fmt: skip
        elif unit.date >= same[2]:
            own = same[0]
            if newer:
                self.connection.execute("UPDATE units SET replaced_by = NULL WHERE id = ?", (own,))
            self.connection.execute("UPDATE units SET date = ?, file = ?, key = ? WHERE id = ?", (*origin, own))
        if newer and winner is not None and winner is not same:
            self.connection.execute("UPDATE units SET replaced_by = ? WHERE id = ?", (own, winner[0]))

    def _source(self, text: str) -> int | None:
        rows = self.connection.execute("SELECT id, text FROM sources WHERE hash = ?", (_hash(text),))
        return next((id for id, other in rows if other == text), None)

    def _new_id(self, key: str) -> int:
        if self.number >= index.MOST:
            raise GlossaError(f"{self.path} is full: it has {index.MOST:,} different sources. Make a second memory.")
        self.number += 1
        return index.numbered(self.number - 1, key)

    def _file(self, name: str) -> int:
        row = self.connection.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()
        if row is None:
            self.connection.execute("INSERT INTO files (name) VALUES (?)", (name,))
            return self._file(name)
        return row[0]

    def remove(self, ids: Iterable[int]) -> None:
        """Take units back; the newest one that a removed one has replaced counts again.

        Raises `GlossaError`, and removes none, if one is not there.
        """
        with self._writing():
            for id in ids:
                row = self.connection.execute("SELECT source, replaced_by FROM units WHERE id = ?", (id,)).fetchone()
                if row is None:
                    raise GlossaError(f"{self.path} has no unit {id}. `glossa memory search` shows the ids.")
                source, heir = row
                self.connection.execute("DELETE FROM units WHERE id = ?", (id,))
                if heir is None:
                    newest = "SELECT id FROM units WHERE replaced_by = ? ORDER BY date DESC, id DESC LIMIT 1"
                    (heir,) = self.connection.execute(newest, (id,)).fetchone() or (None,)
                    self.connection.execute("UPDATE units SET replaced_by = NULL WHERE id = ?", (heir,))
                self.connection.execute("UPDATE units SET replaced_by = ? WHERE replaced_by = ?", (heir, id))
                # The index keeps its number, which then is no text's.
                self.connection.execute(
                    "DELETE FROM sources WHERE id = ? AND NOT EXISTS (SELECT 1 FROM units WHERE source = ?)",
                    (source, source),
                )

    def matches(self, source: str, threshold: int = 70, most: int = 1, other_than: str | None = None) -> list[Match]:
        """The units with the most similar sources, best first; of equally good ones the newest first.

        The score is the share of equal characters, in percent ([`rapidfuzz.fuzz.ratio`]), where each number, address,
        tag and so on is one character that equals all others of its kind.

        Args:
            source: A text.
            threshold: The lowest score, from 1 to 100.
            most: How many units, at most.
            other_than: A text; units with this source are left out.
        """
        fuzz, process = require("rapidfuzz.fuzz", "memory"), require("rapidfuzz.process", "memory")
        text = _cleaned(source)
        key = key_of(text)
        if not text:
            return []
        with self.lock, errors_refused(self.path):
            ids = {*index.candidates(self.connection, key, threshold), self._source(text)} - {None}
            rows = self.connection.execute(
                f"SELECT id, text, coalesce(key, text) FROM sources WHERE id IN ({','.join(map(str, ids))})"
            ).fetchall()
            if other_than is not None:
                left_out = _cleaned(other_than)
                rows = [row for row in rows if row[1] != left_out]
            keys = [row[2] for row in rows]
            found = process.extract(key, keys, scorer=fuzz.ratio, score_cutoff=threshold, limit=None)
            last = found[min(most, len(found)) - 1][1] if found else 0
            # Of texts that differ in values only, those with the same values are better; then later ones.
            best = [(score, fuzz.ratio(text, rows[row][1]), *rows[row]) for _, score, row in found if score >= last]
            matches: list[Match] = []
            for ratio, _, id, other, _ in sorted(best, reverse=True):
                score = 100 if other == text else min(int(ratio), 99)
                if len(matches) < most and score >= threshold:
                    matches += self._units(id, other, score)
            return matches[:most]

    def _units(self, id: int, text: str, score: int) -> Iterator[Match]:
        """The units of a source that count, newest first."""
        for own, target, check, context, date, file, key in self.connection.execute(_UNITS, (id,)):
            if _hash(target) != check:
                raise damaged(self.path)
            yield Match(text, target, score, Origin(file, date, key, own, context))

    def exact(self, source: str, context: str | None = None) -> Match | None:
        """The unit with this source, if there is one that holds in the context.

        A unit with the same context (or none, if none is given) comes first, and then the newest one.
        """
        text = _cleaned(source)
        with self.lock, errors_refused(self.path):
            id = self._source(text)
            found = [] if id is None else [unit for unit in self._units(id, text, 100) if unit.holds_in(context)]
            return min(found, key=lambda unit: unit.origin.context != context, default=None)

    def units(self) -> Iterator[Unit]:
        """The units that count, in the order in which they were added."""
        question = (
            "SELECT text, target, date, files.name, units.key, context FROM units JOIN files ON files.id = file "
            "JOIN sources ON sources.id = source WHERE replaced_by IS NULL ORDER BY units.id"
        )
        with self.lock, errors_refused(self.path):
            yield from (Unit(*row) for row in self.connection.execute(question))

    def containing(self, text: str, key: str) -> list[Match]:
        """The units of a key whose sources contain a text."""
        with self.lock, errors_refused(self.path):
            rows = self.connection.execute(
                "SELECT sources.id, text FROM sources JOIN units ON units.source = sources.id "
                "WHERE units.key = ? AND instr(text, ?) GROUP BY sources.id",
                (key, _cleaned(text)),
            ).fetchall()
            return [unit for id, found in rows for unit in self._units(id, found, 100) if unit.origin.key == key]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A change, which is made as a whole or not at all."""
        with self.lock, errors_refused(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'version'")
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _cleaned(text: str) -> str:
    """A clean text; "" for one with half of a surrogate pair, which cannot be stored."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return ""
    return clean_text(text)


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode()) - (1 << 63)
