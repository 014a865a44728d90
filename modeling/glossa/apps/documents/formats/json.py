"""JSON: the values that are texts, without keys."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ....base.errors import GlossaError
from ..places import Document, Edit, Place, Written
from .format import Format, LanguagePair
from .keys import Keys, joined
from .language import missing_keys, translated_language
from .strings import string_places
from .tokens import cut

INDENT = 200  # characters before a key that are searched for its indentation
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]+', re.S)
# A name in braces and quotes. Without the quotes next to the braces, ICU would read it as an argument.
_QUOTED = r"'\{+[^{}']*\}+'"
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


@dataclass
class Node:
    """A value and its characters.

    Attributes:
        kind: "object", "array", "string", or "other", such as a number.
        start: Its first character.
        end: The one after its last.
        items: The values of an array, or of an object by key.
        keys: The characters of each key.
    """

    kind: str
    start: int
    end: int = 0
    items: "dict[str | int, Node]" = field(default_factory=dict)
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)


def read(text: str, name: str, languages: LanguagePair, keys: Keys | None = None) -> Document:
    """The values that `keys` choose; without `keys`, all except metadata under keys that begin with @, as in ARB.

    Plural forms that the language needs are added, and `@@locale` of ARB becomes the target language.
    """
    document = Document(text, [])
    escape = escape_for(text)
    root = read_nodes(text, name)
    nodes = [node for node, _ in _strings(root, keys)]
    for node in nodes:
        document.places += value_places(text, node, escape, kept=_QUOTED)
    chosen = {node.start for node in nodes}
    for each in _all(root) if languages.target else ():
        _add_forms(document, *each, str(languages.target), chosen)
    locale = root.items.get("@@locale")
    if locale and (new := translated_language(text[locale.start + 1 : locale.end - 1], languages)):
        document.edits.append(Edit(locale.start, locale.end, [f'"{new.replace("-", "_")}"']))
    return document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each string, by its dotted keys; metadata of ARB is left out."""
    return {path: (node.start, node.end) for node, path in _strings(read_nodes(text, name), None)}


FORMATS = (Format("json", (".json", ".arb"), read, chosen_by="keys", values=values),)


def _all(root: Node) -> Iterator[tuple[Node, str]]:
    """All values with their dotted keys."""
    stack = [(root, "")]
    while stack:
        node, path = stack.pop()
        stack += [(child, joined(path, key)) for key, child in node.items.items()]
        yield node, path


def _add_forms(document: Document, node: Node, path: str, target: str, chosen: set[int]) -> None:
    """Add the plural forms that an object lacks, as copies of the general form."""
    for key, missing in missing_keys(node.keys, target):
        other, (start, end) = node.items[key], node.keys[key]
        if other.start not in chosen:
            continue
        before = document.text[max(start - INDENT, 0) : start]
        space, colon = before[len(before.rstrip()) :], document.text[end : other.start]
        for each in missing:
            written: list[Written] = [f',{space}"{each}"{colon}', (other.start, other.end)]
            document.add_form(joined(path, each), Edit(other.end, other.end, written))


def read_nodes(text: str, name: str) -> Node:
    """The values of a file with their positions. Raises `GlossaError`, with the line, if it is not JSON."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise GlossaError(f"{name}: not JSON: {error}. Repair it.") from error
    except RecursionError as error:
        raise GlossaError(f"{name}: not JSON that can be read: it is nested too deeply. Flatten it.") from error
    root = Node("array", 0, len(text))
    stack, key = [root], ""
    key_span: tuple[int, int] | None = None
    for found in _TOKEN.finditer(text, text.startswith("\ufeff")):
        token, parent = found[0], stack[-1]
        if token in "}]":
            stack.pop().end = found.end()
        elif token == ",":
            key_span = None
        elif parent.kind == "object" and key_span is None:
            key, key_span = json.loads(token), found.span()
        elif token != ":":
            kind = {"{": "object", "[": "array", '"': "string"}.get(token[0], "other")
            node = Node(kind, *found.span())
            if parent.kind == "object" and key_span:
                parent.keys[key] = key_span
            parent.items[key if parent.kind == "object" else len(parent.items)] = node
            if kind in ("object", "array"):
                stack.append(node)
                key_span = None
    return root.items[0]


def _strings(node: Node, keys: Keys | None) -> Iterator[tuple[Node, str]]:
    """The strings of a file with their dotted keys, in order."""
    stack = [(node, "")]
    while stack:
        node, path = stack.pop()
        if node.kind == "string" and (keys is None or keys.chosen(path)):
            yield node, path
        inner = [item for item in node.items.items() if keys is not None or not str(item[0]).startswith("@")]
        stack += [(child, joined(path, key)) for key, child in reversed(inner)]


def value_places(text: str, node: Node, escape: Callable[[str], str], **options) -> Iterator[Place]:
    """The places of a string; `options` are those of [`string_places`]."""
    parts = cut(text, node.start + 1, node.end - 1, _ESCAPE, decode, collapse=False)
    yield from string_places(parts, text, escape, **options)


def decode(escape: str) -> str:
    """The character of an escape sequence."""
    return json.loads(f'"{escape}"')


def escape_for(text: str) -> Callable[[str], str]:
    """A function that escapes strings. It escapes other characters than ASCII if the document escapes all of them."""
    ascii_only = text.isascii() and "\\u" in text
    return lambda new: json.dumps(new, ensure_ascii=ascii_only)[1:-1]
