"""Resources of .NET: the values of strings, in .resx and .resw."""

from dataclasses import replace

from ..places import Document
from .encoding import XML
from .format import Format, LanguagePair
from .units import Units


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The strings, without images, types and names of controls. Raises `GlossaError` for other files."""
    units = Units(text, name, "root")
    for value in _values(units).values():
        units.document.places += units.string(value, accelerators="&")
    return units.document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each string, by its name."""
    units = Units(text, name, "root")
    return {key: units.inside(value) for key, value in _values(units).items()}


def _values(units: Units) -> dict[str, int]:
    """The index of each string, by its name."""
    found = {}
    for index in units.children(units.tokens.index(units.root), "data"):
        given, value = units.given(index), units.child(index, "value")
        key = given.get("name", "")
        if value is not None and not {"type", "mimetype"} & given.keys() and not key.startswith(">>"):
            found[f"{key} {index}" if key in found else key] = value
    return found


FORMATS = (Format("resx", (".resx", ".resw"), read, replace(XML, utf_16=True), values=values),)
