"""Damaged documents of every format: each is translated with nothing lost, or refused in one line.

An engine that returns its source must change no byte; one that changes letters must not change what is no text.
"""

import random
import tempfile
from pathlib import Path

from translating import KNOWN, rot13, translated

from glossa.apps.documents.formats.format import UNKNOWN
from glossa.apps.documents.formats.opening import format_of
from glossa.base.errors import GlossaError
from torture.tags import FAULTS

FILES = Path(__file__).parents[1] / "apps" / "documents" / "files"
FILLED = (".po", ".xliff", ".xlf", ".tmx")  # translations stand in other places than their sources
PIECES = [
    b"<", b">", b"</b>", b"<b>", b"<!--", b"-->", b"<![CDATA[", b"&amp;", b"&", b'"', b"'", b"`", b"```\n", b"*",
    b"**", b"[",
    b"](", b"|", b"\n", b"\n\n", b"\r\n", b"\r", b"    ", b"\t", b"> ", b"- ", b"# ", b"{", b"}", b"\\", b"\\n",
    b"{n, plural, one {# x}}", b"00:00:01,000 --> 00:00:02,000\n", b"msgid \"\"\n", b"msgstr \"a\"\n", b": ", b"\0",
    b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"<script>", b"<pre>", b"<p>", b"%s", b"https://a.b/c",
    b"[a]: http://b\n", b"---\n", b"|a|b|\n|-|-|\n|c|d|\n", b"<x/>", b"a" * 300,
]  # fmt: skip


def torture(count: int, seed: int) -> dict:
    """Translate `count` damaged documents; see `python -m torture`."""
    figures = {"documents": 0, "same": 0, "refused": 0, "changed": 0, "uncaught": 0}
    faults = []
    sources = sorted(path for path in FILES.rglob("*.*") if format_of(path.name) is not None)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            chance = random.Random(f"{seed} {number}")
            source = chance.choice(sources)
            path = Path(folder, source.name)
            path.write_bytes(damaged(chance, source.read_bytes()))
            outcome, fault = _attempt(path)
            figures["documents"] += 1
            figures[outcome] += 1
            if fault:
                faults.append(f"seed {seed}, document {number} ({source.name}): {fault}")
    assert not faults, "\n".join([f"{len(faults)} faults: {figures}", *faults[:FAULTS]])
    return figures


def _attempt(path: Path) -> tuple[str, str]:
    try:
        # Where it is known, the language of a page is set.
        found = translated(path, languages=KNOWN if path.suffix in FILLED else UNKNOWN)
        translated(path, rot13)
    except GlossaError as error:
        return "refused", f"a message of several lines: {error}" if "\n" in str(error) else ""
    except Exception as error:
        return "uncaught", f"{type(error).__name__}: {error}"
    if path.suffix not in FILLED and found != path.read_bytes():
        return "changed", f"{path.read_bytes()!r} became {found!r}"
    return "same", ""


def damaged(chance: random.Random, content: bytes) -> bytes:
    """Content with some pieces put in, left out or repeated."""
    for _ in range(chance.choice((1, 2, 5, 10))):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((0, 0, 0, 1, 5, 50)))
        piece = chance.choice([chance.choice(PIECES), chance.choice(PIECES), b"", content[start:end] * 2])
        content = content[:start] + piece + content[end:]
    return content
