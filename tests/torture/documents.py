"""Damaged documents of every format: each is translated with nothing lost, or refused in one line.

Bytes, members of packages, types of values, lengths and depths are changed. An engine that returns its source must
change no byte; one that changes letters must not change what is no text. Readers of keys and of pairs, and building a
translation memory of the file, are tried too. A document takes at most `SECONDS` of CPU time, and at most
`MEGABYTES` more memory than all before it.
"""

import io
import json
import random
import re
import resource
import tempfile
import time
import zipfile
from copy import deepcopy
from pathlib import Path

import openpyxl
from apps.documents.packed import MEMBERS
from translating import KNOWN, rot13, translated

from glossa.apps.documents.formats.format import UNKNOWN
from glossa.apps.documents.formats.opening import find_format, format_of, open_document, open_pairs
from glossa.base.errors import GlossaError
from glossa.translate.memory.building import build
from torture.tags import FAULTS

FILES = Path(__file__).parents[1] / "apps" / "documents" / "files"
# Translations stand in other places than their sources.
FILLED = (".po", ".xliff", ".xlf", ".tmx", ".mxliff", ".csv", ".ts", ".xcstrings")
PACKED = (".docx", ".odt", ".epub", ".xlsx")
SECONDS, MEGABYTES = 10, 300
MORE = {
    "a.csv": 'en,fr\n"A ""big"" cat",\nA dog,Un chien\n',
    "a.ts": '<TS version="2.1" language="fr"><context><name>a</name><message numerus="yes"><source>%n cats</source>'
    '<translation type="unfinished"><numerusform></numerusform></translation></message></context></TS>',
    "a.xcstrings": json.dumps({
        "sourceLanguage": "en", "version": "1.0", "strings": {
            "A cat": {}, "k": {"localizations": {"en": {"variations": {"plural": {
                "one": {"stringUnit": {"state": "new", "value": "%d cat"}},
                "other": {"stringUnit": {"state": "new", "value": "%d cats"}}}}}}},
        },
    }),
    "a.mxliff": '<xliff xmlns:m="m" version="1.2"><file source-language="en" target-language="fr"><body><trans-unit '
    'id="1" m:confirmed="0" maxwidth="9" size-unit="char"><source>A {b&gt;cat&lt;b}</source></trans-unit></body>'
    "</file></xliff>",
}  # fmt: skip
VALUES = [
    None, True, [], {}, "", [[]], 0.5, [1, "a cat"], {"one": "a cat", "other": "cats"}, "a cat " * 500, "\ud800",
]  # fmt: skip
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
    found = [path for path in sorted(FILES.rglob("*.*")) if format_of(path.name) is not None]
    sources = {path.name: path.read_bytes() for path in found}
    sources |= {name: text.encode() for name, text in MORE.items()} | packages()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            chance = random.Random(f"{seed} {number}")
            name = chance.choice(list(sources))
            path = Path(folder, name)
            path.write_bytes(changed(chance, name, sources[name]))
            started, memory = time.process_time(), _megabytes()
            outcome, fault = _attempt(path)
            if (taken := time.process_time() - started) > SECONDS:
                outcome, fault = "uncaught", f"{taken:.1f} CPU-seconds"
            if (grown := _megabytes() - memory) > MEGABYTES:
                outcome, fault = "uncaught", f"{grown} MB"
            figures["documents"] += 1
            figures[outcome] += 1
            if fault:
                faults.append(f"seed {seed}, document {number} ({name}): {fault}")
    assert not faults, "\n".join([f"{len(faults)} faults: {figures}", *faults[:FAULTS]])
    return figures


