"""Readers of formats that need a library, and of JSON arrays. Rows are as in `reading`.

XML is read unit by unit, JSON object by object and a sheet row by row, so memory does not grow with the file.
"""

import codecs
import io
import json
import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ..base.errors import GlossaError, require
from . import po
from .columns import HEADER, OTHER_LANGUAGE, OTHER_VARIANT, UNTRANSLATED, Columns, Row, keyed_pair, role_of
from .files import BOM, damage_refused, open_binary, wrong_encoding
from .segments import local_name, texts

logger = logging.getLogger(__name__)

Record = tuple[int, list[str], str, str]  # line, fields, raw text, problem
LONGEST = 1 << 20  # maximum characters of a JSON object
LARGEST = 100 << 20  # maximum decompressed bytes of a file that is read as a whole
ROOTS, UNITS = ("{*}tmx", "{*}xliff"), ("{*}tu", "{*}trans-unit", "{*}unit")  # in any namespace
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CHARSET = re.compile(rb"Content-Type:[^\n]*?charset=([\w.:-]+)", re.I)
_SPACE = re.compile(r"[ \t\n\r]*")


def _too_large(path: Path, advice: str) -> GlossaError:
    return GlossaError(f"{path} has over {LARGEST >> 20} MiB decompressed, too much to read as a whole. {advice}")


def is_json_array(path: Path) -> bool:
    """Whether a JSON file is a single array rather than one object per line."""
    with open_binary(path) as file:
        return file.read(1 << 16).removeprefix(BOM).lstrip().startswith(b"[")


def read_json_array(path: Path, columns: Columns) -> Iterator[Row]:
    """Rows of a JSON array of objects. The line of a row is the number of its object.

    Raises `GlossaError` if the array is not JSON or an object has over `LONGEST` characters, since the next object
    cannot be found then.
    """
    with open_binary(path) as file:
        for number, record in enumerate(_items(path, io.TextIOWrapper(file, "utf-8-sig")), 1):
            source, target, problem = keyed_pair(record, columns)
            yield json.dumps(record) if problem else source, target, number, problem


def _items(path: Path, file: TextIO) -> Iterator[object]:
    decoder, text, start, lines = json.JSONDecoder(), "", 0, 1

    def following() -> str:
        """The next character that is not white space. Reads enough text for the next item to be complete."""
        nonlocal text, start, lines
        if len(text) - start < LONGEST:
            lines += text.count("\n", 0, start)
            text, start = text[start:] + file.read(LONGEST), 0
        start = _SPACE.match(text, start).end()
        return text[start : start + 1]

    def broken(reason: str) -> GlossaError:
        line = lines + text.count("\n", 0, start)
        return GlossaError(
            f"{path}, line {line}: not JSON, or over {LONGEST} characters in one object: {reason}. Correct it, or "
            "write one object per line as .jsonl, where only the invalid line is lost."
        )

    following()
    start += 1  # the bracket that `is_json_array` has seen
    closed = following() == "]"
    while not closed:
        try:
            item, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            raise broken("nested too deeply" if deep else getattr(error, "msg", str(error))) from error
        yield item
        if (mark := following()) not in (",", "]") or not mark:
            raise broken(f"expected , or ] but found {mark!r}")
        closed = mark == "]"
        if not closed:
            start += 1
            following()
    start += 1
    if rest := following():
        raise broken(f"expected the end of the file but found {rest!r}")


def excel_records(path: Path) -> Iterator[Record]:
    """Records of an .xlsx file with rows in one sheet. Numbers and dates are read as text, formulas as their results.

    Raises `GlossaError` if the file is damaged or too large, or if several sheets have rows.
    """
    openpyxl = require("openpyxl", "formats", file=path)
    require("defusedxml", "formats", file=path)  # with it, openpyxl refuses entities
    with damage_refused(path):
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > LARGEST:
                raise _too_large(path, "Save its sheet as .csv.")
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            yield from _sheet_records(path, book)
        except (KeyError, SyntaxError, ValueError) as error:  # a part is missing, not XML or has entities
            raise ValueError(f"not a workbook: {error.__context__ or error}") from error


def _sheet_records(path: Path, book) -> Iterator[Record]:
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the size that the file declares may be wrong
    sheets = [sheet for sheet in book.worksheets if any(map(_cells, sheet.iter_rows(values_only=True)))]
    if len(sheets) > 1:
        raise GlossaError(
            f"{path} has rows in {len(sheets)} sheets: {[sheet.title for sheet in sheets]}. Only one is supported. "
            "Save each sheet as a separate file."
        )
    width = 0
    for number, values in enumerate(sheets[0].iter_rows(values_only=True) if sheets else (), 1):
        cells = _cells(values)
        width = width or len(cells)
        # Rows with empty last cells are padded to the common width.
        yield number, cells + [""] * (width - len(cells)) if cells else [], "\t".join(cells), ""
    book.close()


