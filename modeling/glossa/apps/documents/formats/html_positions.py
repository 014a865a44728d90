"""The tags and texts of HTML pages with their positions, as browsers find them.

This is the part of the tokenizer of the HTML standard (section 13.2.5) that says where tags, comments and texts are.
`html.parser` of Python 3.11.7 takes 40 seconds for one tag of 60,000 characters; the time of this one is linear.
"""

import re
from collections import deque
from collections.abc import Iterator

from .templates import Template, find_templates, masked, template_parts
from .tokens import ATTRIBUTE, Token

VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
# Elements whose content has no tags. The content of the first ones is not text either.
RAW = frozenset(["script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title"])
_MARKUP = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"  # a comment
    r"|<[!?][^>]*+(?:>|\Z)|</(?:[^A-Za-z>][^>]*+)?+(?:>|\Z)"  # a declaration, or a bogus comment
    rf"|<(?P<close>/)?(?P<name>[A-Za-z][^\s/>]*+)(?:{ATTRIBUTE})*+[\s/]*+(?P<end>>|\Z)",
    re.S,
)


def html_tokens(text: str) -> list[Token]:
    """The tokens of a page. Invalid markup is text. A statement of a template is a token "end"."""
    templates = find_templates(text)
    tokens = _page_tokens(masked(text, templates))
    return list(_with_templates(text, tokens, templates)) if templates else tokens


def _with_templates(text: str, tokens: list[Token], templates: list[Template]) -> Iterator[Token]:
    """Tokens of which the texts are divided at templates."""
    parts = deque(template_parts(text, templates))
    for token in tokens:
        position = token.start
        while parts and parts[0].start < token.end:
            part = parts.popleft()
            if token.kind == "text" and part.start >= position:
                if part.start > position:
                    yield Token("text", position, part.start)
                yield Token("end" if part.kind == "end" else "other", part.start, part.end)
                position = part.end
        if position < token.end:
            yield token if position == token.start else Token("text", position, token.end)


def _page_tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while found := _MARKUP.search(text, position):
        if found.start() > position:
            tokens.append(Token("text", position, found.start()))
        position = found.end()
        name = (found["name"] or "").lower()
        if not name or not found["end"]:  # not a tag, or an unfinished tag
            tokens.append(Token("other", *found.span()))
            continue
        kind = "close" if found["close"] else "empty" if name in VOID else "open"
        tokens.append(Token(kind, *found.span(), name))
        if kind == "open" and name in RAW:
            closing = re.compile(rf"</{name}(?=[\s/>])", re.I).search(text, position)
            end = closing.start() if closing else len(text)
            if end > position:
                tokens.append(Token("text", position, end))
            position = end
    if position < len(text):
        tokens.append(Token("text", position, len(text)))
    return tokens
