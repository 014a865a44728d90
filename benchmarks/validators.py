"""What reads the formats of documents, and says how a file is built: `make validators` installs it.

Each check takes the name and the content of a file. It returns what a translation must leave as it is, such as the
number of paragraphs, and raises for a broken file.
"""

import json
import os
import plistlib
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from configparser import ConfigParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import yaml

EPUBCHECK, LRELEASE = Path("/usr/bin/epubcheck"), Path("/usr/lib/qt6/bin/lrelease")
MODULES = Path(os.environ.get("NODE_PATH", "build/validators/node_modules"))
# Of an office document as flat OpenDocument: what it has as many of as before.
_ELEMENTS = re.compile(rb"<(text:p|text:h|table:table-row|draw:page|draw:frame|text:note|office:annotation)\b")
# The names and kinds of the arguments of each message in a file of JSON; null for what is none.
_MESSAGES = """
const {IntlMessageFormat} = require('intl-messageformat');
const names = parts => parts.flatMap(part => part.type === 0 || part.type === 7 ? [] : [part.type + ' ' + part.value,
  ...Object.values(part.options || {}).flatMap(option => names(option.value)), ...names(part.children || [])]);
const read = value => typeof value === 'string' ? (() => {
  try { return names(new IntlMessageFormat(value, 'en').getAst()).sort(); } catch { return null; }
})() : value && typeof value === 'object' ? Object.values(value).map(read) : null;
console.log(JSON.stringify(read(JSON.parse(require('fs').readFileSync(0, 'utf-8').replace(/^\\ufeff/, '')))));
"""

Check = Callable[[str, bytes], object]


def _run(name: str, content: bytes, *command: str | Path, output: str | None = None) -> bytes:
    """The output of a command for a file, or the file that it writes there."""
    with TemporaryDirectory() as folder:
        file = Path(folder, f"a{Path(name).suffix}")
        file.write_bytes(content)
        given = [str(file) if word == "FILE" else str(word) for word in command]
        done = subprocess.run(given, cwd=folder, check=True, capture_output=True, timeout=300)
        return Path(folder, output).read_bytes() if output else done.stdout


def _xml(name: str, content: bytes) -> None:
    _run(name, content, "xmllint", "--noout", "--nonet", "--huge", "FILE")


def _android(name: str, content: bytes) -> None:
    """Well-formed, and by Android's rule apostrophes have a backslash or stand in quotes."""
    _xml(name, content)
    for text in re.findall(rb"<(?:string|item)\b[^>]*>(.*?)</(?:string|item)>", content, re.S):
        bare = re.sub(rb'<!\[CDATA\[.*?\]\]>|<[^>]*>|\\.|"[^"]*"', b"", text, flags=re.S)
        assert b"'" not in bare, text


def _office(name: str, content: bytes) -> object:
    """The elements that LibreOffice sees, and what Python's library for the format sees."""
    flat = {".docx": "fodt", ".odt": "fodt", ".pptx": "fodp", ".odp": "fodp", ".xlsx": "fods", ".ods": "fods"}
    ending = flat[Path(name).suffix.lower()]
    command = ("soffice", "--headless", "--norestore", "--convert-to", ending, "FILE")
    seen = Counter(_ELEMENTS.findall(_run(name, content, *command, output=f"a.{ending}")))
    with TemporaryDirectory() as folder:
        file = Path(folder, f"a{Path(name).suffix}")
        file.write_bytes(content)
        reader = {".docx": _docx, ".pptx": _pptx, ".xlsx": _xlsx}.get(Path(name).suffix.lower())
        return seen, reader(file) if reader else None


def _docx(file: Path) -> object:
    document = import_module("docx").Document(str(file))
    return len(document.paragraphs), [len(table.rows) for table in document.tables]


def _pptx(file: Path) -> object:
    return [len(slide.shapes) for slide in import_module("pptx").Presentation(str(file)).slides]


def _xlsx(file: Path) -> object:
    book = import_module("openpyxl").load_workbook(file)
    return {sheet.title: (sheet.dimensions, sheet.merged_cells.ranges and None) for sheet in book.worksheets}


def _messages(name: str, content: bytes) -> object:
    json.loads(content.decode("utf-8-sig"))
    environment = {**os.environ, "NODE_PATH": str(MODULES.resolve())}
    done = subprocess.run(["node", "-e", _MESSAGES], input=content, check=True, capture_output=True, env=environment)
    return json.loads(done.stdout)


