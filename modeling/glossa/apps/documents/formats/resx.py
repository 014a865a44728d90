"""Resources of .NET: the values of strings, in .resx and .resw."""

from typing import TYPE_CHECKING

from ....base.errors import GlossaError
from ..places import Document
from .units import Units

if TYPE_CHECKING:
    from .opening import Languages


def read(text: str, name: str, languages: "Languages") -> Document:
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