def _megabytes() -> int:
    """The most memory that the process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _build(path: Path) -> None:
    """Build a memory of a file; most have no pairs of these languages."""
    made = path.with_name("memory")
    try:
        build(made, [path], "en", "fr")
    except GlossaError as error:
        if "\n" in str(error):
            raise ValueError(f"a message of several lines: {error}") from error
    made.unlink(missing_ok=True)


def _attempt(path: Path) -> tuple[str, str]:
    try:
        if path.suffix not in PACKED:
            _build(path)
        # Where it is known, the language of a page is set.
        found = translated(path, languages=KNOWN if path.suffix in FILLED else UNKNOWN)
        translated(path, rot13)
        if path.suffix in PACKED:
            return ("same", "") if _members(found) == _members(path.read_bytes()) else ("changed", "other members")
        if find_format(format_of(path.name)).pairs:
            open_pairs(path)
        if find_format(format_of(path.name)).values:
            open_document(path, format_of(path.name), KNOWN, old=path)
    except GlossaError as error:
        return "refused", f"a message of several lines: {error}" if "\n" in str(error) else ""
    except Exception as error:
        return "uncaught", f"{type(error).__name__}: {error}"
    if path.suffix not in FILLED and found != path.read_bytes():
        return "changed", f"{path.read_bytes()!r:.2000} became {found!r:.2000}"
    return "same", ""


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packages() -> dict[str, bytes]:
    """Small packed documents."""
    found = {}
    for name, members in MEMBERS.items():
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        found[name] = stream.getvalue()
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["text", "id"], ["A cat", 1], ['=IF(A2="A cat",1,2)', "A dog"]):
        book.active.append(row)
    book.active["A2"].comment = openpyxl.comments.Comment("A comment", "me")
    book.save(stream)
    return found | {"a.xlsx": stream.getvalue()}


def changed(chance: random.Random, name: str, content: bytes) -> bytes:
    """Content with other bytes, or with another structure."""
    ending = Path(name).suffix
    if ending in PACKED and chance.random() < 0.8:
        return _repacked(chance, content)
    if chance.random() < 0.5:
        return damaged(chance, content)
    if ending in (".json", ".xcstrings", ".ipynb", ".yaml"):
        return _retyped(chance, content if ending != ".yaml" else b'{"a": {"b": "A cat", "c": ["A dog"]}}')
    return _restructured(chance, content) if content.lstrip()[:1] == b"<" else damaged(chance, content)


def _repacked(chance: random.Random, content: bytes) -> bytes:
    """A package of which one member is damaged, empty, left out, doubled or renamed."""
    members = list(_members(content).items())
    place = chance.randrange(len(members))
    name, own = members[place]
    ways = [[(name, damaged(chance, own))], [(name, _restructured(chance, own))], [(name, b"")], []]
    ways += [[(name, own), (f"{name}.xml", own)], [(f"../{name}", own)], [(name, b"<a>" * 3000)]]
    members[place : place + 1] = chance.choice([*ways[:2], *ways])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, text in members:
            archive.writestr(member, text)
    return stream.getvalue()


def _retyped(chance: random.Random, content: bytes) -> bytes:
    """JSON in which some values have another type, length or depth."""
    root = json.loads(content)
    for _ in range(chance.choice((1, 2, 4))):
        inner, places = root, []
        while isinstance(inner, dict | list) and inner:
            key = chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            places.append((inner, key))
            inner = inner[key]
        if places:
            holder, key = chance.choice(places)
            holder[key] = deepcopy(chance.choice([*VALUES, "NUMBER", "DEEP"]))
    text = json.dumps(root, indent=chance.choice((None, 1)))
    deep = chance.choice((50, 3000))
    return text.replace('"NUMBER"', "9" * 5000).replace('"DEEP"', "[" * deep + "]" * deep).encode()


def _restructured(chance: random.Random, content: bytes) -> bytes:
    """XML or HTML of which some elements or attributes are left out, doubled, nested deeply or have other values."""
    for _ in range(chance.choice((1, 2, 4))):
        found = list(re.finditer(rb'<([\w:.-]+)[^<>]*(?:/>|>[^<]*</\1>)|\s[\w:.-]+="[^"]*"|>[^<>]+<', content))
        if not found:
            return content
        one = chance.choice(found)
        own, deep = one[0], chance.choice((30, 500))
        new = [b"", own * 2, b"<g>" * deep + b"x" + b"</g>" * deep, own.replace(b'="', b'="x'), own + b"A dog"]
        new += [
            b">" + b"a cat " * 500 + b"<" if own[:1] == b">" else own,
            re.sub(rb'"[^"]*"', b'"' + b"9" * 5000 + b'"', own),
        ]
        content = content[: one.start()] + chance.choice(new) + content[one.end() :]
    return content


def damaged(chance: random.Random, content: bytes) -> bytes:
    """Content with some pieces put in, left out or repeated."""
    for _ in range(chance.choice((1, 2, 5, 10))):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((0, 0, 0, 1, 5, 50)))
        piece = chance.choice([chance.choice(PIECES), chance.choice(PIECES), b"", content[start:end] * 2])
        content = content[:start] + piece + content[end:]
    return content
