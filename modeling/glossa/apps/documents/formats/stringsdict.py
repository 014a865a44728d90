"""Apple's .stringsdict: the plural forms of a property list."""

from ..places import Document, Edit
from .encoding import XML
from .format import Format, LanguagePair
from .language import CATEGORIES, note_added_forms, plural_categories
from .printf import Printf
from .units import Units

FORMAT = "NSStringLocalizedFormatKey"
VARIABLE = r"%(?:\d+\$)?#@\w+@"  # in a format: the program writes a plural form in its place


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The formats and plural forms. Raises `GlossaError` if the file is not a property list."""
    units = Units(text, name, "plist")
    added = 0
    for index, token in enumerate(units.tokens):
        if token.kind != "open" or token.name != "dict":
            continue
        children = units.children(index)
        pairs = {units.content(key): (key, value) for key, value in zip(children[::2], children[1::2], strict=False)}
        for key, (_, value) in pairs.items():
            if units.tokens[value].name == "string" and key in (FORMAT, *CATEGORIES):
                units.document.places += units.string(value, named=False, printf=Printf(), kept=VARIABLE)
        if languages.target and "other" in pairs and units.tokens[pairs["other"][1]].name == "string":
            added += _add_forms(units, pairs, plural_categories(languages.target))
    note_added_forms(units.document, name, added)
    return units.document


FORMATS = (Format("stringsdict", (".stringsdict",), read, XML),)


def _add_forms(units: Units, pairs: dict[str, tuple[int, int]], wanted: list[str]) -> int:
    """Add the plural forms that the language needs and the file lacks, as copies of the general form.

    Returns the number of added forms.
    """
    key, other = pairs["other"]
    missing = [category for category in wanted if category not in pairs]
    end = units.whole(other)[1]
    for category in missing:
        opened = f"{units.space_before(key)}<key>{category}</key>{units.space_before(other)}<string>"
        units.document.edits.append(Edit(end, end, [opened, units.inside(other), "</string>"]))
    return len(missing)
