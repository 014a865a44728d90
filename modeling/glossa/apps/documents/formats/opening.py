"""Open documents: find the format of a file, and read its texts."""

import importlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ....base.collecting import collector_paused
from ....base.errors import GlossaError
from . import LINES, MODULES
from .format import FUZZY, UNKNOWN, Bilingual, Chosen, Format, LanguagePair, Opened, TextPair
from .keys import COLUMNS, ROOT, Keys

if TYPE_CHECKING:  # `glossa translate` reads names of formats before it knows that there is a document
    from ..places import Document

START = 256  # bytes by which a format is recognized


@cache
def find_format(name: str) -> Format:
    """The format of this name in `MODULES`."""
    module = importlib.import_module(f".{MODULES[name]}", __package__)
    return next(each for each in module.FORMATS if each.name == name)


@cache
def endings() -> dict[str, str]:
    """The name of the format of each known ending of file names."""
    return {ending: name for name in MODULES for ending in find_format(name).endings}


def ending_of(name: str) -> str:
    """The longest known ending of a file name, or "".

    An ending without a dot, such as strings.xml, is the whole name or follows `_`.
    """
    last = "_" + re.split(r"[/\\]", name.lower())[-1]
    found = (ending for ending in endings() if last.endswith(ending if ending[0] == "." else f"_{ending}"))
    return max(found, key=len, default="")


def format_of(name: str, given: str | None = None) -> str | None:
    """The format `given`, or the format of a file name; None for lines of text and for unknown endings."""
    chosen = given or endings().get(ending_of(name))
    return None if chosen == LINES else chosen


def format_of_file(path: Path) -> str | None:
    """The format of a file by its name and its first bytes; None if it is unknown."""
    name = endings().get(ending_of(path.name))
    recognizes = find_format(name).recognizes if name else None
    if recognizes is None:
        return name
    with open(path, "rb") as file:
        return name if recognizes(file.read(START)) else None


def open_document(
    path: Path,
    kind: str,
    languages: LanguagePair = UNKNOWN,
    chosen: Chosen = Chosen(),  # noqa: B008  # frozen
    old: Path | None = None,
    previous: Path | None = None,
    for_review: bool = False,
    content: bytes | None = None,
) -> Opened:
    """Open a file for translation.

    Args:
        path: The file.
        kind: The name of its format.
        languages: The languages.
        chosen: Which texts are translated.
        old: A translation of an older version of the file. Its values stay.
        previous: This older version. Values that have changed since are translated again.
        for_review: Whether the state of all new translations says that they are to be reviewed.
        content: The bytes of the file; by default they are read.

    Raises:
        GlossaError: With the line, if a file is broken, or if the format has no keys and `old` is given, or no states
            and `chosen.only` or `for_review`.
    """
    content = _content(path) if content is None else content
    found = find_format(kind)
    if old is not None and found.values is None:
        keyed = ", ".join(name for name in MODULES if find_format(name).values)
        raise GlossaError(
            f"{path}: --update is for formats with keys and one language: {keyed}. Catalogs such as PO have both "
            "languages: give the old catalog as --input."
        )
    if not found.states and (for_review or FUZZY in chosen.only):
        stated = ", ".join(name for name in MODULES if find_format(name).states)
        raise GlossaError(f"{path}: --only and --state are for formats whose translations have a state: {stated}.")
    choice = [getattr(chosen, found.chosen_by)] if found.chosen_by else []
    with collector_paused():
        if found.open:
            opened = found.open(content, path, languages, *choice)
        else:
            opened = _read(found, content, path, languages, choice)
        if old is not None and found.values is not None:
            _update(opened.documents[0], found, path, old, previous, languages.target)
    from .language import note_added_forms

    for document in opened.documents:
        note_added_forms(document, str(path), len(document.forms))
        document.language, document.for_review = languages.target or "", for_review
    return opened


