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
# Characters that a translation may lack: soft hyphens and what has no width (Unicode, 23.2).
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_MARKS = str.maketrans("：？！；", ":?!;")  # of East Asian texts (Unicode, Halfwidth and Fullwidth Forms)
_WORDS = re.compile(r"[A-Za-z]{2,}(?:['’]\w+)?[,;]?\s+[a-z]{3,}")
# Names in programs: no text, although they are strings.
_NAME = re.compile(r"\w+(?:[_/\\#@:]\w+)+|[a-z]+[A-Z]\w*")


class Fault(NamedTuple):
    """A difference: its kind, and what is there now, or was."""

    kind: str
    shown: str


def clean(text: str) -> str:
    """A text without what a translation may write in another way: white space, and marks as its language does."""
    text = " ".join(_INVISIBLE.sub("", unicodedata.normalize("NFC", text)).split())
    return re.sub(r" (?=[:;!?…%])", "", text.translate(_MARKS))


def compare(old: Content, new: Content) -> Iterator[Fault]:
    """The differences between a file and its pseudo-translation."""
    for before, after in _differences(old.code, new.code):
        yield Fault(CHANGED, f"{before[:200]} -> {after[:200]}")
    texts = [list(filter(None, map(clean, side.texts))) for side in (old, new)]
    back = [undo(text) for text in texts[1]]
    for before, after in _differences(*([text.casefold() for text in side] for side in (texts[0], back))):
        yield Fault(MOVED, f"{before[:200]} -> {after[:200]}")
    for text, again in zip(texts[1], back, strict=True):
        if text == again and _WORDS.search(_without_spans(text)):
            yield Fault(STAYED, text[:200])
        elif text != again and _NAME.fullmatch(again):
            yield Fault(CHANGED, text[:200])


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
        return work.texts, list(compare(read_package(old), read_package(new)))
    before, after = (_decoded(kind, each, path) for each in (old, new))
    if kind in PAIRS:
        return work.texts, list(compare(*read_pairs(kind, before, after)))
    return work.texts, list(compare(READERS[kind](before), READERS[kind](after)))


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
