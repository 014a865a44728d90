"""The file of a memory: its tables, how it is opened, and what its errors mean."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...base.errors import GlossaError
from . import index

HEADER = b"SQLite format 3\0"
APPLICATION, SCHEMA_VERSION = 0x676C6D65, 1
WAIT = 10.0  # seconds for another process that is writing
_DAMAGED = ("malformed", "not a database", "decode to UTF-8", "no such table", "no such column")  # in errors of SQLite
TABLES = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE sources (id INTEGER PRIMARY KEY, text TEXT NOT NULL, key TEXT, hash INTEGER NOT NULL);
CREATE INDEX sources_by_hash ON sources (hash);
CREATE TABLE units (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL, target TEXT NOT NULL, hash INTEGER NOT NULL,
    context TEXT, date TEXT NOT NULL, file INTEGER NOT NULL, key TEXT NOT NULL, replaced_by INTEGER
);
CREATE INDEX units_by_source ON units (source);
CREATE INDEX units_by_replacement ON units (replaced_by) WHERE replaced_by IS NOT NULL;
{index.SCHEMA};
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
"""


def is_memory(path: Path) -> bool:
    """Whether a path is a file of SQLite."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER


def opened(path: Path) -> sqlite3.Connection:
    """A file that is there. Raises `GlossaError` if it is no memory, or of a newer version."""
    if not is_memory(path):
        if path.exists():
            made = path.with_suffix(".memory")
            raise GlossaError(f"{path} is no translation memory. Make one of it: glossa memory build {made} {path}.")
        raise GlossaError(f"{path} is not there. Make it: glossa memory build {path} FILE.tmx.")
    connection = connect(path)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise GlossaError(f"{path} is a database, but no translation memory. Give another file.")
    if version > SCHEMA_VERSION:
        raise GlossaError(
            f"{path} was made by a newer version of Glossa (its format is {version}, this version reads "
            f"{SCHEMA_VERSION}). Update: pip install --upgrade glossa-mt."
        )
    return connection


def connect(path: Path) -> sqlite3.Connection:
    name = path.absolute().as_uri()
    # Readers too write a file next to it (the index of the log); where they may not, the file is read without locks.
    if not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        name += "?immutable=1"
    connection = sqlite3.connect(name, WAIT, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA cache_size = -65536")  # 64 MiB
    return connection


def made(path: Path, source_language: str, target_language: str) -> sqlite3.Connection:
    """A new file. Readers go on while a process writes (WAL)."""
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    facts = {"source_language": source_language, "target_language": target_language, "version": 0}
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")  # as a whole, or by another process
    connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
    connection.execute("COMMIT")
    return connection


def exists(path: Path) -> GlossaError:
    return GlossaError(f"{path} exists. Add to it with `glossa memory add`, give another file, or remove it.")


def damaged(path: Path) -> GlossaError:
    return GlossaError(f"{path} is damaged. Restore a copy, or build it again: glossa memory build.")


@contextmanager
def errors_refused(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into `GlossaError`."""
    try:
        yield
    except sqlite3.Error as error:
        reason = str(error)
        if "already exists" in reason:
            raise exists(path) from error
        if "locked" in reason or "busy" in reason:
            raise GlossaError(
                f"{path} is being written by another process. Nothing was changed; try again when it has ended."
            ) from error
        if any(words in reason for words in _DAMAGED):
            raise damaged(path) from error
        raise GlossaError(f"{path} cannot be used: {reason}. Check the disk, and that you may write it.") from error
