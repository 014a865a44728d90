"""What a file and its pseudo-translation have: texts, and everything else. Each format is read by other programs.

A reader returns the texts of a file in order, and its code: keys, tags, addresses, statements, formulas, styles. The
readers share nothing with those of `glossa.apps.documents`.
"""

import configparser
import csv
import html
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from gettext import c2py
from html.parser import HTMLParser
from typing import Any, NamedTuple

import yaml
from babel.messages.pofile import read_po
from lxml import etree
from markdown_it import MarkdownIt


class Content(NamedTuple):
    """The texts of a file, and the code around them."""

    texts: list[str]
    code: list[str]

    def __add__(self, other: "Content") -> "Content":  # type: ignore[override]
        return Content(self.texts + other.texts, self.code + other.code)


STATEMENT = re.compile(
    r"\{\{-?\s*/\*.*?\*/\s*-?\}\}|\{%-?\s*(comment|style|stylesheet|schema|javascript)\b.*?\bend\1\s*-?%\}|\{\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\}\}|\{%(?:(?!%\}|\{%).)*%\}|\{#(?:(?!#\}).)*#\}|\{\{[!#/^>](?:(?!\}\}).)*\}\}|<\?(?:(?!\?>).)*\?>|<%(?:(?!%>).)*%>",
    re.S,
)
# HTML, sections 3.2.6, 4 and 6: attributes with texts, and elements whose content is none.
TEXT_ATTRIBUTES = frozenset(
    ["alt", "title", "placeholder", "label", "summary", "content", "value", "aria-label", "aria-description",
     "aria-placeholder", "aria-roledescription", "aria-valuetext"]
)  # fmt: skip
CODE_ELEMENTS = frozenset(
    ["script", "style", "pre", "textarea", "code", "kbd", "samp", "var", "svg", "math", "template", "iframe", "object",
     "noscript", "canvas", "audio", "video", "rt", "rp", "rtc", "xmp"]
)  # fmt: skip
# The standard metadata names of HTML, section 4.2.5.1, and those of Open Graph, Twitter and Dublin Core.
_METADATA = re.compile(r"(?:(?:og|twitter):|dc\.)?(?:title|description|keywords|site_name|image:alt)", re.I)
_NAMING = ("name", "property", "itemprop")
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
LANGUAGE = frozenset(["lang", "xml:lang", "{http://www.w3.org/XML/1998/namespace}lang"])


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.code: list[str] = []
        self.stack: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        untranslated = given.get("translate") == "no" or "notranslate" in (given.get("class") or "").split()
        inside = (bool(self.stack) and self.stack[-1][1]) or tag in CODE_ELEMENTS or untranslated
        named = tag != "meta" or any(_METADATA.fullmatch(given.get(key) or "") for key in _NAMING)
        own = TEXT_ATTRIBUTES if named else frozenset()
        self.texts += [value for name, value in attrs if name in own and value]
        self.code.append(f"{tag} {[each for each in attrs if each[0] not in own | LANGUAGE]}")
        if tag not in VOID:
            self.stack.append((tag, inside))

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self.stack):
            while self.stack.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        (self.code if self.stack and self.stack[-1][1] else self.texts).append(data)

    def handle_comment(self, data: str) -> None:
        self.code.append(data)


def read_html(text: str) -> Content:
    statements = [found[0] for found in STATEMENT.finditer(text)]
    page = _Page()
    # A statement is an element, or inside of a tag a part of it.
    page.feed(
        STATEMENT.sub(lambda own: "<hr>" if _is_outside(text, own.start()) else "", text) if statements else text
    )
    page.close()
    return Content(page.texts, page.code + statements)


def _is_outside(text: str, position: int) -> bool:
    return text.rfind("<", 0, position) <= text.rfind(">", 0, position)


def read_markdown(text: str) -> Content:
    front = re.match(r"---\n.*?\n---\n", text, re.S)
    body = text[front.end() :] if front else text
    statements = [found[0] for found in STATEMENT.finditer(body) if "`" not in found[0]]  # not code
    found = Content([], [*([front[0]] if front else []), *statements])
    body = STATEMENT.sub(lambda own: own[0] if "`" in own[0] else "", body)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(body)
    extended = re.search(r"^ *(?:!!!|\?\?\?|===|\[\^)", body, re.M)  # indented texts of Python-Markdown
    for token in tokens:
        if token.type == "code_block" and extended:
            continue
        if token.type == "html_block":
            found += read_html(token.content)
        elif token.type != "inline":
            found.code.append(f"{token.type} {token.tag} {token.info} {token.content}")
        else:
            found += _inline(token.children or [])
    return found


