"""XLIFF 1.2 and 2.0, and TMX: units without a translation get one, others stay."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...data.intake.segments import CODES
from ...errors import GlossaError
from ...inference.texts.tags import Part
from ..places import Document, Edit, Place, Written, has_words, spelled
from .tokens import Token, attributes, escape_xml, matching_tags, text_parts, trimmed
from .xml_positions import xml_tokens

if TYPE_CHECKING:
    from .opening import Languages

_OPENS, _CLOSES = ("bpt", "bx", "sc"), ("ept", "ex", "ec")
_BREAKS = ("lb", "pb", "x-lb", "x-br", "fmt:lb", "xlf:lb", "br", "linebreak")
_UNFINISHED = ("new", "needs-translation", "initial")


def read(text: str, name: str, kind: str, languages: "Languages") -> Document:
    """The units of a file that have no translation. Raises `GlossaError` if it is no such file."""
    tokens = xml_tokens(text, name)
    root = next((token for token in tokens if token.kind in ("open", "empty")), None)
    if root is None or _local(root) != kind:
        raise GlossaError(f"{name}, line 1: the first element is {root and root.name}, not {kind}. Give --format.")
    reader = _Reader(text, tokens)
    if kind == "tmx":
        return reader.memory(languages, name)
    return reader.units(attributes(text, root).get("version", "1.2").startswith("2"), root, languages)


def _local(token: Token) -> str:
    return token.name.rpartition(":")[2]


class _Reader:
    def __init__(self, text: str, tokens: Sequence[Token]):
        self.text, self.tokens, self.ends = text, tokens, matching_tags(tokens)
        self.document = Document(text, [])

    def units(self, second: bool, root: Token, languages: "Languages") -> Document:
        """The units of XLIFF; `second` for version 2."""
        if second and languages.target and "trglang" not in attributes(self.text, root):
            self._add_attributes(root, {"trgLang": languages.target})
        unit_name = "segment" if second else "trans-unit"
        closed: list[bool] = []  # for each element that is open: whether it must not be translated
        for index, token in enumerate(self.tokens):
            if token.kind == "open":
                said = attributes(self.text, token).get("translate")
                closed.append((closed[-1] if closed else False) if said is None else said == "no")
                if _local(token) == unit_name and not closed[-1]:
                    self._unit(index, second)
            elif token.kind == "close" and closed:
                closed.pop()
        return self.document

    def _unit(self, index: int, second: bool) -> None:
        end = self.ends[index]
        children = self._children(index, end)
        source = next((child for child in children if _local(self.tokens[child]) == "source"), None)
        target = next((child for child in children if _local(self.tokens[child]) == "target"), None)
        if source is None or self.tokens[source].kind != "open":
            return
        unit = self.tokens[index]
        state = attributes(self.text, unit if second else self.tokens[source if target is None else target]).get(
            "state"
        )
        if target is not None and self._content(target).strip() and state not in _UNFINISHED:
            return
        prefix = unit.name[: -len(_local(unit))]
        wanted = {} if second else {"state": "translated", "state-qualifier": "mt-suggestion"}
        doubt: list[Edit] = []
        if second:
            self._add_attributes(unit, {"state": "translated"})
            doubt.append(Edit(unit.start, unit.end, [self._with_attributes(unit, {"state": "initial"})]))
        doubtful = {} if second else wanted | {"state": "needs-review-translation"}
        if target is None:
            after = self._after(children, source)
            indent = self._space_before(source)
            opened, other = (f"{indent}{_tag(prefix + 'target', given)}" for given in (wanted, doubtful))
            span = (after, after)
        else:
            old = self.tokens[target]
            opened, other = (self._with_attributes(old, given).replace("/>", ">") for given in (wanted, doubtful))
            span = (old.start, self.tokens[self.ends[target]].end)
        self._fill(source, span, opened, f"</{prefix}target>", other, doubt)

    def _space_before(self, index: int) -> str:
        """The white space between a tag and what stands before it."""
        before = self.tokens[index - 1]
        text = self.text[before.start : before.end] if before.kind == "text" else ""
        return text[len(text.rstrip()) :]

    def _after(self, children: list[int], source: int) -> int:
        """The character after the source, and after its segmented copy."""
        copies = [child for child in children if _local(self.tokens[child]) == "seg-source"]
        return self.tokens[self.ends[(copies or [source])[-1]]].end

    def memory(self, languages: "Languages", name: str) -> Document:
        """The units of TMX."""
        header = next((token for token in self.tokens if _local(token) == "header"), None)
        said = attributes(self.text, header).get("srclang", "") if header else ""
        source = (languages.source or said).lower()
        if languages.target is None:
            raise GlossaError(
                f"{name}: the translations need the code of their language, which the model does not say. Give "
                "--target_language, such as fr."
            )
        for index, token in enumerate(self.tokens):
            if token.kind == "open" and _local(token) == "tu":
                self._memory_unit(index, source, languages.target)
        return self.document

    def _memory_unit(self, index: int, source: str, target: str) -> None:
        variants = [child for child in self._children(index, self.ends[index]) if _local(self.tokens[child]) == "tuv"]
        segments: dict[str, int] = {}
        for child in variants:
            given = attributes(self.text, self.tokens[child])
            inner = self._children(child, self.ends[child])
            segment = next((each for each in inner if _local(self.tokens[each]) == "seg"), None)
            if segment is not None:
                segments.setdefault((given.get("xml:lang") or given.get("lang") or "").lower().split("-")[0], segment)
        own = segments.get(source.split("-")[0])
        theirs = segments.get(target.lower().split("-")[0])
        if own is None or self.tokens[own].kind != "open" or (theirs is not None and self._content(theirs).strip()):
            return
        if theirs is not None:
            span = (self.tokens[theirs].start, self.tokens[self.ends[theirs]].end)
            self._fill(own, span, "<seg>", "</seg>")
            return
        last = self.tokens[self.ends[variants[-1]]].end
        opened = f'{self._space_before(variants[-1])}<tuv xml:lang="{target}"><seg>'
        self._fill(own, (last, last), opened, "</seg></tuv>")

    def _fill(
        self, source: int, span: tuple[int, int], opened: str, closed: str, other: str = "", doubt: Sequence[Edit] = ()
    ) -> None:
        """Have the translation of the source element written to a span, or its copy if it has no words.

        `other` is what opens it, and `doubt` what else changes, if people should look at the translation.
        """
        start, end = self.tokens[source].end, self.tokens[self.ends[source]].start
        parts = list(self._parts(source + 1, self.ends[source]))
        kept = trimmed(parts)
        if not has_words(kept):
            self.document.edits.append(Edit(*span, [opened, (start, end), closed]))
            return
        before: list[Written] = [opened, (start, kept[0].start)]
        after: list[Written] = [(kept[-1].end, end), closed]
        escape = spelled(kept, self.text, escape_xml)
        doubtful = [other or opened, *before[1:]]
        place = Place(kept, escape, *span, keep=False, before=before, after=after)
        place.doubt, place.doubtful_before = list(doubt), doubtful
        self.document.places.append(place)

    def _parts(self, first: int, last: int) -> Iterator[Part]:
        """The parts of the content of an element: codes stand alone, or for a pair of tags."""
        index = first
        while index < last:
            token, end = self.tokens[index], index
            name = _local(token)
            if token.kind == "text":
                yield from text_parts(self.text, token.start, token.end)
            elif token.kind in ("open", "empty") and (name in CODES or self._is_protected(token)):
                end = self.ends[index]
                yield self._code(token, self.tokens[end].end, name, self._inner(index, end))
            elif token.kind in ("open", "close"):
                yield Part(token.kind, token.start, token.end, "", token.name)
            else:
                yield Part("alone", token.start, token.end)
            index = end + 1

    def _code(self, token: Token, end: int, name: str, inner: str) -> Part:
        given = attributes(self.text, token)
        number = given.get("rid") or given.get("startref") or given.get("i") or given.get("id") or ""
        if name in _OPENS or name in _CLOSES:
            return Part("open" if name in _OPENS else "close", token.start, end, "", f"code {number}")
        if any(given.get(key, "").lower() in _BREAKS for key in ("ctype", "type", "subtype")):
            return Part("break", token.start, end)
        return Part("alone", token.start, end, inner if name == "mrk" else "")

    def _inner(self, index: int, end: int) -> str:
        return " ".join(
            self.text[token.start : token.end].strip() for token in self.tokens[index:end] if token.kind == "text"
        )

    def _is_protected(self, token: Token) -> bool:
        given = attributes(self.text, token)
        return _local(token) == "mrk" and (given.get("mtype") == "protected" or given.get("translate") == "no")

    def _content(self, index: int) -> str:
        return self.text[self.tokens[index].end : self.tokens[self.ends[index]].start]

    def _children(self, index: int, end: int) -> list[int]:
        found, depth = [], 0
        for position in range(index + 1, end):
            kind = self.tokens[position].kind
            if kind in ("open", "empty") and not depth:
                found.append(position)
            depth += {"open": 1, "close": -1}.get(kind, 0)
        return found

    def _add_attributes(self, token: Token, wanted: dict[str, str]) -> None:
        self.document.edits.append(Edit(token.start, token.end, [self._with_attributes(token, wanted)]))

    def _with_attributes(self, token: Token, wanted: dict[str, str]) -> str:
        """A tag with other values of attributes."""
        tag = self.text[token.start : token.end]
        for name, value in wanted.items():
            pattern = re.compile(rf"(\s{name}\s*=\s*)(\"[^\"]*\"|'[^']*')")
            tag, count = pattern.subn(rf'\g<1>"{value}"', tag, count=1)
            if not count:
                tag = re.sub(r"\s*(/?>)\Z", rf' {name}="{value}"\1', tag)
        return tag


def _tag(name: str, given: dict[str, str]) -> str:
    written = "".join(f' {key}="{value}"' for key, value in given.items())
    return f"<{name}{written}>"
