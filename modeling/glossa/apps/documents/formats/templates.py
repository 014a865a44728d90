"""Statements of template languages in pages: Jinja, Django, Twig, Liquid, Handlebars, PHP and ERB.

A statement or comment ends a text. What is printed, such as `{{ name }}` and `<?= $name ?>`, is inside of a text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ....translate.texts.tags import Part

# Statements whose content is no text, up to their end, such as {% comment %} and {% endcomment %}.
_RAW = ("comment", "highlight", "javascript", "schema", "style", "stylesheet")
_SHORT = 84  # characters of an output that is a span of its text
# Each pattern ends at the next beginning of its kind, so that the time is linear.
_TEMPLATE = re.compile(
    r"(?P<comment>\{\{~?!--(?:[^-{]++|-(?!-~?\}\})|\{(?!\{~?!--))*+--~?\}\}"
    r"|\{\{-?\s*+/\*(?:[^*{]++|\*(?!/)|\{(?!\{-?\s*+/\*))*+\*/\s*+-?\}\})"  # of Go
    r"|\{%(?P<tag>(?:[^%{]++|%(?!\})|\{(?!%))*+)%\}"
    r"|(?P<note>\{#(?:[^#{]++|#(?!\})|\{(?!#))*+#\})"
    r"|\{\{\{?(?P<block>~?(?:[!#/^>]|else\b))?(?:[^{}]++|\{(?!\{)|\}(?!\}))*+\}\}\}?"
    r"|<\?(?!xml\b)(?P<php>=)?(?:[^?<]++|\?(?!>)|<(?!\?))*+(?:\?>|\Z)"
    r"|<%(?P<erb>[=-])?(?:[^%<]++|%(?!>)|<(?!%))*+%>"
)
_NAME = re.compile(r"[-~+]?\s*(\w+)")


class Template(NamedTuple):
    """A part of a template: its characters, and whether it prints something inside of a text."""

    start: int
    end: int
    printed: bool


def find_templates(text: str) -> list[Template]:
    """The statements, comments and outputs in a text, from left to right."""
    found = list(_TEMPLATE.finditer(text)) if re.search(r"\{[{%#]|<[?%]", text) else []
    names = [_NAME.match(each["tag"] or "") for each in found]
    ends = {f"end{name}": -1 for name in _RAW}
    closing = [-1] * len(found)  # the index of the statement that ends each one
    for index in range(len(found) - 1, -1, -1):
        name = names[index]
        if name is not None and name[1] in ends:
            ends[name[1]] = index
        elif name is not None and name[1] in _RAW:
            closing[index] = ends[f"end{name[1]}"]
    done, index = [], 0
    while index < len(found):
        own, last = found[index], max(closing[index], index)
        printed = (own[0][:2] == "{{" and not (own["comment"] or own["block"])) or bool(own["php"] or own["erb"])
        done.append(Template(own.start(), found[last].end(), printed))
        index = last + 1
    return done


def template_parts(text: str, templates: list[Template]) -> Iterator[Part]:
    """A part for each template: a statement ends a text, and what is printed is a part "alone".

    Short outputs have no parts: they are spans of their texts.
    """
    for start, end, printed in templates:
        if not printed:
            yield Part("end", start, end)
        elif end - start > _SHORT or "\n" in text[start:end] or text[start] == "<":
            yield Part("alone", start, end)


def masked(text: str, templates: list[Template]) -> str:
    """A text for a parser that does not know templates, which are letters there. Line ends stay."""
    done, position = [], 0
    for start, end, _ in templates:
        done += [text[position:start], re.sub(r"[^\n]", "x", text[start:end])]
        position = end
    return "".join([*done, text[position:]])
