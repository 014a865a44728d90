"""Texts between the tags of HTML and XML: some tags are inside a sentence, others end it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ....translate.texts.tags import Part
from ..places import Place, Writing, has_words, spelled
from .icu import with_messages
from .templates import find_templates, masked, template_parts
from .tokens import Token, attribute_range, attributes, escape_xml, matching_tags, text_parts, trimmed

CELL = "table:table-cell"  # of a sheet: numbers, dates and results of formulas are not texts
UNWANTED = "notranslate"


@dataclass(frozen=True)
class Rules:
    """The role of each element of a format. Other elements end a sentence.

    Attributes:
        inline: Elements inside sentences.
        alone: Elements inside sentences whose content is a word that is not translated.
        opaque: Elements inside sentences whose content does not belong to the sentence.
        breaks: Elements between words.
        skipped: Elements whose content is not translated.
        only: Elements whose content is translated; all if empty.
        attributes: Attributes that are translated, with their elements; "*" is any element.
        metadata: Values of `name` or `property` of `meta` elements whose `content` is translated.
    """

    inline: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    breaks: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    attributes: dict[str, frozenset[str]] = field(default_factory=dict)
    metadata: frozenset[str] = frozenset()


def find_places(text: str, tokens: Sequence[Token], rules: Rules) -> list[Place]:
    """The places of texts and attributes in a document."""
    finder = _Finder(text, tokens, rules)
    while finder.ahead:
        finder.find(*finder.ahead.pop())
    return sorted(finder.places, key=lambda place: place.start)


class _Finder:
    """Finds the places of a document. `ahead` has the ranges of tokens that are still to be read."""

    def __init__(self, text: str, tokens: Sequence[Token], rules: Rules):
        self.text, self.tokens, self.rules = text, tokens, rules
        self.ends = matching_tags(tokens)
        self.places: list[Place] = []
        self.ahead = [(0, len(tokens))]

    def find(self, first: int, last: int) -> None:
        text, rules = self.text, self.rules
        run: list[Part] = []
        depth, index = 0, first  # of elements in `only`
        while index < last:
            token, end = self.tokens[index], index
            depth += (token.name in rules.only) * {"open": 1, "close": -1}.get(token.kind, 0)
            active = depth > 0 or not rules.only
            if token.kind in ("open", "empty") and active:
                self.places.extend(attribute_places(text, token, rules))
            looked_at = active or token.name in rules.skipped or token.name == CELL
            if token.kind == "open" and looked_at and _kept(text, token, rules):
                end = self.ends[index]
                self._look_inside(index, end)
                if token.name in rules.inline or token.name in rules.alone or token.name in rules.opaque:
                    words = "" if token.name in rules.opaque else _words(text, self.tokens[index + 1 : end])
                    run.append(Part("alone", token.start, self.tokens[end].end, words))
                else:
                    self._end(run)
            elif token.name in rules.breaks:
                run.append(Part("break", token.start, token.end))
            elif token.kind == "text" and active:
                run += text_parts(text, token.start, token.end)
            elif token.kind == "other" or token.name in rules.inline or token.name in rules.opaque:
                kind = token.kind if token.kind in ("open", "close") else "alone"
                run.append(Part(kind, token.start, token.end, "", token.name))
            else:
                self._end(run)
            index = end + 1
        self._end(run)

    def _end(self, run: list[Part]) -> None:
        self.places.extend(places_of(run, self.text))
        run.clear()

    def _look_inside(self, index: int, end: int) -> None:
        """Find the places in an element whose content does not belong to the text around it."""
        name, rules = self.tokens[index].name, self.rules
        if name in rules.opaque and rules.only:
            self.ahead.append((index + 1, end))
        elif name == CELL:  # comments and shapes on a number
            inner = (each for each in range(index + 1, end) if self.tokens[each].name in rules.opaque)
            self.ahead += [(each + 1, self.ends[each]) for each in inner if self.ends[each] > each]
        elif name not in rules.skipped and name not in rules.opaque:
            for other in self.tokens[index + 1 : end]:
                if other.kind in ("open", "empty"):
                    self.places.extend(attribute_places(self.text, other, rules))


def _kept(text: str, token: Token, rules: Rules) -> bool:
    """Whether the content of an element is left alone."""
    if token.name in rules.alone or token.name in rules.opaque or token.name in rules.skipped:
        return True
    given = attributes(text, token)
    if token.name == CELL and ("table:formula" in given or given.get("office:value-type", "string") != "string"):
        return True
    return given.get("translate") == "no" or UNWANTED in given.get("class", "").split()


def _words(text: str, tokens: Sequence[Token]) -> str:
    parts = [
        part for token in tokens if token.kind in ("text", "end") for part in text_parts(text, token.start, token.end)
    ]
    return "".join(part.text for part in parts).strip()


def places_of(run: Sequence[Part], text: str, escape: Callable[[str], str] = escape_xml) -> Iterator[Place]:
    """The places in a run of parts. Tags without a partner in the run end a place."""
    for parts in _closed_runs(run):
        if has_words(parts) and (kept := trimmed(parts)):
            yield from with_messages(Place(kept, Writing(spelled(kept, text, escape))), text)


def _closed_runs(run: Sequence[Part]) -> Iterator[list[Part]]:
    matched: set[int] = set()
    stack: list[int] = []
    for index, part in enumerate(run):
        if part.kind == "open":
            stack.append(index)
        elif part.kind == "close" and stack and run[stack[-1]].name == part.name:
            matched |= {stack.pop(), index}
        elif part.kind == "close":
            stack = []
    current: list[Part] = []
    for index, part in enumerate(run):
        if part.kind in ("open", "close") and index not in matched:
            yield current
            current = []
        else:
            current.append(part)
    yield current


def attribute_places(text: str, token: Token, rules: Rules) -> Iterator[Place]:
    """The places in the attributes of a tag."""
    tag = text[token.start : token.end]
    templates = find_templates(tag)
    inside = list(template_parts(tag, templates))
    tag, own = masked(tag, templates), Token(token.kind, 0, len(tag), token.name)
    given = attributes(tag, own)
    names = [name for name, elements in rules.attributes.items() if "*" in elements or token.name in elements]
    if (
        token.name == "meta"
        and {given.get(name, "").lower() for name in ("name", "property", "itemprop")} & rules.metadata
    ):
        names = [*names, "content"]
    if token.name == "input" and given.get("type", "").lower() in ("submit", "button", "reset"):
        names = [*names, "value"]
    for name in names:
        found = attribute_range(tag, own, name) if given.get(name, "").strip() else None
        if found is None:
            continue
        parts, position = [], token.start + found[0]
        for part in (each for each in inside if found[0] <= each.start < found[1]):
            parts += text_parts(text, position, token.start + part.start)
            position = token.start + part.end
            parts.append(part._replace(start=token.start + part.start, end=position))
        parts += text_parts(text, position, token.start + found[1])
        yield from places_of(parts, text, _escape_in(tag[found[0] - 1]))


def _escape_in(quote: str) -> Callable[[str], str]:
    """A function that escapes text in an attribute with these quotes."""
    written = "&quot;" if quote == '"' else "&#39;"
    return lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(quote, written)
