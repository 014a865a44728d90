"""YAML: the values that are texts, without keys."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from ....base.errors import GlossaError
from ....base.languages import language_code
from ....translate.texts.tags import Part, Piece
from ..places import Document, Edit, Place, Written, as_string, spelled
from .format import Format, LanguagePair
from .keys import ROOT, Keys, joined
from .language import missing_keys
from .plain import filling
from .strings import is_text, marked_parts, string_places
from .tokens import cut, trimmed

_DOUBLE_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)"
    r"|(?<![ \t])[ \t]*+\r?\n(?:[ \t]*\r?\n)*+[ \t]*+"
)
_SINGLE_ESCAPE = re.compile(r"''|(?<![ \t])[ \t]*+\r?\n(?:[ \t]*\r?\n)*+[ \t]*+")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")  # anchor and tag
_FOLD = re.compile(r"(?<![ \t])[ \t]*+\r?\n(?:[ \t]*\r?\n)*+[ \t]*+")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, ten times as fast, where it is installed
_STRING = "tag:yaml.org,2002:str"


def read(text: str, name: str, languages: LanguagePair, keys: Keys | None = None) -> Document:
    """The strings that `keys` choose. Plural forms that the language needs are added.

    Raises `GlossaError`, with the line, if the file is not YAML.
    """
    document = Document(text, [])
    shift = text.startswith("\ufeff")
    for root in _roots(text, name):
        chosen: set[int] = set()
        for node, flow, path in _values(root, set(), False):
            if keys is None or keys.chosen(path):
                document.places += _places(text, *_span(node, shift), node.style, flow)
                chosen.add(id(node))
        if languages.target:
            _add_forms(root, document, shift, languages.target, chosen)
    document.places.sort(key=lambda place: place.start)
    return document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each string, by its dotted keys, and of the root if it is a language, as in Rails."""
    shift, found = text.startswith("\ufeff"), {}
    for number, root in enumerate(_roots(text, name)):
        start = f"{number}." if number else ""
        before = ""
        if own := _locale(root):
            before, found[f"{start}{ROOT}"] = f"{own.value}.", _span(own, shift)
        for node, _, path in _values(root, set(), False):
            first, last = _span(node, shift)
            first = _PROPERTIES.match(text, first, last).end()
            found[start + path.removeprefix(before)] = first, first + len(text[first:last].rstrip())
    return found


FORMATS = (Format("yaml", (".yaml", ".yml"), read, chosen_by="keys", values=values),)