def _inline(tokens: list[Any]) -> Content:
    found = Content([""], [])
    for token in tokens:
        if token.type in ("text", "softbreak"):
            found.texts[-1] += token.content or " "
        elif token.type == "image":
            found += _inline(token.children or [])
            found.code.append(str(token.attrGet("src")))
            found.texts.append("")
        else:
            attributes = {name: value for name, value in token.attrs.items() if name != "title"}
            found.code.append(f"{token.type} {token.content} {attributes}")
            found.texts.append("")
    return Content([each for each in found.texts if each], found.code)


def read_tree(root: Any, path: str = "") -> Content:
    """The values of JSON, TOML and INI; their keys, numbers and the like are code."""
    found = Content([], [])
    if isinstance(root, dict | list):
        for key, value in root.items() if isinstance(root, dict) else enumerate(root):
            inner = read_tree(value, "@" if str(key).startswith("@") or path == "@" else f"{path}.{key}")
            found = Content(found.texts, [*found.code, f"{path}.{key}"]) + inner
    elif isinstance(root, str) and not path.rpartition(".")[2].startswith("@"):
        found.texts.append(root)
    else:
        found.code.append(repr(root))
    return found


def read_yaml(text: str) -> Content:
    found = Content([], [])
    stack = [(node, False) for node in yaml.compose_all(text, yaml.SafeLoader)][::-1]
    while stack:
        node, key = stack.pop()
        if isinstance(node, yaml.ScalarNode):
            (found.code if key or not node.tag.endswith(":str") else found.texts).append(node.value)
        elif isinstance(node, yaml.SequenceNode):
            stack += [(each, False) for each in reversed(node.value)]
        elif node is not None:
            stack += [each for pair in reversed(node.value) for each in ((pair[1], False), (pair[0], True))]
    return found


def read_notebook(text: str) -> Content:
    book = json.loads(text)
    found = Content([], [json.dumps({**book, "cells": len(book["cells"])})])
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            found += read_markdown("".join(cell["source"]))
        else:
            found.code.append(json.dumps(cell))
    return found


def _local(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def read_xml(*tags: str) -> Callable[[str], Content]:
    """A reader of XML whose elements `tags` have texts."""

    def read(text: str) -> Content:
        found = Content([], [])
        root = etree.fromstring(text.encode("utf-8"), etree.XMLParser(resolve_entities=False, encoding="utf-8"))
        for element in root.iter(etree.Element):
            around = list(element.iterancestors())
            inside = any(_local(each) in tags or {"type", "mimetype"} & set(each.attrib) for each in around)  # ResX
            attributes = sorted((name, value) for name, value in element.attrib.items() if name not in LANGUAGE)
            found.code.append(f"{element.tag} {attributes}")
            if _local(element) in tags and not inside and element.get("translatable") != "false":
                found.texts.append("".join(element.itertext()))
            elif not inside:
                found.code.append((element.text or "").strip())
        return found

    return read


# Office: paragraphs, their texts, and elements between words. ISO/IEC 29500 and 26300.
_PARAGRAPHS = frozenset(["p", "h", "si", "is", "text"])
_BREAKS = frozenset(["br", "tab", "ptab", "cr", "line-break", "s"])
_RUNS = frozenset(
    ["r", "t", "rPr", "lang", "proofErr", "lastRenderedPageBreak", "noBreakHyphen", "softHyphen", *_BREAKS]
)
_DESCRIBED = frozenset(["descr", "title", "tooltip", "prompt", "promptTitle", "error", "errorTitle"])
_ALONE = frozenset(["v", "subject", "description", "keywords", "keyword", "desc", *(
    f"{which}{where}" for which in ("odd", "even", "first") for where in ("Header", "Footer"))])  # fmt: skip


def read_office(content: bytes) -> Content:
    found = Content([], [])
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True, recover=True))
    if root is None:  # `recover` is for several elements with one xml:id
        return Content([], [str(hash(content))])
    for element in root.iter(etree.Element):
        name = _local(element)
        if name in _PARAGRAPHS and any(each.get(_FORMULA) for each in element.iterancestors()):
            found.code.append("".join(element.itertext()))  # a result
        elif name in _PARAGRAPHS and len(element):
            found.texts.append(_words(element))
        elif name == "v" and any(_local(each) == "f" for each in element.itersiblings(preceding=True)):
            found.code.append(element.text or "")  # the result of a formula
        elif name in _ALONE or (name == "title" and not len(element)) or name in _PARAGRAPHS:
            found.texts.append(element.text or "")
        elif name not in _RUNS and not any(_local(each) in _PARAGRAPHS for each in element.iterancestors()):
            found.code.append((element.text or "").strip() if not len(element) else "")
        if any(_local(each) == "rPr" for each in element.iterancestors()):
            continue
        given = [(etree.QName(key), value) for key, value in element.attrib.items()]
        own = {key.localname: value for key, value in given if "xlink" not in (key.namespace or "")}
        described = _DESCRIBED if name != "bibliography-mark" else frozenset()
        found.texts.extend(value for key, value in own.items() if key in described)
        if name not in _RUNS:
            found.code.append(f"{name} {[each for each in own.items() if each[0] not in described | {'lang'}]}")
    return Content([each for each in found.texts if each], found.code)


