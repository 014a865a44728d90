"""HTML pages."""

import re
from collections.abc import Sequence

from ..places import Document
from .encoding import Encoding, is_decodable
from .format import Format, LanguagePair
from .html_positions import html_tokens
from .language import note_source, set_language
from .tagged import Rules, find_places
from .tokens import Token, attributes

# The encodings that browsers assume by language (HTML standard, 13.2.3.2); for other languages windows-1252.
_ASSUMED = {
    **dict.fromkeys(("ba", "be", "bg", "kk", "ky", "mk", "ru", "sah", "sr", "tg", "tt", "uk"), "windows-1251"),
    **dict.fromkeys(("cs", "sk"), "windows-1250"), **dict.fromkeys(("hr", "hu", "pl", "sl"), "iso-8859-2"),
    **dict.fromkeys(("et", "lt", "lv"), "windows-1257"), **dict.fromkeys(("az", "ku", "tr"), "windows-1254"),
    "ar": "windows-1256", "fa": "windows-1256", "el": "iso-8859-7", "he": "windows-1255", "vi": "windows-1258",
    "ja": "shift_jis", "ko": "euc-kr", "th": "cp874", "zh": "gb18030",
}  # fmt: skip
TEMPLATES = (
    ".twig", ".hbs", ".handlebars", ".mustache", ".j2", ".jinja", ".jinja2", ".njk", ".liquid", ".ejs", ".html.erb",
    ".phtml",
)  # fmt: skip
_TITLED = frozenset({"*"})
RULES = Rules(
    inline=frozenset(
        ["a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "img",
         "input", "ins", "label", "mark", "q", "rb", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup",
         "time", "tt", "u", "wbr"]
    ),
    alone=frozenset(["code", "kbd", "samp", "var"]),
    # the last three have readings of the words before them
    opaque=frozenset(
        ["script", "style", "svg", "math", "template", "iframe", "object", "canvas", "audio", "video", "noscript",
         "rt", "rp", "rtc"]
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
        ["description", "keywords", "twitter:title", "twitter:description", "twitter:image:alt", "og:title",
         "og:description", "og:site_name", "og:image:alt", "dc.title", "dc.description"]
    ),
)  # fmt: skip


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The texts of a page."""
    return read_tokens(text, name, html_tokens(text), languages)


def _undeclared(content: bytes, language: str | None) -> str:
    """The encoding of a page that declares none: UTF-8 if a part of it is, or what browsers assume for a language."""
    assumed = _ASSUMED.get((language or "").partition("-")[0].lower(), "windows-1252")
    has_utf_8 = is_decodable(content, "utf-8") or not content.decode("utf-8", "ignore").isascii()
    return "utf-8" if has_utf_8 or not is_decodable(content, assumed) else assumed


FORMATS = (
    Format(
        "html",
        (".html", ".htm", *TEMPLATES),
        read,
        Encoding(
            declaration=re.compile(rb"<meta[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I),
            undeclared=_undeclared,
            missing="xmlcharrefreplace",
        ),
    ),
)


def read_tokens(text: str, name: str, tokens: Sequence[Token], languages: LanguagePair) -> Document:
    """The texts of a page, given its tokens. The language that it declares becomes the target language."""
    document = Document(text, find_places(text, tokens, RULES))
    for token in tokens:
        if token.kind == "open" and "lang" in text[token.start : token.end]:
            if token.name == "html":
                given = attributes(text, token)
                note_source(document, name, given.get("lang") or given.get("xml:lang") or "", languages)
            set_language(document, token, languages)
    return document
