"""AsciiDoc: titles, paragraphs, list items and cells, without code, attributes, macros and comments."""

import re
from collections.abc import Iterator

from ....translate.texts.tags import Part
from ..places import Document, Place, has_words, spelled
from .format import Format, LanguagePair
from .plain import filling, line_end
from .tokens import trimmed

_VERBATIM = re.compile(r"-{4,}|\.{4,}|\+{4,}|/{4,}|```.*")  # lines around a verbatim block
_STAYS = re.compile(  # lines that are not translated
    r"//(?!//).*|:!?[\w-]+!?:.*|\[.*\]|(?:={4,}|\*{4,}|_{4,}|--|'''|<<<|\+)|\w+::[^\s\[]*\[.*\]|\|===.*|[,:]==="
)
_CODE_STYLE = re.compile(r"\[(?:source|listing|literal|stem|latexmath|asciimath|verse|plantuml|mermaid)\b.*\]")
_TITLE = re.compile(r"(?:={1,6}|#{1,6})[ \t]+|\.(?=[^\s.])")
_ITEM = re.compile(
    r"[ \t]*(?:[*-]+|\.+|\d+\.|<(?:\d+|\.)>)[ \t]+(?:\[[ x*]\][ \t]+)?|(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+"
)
_LETTER = re.compile(r"[ \t]*(?:[A-Za-z]\.|[ivx]+\)|[IVX]+\))[ \t]+")  # of an item
_TERM = re.compile(r"[ \t]*(\S.*?)(:{2,4}|;;)(?:[ \t]+|$)")
# Each stretch of spaces, digits or marks is read from its start only, so that the time is linear.
_BAR = re.compile(
    r"(?:(?<![ \t])[ \t]++)?(?<!\\)(?:(?<!\d)(?:\d+(?:\.\d+)?|\.\d+)[+*])?(?:(?<![<^>.])[<^>.]++)?[adehlms]?\|[ \t]*"
)
LONGEST = 1000  # characters of a stretch in marks or of an address; looking further takes too long in hostile texts
_INLINE = re.compile(
    rf"(?P<quote>[\"']`)(?=[^`\n]{{1,{LONGEST}}}+`[\"'])"  # "`words`" in curved quotes
    rf"|(?P<attribute>\{{[\w-]+\}}[^\s\[\]<>{{}}]{{0,{LONGEST}}}+\[)(?=[^\]]{{0,{LONGEST}}}+\])"  # begins an address
    rf"|(?P<code>`[^`]{{1,{LONGEST}}}+`|\+[^+\n]+\+|(?:kbd|btn|menu|stem|footnote(?:ref)?|image|icon|pass|anchor|indexterm2?)"
    rf":[^\s\[\]]*\[[^\]\n]{{0,{LONGEST}}}+\]|\(\(\((?!\().{{0,200}}?\)\)\)|\[\[\[?[^\[\]\n]*\]\])"
    rf"|(?P<link>(?:link:|xref:|mailto:|https?://|ftp://)[^\s\[\]<>]{{0,{LONGEST}}}+\[)(?=[^\]]{{0,{LONGEST}}}+\])"
    r"|(?P<cross><<[^<>,\n]+,)(?=[^<>\n]*>>)|(?P<bare><<[^<>\n]+>>)"
    r"|(?P<mark>(?<![\w*_#\\])(?:\[[\w.#-]+\])?(?P<kind>\*\*?|__?|\#\#?)(?=\S))"
)