def _cells(values: tuple) -> list[str]:
    """The cells of a row as text, without trailing empty cells."""
    cells = ["" if value is None else _unescaped(str(value)) for value in values]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _unescaped(text: str) -> str:
    """Decode characters that XML cannot represent, written as `_x000D_` (ECMA-376, part 1, ST_Xstring)."""
    if "_x" not in text:
        return text
    found = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs of codes are one character


def read_xml(path: Path, columns: Columns) -> Iterator[Row]:
    """Rows of a .tmx or .xliff (1.2 or 2.0). The line of a row is the number of the unit (XLIFF 2.0: the segment).

    A language with a region matches the language: "en-US" matches "en". A unit that lacks one of the languages or a
    finished translation is set aside. Further variants of a language in a unit are set aside too, each as a row, and a
    warning names them. Raises `GlossaError` if the file is not XML or declares entities.
    """
    variants: dict[str, int] = {}
    number = 0
    for element in unit_elements(path):
        for sides in _units(element):
            number += 1
            present = [language for language, node in sides[0] if node is not None]
            yield _unit_row(*sides, number, columns)
            for variant in columns.variants(present):
                variants[variant] = variants.get(variant, 0) + 1
                yield variant, "", number, f"{OTHER_VARIANT}: {variant}"
    if variants:
        _warn_of(path, variants, columns)


def unit_elements(path: Path) -> Iterator[Any]:
    """Yield the unit elements of a .tmx or .xliff. An element is cleared when the next one is read.

    Raises `GlossaError` if the file is not XML or declares entities.
    """
    etree = require("lxml.etree", "formats", file=path)
    with open_binary(path) as file:
        events = etree.iterparse(
            file, ("start", "end"), tag=(*ROOTS, *UNITS), resolve_entities=False, no_network=True, load_dtd=False
        )
        try:
            for event, element in events:
                if event == "start" and element.getparent() is None:
                    _refuse_entities(path, element.getroottree().docinfo.internalDTD)
                elif event == "end" and "{*}" + local_name(element) in UNITS:
                    yield element
                    _forget(element)
        except etree.XMLSyntaxError as error:
            reason = " ".join(error.msg.split())
            raise GlossaError(f"{path} is not XML: {reason}. Correct it, or export it again.") from error


def _warn_of(path: Path, variants: dict[str, int], columns: Columns) -> None:
    """Log a warning about variants of a language that were not read, with the option to read them."""
    for side, wanted in zip(("source", "target"), columns.names[0], strict=True):
        own = [name for name in variants if role_of(name) == role_of(wanted)]
        if own:
            logger.warning(
                "%s: %d texts are in variants of %r that were not read. To read another variant: %s.",
                path, sum(variants[name] for name in own), wanted,
                " or ".join(f"--{side}_language {name}" for name in own),
            )  # fmt: skip


def _refuse_entities(path: Path, document_type) -> None:
    names = [entity.name for entity in document_type.iterentities()] if document_type is not None else []
    if names:
        raise GlossaError(
            f"{path} declares the entities {names[:10]}, which are not supported because they can include other files "
            "or exhaust memory. Replace them with their text, and remove the declarations."
        )