def _roots(text: str, name: str) -> list[Any]:
    """The documents of a file. Raises `GlossaError`, with the line, if it is not YAML."""
    try:
        return list(yaml.compose_all(text.removeprefix("\ufeff"), LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        raise GlossaError(f"{name}{line}: not YAML: {reason}. Repair it.") from error
    except RecursionError as error:
        raise GlossaError(f"{name}: not YAML that can be read: it is nested too deeply. Flatten it.") from error


def _locale(root: Any) -> Any:
    """The only key of a file, if it is the code of a language, as in files of Rails; else None."""
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        return None
    own, inner = root.value[0]
    named = isinstance(own, yaml.ScalarNode) and isinstance(inner, yaml.MappingNode) and len(own.value) > 1
    return own if named and language_code(own.value) and len(re.split("[-_]", own.value)[0]) < 4 else None


def _span(node: Any, shift: int) -> tuple[int, int]:
    return node.start_mark.index + shift, node.end_mark.index + shift


def _add_forms(root: Any, document: Document, shift: int, target: str, chosen: set[int]) -> None:
    """Add the plural forms that mappings lack, as copies of the general form."""
    text, seen = document.text, set()
    line_end = "\r\n" if "\r\n" in text else "\n"
    locale = _locale(root)
    stack = [(root.value[0][1] if locale else root, "")]
    while stack:
        node, path = stack.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            stack += [(child, joined(path, number)) for number, child in enumerate(node.value)]
            continue
        stack += [(value, joined(path, key.value)) for key, value in node.value]
        by_name = {key.value: (key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        for name, missing in missing_keys(by_name, target):
            key, other = by_name[name]
            if id(other) not in chosen or other.style in ("|", ">") or other.start_mark.index < key.end_mark.index:
                continue
            start, end = _span(other, shift)
            start = _PROPERTIES.match(text, start, end).end()
            before = ", " if node.flow_style else line_end + " " * key.start_mark.column
            for each in missing:
                document.add_form(joined(path, each), Edit(end, end, [f"{before}{each}: ", (start, end)]))


def _values(node: Any, seen: set[int], flow: bool, path: str = "") -> Iterator[tuple[Any, bool, str]]:
    """The strings in a node except keys, with whether they are in brackets, and their dotted keys.

    A node that is repeated by an alias comes once.
    """
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        if node.tag == _STRING:
            yield node, flow, path
        return
    for number, child in enumerate(node.value):
        key, value = (number, child) if isinstance(node, yaml.SequenceNode) else (child[0].value, child[1])
        yield from _values(value, seen, flow or bool(node.flow_style), joined(path, key))


def _places(text: str, start: int, end: int, style: str | None, flow: bool) -> Iterator[Place]:
    start = _PROPERTIES.match(text, start, end).end()
    if style == '"':
        parts = cut(text, start + 1, end - 1, _DOUBLE_ESCAPE, _decode_double, collapse=False)
        yield from string_places(parts, text, _escape_double)
    elif style == "'":
        parts = cut(
            text, start + 1, end - 1, _SINGLE_ESCAPE, lambda raw: "'" if raw == "''" else _folded(raw), collapse=False
        )
        yield from string_places(parts, text, lambda new: new.replace("'", "''"))
    elif not style:
        parts = cut(text, start, end, _FOLD, _folded, collapse=False)
        for place in string_places(parts, text, str):
            layout = partial(_write_plain, text, (start, end), flow)
            yield replace(place, writing=replace(place.writing, layout=layout))
    else:
        yield from _block_places(text, start, end, style)


def _folded(raw: str) -> str:
    return "\n" if raw.count("\n") > 1 else " "


def _decode_double(raw: str) -> str:
    if raw[0] != "\\":
        return _folded(raw)
    if raw[1] in "\r\n":
        return ""
    return str(yaml.load(f'"{raw}"', LOADER))


def _escape_double(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _write_plain(text: str, span: tuple[int, int], flow: bool, place: Place, pieces: list[Piece]) -> list[Written]:
    """Write a value without quotes; it gets quotes if YAML would read its translation as another value."""
    written = place.escaped(pieces)
    new = as_string(written, text)
    if (place.start, place.end) != span or _is_plain(new, flow):
        return written
    return ["'" + new.replace("'", "''") + "'"]


def _is_plain(text: str, flow: bool) -> bool:
    """Whether YAML reads text without quotes as this text; with `flow`, in brackets."""
    try:
        return yaml.load(f"[{text}]" if flow else f"- {text}", LOADER) == [text]
    except yaml.YAMLError:
        return False


def _block_places(text: str, start: int, end: int, style: str) -> Iterator[Place]:
    """The lines of a literal block, or the paragraphs of a folded one."""
    body = text.index("\n", start) + 1
    lines = re.compile(r"[ \t]*(\S[^\n]*?)[ \t]*\r?(?:\n|\Z)")
    paragraph: list[tuple[int, int]] = []
    groups: list[list[tuple[int, int]]] = []
    position = body
    while position < end:
        found = lines.match(text, position, end)
        line_end = text.find("\n", position, end) + 1 or end
        if found and style == ">":
            paragraph.append(found.span(1))
        elif found:
            groups.append([found.span(1)])
        if not found and paragraph:
            groups.append(paragraph)
            paragraph = []
        position = line_end
    for group in [*groups, *([paragraph] if paragraph else [])]:
        parts: list[Part] = []
        for number, (first, last) in enumerate(group):
            if number:
                parts.append(Part("text", group[number - 1][1], first, " "))
            parts += cut(text, first, last, None, str, collapse=False)
        if is_text("".join(part.text for part in parts)) and (kept := trimmed(marked_parts(parts))):
            yield Place(kept, filling(text, spelled(kept, text, str)))
