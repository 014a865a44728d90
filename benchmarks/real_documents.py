"""Files that nobody here wrote, from public repositories: translated, and checked by what reads their formats.

A valid file is valid afterwards if its reader reads it again and sees the same in it, such as as many paragraphs.

`real_documents.tsv` lists them: repository, commit, path. An engine that writes capitals and ends each sentence with a
period stands for the model, so it changes every placeholder and the end of every label.
"""

import csv
import io
import re
import subprocess
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from glossa.documents.formats.opening import UNKNOWN, Languages, format_of, open_document
from glossa.documents.job import Work
from glossa.errors import GlossaError
from glossa.inference.options import Checks
from glossa.inference.review import Problems
from glossa.inference.texts.labels import End
from glossa.inference.texts.spans import MOVED
from glossa.inference.texts.text import Text

from .documents import Characters, FunctionEngine, InOrder
from .validators import CHECKS, shape_of

LIST = Path(__file__).with_name("real_documents.tsv")
BILINGUAL = (
    "po",
    "xliff",
    "tmx",
    "ts",
    "xcstrings",
    "table",
)  # formats whose translations stand next to their sources

# The language of the translations that a file of these formats says.
_LANGUAGE = re.compile(rb"\"Language: ([\w@-]+)|<TS[^>]*\blanguage=\"([\w-]+)|(?:target-language|trgLang)=\"([\w-]+)")


def shouted(text: str) -> str:
    """A sentence in capitals, with a period."""
    return text.upper().rstrip(".:!?… ") + "."


@dataclass
class _Counting(Work):
    """Counts placeholders and ends of labels of the texts that it translates."""

    counts: Counter[str] = field(default_factory=Counter)

    def look_at(self, texts: list[Text]) -> None:
        for text in texts:
            (best, *_) = text.joined(1, scores=False, confident=False)
            for sentence in text.sentences:
                pairs = zip(sentence.segment.spans, sentence.places[0], strict=False)
                kept = [sentence.source[slice(*own)] == sentence.best.text[slice(*theirs)] for own, theirs in pairs]
                self.counts["placeholders"] += len(sentence.segment.spans)
                self.counts["kept"] += sum(kept)
                self.counts["moved"] += sentence.best.problem == MOVED
            if text.tagged.label is not None:
                self.counts["labels"] += 1
                self.counts["changed"] += End.of(text.source).kind != End.of(best.text).kind

    def translated(self, path: Path, languages: Languages) -> bytes:
        opened = open_document(path, str(format_of(path.name)), languages)
        done = []
        for document in opened.documents:
            before: list[Text] = []
            for found in self.steps(document, path):
                self.look_at(before)
                if isinstance(found, str):
                    done.append(found)
                    break
                self.translate_sentences([sentence for text in found for sentence in text.sentences])
                before = found
        return opened.pack(done)


def _work(function: Callable[[str], str]) -> _Counting:
    translator = InOrder(FunctionEngine(function), Characters(), checks=Checks("copy"))
    return _Counting(translator, translator.translate_segments, Problems(None))


def _try(path: Path, row: Counter[str]) -> None:
    """Translate a file twice, and add to the figures of its format."""
    kind, content = str(format_of(path.name)), path.read_bytes()
    row["files"] += 1
    started = time.process_time()
    try:
        said = _LANGUAGE.search(content)
        known = (
            Languages("en", (said[1] or said[2] or said[3]).decode() if said else "fr")
            if kind in BILINGUAL
            else UNKNOWN
        )
        row["equal"] += _work(str).translated(path, known) == content
        work = _work(shouted)
        found = work.translated(path, known)
    except GlossaError:
        row["refused"] += 1
        return
    row["milliseconds"] += round((time.process_time() - started) * 1000)
    row["texts"] += work.texts
    row.update(work.counts)
    if CHECKS.get(kind) is None:
        return
    before = shape_of(kind, path.name, content)
    if before[0]:
        row["valid"] += 1
        row["valid after"] += shape_of(kind, path.name, found) == before


def _git(clone: Path, *command: str) -> bytes:
    return subprocess.run(["git", "-C", clone, *command], check=True, capture_output=True).stdout


def _content(clone: Path, commit: str, name: str) -> bytes:
    """A file of a commit; of a folder, which is an unpacked EPUB, the archive."""
    if not name.endswith("/"):
        return _git(clone, "show", f"{commit}:{name}")
    members = _git(clone, "ls-tree", "-rz", "--name-only", f"{commit}:{name}").decode().rstrip("\0").split("\0")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member in sorted(members, key=lambda each: each != "mimetype"):
            archive.writestr(member, _git(clone, "show", f"{commit}:{name}{member}"))
    return stream.getvalue()


COLUMNS = (
    "files",
    "refused",
    "equal",
    "valid",
    "valid after",
    "texts",
    "placeholders",
    "kept",
    "moved",
    "labels",
    "changed",
)


def _print(figures: dict[str, Counter[str]]) -> None:
    """A line for each format: files, refused ones, those that an engine without changes leaves equal, ..."""
    print(f"{'':12}{''.join(f'{column:>13}' for column in COLUMNS)}{'seconds':>10}")
    total: Counter[str] = Counter()
    for kind, row in [*sorted(figures.items()), ("all", total)]:
        total.update(row if kind != "all" else {})
        print(f"{kind:12}{''.join(f'{row[column]:13,}' for column in COLUMNS)}{row['milliseconds'] / 1000:10.1f}")


def run_real(folder: Path) -> dict[str, dict[str, int]]:
    """Translate the listed files from the clones in a folder, named `owner+name`; print and return the figures."""
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as place, open(LIST, encoding="utf-8", newline="") as rows:
        for repository, commit, name in csv.reader(rows, delimiter="\t"):
            clone = folder / repository.replace("/", "+")
            clone = clone / "repo" if (clone / "repo").is_dir() else clone
            path = Path(place, Path(name).name + ".epub" * name.endswith("/"))
            try:
                path.write_bytes(_content(clone, commit, name))
            except subprocess.CalledProcessError as error:
                raise GlossaError(f"{clone} has no {name} of {commit[:10]}. Clone {repository} there.") from error
            _try(path, figures[str(format_of(path.name))])
    _print(figures)
    return {kind: dict(row) for kind, row in figures.items()}
