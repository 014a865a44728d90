"""TMX: units without a text in the target language get one."""

from collections.abc import Iterator

from ....base.errors import GlossaError
from ..places import Document
from .encoding import XML
from .format import Bilingual, Format, LanguagePair, TextPair
from .units import Units, local


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The units without the target language. Raises `GlossaError` if it is unknown."""
    units = Units(text, name, "tmx")
    for index, source in _units(units, name, languages):
        _fill(units, index, source, languages.target or "")
    return units.document


def read_pairs(text: str, name: str, languages: LanguagePair) -> Bilingual:
    """The units with a text in the source language. Raises `GlossaError` if the target language is unknown."""
    units = Units(text, name, "tmx")
    pairs, declared = [], languages.source
    for index, declared in _units(units, name, languages):
        segments = _segments(units, index)
        if (own := segments.get(_plain(declared))) is not None:
            line = units.line_number(units.tokens[index].start)
            theirs = segments.get(_plain(languages.target or ""))
            pairs.append(TextPair(line, units.shown(own), units.shown(theirs)))
    return Bilingual(LanguagePair(declared, languages.target), pairs)


FORMATS = (Format("tmx", (".tmx",), read, XML, pairs=read_pairs),)


def _units(units: Units, name: str, languages: LanguagePair) -> Iterator[tuple[int, str]]:
    """The units, each with the source language."""
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
            yield index, languages.source or declared


def _plain(code: str) -> str:
    return code.lower().split("-")[0]


def _segments(units: Units, index: int) -> dict[str, int]:
    """The texts of a unit by language."""
    segments: dict[str, int] = {}
    for child in units.children(index, "tuv"):
        given = units.given(child)
        segment = units.child(child, "seg")
        if segment is not None:
            segments.setdefault(_plain(given.get("xml:lang") or given.get("lang") or ""), segment)
    return segments


def _fill(units: Units, index: int, source: str, target: str) -> None:
    variants, segments = units.children(index, "tuv"), _segments(units, index)
    own, theirs = segments.get(_plain(source)), segments.get(_plain(target))
    if own is None or units.tokens[own].kind != "open" or (theirs is not None and units.content(theirs).strip()):
        return
    if theirs is not None:
        units.fill(own, units.whole(theirs), "<seg>", "</seg>")
        return
    last = units.whole(variants[-1])[1]
    opened = f'{units.space_before(variants[-1])}<tuv xml:lang="{target}"><seg>'
    units.fill(own, (last, last), opened, "</seg></tuv>")
