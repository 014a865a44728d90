"""The shared cases `desk` and `hostile2`, each through `glossa translate --pseudo`."""

import zipfile
from pathlib import Path

import pytest
from apps.documents.packed import members
from refusals import refused
from translating import KNOWN

from glossa.apps.documents.formats.format import Chosen
from glossa.apps.documents.formats.keys import COLUMNS, Keys
from glossa.apps.documents.job import DocumentJob
from glossa.cli.translate import main
from glossa.translate.build import pseudo_translator
from glossa.translate.engines.pseudo import pseudo_engine, undo

CASES = Path(__file__).parents[4] / "shared" / "cases"


def accented(text):
    """A text in which what is between « and » has accents."""
    parts = text.replace("»", "«").split("«")
    return "".join(pseudo_engine().function(part) if number % 2 else part for number, part in enumerate(parts))


def of_case(folder, case, name, languages=KNOWN, columns=None):
    """What `--pseudo` makes of a shared case: its text, or its members."""
    source = CASES / case
    if not source.exists():
        pytest.skip("needs the cases of ../shared")
    job = DocumentJob(source / name, folder / name, None, languages, chosen=Chosen(columns=columns))
    job.run(pseudo_translator())
    found = folder / name
    if zipfile.is_zipfile(found):
        return "".join(text for name, text in members(found, "ignore").items() if not name.startswith("ppt/slideM"))
    return found.read_bytes().decode()


@pytest.mark.parametrize(
    ("case", "name", "right"),
    [
        ("adoc-xref", "a.adoc", "xref:html-backend:index.adoc[«our page»]|{url-rubygems}/asciidoctor[«asciidoctor»^]"
         "|xref:html-backend:index.adoc[«HTML»]::|  a. *«Red»*"),
        ("docx-document2", "alone.docx", "«A man sleeps.»"), ("docx-document2", "with-header.docx", "«A dog runs.»"),
        ("html-template", "page.html", "{# the heading of the page #}|show=False %}|«The page» {{ title }} «has»"),
        ("i18n-nesting", "a.json", "«See» $t(items_other) «now»|@:common.save"),
        ("i18n-references", "strings.json", '"«See» $t(common.street) «in»|"«See» @:common.street «in»'
         '|"«no dogs» | «one dog» | {count} «dogs»"'),
        ("icu-lines", "a.json", r"one {«book»}\n other {«books»}\n}|«Uploading» {count} {count, plural,\n  one {"),
        ("markdown-reference-in-table", "a.md", "[«The boy»][The boy]|[«sleeps»][sleeps]|[«The girl»][The girl]"),
        ("md-footnotes", "page.md", "[^1]: «A man»|    «A second paragraph»"),
        ("md-reference-alone", "a.md", "- [«Attribute Lists»][Attribute Lists]"),
        ("odt-line-break", "b.odt", "<text:line-break/>«and you are there,»<text:line-break/>«and we»"),
        ("odt-line-break", "toc.odt", "«title» 1<text:tab/>1|«Some line»<text:line-break/>«break inside»"),
        ("pptx-alt-text", "b.pptx", 'descr="«A photo of a cat»"|title="«Our cat»"'),
        ("sdlxliff-name", "a.sdlxliff", '<target><mrk mtype="seg" mid="1">«I am happy.»'),
        ("sdlxliff-name", "a.mqxliff", "«happy»<ept"),
        ("source-language-catalog", "django.po", 'msgstr "«The book is here.»"|msgstr[1] "%(count)d «books»"'),
        ("srt-numbers-only", "film.srt", "\n1999\n|\n«A man sleeps in the street.»"),
        ("txt-in-folder-and-server", "docs/list.txt", "«A man sleeps»\n«A dog runs»\n"),
        ("xliff-mrk-empty", "a.xlf", 'mid="2">«The cat is here.»'),
        ("xliff-mrk-empty", "b.xlf", 'mid="1">«I am happy.»</mrk> <mrk mtype="seg" mid="2">Le'),
        ("xliff-newlines", "file.xlf", "«A man sleeps.»\n\n«A dog runs.»\n«A boy»|«A man sleeps.»\n\t«A dog runs.»"),
        ("xlsx-comments-openpyxl", "b.xlsx", "«This book is good.»"),
        ("xlsx-literals", "b.xlsx", 'prompt="«Choose the state.»"|tooltip="«See our cat»"|«Our books»'),
    ],
)  # fmt: skip
def test_shared_cases(tmp_path, case, name, right):
    """What is between « and » is accented, and what is around it as it was."""
    (tmp_path / Path(name).parent).mkdir(exist_ok=True)
    found = of_case(tmp_path, f"desk/{case}", name)
    for piece in right.split("|" if " | " not in right else '|"'):
        assert accented(piece) in found, piece


def test_what_stays_in_shared_cases(tmp_path):
    found = of_case(tmp_path, "desk/xlsx-literals", "b.xlsx")
    assert all(f"<t>{text}</t>" in found for text in ("Yes", "No", "The cat"))
    found = of_case(tmp_path, "desk/xliff-locked", "memoq.xlf")
    assert found.count('<target xml:space="preserve"></target>') == 1
    found = of_case(tmp_path, "desk/csv-text-columns", "q.csv", columns=Keys.of("title,description", COLUMNS))
    assert undo(found).endswith("1,Our book,A book about cats.,https://example.org/1\n") and "Our" not in found
    found = of_case(tmp_path, "desk/properties-messageformat-apostrophe", "a.properties")
    assert undo(found.encode().decode("unicode_escape")).startswith("found=We do not find the {0}.\n")
    for case, name, words in (
        ("desk/po-plural-without-forms", "a.po", r"line 5: the entry has no msgstr\[0\]"),
        ("hostile2/notebook-odd-source", "odd.ipynb", "cell 1"), ("hostile2/toml-dotted", "a.toml", "100 parts"),
    ):  # fmt: skip
        refused(words, of_case, tmp_path, case, name)


def test_the_text_file_of_the_shared_cases_keeps_its_bytes(tmp_path):
    source = CASES / "desk" / "text-bom-crlf" / "a.txt"
    if not source.exists():
        pytest.skip("needs the cases of ../shared")
    main(["--pseudo", "--input", str(source), "--output", str(tmp_path / "a.txt")])
    assert undo((tmp_path / "a.txt").read_bytes().decode()).encode() == source.read_bytes()
