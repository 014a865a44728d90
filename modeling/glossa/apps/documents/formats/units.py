"""Units of XML files for translators: each has a source and a translation, which is added if it is missing."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from ....base.errors import GlossaError
from ....readers.segments import CODES, is_break
from ....translate.texts.tags import Part
from ..places import Document, Edit, Place, Review, Written, has_words, line_numbers
from .strings import string_places
from .tokens import Token, attribute_range, attributes, escape_xml, matching_tags, text_parts
from .xml_positions import xml_tokens

_NAME, _NUMBER = re.compile(r"</?[\w:.-]+"), re.compile(r"""\s(?:id|i|x|rid|startRef)\s*=\s*["']([^"']*)""")
_OPENS, _CLOSES = ("bpt", "bx", "sc"), ("ept", "ex", "ec")


def local(token: Token) -> str:
    """The name of a tag without its prefix."""
    return token.name.rpartition(":")[2]


class Units:
    """The elements of an XML file by their index among its tokens. Raises `GlossaError` for another root element.

    Attributes:
        text: The text of the file.
        name: Its name, for messages.
        tokens: Its tags and texts.
        ends: For each token, the index of the token that closes it.
        document: The places and edits found so far.
        line_number: Returns the line of a character.
    """

    def __init__(self, text: str, name: str, root: str):
        self.text, self.name, self.tokens = text, name, xml_tokens(text, name)
        if local(self.root) != root:
            raise GlossaError(
                f"{name}, line 1: the first element is {self.root.name}, not {root}. Give the format of the file with "
                "--format."
            )
        self.ends = matching_tags(self.tokens)
        self.document = Document(text, [])
        self.line_number = line_numbers(text)

    @property
    def root(self) -> Token:
        return next(token for token in self.tokens if token.kind in ("open", "empty"))

    def children(self, index: int, name: str | None = None) -> list[int]:
        """The elements inside the one at `index`, or those with a name."""
        found, position = [], index + 1
        while position < self.ends[index]:
            token = self.tokens[position]
            if token.kind in ("open", "empty") and name in (None, local(token)):
                found.append(position)
            position = self.ends[position] + 1
        return found

    def child(self, index: int, name: str) -> int | None:
        """The first element of a name inside the one at `index`."""
        return next(iter(self.children(index, name)), None)

    def given(self, index: int) -> dict[str, str]:
        """The attributes of an element."""
        return attributes(self.text, self.tokens[index])

    def content(self, index: int) -> str:
        """The content of an element."""
        return self.text[slice(*self.inside(index))]

    def shown(self, index: int | None) -> str:
        """The text of an element, in which codes are tags such as `<g 1>`; "" without an element."""
        if index is None or self.tokens[index].kind == "empty":
            return ""
        parts = self.parts(index + 1, self.ends[index])
        return "".join(part.text if part.kind == "text" else self._tag(part) for part in parts)

    def _tag(self, part: Part) -> str:
        raw = self.text[part.start : part.end]
        found = _NAME.match(raw)
        if found is None:  # a comment, or a code in the text
            return f"<{'/' * (part.kind == 'close')}g {part.name}>" if part.name else ""
        number = _NUMBER.search(raw, 0, raw.find(">"))
        return f"{found[0]} {number[1]}>" if number else f"{found[0]}>"

    def inside(self, index: int) -> tuple[int, int]:
        """The characters of the content of an element."""
        own, end = self.tokens[index], self.ends[index]
        return (own.end, own.end) if end == index else (own.end, self.tokens[end].start)

    def whole(self, index: int) -> tuple[int, int]:
        """The characters of an element."""
        return self.tokens[index].start, self.tokens[self.ends[index]].end

    def space_before(self, index: int) -> str:
        """The white space before a tag."""
        before = self.tokens[index - 1]
        text = self.text[before.start : before.end] if before.kind == "text" else ""
        return text[len(text.rstrip()) :]

    def fill(
        self,
        source: int,
        span: tuple[int, int],
        opened: str,
        closed: str,
        other: str = "",
        doubt: Sequence[Edit] = (),
        texts: Sequence[int] = (),
    ) -> bool:
        """Copy the content of the source element to a span, between two tags, and translate the copy.

        Returns False for an ICU message that cannot be parsed; the document then has a note. If people should look at
        the translation, the tag `other` replaces `opened`, and the edits `doubt` are made. The elements `texts` in the
        source are texts of their own.
        """

        def written(start: str) -> list[Written]:
            return [start, self.inside(source), closed]

        doubts = [*([Edit(*span, written(other))] if other else []), *doubt]
        if not all([self.add_copied(each, doubts) for each in texts or [source]]):
            return False
        self.document.edits.append(Edit(*span, written(opened)))
        return True

    def add_copied(self, source: int, doubt: list[Edit]) -> bool:
        """Translate the copies of a source element. Returns False for an ICU message that cannot be parsed."""
        parts = list(self.parts(source + 1, self.ends[source]))
        places = list(string_places(parts, self.text, escape_xml, named=False, accelerators="&"))
        if not places and has_words(parts):
            line = self.line_number(self.tokens[source].start)
            self.document.notes.append(f"{self.name}, line {line}: a broken ICU message is left alone.")
            return False
        for place in places:
            place.copied, place.review = True, Review(doubt)
        self.document.places += places
        return True

    def string(self, index: int, escape: Callable[[str], str] = escape_xml, **options: Any) -> list[Place]:
        """The places in an element, whose translations replace its content; `options` are those of `string_places`."""
        parts = list(self.parts(index + 1, self.ends[index]))
        return list(string_places(parts, self.text, escape, **options))

    def parts(self, first: int, last: int) -> Iterator[Part]:
        """The parts between two tokens. A code is a part "alone", or one of a pair of tags."""
        index = first
        while index < last:
            token, end = self.tokens[index], index
            name = local(token)
            if token.kind == "text":
                yield from self.text_parts(token.start, token.end)
            elif token.kind in ("open", "empty") and (name in CODES or self._is_protected(token)):
                end = self.ends[index]
                yield self._code(token, self.tokens[end].end, name, self._inner(index, end))
            elif token.kind in ("open", "close"):
                yield Part(token.kind, token.start, token.end, "", token.name)
            else:
                yield Part("alone", token.start, token.end)
            index = end + 1

    def text_parts(self, start: int, end: int) -> list[Part]:
        """The parts of a text between tags."""
        return text_parts(self.text, start, end, collapse=False)

    def _code(self, token: Token, end: int, name: str, inner: str) -> Part:
        given = attributes(self.text, token)
        number = given.get("rid") or given.get("startref") or given.get("i") or given.get("id") or ""
        if name in _OPENS or name in _CLOSES:
            return Part("open" if name in _OPENS else "close", token.start, end, "", f"code {number}")
        if is_break(given, unescape(inner)):
            return Part("break", token.start, end)
        return Part("alone", token.start, end, inner if name == "mrk" else "")

    def _inner(self, index: int, end: int) -> str:
        return " ".join(
            self.text[token.start : token.end].strip() for token in self.tokens[index:end] if token.kind == "text"
        )

    def _is_protected(self, token: Token) -> bool:
        given = attributes(self.text, token)
        return local(token) == "mrk" and (given.get("mtype") == "protected" or given.get("translate") == "no")

    def with_attributes(self, index: int, wanted: Mapping[str, str | None]) -> str:
        """A tag with new values of attributes, and without those that are None."""
        token = self.tokens[index]
        edits = []
        added = ""
        for name, value in wanted.items():
            span = attribute_range(self.text, token, name.lower())
            if span and value is None:
                edits.append(
                    (token.start + len(self.text[token.start : span[0]].rpartition(name)[0].rstrip()), span[1] + 1, "")
                )
            elif span:
                edits.append((*span, value or ""))
            elif value is not None:
                added += f' {name}="{value}"'
        tag, position = "", token.start
        for start, end, value in sorted(edits):
            tag, position = f"{tag}{self.text[position:start]}{value}", end
        tag += self.text[position : token.end]
        closing = re.search(r"\s*/?>\Z", tag[-40:])
        return f"{tag[: len(tag) - len(closing[0])]}{added}{closing[0].strip()}" if added and closing else tag

    def edit_of(self, index: int, wanted: Mapping[str, str | None]) -> Edit:
        """The edit that gives a tag new values of attributes."""
        token = self.tokens[index]
        return Edit(token.start, token.end, [self.with_attributes(index, wanted)])