def _fluent(name: str, content: bytes) -> list[str]:
    syntax = import_module("fluent.syntax")
    entries = syntax.parse(content.decode("utf-8")).body
    assert not any(isinstance(entry, syntax.ast.Junk) for entry in entries)
    return [type(entry).__name__ for entry in entries]


def _notebook(name: str, content: bytes) -> list[str]:
    reader = import_module("nbformat")
    book = reader.reads(content.decode("utf-8"), as_version=4)
    reader.validate(book)
    return [cell.cell_type for cell in book.cells]


def _subtitles(name: str, content: bytes) -> list[tuple[int, int]]:
    events = import_module("pysubs2").SSAFile.from_string(content.decode("utf-8-sig"))
    return [(event.start, event.end) for event in events]


def _html(name: str, content: bytes) -> Counter[Any]:
    elements = import_module("lxml.html").fromstring(content).iter()
    return Counter(element.tag for element in elements if isinstance(element.tag, str))


def _markdown(name: str, content: bytes) -> list[str]:
    parser = import_module("markdown_it").MarkdownIt("commonmark").enable("table")
    return [token.type for token in parser.parse(content.decode("utf-8-sig")) if token.type != "html_block"]


def _keys(value: object) -> object:
    """A value without its strings."""
    if isinstance(value, dict):
        return {key: _keys(item) for key, item in value.items()}
    return [_keys(item) for item in value] if isinstance(value, list) else None if isinstance(value, str) else value


def _yaml(name: str, content: bytes) -> list[object]:
    return [_shape(node) for node in yaml.compose_all(content.decode("utf-8-sig"), yaml.SafeLoader)]


def _shape(node: Any) -> object:
    if isinstance(node, yaml.MappingNode):
        return [(key.value, _shape(value)) for key, value in node.value]
    return [_shape(item) for item in node.value] if isinstance(node, yaml.SequenceNode) else node and node.tag


def _ini(name: str, content: bytes) -> dict[str, list[str]]:
    parser = ConfigParser(interpolation=None, allow_no_value=True, strict=False)
    parser.read_string(content.decode("utf-8-sig"))
    return {section: list(parser[section]) for section in parser}


def _with(module: str, check: Check) -> Check | None:
    return check if find_spec(module.partition(".")[0]) else None


def _if(there: object, check: Check) -> Check | None:
    return check if there else None


# The checks of each format, and by what; None where that is not installed.
_WITH_XML = ("xliff", "tmx", "resx")
_WITH_OFFICE = ("docx", "pptx", "xlsx", "odt", "odp", "ods")
CHECKS: dict[str, Check | None] = {
    **dict.fromkeys(_WITH_XML, _if(which("xmllint"), _xml)),
    "android": _if(which("xmllint"), _android),
    "ts": _if(LRELEASE.exists(), lambda name, content: _run(name, content, LRELEASE, "FILE", "-qm", "a.qm") and None),
    "po": _if(
        which("msgfmt"),
        lambda name, content: _run(name, content, "msgfmt", "--check-format", "-o", os.devnull, "FILE"),
    ),
    "epub": _if(
        which("java") and EPUBCHECK.exists(),
        lambda name, content: _run(name, content, "java", "-jar", EPUBCHECK, "--quiet", "FILE") and None,
    ),
    **dict.fromkeys(_WITH_OFFICE, _if(which("soffice"), _office)),
    "json": _if(MODULES.is_dir(), _messages),
    "xcstrings": lambda name, content: _keys(json.loads(content)),
    "yaml": _yaml,
    "toml": lambda name, content: _keys(tomllib.loads(content.decode("utf-8"))),
    "ini": _ini,
    "stringsdict": lambda name, content: _keys(plistlib.loads(content)),
    "fluent": _with("fluent", _fluent),
    "ipynb": _with("nbformat", _notebook),
    **dict.fromkeys(("srt", "vtt", "ass"), _with("pysubs2", _subtitles)),
    "html": _with("lxml", _html),
    "markdown": _with("markdown_it", _markdown),
}


def shape_of(kind: str, name: str, content: bytes) -> tuple[bool, object]:
    """Whether the reader of a format reads a file, and what it sees."""
    check = CHECKS[kind]
    assert check is not None
    try:
        return True, check(name, content)
    except Exception:  # whatever the reader of the format raises
        return False, None
