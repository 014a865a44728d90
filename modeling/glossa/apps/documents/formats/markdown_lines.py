"""Line syntaxes of Markdown dialects, which a Markdown parser reads as text.

They are hidden from the parser by as many other characters: a line that is not text becomes blank, and the start of a
block becomes a block mark of Markdown.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .templates import Template, find_templates

LONGEST = 1000  # characters; longer lines are not hidden
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
# Lines that are not translated.
_ALONE = re.compile(
    r"[ \t]*(?:"
    r"\{\{[<%].*[>%]\}\}|\{%.*%\}"  # Hugo's shortcodes, Liquid's tags
    r"|\{[:.#][^{}]*\}"  # attributes of kramdown and Pandoc
    r"|\[TOC\]|\[\[_TOC_\]\]"
    r")[ \t]*"
)
_MODULE = re.compile(  # MDX
    r"import[ \t](?:.*[ \t]from[ \t]+)?[\"'][^\"']+[\"'];?[ \t]*"
    r"|export[ \t]+(?:default|const|let|var|function|class)\b.*"
)
# Containers of Docusaurus, VuePress and Pandoc, with a name, attributes and a title.
_CONTAINER = re.compile(
    r"(?P<before>[ \t>]*):{3,}[ \t]*(?:\{[^}]*\}|[\w-]*)(?:\{[^}]*\})?"
    r"(?:\[(?P<boxed>.*)\]|[ \t]+(?P<title>[^\s{:].*?))?"
    r"(?:\{[^}]*\})?[ \t]*:*[ \t]*"
)
# Admonitions and tabs of Python-Markdown, whose content is indented by four.
_ADMONITION = re.compile(
    r"(?P<before>[ \t]*)(?:(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*|===[!+]?)(?:[ \t]+\"(?P<quoted>.*)\")?[ \t]*"
)
_ALERT = re.compile(
    r"(?P<before>(?:[ \t]*>)+[ \t]*)\[!\w+\][+-]?(?:[ \t]+(?P<title>\S.*?))?[ \t]*"
)  # GitHub, Obsidian
_NOTE = re.compile(r"(?P<before> {0,3})(?:\[\^[^\]\s]+\]|\*\[[^\]]+\]):(?=[ \t])")  # a footnote, an abbreviation
_DEFINITION = re.compile(r"(?P<before> {0,3}):(?=[ \t]{1,4}\S)")
_HEADING = re.compile(r"(?P<before>[ \t>]*#{1,6}[ \t].*?)[ \t]*\{[#.:][^{}]*\}[ \t]*")
# Mathematics by Pandoc's rule: no space inside the marks, and no digit after the second one.
_MATHEMATICS = re.compile(r"\$\$.*?\$\$|\$(?=[^\s$])(?:\\.|[^$\\\n]|\n(?![ \t]*\n))*?(?<!\s)\$(?!\d)|(\$)", re.S)


Hidden = tuple[int, int, str]  # characters that are hidden, and the beginning of what replaces them


class Title(NamedTuple):
    """The title in a hidden line: its characters, and the mark that it must not contain."""

    start: int
    end: int
    mark: str


def hidden(text: str, templates: list[Template]) -> tuple[bytes, list[Title]]:
    """The text for the parser, in UTF-8, and the titles in hidden lines."""
    titles: list[Title] = []
    done = []
    position = 0
    lines = list(_lines(text, titles))
    for start, end, instead in [*_merged(lines, list(_in_templates(text, templates))), (len(text), len(text), "")]:
        done.append(_without_prices(text[position:start]))
        length = len(text[start:end].encode("utf-8", "surrogatepass"))
        done.append(instead * length if instead in (">", "x") else instead.ljust(length)[:length])
        position = end
    return "".join(done).encode("utf-8", "surrogatepass"), titles


def templates_of(text: str) -> list[Template]:
    """The templates of a page, without those in code, which may begin in one code span and end in another."""
    return [each for each in find_templates(text) if "`" not in text[each.start : each.end]] if "{" in text else []


def _in_templates(text: str, templates: list[Template]) -> Iterator[Hidden]:
    """What hides templates: letters, or blanks if no other text is in their lines."""
    for start, end, printed in templates:
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        around = text[first:start] + text[end : last if last >= 0 else len(text)]
        for line in re.compile(r"[^\r\n]+").finditer(text, start, end):
            yield line.start(), line.end(), "x" if around.strip() or printed else ""


def _merged(first: list[Hidden], second: list[Hidden]) -> list[Hidden]:
    """Ranges in order, without those of the second list that overlap others."""
    done: list[Hidden] = []
    for each in sorted([*first, *second], key=lambda found: found[0]):  # at the same place, the first list's
        if not done or each[0] >= done[-1][1]:
            done.append(each)
    return done


def _without_prices(text: str) -> str:
    """A text in which each dollar sign outside mathematics is a letter."""
    return _MATHEMATICS.sub(lambda found: "S" if found[1] else found[0], text) if "$" in text else text


def _lines(text: str, titles: list[Title]) -> Iterator[Hidden]:
    """Ranges of characters to hide, each with its replacement. Titles are added to `titles`."""
    fence, start, inside = "", 0, 0  # the fence of code, the line's start, the indent of an admonition
    noted = False  # whether the line may continue a footnote
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end].rstrip("\r")
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
        elif not fence and line.strip():
            indent = len(line) - len(line.lstrip(" "))
            inside = inside if indent >= inside else 0
            after_note, noted = noted, (noted and indent >= 4) or _NOTE.match(line) is not None
            if noted and indent >= 4:
                yield start, start + 4, ">>> "
            if indent < inside + 4:
                hides = _hidden_in(line, start, titles)
                inside = indent + 4 if hides and hides[2] == _LIST else inside
                if hides and hides[2] == ">" and after_note and hides[1] - hides[0] <= 10:
                    hides = (*hides[:2], "1)".rjust(hides[1] - hides[0], "0"))  # no part of the note before it
                yield from [hides] if hides else []
        start = end + 1


_LIST = "- ***"  # a list item with a rule, so that indented lines after it belong to it


def _hidden_in(line: str, start: int, titles: list[Title]) -> Hidden | None:
    """The range of a line to hide, with its replacement, if any."""
    for pattern, instead in ((_NOTE, ">"), (_DEFINITION, "-")):
        if found := pattern.match(line):
            return start + found.end("before"), start + found.end(), instead
    if len(line) > LONGEST:
        return None
    for pattern, instead in ((_CONTAINER, ""), (_ALERT, ""), (_ADMONITION, _LIST)):
        if found := pattern.fullmatch(line):
            for name, mark in (("boxed", "]"), ("quoted", '"'), ("title", "")):
                if name in pattern.groupindex and found[name]:
                    titles.append(Title(start + found.start(name), start + found.end(name), mark))
            return start + found.end("before"), start + len(line), instead
    if found := _HEADING.fullmatch(line):
        return start + found.end("before"), start + len(line), ""
    if _ALONE.fullmatch(line) or _MODULE.fullmatch(line):
        return start, start + len(line), ""
    return None