def _forget(element) -> None:
    """Free a unit and all elements before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


Side = tuple[str, Any]  # language ("" if unknown), and the element with the text or None


def _units(element) -> Iterator[tuple[list[Side], str]]:
    """The sides of each pair in a unit, and the reason why its translation is not finished or ""."""
    if local_name(element) == "tu":
        variants = element.iterchildren("{*}tuv")
        yield [(tuv.get(LANGUAGE) or tuv.get("lang", ""), tuv.find("{*}seg")) for tuv in variants], ""
        return
    languages = _outer(element, "source-language", "srcLang"), _outer(element, "target-language", "trgLang")
    fixed = "translate" if _outer(element, "translate") == "no" else ""
    for segment in element.iterchildren("{*}segment") if local_name(element) == "unit" else [element]:
        nodes = segment.find("{*}source"), segment.find("{*}target")
        sides = [
            (language if node is None else node.get(LANGUAGE) or language, node)
            for language, node in zip(languages, nodes, strict=True)
        ]
        yield sides, "not to be translated" if fixed else _unfinished(segment, nodes[1])


def _unfinished(segment, translation) -> str:
    """The reason why the translation of an XLIFF segment is not finished; "" if it is."""
    if segment.get("approved") == "no":
        return "not approved"
    state = segment.get("state") or ("" if translation is None else translation.get("state", ""))
    if state in ("new", "initial") or state.startswith("needs-"):
        return f"its state is {state!r}"
    qualifier = "" if translation is None else translation.get("state-qualifier", "")
    return f"its state is {qualifier!r}" if qualifier.startswith("rejected") else ""


def _outer(element, *names: str) -> str:
    """The first of the attributes `names` that an element or its nearest ancestor has; "" without one."""
    nodes = (element, *element.iterancestors())
    return next((node.get(name) for node in nodes for name in names if node.get(name)), "")


def _unit_row(sides: list[Side], unfinished: str, number: int, columns: Columns) -> Row:
    sides = _completed(sides, columns)
    present = [language for language, node in sides if node is not None]
    nodes = [node for _, node in sides if node is not None]
    found, plain = columns.choose(present), columns.choose([language for language, _ in sides])
    problem = f"{UNTRANSLATED}: {unfinished}" if unfinished else ""
    if not (found or plain):
        alone = len(set(present)) < 2
        what = UNTRANSLATED if alone and columns.names_one_of(present) else OTHER_LANGUAGE
        problem = f"{what}: no pair of {' and '.join(map(repr, columns.names[0]))}; the languages are {present}"
    elif any(map(_has_entity, nodes)):
        problem = "an entity, which is not supported"
    elif not found:
        problem = problem or f"{UNTRANSLATED}: it has no translation"
    elif any(present.count(name) > 1 for name in found):
        problem = f"two texts in one language; the languages are {present}"
    if problem:
        return " ".join(texts(nodes)), "", number, problem
    source, target = texts([nodes[present.index(name)] for name in found])
    if not target.strip():
        return source, "", number, f"{UNTRANSLATED}: its translation is empty"
    return source, target, number, ""


def _completed(sides: list[Side], columns: Columns) -> list[Side]:
    """Fill in the language of a side without one: of the two languages, it is the other one."""
    unknown = [place for place, (language, _) in enumerate(sides) if not language]
    if len(sides) != 2 or len(unknown) != 1:
        return sides
    known = sides[1 - unknown[0]][0]
    other = next((name for name in columns.names[0] if columns.find([known, name])), "")
    return [(language or other, node) for language, node in sides]


def _has_entity(node) -> bool:
    return any(not isinstance(child.tag, str) and hasattr(child, "name") for child in node.iter())


def read_po(path: Path, columns: Columns) -> Iterator[Row]:
    """Rows of a .po. The line of a row is the number of its entry, without the header.

    The translations are in the language of the header (by default the target language), the `msgid` texts in the other
    language. Of plural forms, the last is paired with `msgid_plural`. Entries that are fuzzy, obsolete or untranslated
    are set aside. Raises `GlossaError` for an invalid file, or one in a third language.
    """
    text, reverse, number = read_catalog(path), False, 0
    for entry in po.entries(text, str(path)):
        if entry.is_header:
            header = po.field_text(text, entry.fields.get("msgstr"))
            language = re.search(r"^Language:[ \t]*(\S*)", header, re.M)
            reverse = _is_reverse(path, language[1] if language else "", columns)
            yield header, "", 0, HEADER
            continue
        number += 1
        forms = entry.translations
        source = po.field_text(text, entry.fields.get("msgid_plural") or entry.fields.get("msgid"))
        translation = po.field_text(text, forms[max(forms)] if forms else None)
        problem = "" if translation.strip() else "its translation is empty"
        fuzzy = any("fuzzy" in po.flags_of(text[slice(*line)]) for line in entry.flags)
        problem = "it is fuzzy" if fuzzy else "it is obsolete" if entry.is_obsolete else problem
        if problem:
            yield source, "", number, f"{UNTRANSLATED}: {problem}"
        else:
            yield *((translation, source) if reverse else (source, translation)), number, ""


def read_catalog(path: Path) -> str:
    """The text of a .po, decoded as its header declares. Raises `GlossaError` if it is too large or not decodable."""
    with open_binary(path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise _too_large(path, "Split it.")
    declared = _CHARSET.search(content[: 1 << 16])
    name = declared[1].decode() if declared else "UTF-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:  # such as CHARSET, the placeholder in a new catalog
        codec = "utf-8"
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise wrong_encoding(path, line, f"it is not {name}, as the header declares", "WINDOWS-1252") from error


def _is_reverse(path: Path, language: str, columns: Columns) -> bool:
    """Whether the translations of a .po in `language` are the source."""
    source, target = columns.names[0]
    if not language or columns.find([source, language]):
        return False
    if columns.find([language, target]):
        return True
    raise GlossaError(
        f"{path}: its translations are in {language!r}, which is neither {source!r} nor {target!r}. Set "
        "source_language and target_language to the languages of the file."
    )
