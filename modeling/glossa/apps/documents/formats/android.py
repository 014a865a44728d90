"""Android string resources: `<string>`, `<string-array>` and `<plurals>`, in Android's escapes."""

import html
import re

from ....translate.texts.tags import Part
from ..places import CDATA, Document, Edit, Written
from .encoding import XML
from .format import Format, LanguagePair
from .language import plural_categories
from .printf import Printf
from .tokens import ENTITY, cut, escape_xml
from .units import Units

_ESCAPE = re.compile(rf"{ENTITY.pattern}|\\u[0-9a-fA-F]{{4}}|\\.", re.S)
_NAMED = {"n": "\n", "t": "\t"}
_REFERENCE = re.compile(r"\s*[@?](?:[\w.]+:)?\w+/[\w.]+\s*")  # to another resource
_QUOTE = '(?<!\\\\)"'  # around white space that is kept


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The translatable strings. Raises `GlossaError` if the file has no Android resources."""
    units = _Strings(text, name, "resources")
    for index, token in enumerate(units.tokens):
        if token.kind != "open" or units.given(index).get("translatable") == "false":
            continue
        if token.name == "string":
            units.add(index)
        elif token.name in ("string-array", "plurals"):
            items = units.children(index, "item")
            for item in items:
                units.add(item, named=token.name == "string-array")  # which programs read, perhaps
            if token.name == "plurals" and languages.target:
                units.add_forms(index, items, plural_categories(languages.target))
    return units.document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The content of each string and item, by its name; items also by their quantity or number."""
    units, found = _Strings(text, name, "resources"), {}
    for index in units.children(units.tokens.index(units.root)):
        key, given = units.key(index), units.given(index)
        if given.get("translatable") == "false":
            continue
        if units.tokens[index].name == "string":
            found[key] = units.inside(index)
        for number, item in enumerate(units.children(index, "item")):
            found[f"{key}.{units.given(item).get('quantity', number)}"] = units.inside(item)
    return found


FORMATS = (Format("android", ("strings.xml", "arrays.xml", "plurals.xml"), read, XML, values=values),)


class _Strings(Units):
    def key(self, index: int) -> str:
        """The name of a resource, which is unique among those of its kind."""
        kind, name = self.tokens[index].name, self.given(index).get("name", "")
        return name if kind == "string" else f"{kind} {name}"

    def add(self, index: int, named: bool = False) -> None:
        """Add the text of an element, unless it is a reference to another resource, or with `named` a name."""
        if not _REFERENCE.fullmatch(self.content(index)):
            self.document.places += self.string(
                index, _escape, named=named, printf=Printf(), kept=_QUOTE, literal=_escaped
            )

    def text_parts(self, start: int, end: int) -> list[Part]:
        if not self.text.startswith(CDATA, start):
            return cut(self.text, start, end, _ESCAPE, _decode)
        inner = cut(self.text, start + 9, end - 3, _ESCAPE, lambda raw: raw if raw[0] == "&" else _decode(raw))
        opened, closed = Part("open", start, start + 9, "", CDATA), Part("close", end - 3, end, "", CDATA)
        return [opened, *(part._replace(name=CDATA) for part in inner), closed]

    def add_forms(self, index: int, items: list[int], wanted: list[str]) -> None:
        """Add the plural forms that the language needs and the file lacks, as copies of the general form."""
        known = {self.given(item).get("quantity"): item for item in items}
        if "other" not in known:
            return
        missing = [category for category in wanted if category not in known]
        last, other = items[-1], known["other"]
        end = self.whole(last)[1]
        for category in missing:
            opened = self.with_attributes(other, {"quantity": category})
            written: list[Written] = [f"{self.space_before(last)}{opened}", self.inside(other), "</item>"]
            self.document.add_form(f"{self.key(index)}.{category}", Edit(end, end, written))


def _decode(raw: str) -> str:
    if raw[0] == "&":
        return html.unescape(raw)
    return chr(int(raw[2:], 16)) if len(raw) > 2 else _NAMED.get(raw[1], raw[1])


def _escape(text: str) -> str:
    return escape_xml(_escaped(text))


def _escaped(text: str) -> str:
    text = re.sub(r"[\\'\"]", r"\\\g<0>", text).replace("\n", "\\n").replace("\t", "\\t")
    return f"\\{text}" if text[:1] in ("@", "?") else text
