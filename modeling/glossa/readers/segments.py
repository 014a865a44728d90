"""Text of the segments of TMX and XLIFF, in which elements stand for codes of the original document.

A code that breaks a line is a space, a placeholder such as `%d` or `{name}` is text, and other markup is left out.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..model.spans_glossa import LENGTH

# Elements whose content is code, not text (TMX 1.4b; XLIFF 1.2 and 2.0, inline elements), and of these the ones that
# open or close something, which is markup in any case.
CODES = ("bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec")
PAIRED = ("bpt", "ept", "bx", "ex", "sc", "ec")
# Attributes that say what a code is, in the original or as an editor shows it.
_CONTENTS = ("equiv-text", "equiv", "disp")
BREAK_TYPES = re.compile(r"(x-|xlf:|fmt:)?(lb|pb|br|p|linebreak|pagebreak)", re.I)
# Elements of HTML that start a line, line ends as they are or escaped, and the same in RTF.
_BREAK = re.compile(
    r"\s*(</?(br|p|div|li|ul|ol|tr|td|th|table|hr|h\d)\b[^<>]*>|(\\[nrt])+|\\(line|par|tab|page)\b|[\n\r\t\u2028\u2029]+)\s*",
    re.I,
)
# What follows the % of a directive of printf, as GNU gettext and Apple's strings have it. It is for content that is
# code, or a string of a program; in any text, `find_spans` takes fewer for directives: `50% of it` has none.
DIRECTIVE = (
    r"(?P<number>\d+\$)?"
    rf"(?P<rest>\#@\w+@|[-+ \#0'I]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?{LENGTH}(?:<PRI\w+>|[a-zA-Z@]))"
)
_PLACEHOLDER = re.compile(
    rf"""\s*(?:
      %[A-Za-z_][\w.-]+%(?!\w)  # %name%
    | %(?:{DIRECTIVE}|%)  # printf: %d %1$s %.2f
    | %\([^()]*\)[-+\x20#0]*\d*(?:\.\d+)?[A-Za-z]  # Python: %(name)s
    | %L?\d+  # Qt: %1
    | [$\#]?\{{[^\\<>]*\}} | \[\[?[\w.$:-]+\]\]?  # {{0}} {{name}} ${{name}} #{{name}} [name]
    | \$[\w.]+\$? | [@!:][A-Za-z_]\w* | __\w+__  # $name @count :name __name__
    | <%.*?%> | <\?.*?\?>
    )\s*""",
    re.X | re.S,
)


def texts(nodes: Sequence[Any]) -> list[str]:
    """The text of each segment of a unit. A code that only one of them describes is the same in the others, by id."""
    known: dict[str, str] = {}
    for code in (child for node in nodes for child in node.iter("{*}*")):
        if _name(code) in CODES and (found := _shown(code)):
            known.setdefault(_key(code), found)
    return [_text(node, known) for node in nodes]


def _name(element) -> str:
    return element.tag.rpartition("}")[2]


def _key(code) -> str:
    """What a code and its copy in the other language have in common."""
    return f"{_name(code)} {code.get('id') or code.get('x') or ''}"


def _text(node, known: dict[str, str]) -> str:
    parts = [node.text or ""]
    for child in node:
        if isinstance(child.tag, str):  # the tag of a comment is no text
            numbered = child.get("id") or child.get("x")
            shown = _shown(child) or (known.get(_key(child), "") if numbered else "")
            parts.append(shown if _name(child) in CODES else _text(child, known))
        parts.append(child.tail or "")
    return "".join(parts)


def _shown(code) -> str:
    """What stands for a code in the text: a space, a placeholder or nothing."""
    types = (code.get(name, "") for name in ("type", "ctype", "subType"))
    if any(map(BREAK_TYPES.fullmatch, types)):
        return " "
    contents = ["".join(code.itertext()), _original(code), *(code.get(name, "") for name in _CONTENTS)]
    if any(map(_BREAK.fullmatch, contents)):
        return " "
    found = () if _name(code) in PAIRED else contents
    return next((content for content in found if _is_placeholder(content)), "")


def _is_placeholder(content: str) -> bool:
    return bool(content.strip()) and not _PLACEHOLDER.sub("", content)


def _original(code) -> str:
    """The code that an element of XLIFF 2.0 refers to."""
    name = code.get("dataRef")
    unit = next(code.iterancestors("{*}unit"), None) if name else None
    data = () if unit is None else unit.iterfind("{*}originalData/{*}data")
    return next(("".join(item.itertext()) for item in data if item.get("id") == name), "")
