"""The index of a memory: for each term the numbers of its texts, from which the most similar texts are chosen.

The numbers are in blobs of four bytes each, one for each term and `PART` of the texts. A number has the length of its
text in its last bits, so texts that are too short or too long to be similar are left out before they are read.
"""

import math
import sqlite3
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from zlib import crc32

import numpy

from .terms import CLASSES, PER_OCTAVE, REACH, length_class, terms_of

SCHEMA = "CREATE TABLE postings (id INTEGER PRIMARY KEY, ids BLOB NOT NULL)"
MOST = 1 << 26  # texts: a number and its class of length have 32 bits
PART = 18  # bits of a number: texts of one blob
LONGEST = 8192  # numbers in a blob; a term that is more frequent says little, and further texts are found without it
BUDGET = 150_000  # numbers that are read for a text, of its rarest terms
TERMS = 400  # of a text that are looked up; sentences have fewer
CHOSEN = 400  # texts that are compared
_APPEND = (
    "INSERT INTO postings VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET ids = CAST(ids || excluded.ids AS BLOB) "
    f"WHERE length(ids) < {4 * LONGEST}"
)
_OF_A_TERM = "FROM postings WHERE id BETWEEN ? AND ?"
_MIDDLES = 2 ** ((numpy.arange(CLASSES) + 0.5) / PER_OCTAVE)  # characters of a text of each class


def numbered(number: int, key: str) -> int:
    """The id of the text with a number and a key. Ids grow with the numbers."""
    return number * CLASSES + length_class(key)


def number_of(id: int) -> int:
    return id // CLASSES


def insert(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Add texts, each with its id and key."""
    terms: list[int] = []
    ids: list[int] = []
    for id, key in texts:
        own = terms_of(key, REACH)
        terms += _hashes(own)
        ids += [id] * len(own)
    if not ids:
        return
    numbers = numpy.array(ids, dtype=numpy.uint64)
    rows = numpy.array(terms, dtype=numpy.uint64) << 8 | numbers // CLASSES >> PART
    order = numpy.argsort(rows, kind="stable")
    rows, sorted_ids = rows[order], numbers[order].astype("<u4")
    starts = numpy.flatnonzero(numpy.concatenate(([True], rows[1:] != rows[:-1])))
    ends = [*starts[1:].tolist(), len(rows)]
    blobs = (sorted_ids[start:end].tobytes() for start, end in zip(starts.tolist(), ends, strict=True))
    connection.executemany(_APPEND, zip(rows[starts].tolist(), blobs, strict=True))


def candidates(connection: sqlite3.Connection, key: str, threshold: int) -> list[int]:
    """The ids of the texts that share the most terms with a key, for their length; at most `CHOSEN`."""
    lists = []
    for term in nsmallest(TERMS, _hashes(terms_of(key))):  # of a long text any terms do
        place = (term << 8, term << 8 | 255)
        (size,) = connection.execute(f"SELECT sum(length(ids)) {_OF_A_TERM}", place).fetchone()
        if size:
            lists.append((size // 4, place))
    blobs, read = [], 0
    for size, place in sorted(lists):
        if read and read + size > BUDGET:
            break
        blobs += [ids for (ids,) in connection.execute(f"SELECT ids {_OF_A_TERM}", place)]
        read += size
    ids = numpy.frombuffer(b"".join(blobs), dtype="<u4")
    reach = PER_OCTAVE * math.log2((200 - threshold) / threshold) + 1
    classes = (ids & (CLASSES - 1)).astype(numpy.uint8)
    own = length_class(key)
    found, shared = numpy.unique(ids[(classes >= own - reach) & (classes <= own + reach)], return_counts=True)
    if len(found) > CHOSEN:
        similarity = shared / (len(key) + _MIDDLES[found % CLASSES])
        found = found[numpy.argpartition(-similarity, CHOSEN)[:CHOSEN]]
    return found.tolist()


def _hashes(terms: Iterable[str]) -> Iterator[int]:
    return map(crc32, map(str.encode, terms))
