"""The tags and texts of XML documents with their positions, found by `expat`."""

from xml.parsers import expat

from ....base.errors import GlossaError
from ..places import character_offsets
from .tokens import Token

DEEPEST = 300  # levels of elements


def xml_tokens(text: str, name: str) -> list[Token]:
    """The tokens of an XML document.

    The text before the first element and after the last one is a token "other" each. An external document type is
    allowed, but never fetched.

    Raises:
        GlossaError: With the line, if the document is not well-formed, defines entities, which can be huge, or nests
            more than `DEEPEST` elements.
    """
    body = text.removeprefix("\ufeff")
    shift = len(text) - len(body)
    found = _Events(name).read(body)
    at = character_offsets(body)
    starts = [shift + at(start) for _, start, _ in found] + [len(text)]
    before = [Token("other", 0, starts[0])] if starts[0] else []
    return before + [
        Token(kind, start, end, tag) for (kind, _, tag), start, end in zip(found, starts, starts[1:], strict=False)
    ]


class _Events:
    """The tokens of a document as `expat` reports them: kind, first byte, and name of a tag."""

    def __init__(self, name: str):
        self.name, self.depth = name, 0
        self.cdata = ""  # "inside" a CDATA section, or "after" it, where text is a new token
        self.found: list[tuple[str, int, str]] = []
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.EntityDeclHandler = self._refuse_entity
        parser.StartElementHandler, parser.EndElementHandler = self._open, self._close
        parser.CharacterDataHandler = parser.DefaultHandler = self._text
        parser.CommentHandler = parser.ProcessingInstructionHandler = self._other
        parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = self._begin_cdata, self._end_cdata

    def read(self, text: str) -> list[tuple[str, int, str]]:
        self.content = text.encode("utf-8", "surrogatepass")
        try:
            self.parser.Parse(self.content, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise self._refused(
                error.lineno, f"not well-formed XML ({reason}). Repair it in the program that wrote it."
            ) from error
        return self.found

    def _refused(self, line: int, reason: str) -> GlossaError:
        return GlossaError(f"{self.name}, line {line}: {reason}")

    def _refuse_entity(self, entity, *_):
        advice = "Entities are refused. Write the text itself in their place."
        raise self._refused(self.parser.CurrentLineNumber, f"the document defines the entity {entity}. {advice}")

    def _add(self, kind: str, tag: str = "") -> None:
        self.found.append((kind, self.parser.CurrentByteIndex, tag))

    def _open(self, tag, _):
        self.depth += 1
        if self.depth > DEEPEST:
            advice = f"elements are nested more than {DEEPEST} levels deep. Repair the document."
            raise self._refused(self.parser.CurrentLineNumber, advice)
        self._add("open", tag)

    def _close(self, tag):
        self.depth -= 1
        kind, start, last = self.found[-1]
        end = self.parser.CurrentByteIndex
        # libexpat gives the first character of an empty element, or the one after its last, by its version.
        if (kind, last) == ("open", tag) and (end == start or self.content[end - 2 : end] == b"/>"):
            self.found[-1] = ("empty", *self.found[-1][1:])
        else:
            self._add("close", tag)

    def _text(self, _):
        if self.depth and self.cdata != "inside" and (self.found[-1][0] != "text" or self.cdata == "after"):
            self._add("text")
            self.cdata = ""
        elif self.found and not self.depth and self.found[-1][0] != "other":
            self._add("other")

    def _other(self, *_):
        if self.found:
            self._add("other")

    def _begin_cdata(self):
        self._add("text")
        self.cdata = "inside"

    def _end_cdata(self):
        self.cdata = "after"
