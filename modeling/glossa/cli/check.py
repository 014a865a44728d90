"""Check translations by rule: `glossa check app.po fr.xliff`, or `glossa check --source en.txt --translation fr.txt`.

Files have texts and their translations: PO, XLIFF, TMX, TS, CSV or TSV. Of a folder, all such files are checked. The
two files have equal lines, or equal keys (JSON, YAML, strings.xml and others). The rules are those for the
translations of `glossa translate`:

    untranslated   no translation, or one that is fuzzy or unfinished
    copied, repetitive, short, long   what cannot be a translation of the text
    tags, placeholders, addresses, numbers   those of the text and of the translation differ
    spaces         double ones, missing ones after punctuation, other ones at an end
    end            ends with another mark than the text, by the rules of the language
    terms          a term of --glossary is missing
    forbidden      a word of --forbid
    inconsistent   another translation of the same text, in any of the files

Each problem is a line: file, line, rule and what is wrong. The exit status is 1 if there is one, or a file that
cannot be read.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..apps.documents.checks import RULES, Checks, length_ratio
from ..apps.documents.formats import MODULES
from ..apps.documents.formats.format import Bilingual, LanguagePair, TextPair
from ..apps.documents.formats.keys import Keys
from ..apps.documents.formats.opening import find_format, format_of, format_of_file, open_keyed, open_pairs
from ..base.errors import GlossaError
from ..base.html_page import html_page, html_table
from ..base.languages import language_code
from ..base.values import kept_patterns
from .align import read_pairs
from .options import argument, flag, option, read
from .shared_options import GlossaryOptions, KeepOptions, LanguageOptions

PAIRED = tuple(name for name in MODULES if find_format(name).pairs)
KEYED = tuple(name for name in MODULES if find_format(name).values)


@dataclass(frozen=True)
class CheckOptions(LanguageOptions, GlossaryOptions, KeepOptions):
    """The options of `glossa check`."""

    files: list[Path] = argument(
        "files of texts and their translations, or folders of these", metavar="FILE", nargs="*", default=[]
    )
    format: str | None = option("format of the files (default: from their names)", choices=(*PAIRED, *KEYED))
    columns: str | None = option(
        "in CSV and TSV, the columns of texts and of translations, by name or number (default: named by the "
        "languages, or source and target)",
        metavar="SOURCE,TARGET",
    )
    keys: str | None = option(
        "of JSON and YAML, check only values whose keys match one of these patterns: title,*.description",
        metavar="PATTERNS",
    )
    source: Path | None = option("file of texts: one in a line, or by key as in JSON", metavar="FILE")
    translation: Path | None = option(
        "file with the translations of those in --source, in equal lines or by the same keys", metavar="FILE"
    )
    skip: list[str] | None = option("rules that are left out", choices=RULES, metavar="RULE")
    json: bool = flag("write each problem as JSON: file, line, rule, detail, source, target")
    html: Path | None = option("also write a page with the problems", metavar="FILE")


def parse(argv: list[str]) -> CheckOptions:
    return read(CheckOptions, "check", __doc__, argv)


def main(argv: list[str]) -> None:
    options = parse(argv)
    if (options.source is None) != (options.translation is None) or not (options.files or options.source):
        raise GlossaError("Give files with translations, or --source FILE and --translation FILE.")
    if options.keys and (
        options.translation is None or format_of(options.translation.name, options.format) not in KEYED
    ):
        raise GlossaError("--keys is for two files of JSON or YAML: --source FILE --translation FILE. Leave it out.")
    given = LanguagePair(*map(_plain, (options.pair.source, options.pair.target)))
    kept = kept_patterns(options.keep)
    counts: Counter[str] = Counter()
    rows: list[dict] = []
    total = broken = unread = 0
    known: dict = {}
    for path in _files(options):
        name = str(path)
        try:
            languages, pairs, notes = _opened(path, options, given)
        except GlossaError as error:
            print(error, file=sys.stderr)
            unread += 1
            continue
        for note in notes:
            print(note, file=sys.stderr)
        if not pairs:
            print(f"{name} has no texts with translations.", file=sys.stderr)
        languages = LanguagePair(*map(_plain, (languages.source, languages.target)))
        checks = Checks(languages, options.read_glossary(languages), options.forbid, length_ratio(pairs), kept, known)
        for pair in pairs:
            place = f"{name}:{pair.line}"
            found = [each for each in checks.find(pair, place) if each.rule not in (options.skip or ())]
            total, broken = total + 1, broken + bool(found)
            for rule, detail in found:
                counts[rule] += 1
                row = {"file": name, "line": pair.line, "rule": rule, "detail": detail}
                row |= {"source": pair.source, "target": pair.target}
                rows += [row] if options.html else []
                print(json.dumps(row, ensure_ascii=False) if options.json else f"{place}: {rule}: {detail}")
    kinds = ", ".join(f"{count:,} {rule}" for rule, count in counts.most_common())
    summary = f"{broken:,} of {total:,} translations have problems{': ' if kinds else ''}{kinds}."
    print(summary, file=sys.stderr)
    if options.html:
        _write_page(options.html, summary, rows)
    if not total:
        raise GlossaError("Nothing was checked: there is no text with a translation. Give other files.")
    if broken or unread:
        sys.stdout.flush()
        sys.exit(1)


def _write_page(file: Path, summary: str, rows: Iterable[dict]) -> None:
    """A page with the problems of each rule."""
    by_rule: dict[str, list[list[str]]] = {}
    for row in rows:
        cells = [f"{row['file']}:{row['line']}", row["detail"], row["source"], row["target"]]
        by_rule.setdefault(row["rule"], []).append(cells)
    tables = "".join(
        f"\n<h2>{escape(rule)}</h2>\n{html_table(['place', 'problem', 'source', 'translation'], found, 'text')}"
        for rule, found in by_rule.items()
    )
    page = html_page("Problems of translations", f"<p>{escape(summary)}</p>{tables}")
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise GlossaError(f"{file} cannot be written: {error.strerror}. Give --html another file.") from error
    print(f"Written: {file}", file=sys.stderr)


def _plain(code: str | None) -> str | None:
    """The code of a language without its region."""
    return language_code(code) or code if code else None


def _files(options: CheckOptions) -> Iterator[Path]:
    """The files to check. Those of folders that have no translations are counted."""
    for path in options.files:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        found = [each for each in inside if options.format or format_of_file(each) in PAIRED]
        print(f"{path}: {len(found):,} of {len(inside):,} files have translations by their names.", file=sys.stderr)
        yield from found
    if options.translation:
        yield options.translation


def _opened(path: Path, options: CheckOptions, given: LanguagePair) -> Bilingual:
    """The languages of a file, and its pairs."""
    if path != options.translation or options.source is None:
        columns = Keys.of(options.columns, "columns") if options.columns else None
        return open_pairs(path, given, options.format, columns)
    kind = format_of(path.name, options.format)
    if kind in KEYED:
        return open_keyed(options.source, path, kind, given, Keys.of(options.keys) if options.keys else None)
    lines = zip(*read_pairs(options.source, path), strict=True)
    return Bilingual(given, [TextPair(number, *pair) for number, pair in enumerate(lines, 1)])
