"""Resources of .NET: the values of strings, in .resx and .resw."""

from dataclasses import replace

from ..places import Document
from .encoding import XML
from .format import Format, LanguagePair
from .units import Units


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The strings, without images, types and names of controls. Raises `GlossaError` for other files."""
    units = Units(text, name, "root")
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
