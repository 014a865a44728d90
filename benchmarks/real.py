"""Real files through a pseudo-translation: what stayed, changed, moved or was lost, by other readers."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import find_format, format_of_file, open_document
from glossa.apps.documents.job import Work
from glossa.base.errors import GlossaError
from glossa.model.spans_glossa import find_spans
from glossa.translate.build import pseudo_translator
from glossa.translate.engines.pseudo import undo
from glossa.translate.review import Problems

from .comparators import PAIRS, READERS, Content, read_package, read_pairs

STAYED, CHANGED, MOVED, INVALID, RAISED = KINDS = ("stayed", "changed", "moved or glued", "invalid", "raised")
_WORDS = re.compile(r"[A-Za-z]{2,}(?:['’]\w+)?[,;]?\s+[a-z]{3,}")
# Names in programs: no text, although they are strings.
_NAME = re.compile(r"\w+(?:[_\\@]\w+)+|[a-z]+[A-Z]\w*")


class Rule(NamedTuple):
    """What is no difference: matches of a pattern, which are replaced in both texts before they are compared."""

    source: str  # the specification that says so
    pattern: re.Pattern
    new: str = ""
    kinds: str = ""  # the formats, or all


_STRINGS = "po ts xliff android json yaml resx"
RULES = (
    Rule("Unicode 15, 23.2: characters without width", re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")),
    Rule("Unicode 15, Halfwidth and Fullwidth Forms: the colon", re.compile("："), ":"),
    Rule("the same: the exclamation mark", re.compile("！"), "!"),
    Rule("the same: the question mark", re.compile("？"), "?"),
    Rule("the same: the semicolon", re.compile("；"), ";"),
    Rule("CLREQ 3.1.6: an ideographic stop has its space inside", re.compile("(?<=。) ")),
    Rule("Imprimerie nationale, Lexique: the space before a mark", re.compile(r" (?=[:;!?…%])")),
    Rule("Unicode 15, U+2026: three periods are an ellipsis", re.compile(r" ?(?:\.\.\.|…)"), "…"),
    Rule("GTK, GtkLabel: a mnemonic may be any letter", re.compile(r"_(?=[^\W_])"), "", _STRINGS),
    Rule("Qt, QShortcut: a mnemonic may be any letter", re.compile(r"&(?=[^\W_])"), "", _STRINGS),
    Rule("Android, string resources: an escaped mark", re.compile(r"\\(?=[?@])"), "", "android"),
    Rule("Android, string resources: a space by its number", re.compile(r"\\u0020"), " ", "android"),
    Rule("java.util.Properties: an escaped character", re.compile(r"\\([ \"'])"), r"\1", "properties"),
    Rule(
        "CSS Text 3, 4.1.2: no space shows next to a line break or block",
        re.compile(r" ?(</?(?:br|pre|p|div|[ou]l|li|h\d)\b[^<>]*>) ?", re.I),
        r"\1",
        f"{_STRINGS} properties strings",
    ),
)
# What stays although it has words, and what is text although it looks like a name.
CODE = (
    Rule(
        "GitHub Actions, expressions: code",
        re.compile(r".*(?:\$\{\{|github\.\w)|[\w*./\\]+ \w+[/\\]", re.S),
        "",
        "yaml",
    ),
    Rule("MDX 2, ESM: code", re.compile(r"(?:import|export) .* from .*", re.S), "", "markdown"),
    Rule(
        "Gradle, wrapper properties: names of the program", re.compile(r".*GRADLE_USER_HOME.*", re.S), "", "properties"
    ),
)
# Strings of which some are names. In other formats all strings are texts: gettext 3 (msgid), XLIFF 4.2 (source), Qt's
# tr(), and in pages what is no code element (HTML 4.5.15) or code span (CommonMark 6.1).
_NAMED = frozenset(["json", "yaml", "toml", "ini", "properties", "strings"])


class Fault(NamedTuple):
    """A difference: its kind, and what is there now, or was."""

    kind: str
    shown: str


def clean(text: str, kind: str) -> str:
    """A text in the form in which texts of a format are compared."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    for rule in RULES:
        if kind in (rule.kinds.split() or (kind,)):
            text = rule.pattern.sub(rule.new, text)
    return " ".join(text.split())