def open_pairs(
    path: Path, languages: LanguagePair = UNKNOWN, kind: str | None = None, columns: Keys | None = None
) -> Bilingual:
    """The texts of a file of the format `kind` and their translations, by default of the format of its name.

    `columns` are the two of tables. Raises `GlossaError` if it is broken or has one language only.
    """
    kind = kind or (format_of_file(path) if path.is_file() else format_of(path.name))
    found = find_format(kind) if kind else None
    if found is None or found.pairs is None:
        raise GlossaError(
            f"{path} has no translations next to its texts, by its name. Give PO, XLIFF, TMX, TS, CSV or TSV, or "
            "--format; of other files, give two with equal lines or keys: --source FILE --translation FILE."
        )
    text, _, _ = found.encoding.decode(_content(path), path, languages.source)
    with collector_paused():
        pairs = found.pairs(text, str(path), languages, *([columns] if found.chosen_by == COLUMNS else []))
    if columns is not None:
        columns.check()
    return pairs


def open_keyed(
    source: Path, target: Path, kind: str, languages: LanguagePair = UNKNOWN, keys: Keys | None = None
) -> Bilingual:
    """The texts of a file, and their translations in another file with the same keys, in a format that has `values`.

    A plural form that whole numbers below 1,000 need, and the translation lacks, is a text without a translation.
    Keys that only the translation has are in a note. `keys` chooses texts. Raises `GlossaError` if a file is broken.
    """
    from .language import counted_categories, form_of, plural_categories
    from .updating import shown_keys

    own, known = _keyed(source, kind, languages, keys)
    texts, values = _keyed(target, kind, languages)
    if keys is not None:
        keys.check()
    # Rails names the language of a file at its root.
    both = (languages.source or known.get(ROOT, (1, None))[1], languages.target or values.get(ROOT, (1, None))[1])
    theirs, pairs = values | texts, []
    for key, (_, text) in own.items():
        line, translation = theirs.get(key, (1, ""))
        stem, form = form_of(key)
        several = own.get(f"{stem}other", (1, ""))[1] if form else ""
        lacks_form = several and both[1] and key not in theirs and f"{stem}other" in theirs
        if lacks_form and form not in plural_categories(str(both[1])):
            continue
        problem = "" if key in theirs else f"there is no {key}"
        pairs.append(TextPair(line, text, translation, key, problem, several if form == "one" else ""))
        if form == "one" and several and both[1] and f"{stem}other" in theirs:
            needed = [f"{stem}{each}" for each in counted_categories(str(both[1]))]
            line = theirs[f"{stem}other"][0]
            lacking = [each for each in needed if each not in own and each not in theirs]
            pairs += [TextPair(line, several, "", each, f"there is no {each}") for each in lacking]
    others = [] if keys else [key for key in values if key not in known and f"{form_of(key)[0]}other" not in own]
    unknown = [key for key in others if key != ROOT]
    note = f"{target}: {len(unknown):,} keys are not in {source}: {shown_keys(unknown)}." if unknown else ""
    return Bilingual(LanguagePair(*both), pairs, [note] if note else ())


def _keyed(
    path: Path, kind: str, languages: LanguagePair, keys: Keys | None = None
) -> tuple[dict[str, tuple[int, str]], dict[str, tuple[int, str]]]:
    """The texts of a file with keys, and all its values as written there; each by its key, with its line."""
    from ..places import line_numbers
    from .updating import bare, values_of

    (document,), _ = open_document(path, kind, languages, Chosen(keys))
    found = find_format(kind).values
    assert found is not None
    spans, number = found(document.text, str(path)), line_numbers(document.text)
    written = {key: (number(start), bare(document.text[start:end])) for key, (start, end) in spans.items()}
    return values_of(document, spans), written


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GlossaError(f"{path}: {error.strerror}.") from error


def _update(
    document: "Document", found: Format, path: Path, old: Path, previous: Path | None, language: str | None
) -> None:
    from .updating import changed_keys, keep_translations

    assert found.values is not None
    own, text = found.values(document.text, str(path)), found.encoding.decode(_content(old), old).text
    changed = None
    if previous is not None:
        (before,), _ = open_document(previous, found.name)
        changed = changed_keys(document, own, before, found.values(before.text, str(previous)))
    keep_translations(document, str(path), own, (text, found.values(text, str(old))), changed, language)


def _read(found: Format, content: bytes, path: Path, languages: LanguagePair, choice: list) -> Opened:
    text, encoding, note = found.encoding.decode(content, path, languages.source)
    document = found.read(text, str(path), languages, *choice)
    document.notes += [note] if note else []
    return Opened([document], lambda texts: found.encoding.encode(texts[0], path, encoding))