_FORMULA = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}formula"
_APART = (*_PARAGRAPHS, "note", "annotation", "frame", "instrText", "delText", "moveFrom", "rPh")


def _words(element: Any) -> str:
    """The text of a paragraph without paragraphs inside of it."""
    parts = [element.text or ""] if _local(element) == "t" or "opendocument" in element.tag else []
    for child in element.iterchildren(etree.Element):
        name = _local(child)
        if name in _BREAKS:
            parts.append("\n")
        elif name in ("noBreakHyphen", "softHyphen"):
            parts.append({"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}[name])
        elif name not in _APART:
            parts.append(_words(child))
        if "opendocument" in element.tag:
            parts.append(child.tail or "")
    return "".join(parts)


_MASTER = re.compile(r"Master|slideLayout|customXml|META-INF|docProps/app|theme|^word/styles")


_FIELD = re.compile(r'<(?:\w+:)?(?:cacheField|tableColumn)\b[^<>]*?\bname="([^"]*)"')


def read_package(content: bytes) -> Content:
    """The members of an archive: pages, XML, and others, which are code."""
    found = Content([], [])
    named: set[str] = set()  # cells that are names of fields
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            data = archive.read(info)
            found.code.append(info.filename)
            if info.filename.lower().endswith((".xhtml", ".html", ".htm")):
                found += read_html(data.decode("utf-8", "replace"))
            elif info.filename.lower().endswith((".xml", ".opf", ".ncx")) and not _MASTER.search(info.filename):
                named.update(html.unescape(each) for each in _FIELD.findall(data.decode("utf-8", "replace")))
                try:
                    found += read_office(data) if data.strip() else Content([], [])
                except etree.XMLSyntaxError:  # such a member is copied
                    found.code.append(str(hash(data)))
            else:  # also the masters of slides, which people do not read
                found.code.append(str(hash(data)))
    return Content([each for each in found.texts if each not in named], found.code)


def read_lines(code: str) -> Callable[[str], Content]:
    """A reader of lines: what the pattern matches is code, and the rest is one text of words."""
    pattern = re.compile(code, re.M)

    def read(text: str) -> Content:
        rest = " ".join(pattern.sub("\n", text).split())
        return Content([rest] if rest else [], [found[0] for found in pattern.finditer(text)])

    return read


def read_ini(text: str) -> Content:
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(f"[top]\n{text}")
    return read_tree({name: dict(section) for name, section in parser.items()})


_read_vtt = read_lines(r"^\d+\s*$|^.*-->.*$|</?[\w.:]+[^<>]*>|\AWEBVTT.*(?:\n.+)*|(?<=\n\n)NOTE.*(?:\n(?!.*-->).+)*")
_read_properties = read_lines(r"^\s*[#!].*$|^(?:[^\s\\:=]|\\.)+\s*[=:]\s*")
READERS: dict[str, Callable[[str], Content]] = {
    "html": read_html,
    "markdown": read_markdown,
    "json": lambda text: read_tree(json.loads(text)),
    "toml": lambda text: read_tree(tomllib.loads(text)),
    "ini": read_ini,
    "yaml": read_yaml,
    "ipynb": read_notebook,
    "resx": read_xml("value"),
    "android": read_xml("string", "item"),
    "stringsdict": read_xml("string"),
    "srt": read_lines(r"^\d+\s*$|^.*-->.*$|</?[\w.]+[^<>]*>|\{[^{}]*\}"),
    "vtt": lambda text: _read_vtt(html.unescape(text)),
    "ass": read_lines(r"^(?!Dialogue:).*$|^Dialogue:(?:[^,]*,){9}|\{[^{}]*\}|\\[Nnh]"),
    "lrc": read_lines(r"\[[^\]]*\]"),
    "properties": lambda text: _read_properties(re.sub(r"(?<!\\)\\\n\s*", "", text)),
    "strings": read_lines(r"/\*(?:.|\n)*?\*/|^\s*//.*$|^\s*\"(?:[^\"\\]|\\.)*\"\s*="),
    "fluent": read_lines(r"^#.*$|^-?[\w-]+ *=|^ +\.[\w-]+ *=|^ *\*?\[\w+\]|\{[^{}]*->\s*$|\{[^{}]*\}"),
    "asciidoc": read_lines(
        r"^(?:----+|\.{4,})\n(?:.|\n)*?\n(?:----+|\.{4,})$|^:[\w!-]+:.*$|^\[.*\]$|^//.*$|(?<![\"'`])`(?![\"'])(?:[^`\n]|\n(?!\n))+`|\{[\w-]+\}"
        r"|(?:xref|link|image|include|https?|ftp):+[^\s\[]+\[?|<<[^,>\n]*"
    ),
    "table": lambda text: Content([cell for row in csv.reader(io.StringIO(text)) for cell in row if cell], []),
    "lines": read_lines(r"(?!)"),
}


def read_pairs(kind: str, old: str, new: str) -> tuple[Content, Content]:
    """A catalog and its translation: what was empty must have the source, and all the rest must stay."""
    before, after = (Content([], []) for _ in range(2))
    for (id, was, code), (_, now, other) in zip(PAIRS[kind](old), PAIRS[kind](new), strict=True):
        before.code.append(code)
        after.code.append(other)
        for source, first, second in zip(id, was, now, strict=False):
            if first.strip():
                before.code.append(first)
                after.code.append(second)
            else:
                before.texts.append(source)
                after.texts.append(second or source)
    return before, after


Pair = tuple[list[str], list[str], str]  # sources, translations, code


def _messages(text: str) -> Iterator[Pair]:
    header = re.sub(r'^"(?:POT-Creation-Date|PO-Revision-Date).*\n', "", text, flags=re.M)
    forms = re.search(r"nplurals *= *(\d+)", header)
    rule_of = re.search(r"plural *= *([^;\\\"]+(?:\"\n\"[^;\\\"]+)*)", header)
    one = c2py(rule_of[1].replace('"\n"', ""))(1) if rule_of and forms else 0
    rule = f'"Plural-Forms: nplurals={forms[1] if forms else 2}; plural=0;\\\\n"'
    header = re.sub(r'^"Plural-Forms[^"]*"(?:\n"[^":]*")*', rule, header, count=1, flags=re.M)
    header = re.sub(r"charset=[\w.:-]+", "charset=UTF-8", header)
    for message in read_po(io.BytesIO(header.encode())):
        if message.id:
            plural = isinstance(message.id, tuple | list)
            ids, strings = (list(each) if plural else [each] for each in (message.id, message.string))
            several = plural and len(strings) > 1
            forms = [ids[0 if several and number == one else -1] for number in range(len(strings))]
            code = f"{message.id} {message.context} {sorted(message.flags)} {message.locations}"
            yield forms, [each or "" for each in strings], code


_UNFINISHED = ("new", "needs-translation", "initial")  # states of XLIFF 1.2 and 2.0


def _units(unit: str, source: str, target: str) -> Callable[[str], Iterator[Pair]]:
    def read(text: str) -> Iterator[Pair]:
        root = etree.fromstring(text.encode("utf-8"), etree.XMLParser(resolve_entities=False, encoding="utf-8"))
        for element in root.iter(etree.Element):
            if _local(element) not in unit.split():
                continue
            sides = {_local(child): child for child in element.iterchildren(etree.Element)}
            nodes = [sides[name] for name in (source, target) if name in sides]
            forms = list(nodes[-1].iter("numerusform")) or nodes[1:]
            texts = ["".join(each.itertext()) for each in (nodes[0], *forms)]
            texts += [""] * (2 - len(texts))
            if any(each.get("translate") == "no" for each in (element, *element.iterancestors())):
                yield [], [], f"{element.get('id')} {texts}"
                continue
            if target in sides and sides[target].get("state") in _UNFINISHED:
                texts[1] = ""
            yield texts[:1] * len(texts[1:]), texts[1:], f"{element.get('id')} {texts[0]}"

    return read


PAIRS: dict[str, Callable[[str], Iterator[Pair]]] = {
    "po": _messages,
    "xliff": _units("trans-unit segment", "source", "target"),
    "ts": _units("message", "source", "translation"),
}
