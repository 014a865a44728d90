"""Translations of Qt: messages without a finished translation get one, others stay."""

from typing import TYPE_CHECKING

from ...errors import GlossaError
from ..places import Document, Edit
from .language import check_target, note_source
from .units import Units

if TYPE_CHECKING:
    from .opening import Languages

FINISHED = ("", "vanished", "obsolete")  # types of translations that stay


def read(text: str, name: str, languages: "Languages") -> Document:
    """The messages of a file that have no translation. Raises `GlossaError` if it is no such file."""
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise GlossaError(f"{name}, line 1: not a translation file of Qt. Programs in TypeScript are not translated.")
    units = Units(text, name)
    if units.root.name != "TS":
        raise GlossaError(f"{name}, line 1: the first element is {units.root.name}, not TS. Give --format.")
    root = units.tokens.index(units.root)
    given = units.given(root)
    check_target(name, given.get("language", ""), languages)
    note_source(units.document, name, given.get("sourcelanguage", ""), languages)
    if languages.target and not given.get("language"):
        units.set_attributes(root, {"language": languages.target.replace("-", "_")})
    for index, token in enumerate(units.tokens):
        if token.kind == "open" and token.name == "message":
            _fill(units, index)
    return units.document


def _fill(units: Units, index: int) -> None:
    source, target = units.child(index, "source"), units.child(index, "translation")
    if source is None or target is None or units.given(target).get("type", "") in FINISHED[1:]:
        return
    forms = units.children(target, "numerusform")
    texts = [units.content(form) for form in forms] or [units.content(target)]
    if any(text.strip() for text in texts):
        return
    own, end = units.inside(source), units.whole(target)[1]
    if not forms:
        units.fill(source, (units.tokens[target].start, end), "<translation>", "</translation>",
                   '<translation type="unfinished">')  # fmt: skip
        return
    start = units.tokens[target]
    units.document.edits.append(Edit(start.start, start.end, ["<translation>"]))
    doubt = [Edit(start.start, start.end, ['<translation type="unfinished">'])]
    for number, form in enumerate(forms):
        units.document.edits.append(Edit(*units.whole(form), ["<numerusform>", own, "</numerusform>"]))
        if not number:
            units.add_copied(source, doubt)