def compare(old: Content, new: Content, kind: str) -> Iterator[Fault]:
    """The differences between a file and its pseudo-translation."""
    texts = [list(filter(None, (clean(text, kind) for text in side.texts))) for side in (old, new)]
    back = [undo(text) for text in texts[1]]
    sides = [[text.casefold() for text in side] for side in (texts[0], back)]
    words = [undo(clean("".join(side.texts), kind)).casefold() for side in (old, new)]
    inside = sides[0] != sides[1] and words[0] == words[1]  # only tags inside of words are elsewhere
    if not (inside and Counter(old.code) == Counter(new.code)):
        for before, after in _differences(old.code, new.code):
            yield Fault(CHANGED, f"{before[:200]} -> {after[:200]}")
    for before, after in _differences(*sides) if not inside else ():
        yield Fault(MOVED, f"{before[:200]} -> {after[:200]}")
    for text, again in zip(texts[1], back, strict=True):
        if text == again and _WORDS.search(_without_spans(text)) and not _is_code(text, kind):
            yield Fault(STAYED, text[:200])
    for text in new.texts:
        if undo(text) != text and kind in _NAMED and _NAME.fullmatch(undo(text).strip()):
            yield Fault(CHANGED, text[:200])


def _is_code(text: str, kind: str) -> bool:
    return any(kind in rule.kinds.split() and rule.pattern.match(text) for rule in CODE)


def _differences(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """The items that differ in two lists."""
    if len(old) == len(new):
        yield from (pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield " | ".join(old[a:b]), " | ".join(new[c:d])


def _without_spans(text: str) -> str:
    done, position = [], 0
    for start, end in find_spans(text):
        done.append(text[position:start])
        position = end
    return "|".join([*done, text[position:]])


def faults_of(path: Path, kind: str) -> tuple[int, list[Fault]]:
    """The number of texts of a file, and its faults. Raises `GlossaError` for a file that is refused."""
    translator = pseudo_translator()
    work = Work(translator, translator.translate_segments, Problems(None))
    opened = open_document(path, kind, LanguagePair("en"))
    new = opened.pack([work.translate(document, path, lambda count: None) for document in opened.documents])
    old = path.read_bytes()
    if find_format(kind).packed:
        return work.texts, list(compare(read_package(old), read_package(new), kind))
    before, after = (_decoded(kind, each, path) for each in (old, new))
    if kind in PAIRS:
        return work.texts, list(compare(*read_pairs(kind, before, after), kind))
    return work.texts, list(compare(READERS[kind](before), READERS[kind](after), kind))


def _decoded(kind: str, content: bytes, path: Path) -> str:
    text = find_format(kind).encoding.decode(content, path, "en").text.removeprefix("\ufeff").replace("\r\n", "\n")
    text = re.sub(r"^<\?xml.*?\?>", "", text)
    if kind == "properties":
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return text


def run(folder: Path, shown: int) -> None:
    """Print the faults of all files in a folder, and a table of them by format."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    refused: Counter[str] = Counter()
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        kind = format_of_file(path)
        if kind is None or not (kind in READERS or kind in PAIRS or find_format(kind).packed):
            continue
        row = rows[kind]
        row["files"] += 1
        try:
            texts, faults = faults_of(path, kind)
        except GlossaError as error:
            row["refused"] += 1
            refused[str(error).replace(str(path), "FILE")[:150]] += 1
            continue
        except Exception as error:  # a reader of either side: the fault that is searched for
            texts, faults = 0, [Fault(RAISED, f"{type(error).__name__}: {error}"[:200])]
        row["texts"] += texts
        row["with faults"] += bool(faults)
        row.update(fault.kind for fault in faults)
        for fault in faults[:shown]:
            print(f"{path.relative_to(folder)}: {fault.kind}: {fault.shown}")
    columns = ("files", "refused", "texts", "with faults", *KINDS)
    print(f"\n{'':12}" + "".join(f"{name:>16}" for name in columns))
    total: Counter[str] = Counter()
    for name, row in rows.items():
        total.update(row)
        print(f"{name:12}" + "".join(f"{row[column]:16,}" for column in columns))
    print(f"{'all':12}" + "".join(f"{total[column]:16,}" for column in columns))
    for reason, count in refused.most_common():
        print(f"{count:5,} refused: {reason}")
