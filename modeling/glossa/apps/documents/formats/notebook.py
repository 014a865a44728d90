"""Jupyter notebooks: the Markdown cells, without code, outputs and metadata."""

import json
from pathlib import Path

from ....base.errors import GlossaError
from ..places import Document, Edit, compose
from . import markdown
from .encoding import UTF_8
from .format import Format, LanguagePair, Opened
from .json import Node, escape_for, read_nodes


def open_notebook(content: bytes, path: Path, languages: LanguagePair) -> Opened:
    """The Markdown cells of a notebook. Raises `GlossaError` if the file is no notebook."""
    text, encoding, _ = UTF_8.decode(content, path)
    cells, places = _read_cells(text, str(path), languages)
    return Opened(cells, lambda texts: UTF_8.encode(_written(text, cells, places, texts), path, encoding))


FORMATS = (Format("ipynb", (".ipynb",), open=open_notebook),)


def _read_cells(text: str, name: str, languages: LanguagePair) -> tuple[list[Document], list[Node]]:
    """The text of each Markdown cell, and its value in the file."""
    root = read_nodes(text, name)
    cells = root.items.get("cells")
    if cells is None or cells.kind != "array":
        raise GlossaError(f"{name}: not a notebook of version 4: it has no cells. Open it in Jupyter and save it.")
    documents, places = [], []
    for number, cell in enumerate(cells.items.values(), 1):
        kind, source = cell.items.get("cell_type"), cell.items.get("source")
        if kind is None or source is None or text[kind.start : kind.end] != '"markdown"':
            continue
        content = json.loads(text[source.start : source.end])
        lines = [content] if isinstance(content, str) else content
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise GlossaError(
                f"{name}, cell {number}: its source is neither a text nor a list of lines. Open the notebook in "
                "Jupyter and save it."
            )
        content = "".join(lines)
        documents.append(markdown.read(content, f"{name}, cell {number}", languages))
        places.append(source)
    return documents, places


def _written(text: str, old: list[Document], places: list[Node], new: list[str]) -> str:
    """The notebook with new texts in its Markdown cells. Unchanged cells keep their spelling."""
    escape = escape_for(text)
    edits = []
    for document, place, content in zip(old, places, new, strict=True):
        if content == document.text:
            continue
        if place.kind == "string":
            edits.append(Edit(place.start, place.end, [f'"{escape(content)}"']))
            continue
        first = next(iter(place.items.values()))
        between = text[place.start + 1 : first.start]  # the indentation of a line
        lines = f",{between}".join(f'"{escape(line)}"' for line in content.splitlines(keepends=True))
        last = list(place.items.values())[-1]
        edits.append(Edit(first.start, last.end, [lines]))
    return compose(text, edits)