_NOTE = re.compile(rf"footnote:[\w-]*\[([^\]\n]{{0,{LONGEST}}}+)\]")


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The texts of a page."""
    document = Document(text, [])
    for block in _blocks(text):
        document.places += _places(text, block)
    document.places.sort(key=lambda place: place.start)
    return document


FORMATS = (Format("asciidoc", (".adoc", ".asciidoc"), read),)


def _blocks(text: str) -> Iterator[list[tuple[int, int]]]:
    """The characters of the lines of each text, without the marks before them."""
    block: list[tuple[int, int]] = []
    fence, code, table = "", False, False  # the line that ends a verbatim block; whether code follows; inside a table
    in_list = cell_code = False  # whether the block is in a list; whether the cell is code
    for line in re.finditer(r"[^\n]*\n?", text):
        raw = line[0].rstrip("\r\n").removeprefix("\ufeff")
        start, end = line.start() + len(line[0]) - len(line[0].lstrip("\ufeff")), line.start() + len(raw.rstrip())
        body = raw.rstrip()
        if fence:
            fence = "" if body == fence else fence
            continue
        starts = not block
        cell_code = cell_code and bool(body) and not _BAR.match(body)
        in_list = in_list and bool(body)
        if not body or _VERBATIM.fullmatch(body) or _STAYS.fullmatch(body):
            yield block
            block = []
            table ^= body.startswith("|===")
            fence = "```" if body.startswith("```") else body if _VERBATIM.fullmatch(body) else ""
            code = bool(_CODE_STYLE.fullmatch(body)) or (code and body.startswith("["))
        elif code or cell_code:  # a paragraph of code
            continue
        elif table:
            yield block
            block = []
            cell_code = bool(_CODE_STYLE.fullmatch(_BAR.split(body)[-1]))
            yield from list(_cells(text, start, end))[: -1 if cell_code else None]
        elif starts and raw[:1] in " \t" and not _ITEM.match(raw) and not _LETTER.match(raw):  # a literal paragraph
            code = True
        elif title := _TITLE.match(body):
            yield block
            yield [(start + title.end(), end)]
            block = []
        elif item := _ITEM.match(body) or (_LETTER.match(body) if starts or in_list else None):
            yield block
            block, in_list = [(start + item.end(), end)], True
        elif (term := _TERM.match(body)) and (term.end() == len(body) or starts or in_list):
            yield block
            in_list = True
            yield [(start + term.start(1), start + term.end(1))]
            block = [(start + term.end(), end)] if term.end() < len(body) else []
        else:
            block.append((start + len(body) - len(body.lstrip()), end))
    yield block


def _cells(text: str, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The cells in a line of a table."""
    position = start
    for bar in _BAR.finditer(text, start, end):
        if bar.start() > position:
            yield [(position, bar.start())]
        position = bar.end()
    if position < end:
        yield [(position, end)]


def _places(text: str, lines: list[tuple[int, int]]) -> Iterator[Place]:
    parts: list[Part] = []
    closing: list[tuple[str, int]] = []
    for number, (start, end) in enumerate(lines):
        if number and parts[-1].end <= start:  # else code goes on
            parts.append(line_end(text, lines[number - 1][1], start))
        parts += _inline(text, max(start, parts[-1].end) if parts else start, end, lines[-1][1], closing)
    if not has_words(parts) or not (kept := trimmed(parts)):
        return
    yield Place(kept, filling(text, spelled(kept, text, str)))
    for note in (found for start, end in lines for found in _NOTE.finditer(text, start, end)):
        own = trimmed(list(_inline(text, *note.span(1), note.end(1), [])))
        if has_words(own):
            yield Place(own, filling(text, spelled(own, text, str)))


def _inline(text: str, start: int, end: int, last: int, closing: list[tuple[str, int]]) -> Iterator[Part]:
    """The parts of a line: links and marks are pairs of tags, and code is a part "alone".

    Args:
        text: The page.
        start: The first character of the line.
        end: The character after its last one.
        last: The end of the text to which the line belongs.
        closing: The mark that closes each open part, and its place, which may be in a later line.
    """
    position = start
    while position < end:
        found = _INLINE.search(text, position, last)
        found = found if found and found.start() < end else None
        first = min([found.start() if found else end, *(at for _, at in closing)])
        if first > position:
            yield Part("text", position, first, text[position:first])
        position = first
        if closing and closing[-1][1] == first and first < end:
            mark, _ = closing.pop()
            yield Part("close", first, first + len(mark), "", f"{mark}{len(closing)}")
            position = first + len(mark)
        elif found and first == found.start():
            kind = found.lastgroup if found.lastgroup != "kind" else "mark"
            end_of_link = (
                "^]" if text.startswith("^]", text.find("]", found.end(), found.end() + LONGEST) - 1) else "]"
            )  # of a new window
            quote = f"`{found[0][0]}" if kind == "quote" else ""
            mark = {"link": end_of_link, "attribute": end_of_link, "cross": ">>", "quote": quote}.get(
                kind, found["kind"] or ""
            )
            limit = min([last, found.end() + LONGEST, *(at for _, at in closing)])
            at = _closing(text, found.end(), limit, mark, kind == "mark") if mark else -1
            if kind in ("code", "bare"):
                is_word = kind == "code" and found[0][0] not in "[(" and not _NOTE.match(found[0])  # not an anchor
                yield Part("alone", *found.span(), found[0].strip("`+") if is_word else "")
            elif at >= 0:
                yield Part("open", *found.span(), "", f"{mark}{len(closing)}")
                closing.append((mark, at))
            else:
                yield Part("text", *found.span(), found[0])
            position = found.end()


def _closing(text: str, start: int, end: int, mark: str, constrained: bool) -> int:
    """The place of the closing mark, or -1."""
    pattern = rf"(?<=\S){re.escape(mark)}(?!\w)" if constrained else re.escape(mark)
    found = re.compile(pattern).search(text, start, end)
    return found.start() if found else -1
