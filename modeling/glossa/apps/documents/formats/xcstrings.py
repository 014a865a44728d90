"""String catalogs of Xcode: keys without a text in the target language get one."""

import re
from collections.abc import Iterator, Sequence

from ....base.errors import GlossaError
from ..places import Document, Edit, Review, Written, line_numbers
from .format import FUZZY, UNTRANSLATED, Format, LanguagePair
from .json import Node, escape_for, read_nodes, value_places
from .language import note_added_forms, plural_categories
from .printf import Printf
from .stringsdict import VARIABLE

_DONE, _REVIEW = '"translated"', '"needs_review"'  # states
_STATE = re.compile(r'"state"\s*:\s*("[^"]*")')
_REVIEWED = re.compile(r'"state"\s*:\s*"(?:needs_review|new)"')


def read(text: str, name: str, languages: LanguagePair, only: Sequence[str] = (UNTRANSLATED,)) -> Document:
    """The strings without a translation, or with one that needs review, as in `only`.

    Raises `GlossaError` if the file is not a catalog, or the target language is unknown.
    """
    root = read_nodes(text, name)
    strings, source = root.items.get("strings"), root.items.get("sourceLanguage")
    if strings is None or strings.kind != "object" or source is None:
        raise GlossaError(f"{name}: not a string catalog: it has no strings and sourceLanguage. Give --format json.")
    if languages.target is None:
        raise GlossaError(
            f"{name}: translations in a catalog have the code of their language, which is unknown. Give "
            "--target_language, such as fr."
        )
    catalog = _Catalog(text, text[source.start + 1 : source.end - 1], languages.target.replace("_", "-"))
    for key, node in strings.items.items():
        localizations = node.items.get("localizations")
        if localizations is not None and localizations.kind != "object":
            line = line_numbers(text)(localizations.start)
            raise GlossaError(f"{name}, line {line}: the localizations of a string are no object. Repair the file.")
        if node.kind == "object":
            catalog.fill(node, strings.keys[str(key)], only)
    note_added_forms(catalog.document, name, catalog.added)
    return catalog.document


FORMATS = (Format("xcstrings", (".xcstrings",), read, chosen_by="only"),)


class _Catalog:
    def __init__(self, text: str, source: str, target: str):
        self.text, self.source, self.target = text, source, target
        self.escape = escape_for(text)
        self.document = Document(text, [])
        self.added = 0

    def fill(self, node: Node, key: tuple[int, int], only: Sequence[str]) -> None:
        """Add the translation of a string, unless it has one or must not be translated."""
        should = node.items.get("shouldTranslate")
        if should is not None and self.text[should.start : should.end] == "false":
            return
        localizations = node.items.get("localizations")
        known = {} if localizations is None else localizations.items
        there = known.get(self.target)
        if there is not None and not (FUZZY in only and _REVIEWED.search(self.text, there.start, there.end)):
            return
        if there is None and UNTRANSLATED not in only:
            return
        own = known.get(self.source)
        first = len(self.document.places)
        value = Node("string", *key)  # without a source text, the key is translated
        self._translate([value] if own is None else list(self._values(own)))
        states = [] if own is None else list(_STATE.finditer(self.text, own.start, own.end))
        copied: list[Written] = [(own.start, own.end)] if own else self._unit(key)
        written: list[Written] = [f'"{self.target}" : ', *copied]
        self._insert(node, written if there is None else copied, there)
        doubt = [Edit(*each.span(1), [_REVIEW], copied=True) for each in states]
        if own is None:
            last = self.document.edits[-1]
            new = [_REVIEW.join(each.split(_DONE)) if isinstance(each, str) else each for each in last.written]
            doubt = [last._replace(written=new)]
        for place in self.document.places[first:]:
            place.review = Review(doubt)

    def _insert(self, node: Node, written: list[Written], there: Node | None) -> None:
        """Write a localization of a string, or the content of the one that is there."""
        localizations = node.items.get("localizations")
        known = {} if localizations is None else localizations.items
        if there is not None:
            self.document.edits.append(Edit(there.start, there.end, written))
        elif known:
            assert localizations is not None
            first = localizations.keys[next(iter(localizations.keys))][0]
            space = self.text[self.text.rfind("\n", 0, first) :][: first - self.text.rfind("\n", 0, first)]
            self.document.edits.append(Edit(first, first, [*written, "," + (space if space.isspace() else " ")]))
        elif localizations is not None:
            self.document.edits.append(Edit(localizations.start, localizations.end, ["{ ", *written, " }"]))
        else:
            comma = "," if node.items else ""
            at = node.start + 1
            self.document.edits.append(Edit(at, at, [' "localizations" : { ', *written, f" }}{comma}"]))

    def _unit(self, key: tuple[int, int]) -> list[Written]:
        return [f'{{ "stringUnit" : {{ "state" : {_DONE}, "value" : ', key, " } }"]

    def _values(self, node: Node) -> Iterator[Node]:
        """The strings of a localization."""
        for key, child in node.items.items():
            if child.kind == "string" and key == "value":
                yield child
            if key == "plural":
                self._add_forms(child)
            yield from self._values(child)

    def _translate(self, values: list[Node]) -> None:
        for value in values:
            for place in value_places(self.text, value, self.escape, named=False, printf=Printf(), kept=VARIABLE):
                place.copied = True
                self.document.places.append(place)

    def _add_forms(self, node: Node) -> None:
        """Add the plural forms that the language needs and the source lacks to the copy."""
        other = node.items.get("other")
        missing = [each for each in plural_categories(self.target) if other and each not in node.items]
        self.added += len(missing)
        for category in missing:
            written: list[Written] = [f', "{category}" : ', (other.start, other.end)]
            self.document.edits.append(Edit(other.end, other.end, written, copied=True))
