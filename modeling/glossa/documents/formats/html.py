"""HTML pages."""

from ..places import Document
from .html_positions import html_tokens
from .tagged import Rules, find_places

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
        ["script", "style", "svg", "math", "template", "iframe", "object", "canvas", "audio", "video", "noscript"]
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


def read(text: str, name: str, languages: object = None) -> Document:
    """The texts of a page."""
    return Document(text, find_places(text, html_tokens(text), RULES))
