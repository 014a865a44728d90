"""HTML pages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..places import Document
from .html_positions import html_tokens
from .language import note_source, set_language
from .tagged import Rules, find_places
from .tokens import Token, attributes

if TYPE_CHECKING:
    from .opening import Languages

_TITLED = frozenset({"*"})
RULES = Rules(
    inline=frozenset(
        [
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "data",
            "del",
            "dfn",
            "em",
            "font",
            "i",
            "img",
            "input",
            "ins",
            "label",
            "mark",
            "q",
            "rb",
            "ruby",
            "s",
            "small",
            "span",
            "strike",
            "strong",
            "sub",
            "sup",
            "time",
            "tt",
            "u",
            "wbr",
        ]
    ),
    alone=frozenset(["code", "kbd", "samp", "var"]),
    opaque=frozenset(
        [
            "script",
            "style",
            "svg",
            "math",
            "template",
            "iframe",
            "object",
            "canvas",
            "audio",
            "video",
            "noscript",
            "rt",
            "rp",
            "rtc",
        ]  # the last ones are readings of the words before them
    ),
    skipped=frozenset(["pre", "textarea"]),
    attributes={
        "alt": frozenset({"img", "area", "input"}),
        "title": _TITLED,
        "placeholder": frozenset({"input", "textarea"}),
        "label": frozenset({"optgroup", "option", "track"}),
        "aria-label": _TITLED,
        "aria-description": _TITLED,
        "aria-placeholder": _TITLED,
        "aria-roledescription": _TITLED,
        "aria-valuetext": _TITLED,
        "summary": frozenset({"table"}),
    },
    metadata=frozenset(
        [
            "description",
            "keywords",
            "twitter:title",
            "twitter:description",
            "twitter:image:alt",
            "og:title",
            "og:description",
            "og:site_name",
            "og:image:alt",
            "dc.title",
            "dc.description",
        ]
    ),
)


def read(text: str, name: str, languages: "Languages") -> Document:
    """The texts of a page."""
    return read_tokens(text, name, html_tokens(text), languages)


def read_tokens(text: str, name: str, tokens: Sequence[Token], languages: "Languages") -> Document:
    """The texts of a page with these tags, whose language becomes the target."""
    document = Document(text, find_places(text, tokens, RULES))
    for token in tokens:
        if token.kind == "open" and "lang" in text[token.start : token.end]:
            if token.name == "html":
                given = attributes(text, token)
                note_source(document, name, given.get("lang") or given.get("xml:lang") or "", languages)
            set_language(document, token, languages)
    return document
