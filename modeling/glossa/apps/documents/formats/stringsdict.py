"""Apple's .stringsdict: the plural forms of a property list."""

from collections.abc import Iterator

from ..places import Document, Edit
from .encoding import XML
from .format import Format, LanguagePair
from .keys import joined
from .language import CATEGORIES, plural_categories
from .printf import Printf
from .units import Units

FORMAT = "NSStringLocalizedFormatKey"
VARIABLE = r"%(?:\d+\$)?#@\w+@"  # in a format: the program writes a plural form in its place


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The formats and plural forms. Raises `GlossaError` if the file is not a property list."""
    units = Units(text, name, "plist")
    for path, pairs in _dicts(units):
        for value in _strings(units, path, pairs).values():
            units.document.places += units.string(value, named=False, printf=Printf(), kept=VARIABLE)
        if languages.target and "other" in pairs and units.tokens[pairs["other"][1]].name == "string":
            _add_forms(units, path, pairs, plural_categories(languages.target))
    return units.document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The content of each format and plural form, by its dotted keys."""
    units = Units(text, name, "plist")
    found = (_strings(units, *each) for each in _dicts(units))
    return {key: units.inside(value) for strings in found for key, value in strings.items()}


FORMATS = (Format("stringsdict", (".stringsdict",), read, XML, values=values),)
Pairs = dict[str, tuple[int, int]]  # the elements of each key and its value


def _dicts(units: Units) -> Iterator[tuple[str, Pairs]]:
    """The dictionaries with the dotted keys that lead to them."""
    stack = [("", index) for index in reversed(units.children(units.tokens.index(units.root), "dict"))]
    while stack:
        path, index = stack.pop()
        children = units.children(index)
        pairs = {units.content(key): (key, value) for key, value in zip(children[::2], children[1::2], strict=False)}
        yield path, pairs
        inner = [(joined(path, key), value) for key, (_, value) in pairs.items() if units.tokens[value].name == "dict"]
        stack += reversed(inner)


def _strings(units: Units, path: str, pairs: Pairs) -> dict[str, int]:
    """The formats and plural forms in a dictionary by their dotted keys."""
    wanted = ((key, value) for key, (_, value) in pairs.items() if key in (FORMAT, *CATEGORIES))
    return {joined(path, key): value for key, value in wanted if units.tokens[value].name == "string"}


def _add_forms(units: Units, path: str, pairs: Pairs, wanted: list[str]) -> None:
    """Add the plural forms that the language needs and the file lacks, as copies of the general form."""
    key, other = pairs["other"]
    missing = [category for category in wanted if category not in pairs]
    end = units.whole(other)[1]
    for category in missing:
        opened = f"{units.space_before(key)}<key>{category}</key>{units.space_before(other)}<string>"
        units.document.add_form(joined(path, category), Edit(end, end, [opened, units.inside(other), "</string>"]))
