"""Text of TMX and XLIFF segments, in which inline elements represent codes of the original document.

A line break becomes a space, a placeholder such as `%d` or `{name}` becomes text, and other markup is dropped.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..model.spans_glossa import LENGTH

# Elements with code instead of text (TMX 1.4b; XLIFF 1.2 and 2.0, inline elements), and those among them that open or
# close something, so that they are always markup.
CODES = ("bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec")
PAIRED = ("bpt", "ept", "bx", "ex", "sc", "ec")
# Attributes with the original code, or its form in an editor.
_CONTENTS = ("equiv-text", "equiv", "disp")
BREAK_TYPES = re.compile(r"(x-|xlf:|fmt:)?(lb|pb|br|p|linebreak|pagebreak)", re.I)
# HTML elements that start a line; line ends, plain or escaped; and RTF line breaks.
_BREAK = re.compile(
    r"\s*+(?:</?(?:br|p|div|li|ul|ol|tr|td|th|table|hr|h\d)\b[^<>]*>|(?:\\[nrt])+|\\(?:line|par|tab|page)\b)\s*+"
    r"|[^\S\n\r\t\u2028\u2029]*+[\n\r\t\u2028\u2029]\s*+",
    re.I,
)
# A directive of printf after its %, as in GNU gettext and Apple's strings, for codes and for strings of programs.
# `find_spans` is stricter, since other texts have percent signs too, as in `50% of it`.
DIRECTIVE = (
    r"(?P<number>\d+\$)?"
    rf"(?P<rest>\#@\w+@|[-+ \#0'I]*+(?:\*|\d+)?(?:\.(?:\*|\d+)?)?{LENGTH}(?:<PRI\w+>|[a-zA-Z@]))"
)
_PLACEHOLDER = re.compile(
    rf"""(?:(?<!\s)\s++)?(?:
      %[A-Za-z_][\w.-]+%(?!\w)  # %name%
    | %(?:{DIRECTIVE}|%)  # printf: %d %1$s %.2f
    | %\([^()]*\)[-+\x20#0]*+\d*(?:\.\d+)?[A-Za-z]  # Python: %(name)s
    | %L?\d+  # Qt: %1
    | [$\#]?\{{[^\\<>]{{0,1000}}\}} | \[\[?[\w.$:-]+\]\]?  # {{0}} {{name}} ${{name}} #{{name}} [name]
    | \$[\w.]+\$? | [@!:][A-Za-z_]\w* | __\w+__  # $name @count :name __name__
    | <%.{{0,1000}}?%> | <\?.{{0,1000}}?\?>
    )\s*""",
    re.X | re.S,
)


def texts(nodes: Sequence[Any]) -> list[str]:
    """The text of each segment of a unit. A code described in one segment has the same text in the others, by id."""
    known: dict[str, str] = {}
    for code in (child for node in nodes for child in node.iter("{*}*")):
        if local_name(code) in CODES and (found := _code_text(code)):
            known.setdefault(_key(code), found)
    return [_text(node, known) for node in nodes]


def local_name(element: Any) -> str:
    """The tag of an element of XML without its namespace."""
    return element.tag.rpartition("}")[2]


def _key(code) -> str:
    """The key shared by a code and its copy in the other language."""
    return f"{local_name(code)} {code.get('id') or code.get('x') or ''}"


def _text(node, known: dict[str, str]) -> str:
    parts = [node.text or ""]
    for child in node:
        if isinstance(child.tag, str):  # the tag of a comment is not a string
            numbered = child.get("id") or child.get("x")
            shown = _code_text(child) or (known.get(_key(child), "") if numbered else "")
            parts.append(shown if local_name(child) in CODES else _text(child, known))
        parts.append(child.tail or "")
    return "".join(parts)


def _code_text(code) -> str:
    """The text for a code: a space, a placeholder or nothing."""
    contents = ["".join(code.itertext()), _original(code), *(code.get(name, "") for name in _CONTENTS)]
    if is_break(code, *contents[:2]):
        return " "
    found = () if local_name(code) in PAIRED else contents
    return next((content for content in found if _is_placeholder(content)), "")


def is_break(code: Any, *contents: str) -> bool:
    """Whether a code, or a mapping of its attributes, is a line break, by its type, its attributes or `contents`."""
    types = (code.get(name) or code.get(name.lower()) or "" for name in ("type", "ctype", "subType"))
    written = (code.get(name) or "" for name in _CONTENTS)
    return any(map(BREAK_TYPES.fullmatch, types)) or any(map(_BREAK.fullmatch, (*contents, *written)))


def _is_placeholder(content: str) -> bool:
    return bool(content.strip()) and not _PLACEHOLDER.sub("", content)


def _original(code) -> str:
    """The original code that an XLIFF 2.0 element refers to; "" without one."""
    name = code.get("dataRef")
    unit = next(code.iterancestors("{*}unit"), None) if name else None
    data = () if unit is None else unit.iterfind("{*}originalData/{*}data")
    return next(("".join(item.itertext()) for item in data if item.get("id") == name), "")
