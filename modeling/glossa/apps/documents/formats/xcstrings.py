"""String catalogs of Xcode: keys without a text in the target language get one."""

from collections.abc import Iterator

from ....base.errors import GlossaError
from ..places import Document, Edit, Written
from .format import Format, LanguagePair
from .json import Node, escape_for, read_nodes, value_places
from .language import note_added_forms, plural_categories
from .printf import Printf
from .stringsdict import VARIABLE


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The strings. Raises `GlossaError` if the file is not a catalog, or the target language is unknown."""
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
        if node.kind == "object":
            catalog.fill(node, strings.keys[str(key)])
    note_added_forms(catalog.document, name, catalog.added)
    return catalog.document


FORMATS = (Format("xcstrings", (".xcstrings",), read),)


class _Catalog:
    def __init__(self, text: str, source: str, target: str):
        self.text, self.source, self.target = text, source, target
        self.escape = escape_for(text)
        self.document = Document(text, [])
        self.added = 0

    def fill(self, node: Node, key: tuple[int, int]) -> None:
        """Add the translation of a string, unless it has one or must not be translated."""
        should = node.items.get("shouldTranslate")
        if should is not None and self.text[should.start : should.end] == "false":
            return
        localizations = node.items.get("localizations")
        known = {} if localizations is None else localizations.items
        if self.target in known:
            return
        own = known.get(self.source)
        value = Node("string", *key)  # without a source text, the key is translated
        self._translate([value] if own is None else list(self._values(own)))
        copied: list[Written] = [(own.start, own.end)] if own else self._unit(key)
        written: list[Written] = [f'"{self.target}" : ', *copied]
        if known:
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
        return ['{ "stringUnit" : { "state" : "translated", "value" : ', key, " } }"]

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
