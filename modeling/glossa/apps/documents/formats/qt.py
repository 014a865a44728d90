"""Translation files of Qt: messages without a finished translation get one."""

import codecs
from collections.abc import Iterator, Sequence

from ....base.errors import GlossaError
from ..places import Document, Edit
from .encoding import XML
from .format import FUZZY, UNTRANSLATED, Bilingual, Format, LanguagePair, TextPair
from .language import check_target, note_added_forms, note_source, plural_rule
from .units import Units

FINISHED = ("", "vanished", "obsolete")  # types of translations that stay


def read(text: str, name: str, languages: LanguagePair, only: Sequence[str] = (UNTRANSLATED,)) -> Document:
    """The messages without a translation or with an unfinished one, as in `only`.

    Raises `GlossaError` if the file is not a translation file of Qt.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise GlossaError(f"{name}, line 1: not a translation file of Qt. Leave programs in TypeScript out.")
    units = Units(text, name, "TS")
    root = units.tokens.index(units.root)
    given = units.given(root)
    empty = not any(
        units.content(index).strip()
        for index, token in enumerate(units.tokens)
        if token.kind == "open" and token.name in ("translation", "numerusform")
    )
    note_source(units.document, name, given.get("sourcelanguage", ""), languages)
    if check_target(name, given.get("language", ""), languages, empty) and languages.target:
        units.document.edits.append(units.edit_of(root, {"language": languages.target.replace("-", "_")}))
    count = plural_rule(languages.target)[0] if languages.target else 0
    note_added_forms(units.document, name, sum(_fill(units, index, count, only) for index in _messages(units)))
    return units.document


def read_pairs(text: str, name: str, languages: LanguagePair) -> Bilingual:
    """The messages that programs still use; each plural form is a pair."""
    units = Units(text, name, "TS")
    root, pairs = units.tokens.index(units.root), []
    for around in units.children(root, "context"):
        for index in units.children(around, "message"):
            source, target = units.child(index, "source"), units.child(index, "translation")
            kind = "" if target is None else units.given(target).get("type", "")
            if source is None or target is None or kind in FINISHED[1:]:
                continue
            context = (
                f"{units.shown(units.child(around, 'name'))} {units.shown(units.child(index, 'comment'))}".strip()
            )
            line = units.line_number(units.tokens[index].start)
            for form in units.children(target, "numerusform") or [target]:
                own = units.shown(source)
                several = "" if form == target else own  # any form may be for one: the rule is in the program
                pairs.append(TextPair(line, own, units.shown(form), context, kind, several))
    given = units.given(root)
    codes = languages.source or given.get("sourcelanguage"), languages.target or given.get("language")
    return Bilingual(LanguagePair(*codes), pairs)


def _messages(units: Units) -> Iterator[int]:
    return (index for index, token in enumerate(units.tokens) if token.kind == "open" and token.name == "message")


def _is_xml(start: bytes) -> bool:
    """Whether a file is XML. Programs in TypeScript have the same ending."""
    return start.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<")


FORMATS = (Format("ts", (".ts",), read, XML, chosen_by="only", pairs=read_pairs, recognizes=_is_xml),)


def _fill(units: Units, index: int, count: int, only: Sequence[str]) -> int:
    """Translate a message, with `count` plural forms if it has plural forms. Returns the number of added forms."""
    source, target = units.child(index, "source"), units.child(index, "translation")
    if source is None or target is None or units.given(target).get("type", "") in FINISHED[1:]:
        return 0
    forms = units.children(target, "numerusform")
    texts = [units.content(form) for form in forms] or [units.content(target)]
    state = UNTRANSLATED
    if any(text.strip() for text in texts):
        state = FUZZY if units.given(target).get("type") == "unfinished" else ""
    if state not in only:
        return 0
    own, end = units.inside(source), units.whole(target)[1]
    if not forms:
        units.fill(source, (units.tokens[target].start, end), "<translation>", "</translation>",
                   '<translation type="unfinished">')  # fmt: skip
        return 0
    start = units.tokens[target]
    units.document.edits.append(Edit(start.start, start.end, ["<translation>"]))
    doubt = [Edit(start.start, start.end, ['<translation type="unfinished">'])]
    for number, form in enumerate(forms):
        units.document.edits.append(Edit(*units.whole(form), ["<numerusform>", own, "</numerusform>"]))
        if not number:
            units.add_copied(source, doubt)
    space, last = units.space_before(forms[-1]), units.whole(forms[-1])[1]
    added = max(count - len(forms), 0)
    written = [piece for _ in range(added) for piece in (f"{space}<numerusform>", own, "</numerusform>")]
    units.document.edits += [Edit(last, last, written)] if added else []
    return added
