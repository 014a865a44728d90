"""Arrays of JSON, Excel, archives of OPUS, and columns by number: handwritten files, and files from the libraries."""

import gzip
import json
import tracemalloc
import zipfile
from datetime import date

import openpyxl
import pytest
from reading import REVERSE, read, refused, written

from glossa.base.errors import GlossaError
from glossa.readers import formats
from glossa.readers.files import MAX_LINE
from glossa.readers.reading import Columns
from glossa.train.data.arguments import DataArguments
from glossa.train.data.sources import load_source

# JSON arrays


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array(tmp_path, indent):
    items = [{"en": "Go", "fr": "Va"}, {"en": "x", "fr": None}, {"fr": "\n", "en": "Été [1], {2}"}, 7]
    path = written(tmp_path / "a.json", "\ufeff \n" + json.dumps(items, indent=indent, ensure_ascii=False) + "\n")
    assert read(path) == [
        ("Go", "Va", 1, ""), ('{"en": "x", "fr": null}', "", 2, "value of 'fr' is null"),
        ("Été [1], {2}", "\n", 3, ""),
        ("7", "", 4, "not a JSON object but int; an object for each pair is expected"),
    ]  # fmt: skip
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b'[{"translation": {"en": "Go", "fr": "Va"}}]'))
    assert read(tmp_path / "b.json.gz") == [("Go", "Va", 1, "")]
    assert read(written(tmp_path / "c.json", '{"en": "[", "fr": "]"}\n')) == [("[", "]", 1, "")], "still JSON Lines"
    assert read(written(tmp_path / "d.json", " [ ] ")) == []


