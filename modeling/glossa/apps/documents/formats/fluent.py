"""Fluent: patterns of messages, terms and attributes, and the variants of their selections."""

import re
from collections.abc import Iterator
from typing import Any

from ....base.errors import GlossaError, require
from ....translate.texts.tags import Part
from ..places import Document, Place, Usage, Writing, has_words, line_numbers
from .format import Format, LanguagePair
from .strings import marked_parts
from .tokens import trimmed, with_text


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The texts of a file. Raises `GlossaError` with the line if it is not Fluent."""
    ast = require("fluent.syntax", "documents", "fluent.syntax", name).ast
    places = [place for _, pattern in _patterns(text, name) for place in _places(text, pattern, ast)]
    return Document(text, sorted(places, key=lambda place: place.start))


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters after the `=` of each message, term and attribute, by its name."""
    return {key: (text.rindex("=", 0, own.span.start) + 1, own.span.end) for key, own in _patterns(text, name)}


FORMATS = (Format("fluent", (".ftl",), read, values=values),)


def _patterns(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """The patterns of messages, terms and their attributes, by name."""
    syntax = require("fluent.syntax", "documents", "fluent.syntax", name)
    for entry in syntax.FluentParser(with_spans=True).parse(text).body:
        if isinstance(entry, syntax.ast.Junk):
            line = line_numbers(text)(entry.annotations[0].span.start)
            raise GlossaError(f"{name}, line {line}: not Fluent: {entry.annotations[0].message}. Repair it.")
        prefix = "-" if isinstance(entry, syntax.ast.Term) else ""
        for node in (entry, *getattr(entry, "attributes", ())):
            if isinstance(getattr(node, "value", None), syntax.ast.Pattern):
                attribute = "" if node is entry else f".{node.id.name}"
                yield f"{prefix}{entry.id.name}{attribute}", node.value


def _places(text: str, pattern: Any, ast: Any) -> Iterator[Place]:
    """The place of a pattern, in which expressions in braces are parts "alone", and the places of its variants."""
    parts: list[Part] = []
    for element in pattern.elements:
        start, end = element.span.start, element.span.end
        if isinstance(element, ast.TextElement):
            parts += _lines(text, start, end)
            continue
        selection = getattr(element, "expression", None)
        chosen = isinstance(selection, ast.SelectExpression)
        parts.append(Part("alone", start, end, "" if chosen else text[start:end]))
        for variant in selection.variants if chosen else ():
            yield from _places(text, variant.value, ast)
    kept = trimmed(marked_parts(parts))
    if has_words(kept):
        yield Place(kept, Writing(_escape), usage=Usage(label=True))


def _lines(text: str, start: int, end: int) -> list[Part]:
    """The lines of a text without their indentation."""
    ends = (Part("text", *found.span(), "\n") for found in re.compile(r"\n\s*").finditer(text, start, end))
    return with_text(ends, text, start, end)


def _escape(text: str) -> str:
    return text.replace("{", '{"{"}').replace("}", '{"}"}') if set(text) & {"{", "}"} else text
