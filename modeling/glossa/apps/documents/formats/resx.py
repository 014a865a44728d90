"""Resources of .NET: the values of strings, in .resx and .resw."""

from dataclasses import replace

from ....base.errors import GlossaError
from ..places import Document
from .encoding import XML
from .format import Format, LanguagePair
from .units import Units


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The strings of a file; no images, types or names of controls. Raises `GlossaError` if it is no such file."""
    units = Units(text, name)
    if units.root.name != "root":
        raise GlossaError(f"{name}, line 1: the first element is {units.root.name}, not root. Give --format.")
    for index in units.children(units.tokens.index(units.root), "data"):
        given = units.given(index)
        value = units.child(index, "value")
        if (
            value is not None
            and not {"type", "mimetype"} & given.keys()
            and not given.get("name", "").startswith(">>")
        ):
            units.document.places += units.string(value, accelerators="&")
    return units.document


FORMATS = (Format("resx", (".resx", ".resw"), read, replace(XML, utf_16=True)),)