def test_a_json_array_is_read_in_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "LONGEST", 60)
    items = [{"en": f"e{number}", "fr": "f" * (number % 13)} for number in range(300)]
    path = written(tmp_path / "a.json", json.dumps(items, indent=1))
    assert [row[:3] for row in read(path)] == [(item["en"], item["fr"], n) for n, item in enumerate(items, 1)]
    assert len(read(path, limit=5)) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n {"en": "a", "fr": "b"},\n {"en" "x"}\n]', "a.json, line 3: not JSON, .*: Expecting ':' delimiter"),
        ('[{"en": "a", "fr": "b"}\n{}]', "line 2: .*: expected , or ] but found '{'"),
        ('[{"en": "a", "fr": "b"},', "line 1: .*: Expecting value"),
        ('[{"en": "a", "fr": "b"}', "line 1: .*: expected , or ] but found ''"),
        ('[{"en": "a", "fr": "b"}]\n[]', r"line 2: .*: expected the end of the file but found '\['"),
        ("[{}, " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_json_array_is_refused_with_its_line(tmp_path, text, message):
    refused(written(tmp_path / "a.json", text), message)


# Excel


def workbook(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_excel(tmp_path):
    rows = [
        ("id", "French", "English"), (1, "Va", "Go"), (), (2, 42, date(2020, 1, 2)), (3, "Seul"), (4, "a", "b", "c"),
    ]  # fmt: skip
    path = workbook(tmp_path / "A.XLSX", rows, [])
    assert read(path) == [
        ("id\tFrench\tEnglish", "", 1, "header"), ("Go", "Va", 2, ""), ("", "", 3, ""),
        ("2020-01-02 00:00:00", "42", 4, ""), ("", "Seul", 5, ""),
        ("4\ta\tb\tc", "", 6, "4 columns, where 3 are expected"),
    ]  # fmt: skip
    assert read(workbook(tmp_path / "b.xlsx", [("Go", "Va")])) == [("Go", "Va", 1, "")]
    assert read(path, Columns((("3", "2"),), required=True))[1] == ("Go", "Va", 2, "")


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
CELL = '<c r="{}1" t="inlineStr"><is><t>{}</t></is></c>'


def handwritten_workbook(path, sheet):
    """The fewest parts that a workbook has (ECMA-376, part 1)."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/s.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">'
        '<sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": sheet,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_a_handwritten_workbook_and_its_entities(tmp_path):
    row = "<row r='1'>" + CELL.format("A", "Go") + CELL.format("B", "Va") + "</row>"
    assert read(handwritten_workbook(tmp_path / "a.xlsx", SHEET.format(row))) == [("Go", "Va", 1, "")]
    entity = '<!DOCTYPE worksheet [<!ENTITY x "y">]>'
    path = handwritten_workbook(tmp_path / "b.xlsx", entity + SHEET.format(row.replace("Va", "&x;")))
    refused(path, r"b.xlsx cannot be read: not a workbook: EntitiesForbidden")


def test_workbooks_that_are_refused(tmp_path):
    refused(workbook(tmp_path / "two.xlsx", [("a", "b")], [("c", "d")]), r"rows in 2 sheets: \['s1', 's2'\]")
    refused(written(tmp_path / "a.xlsx", "a\tb\n"), "a.xlsx cannot be read: File is not a zip file")
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("b.txt", "Go\tVa")
    refused(tmp_path / "b.xlsx", "not a workbook")
    refused(handwritten_workbook(tmp_path / "c.xlsx", "<worksheet"), "c.xlsx cannot be read: not a workbook")
    bomb = handwritten_workbook(tmp_path / "bomb.xlsx", SHEET.format(" " * formats.LARGEST))
    assert bomb.stat().st_size < 1_000_000
    refused(bomb, "bomb.xlsx has over 100 MiB decompressed")


# Archives of OPUS


def opus(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ({"README": "x", "LICENSE": "x"} | members).items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("pair", ["en-fr", "fr-en"])
def test_an_archive_of_opus(tmp_path, pair):
    path = opus(tmp_path / "a.zip", **{
        f"Books.{pair}.en": "Go\n\udcff\nRun\n".encode("utf-8", "surrogateescape"),
        f"Books.{pair}.fr": "Va\nb\nCours\n",
        f"Books.{pair}.ids": "1\n2\n3\n", f"Books.{pair}.xml": "<x/>", "notes.txt": "not pairs",
    })  # fmt: skip
    assert read(path) == [
        ("Go", "Va", 1, ""), ("\\xff", "b", 2, "not UTF-8: byte 0xff at column 1"), ("Run", "Cours", 3, ""),
    ]  # fmt: skip
    assert read(path, REVERSE)[0] == ("Va", "Go", 1, "")
    rows = load_source(DataArguments(data_path=[str(path)], source_language="fr", target_language="en"))["train"]
    assert rows["source"][:1] == ["Va"]


def test_archives_of_opus_that_are_refused(tmp_path):
    two = {"A.en-fr.en": "a\n", "A.en-fr.fr": "b\nc\n"}
    refused(opus(tmp_path / "a.zip", **two), "a.zip, A.en-fr.en has 1 lines and .*a.zip, A.en-fr.fr has 2")
    german = Columns((("en", "de"), ("source", "target")))
    refused(tmp_path / "a.zip", r"a.zip: no columns \('en', 'de'\); its languages are \['en', 'fr'\]", german)
    path = opus(tmp_path / "b.zip", **two | {"B.en-fr.en": "a\n", "B.en-fr.fr": "b\n"})
    refused(path, r"b.zip contains 2 pairs of aligned files: \['A.en-fr.en', 'A.en-fr.fr', 'B.en-fr.en'")
    refused(opus(tmp_path / "c.zip", **{"A.en-fr.en": "a\n"}), "c.zip contains 0 text files")


def test_a_bomb_in_an_archive_of_opus_needs_little_memory(tmp_path):
    path = opus(tmp_path / "a.zip", **{"A.en-fr.en": "x" * 30 * MAX_LINE + "\nGo\n", "A.en-fr.fr": "y\nVa\n"})
    tracemalloc.start()
    try:
        rows = read(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_LINE
    finally:
        tracemalloc.stop()
    assert rows == [("x" * 80, "y", 1, "over 1048576 bytes in one line"), ("Go", "Va", 2, "")]


# Columns by number


def numbered(source, target):
    return Columns(((source, target),), required=True)


def test_columns_by_number(tmp_path):
    path = written(tmp_path / "a.tsv", "1.2\tGo\tx\tVa\n1.1\tRun\ty\tCours\nbroken\tline\n")
    assert read(path, numbered("2", "4")) == [
        ("Go", "Va", 1, ""), ("Run", "Cours", 2, ""), ("broken\tline", "", 3, "2 columns, where 4 are expected"),
    ]  # fmt: skip
    assert read(path, numbered("4", "2"))[0] == ("Va", "Go", 1, "")
    refused(path, r"a.tsv, line 1: no columns \('2', '5'\); the file has columns 1 to 4", numbered("2", "5"))
    refused(path, r"no columns \('0', '1'\)", numbered("0", "1"))
    named = written(tmp_path / "b.csv", "2,1\nGo,Va\n")
    assert read(named, numbered("1", "2"))[1] == ("Va", "Go", 2, ""), "a name is a name first"
    assert read(written(tmp_path / "c.csv", "French,English\nVa,Go\n"), numbered("2", "1")) == [
        ("French,English", "", 1, "header"),
        ("Go", "Va", 2, ""),
    ]


def test_numbers_of_a_recipe_are_columns(tmp_path):
    path = written(tmp_path / "a.tsv", "1.2\tGo\tVa\n")
    arguments = DataArguments(data_path=[str(path)], source_column=2, target_column="3")
    assert load_source(arguments)["train"][0]["target"] == "Va" and arguments.source_column == "2"


def test_an_archive_of_one_file_is_read_as_that_file(tmp_path):
    files = {
        "a.tmx": '<?xml version="1.0"?><tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>One</seg></tuv>'
        '<tuv xml:lang="fr"><seg>Un</seg></tuv></tu></body></tmx>',
        "b.jsonl": '{"en": "One", "fr": "Un"}\n',
        "c.csv": "en;fr\nOne;Un\n",
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, text)
            archive.writestr("LICENSE", "as you like")
        assert [row[:2] for row in read(path) if not row[3]] == [("One", "Un")], name
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    with pytest.raises(GlossaError, match=r"two.zip contains 3 files of pairs, a.tmx, b.jsonl, c.csv, but only one"):
        read(tmp_path / "two.zip")
