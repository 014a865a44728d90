"""TMX: units without a text in the target language get one."""

from ....base.errors import GlossaError
from ..places import Document
from .encoding import XML
from .format import Format, LanguagePair
from .units import Units, local


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The units without the target language. Raises `GlossaError` if it is unknown."""
    units = Units(text, name, "tmx")
    if languages.target is None:
        raise GlossaError(
            f"{name}: translations in TMX have the code of their language, which is unknown. Give --target_language, "
            "such as fr."
        )
    declared = ""
    for index, token in enumerate(units.tokens):
        if local(token) == "header" and token.kind != "close":
            declared = units.given(index).get("srclang", "")
        elif token.kind == "open" and local(token) == "tu":
            _fill(units, index, (languages.source or declared).lower(), languages.target)
    return units.document


FORMATS = (Format("tmx", (".tmx",), read, XML),)


def _fill(units: Units, index: int, source: str, target: str) -> None:
    variants = units.children(index, "tuv")
    segments: dict[str, int] = {}
    for child in variants:
        given = units.given(child)
        segment = units.child(child, "seg")
        if segment is not None:
            segments.setdefault((given.get("xml:lang") or given.get("lang") or "").lower().split("-")[0], segment)
    own, theirs = segments.get(source.split("-")[0]), segments.get(target.lower().split("-")[0])
    if own is None or units.tokens[own].kind != "open" or (theirs is not None and units.content(theirs).strip()):
        return
    if theirs is not None:
        units.fill(own, units.whole(theirs), "<seg>", "</seg>")
        return
    last = units.whole(variants[-1])[1]
    opened = f'{units.space_before(variants[-1])}<tuv xml:lang="{target}"><seg>'
    units.fill(own, (last, last), opened, "</seg></tuv>")
