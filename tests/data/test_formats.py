"""Arrays of JSON, Excel, TMX, XLIFF, PO and archives of OPUS: handwritten files, and files from the libraries."""

import gzip
import json
import sys
import tracemalloc
import zipfile
from datetime import date

import openpyxl
import pytest
from translate.storage import pypo, tmx, xliff, xliff2

from glossa.data import formats
from glossa.data.arguments import DataArguments
from glossa.data.files import MAX_LINE
from glossa.data.readers import Columns, read_rows
from glossa.data.sources import load_source
from glossa.errors import GlossaError

BY_LANGUAGE = Columns((("en", "fr"), ("source", "target")))
REVERSE = Columns((("fr", "en"), ("source", "target")))


def read(path, columns=BY_LANGUAGE, limit=None):
    return list(read_rows((path,), columns, limit))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def refused(documented, path, message, columns=BY_LANGUAGE):
    with pytest.raises(GlossaError, match=message) as error:
        read(path, columns)
    assert "\n" not in str(error.value)
    documented("Data", error.value)


# JSON arrays


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array(tmp_path, indent):
    items = [{"en": "Go", "fr": "Va"}, {"en": "x", "fr": None}, {"fr": "\n", "en": "Été [1], {2}"}, 7]
    path = written(tmp_path / "a.json", "\ufeff \n" + json.dumps(items, indent=indent, ensure_ascii=False) + "\n")
    assert read(path) == [
        ("Go", "Va", 1, ""),
        ('{"en": "x", "fr": null}', "", 2, "value of 'fr' is null"),
        ("Été [1], {2}", "\n", 3, ""),
        ("7", "", 4, "not a JSON object but int; an object for each pair is expected"),
    ]
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
def test_a_broken_json_array_is_refused_with_its_line(tmp_path, documented, text, message):
    refused(documented, written(tmp_path / "a.json", text), message)


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
        ("id", "French", "English"),
        (1, "Va", "Go"),
        (),
        (2, 42, date(2020, 1, 2)),
        (3, "Seul"),
        (4, "a", "b", "c"),
    ]
    path = workbook(tmp_path / "A.XLSX", rows, [])
    assert read(path) == [
        ("id\tFrench\tEnglish", "", 1, "header"),
        ("Go", "Va", 2, ""),
        ("", "", 3, ""),
        ("2020-01-02 00:00:00", "42", 4, ""),
        ("", "Seul", 5, ""),
        ("4\ta\tb\tc", "", 6, "4 columns, where 3 are expected"),
    ]
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


def test_a_handwritten_workbook_and_its_entities(tmp_path, documented):
    row = "<row r='1'>" + CELL.format("A", "Go") + CELL.format("B", "Va") + "</row>"
    assert read(handwritten_workbook(tmp_path / "a.xlsx", SHEET.format(row))) == [("Go", "Va", 1, "")]
    entity = '<!DOCTYPE worksheet [<!ENTITY x "y">]>'
    path = handwritten_workbook(tmp_path / "b.xlsx", entity + SHEET.format(row.replace("Va", "&x;")))
    refused(documented, path, r"b.xlsx cannot be read: not a workbook: EntitiesForbidden")


def test_workbooks_that_are_refused(tmp_path, documented, monkeypatch):
    refused(
        documented, workbook(tmp_path / "two.xlsx", [("a", "b")], [("c", "d")]), r"rows in 2 sheets: \['s1', 's2'\]"
    )
    refused(documented, written(tmp_path / "a.xlsx", "a\tb\n"), "a.xlsx cannot be read: File is not a zip file")
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("b.txt", "Go\tVa")
    refused(documented, tmp_path / "b.xlsx", "not a workbook")
    refused(
        documented, handwritten_workbook(tmp_path / "c.xlsx", "<worksheet"), "c.xlsx cannot be read: not a workbook"
    )
    monkeypatch.setattr(formats, "LARGEST", 1 << 20)
    bomb = handwritten_workbook(tmp_path / "bomb.xlsx", SHEET.format(" " * (1 << 20)))
    assert bomb.stat().st_size < 10_000
    refused(documented, bomb, "bomb.xlsx has over 1 MiB, unpacked")


# TMX


TMX = """<?xml version="1.0" encoding="UTF-8"?>
{doctype}
<tmx version="1.4"><header srclang="en-US"/><body>{units}</body></tmx>"""


def tu(**segments):
    variants = [f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in segments.items()]
    return f"<tu>{''.join(variants)}</tu>"


def tmx_file(path, *units, doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'):
    return written(path, TMX.format(units="\n".join(units), doctype=doctype))


def test_tmx(tmp_path):
    marked = tu(
        en='Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept> <hi>now</hi><ph x="1">{0}</ph>!',
        fr="Appuyez <!-- b -->sur <it pos='begin'>x</it>OK &amp; tôt<ut>x</ut> !",
    )
    codes = (
        "<tu><tuv xml:lang='FR_fr'><seg>Va</seg></tuv><tuv xml:lang='de'/><tuv lang='en-US'><seg>Go</seg></tuv></tu>"
    )
    path = tmx_file(
        tmp_path / "a.tmx", codes, marked, tu(en="a", de="b"), tu(en="a", fr=" "),
        tu(**{"en": "a", "fr-CA": "b", "fr-FR": "c"}),
        tu(en="a", fr="b").replace("</tu>", '<tuv xml:lang="fr"><seg>c</seg></tuv></tu>'), tu(en="a &ext;", fr="b"),
    )  # fmt: skip
    rows = read(path)
    assert rows == [
        ("Go", "Va", 1, ""),
        ("Press OK now!", "Appuyez sur OK & tôt !", 2, ""),
        ("a b", "", 3, "no pair of 'en' and 'fr'; the languages are ['en', 'de']"),
        ("a", "", 4, "not translated"),
        ("a b c", "", 5, "no pair of 'en' and 'fr'; the languages are ['en', 'fr-CA', 'fr-FR']"),
        ("a b c", "", 6, "two texts in one language; the languages are ['en', 'fr', 'fr']"),
        ("a  b", "", 7, "an entity, which is not read"),
    ]
    assert read(path, Columns((("en", "fr-CA"), ("source", "target"))))[4] == ("a", "b", 5, "")
    assert read(path, REVERSE)[0] == ("Va", "Go", 1, "")
    (tmp_path / "b.tmx.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "b.tmx.gz") == rows


def test_a_tmx_of_the_library(tmp_path):
    store = tmx.tmxfile(sourcelanguage="en")
    for english, french in (("Go", "Va"), ("a < b & c", "é")):
        store.addtranslation(english, "en", french, "fr", comment="a note")
    store.savefile(str(tmp_path / "a.tmx"))
    assert read(tmp_path / "a.tmx") == [("Go", "Va", 1, ""), ("a < b & c", "é", 2, "")]


def test_the_units_of_xml_are_freed(tmp_path, monkeypatch):
    """Of 5,000 units, only those of the last block that the parser has read are in the tree."""
    left = []
    monkeypatch.setattr(formats, "_units", lambda element: left.append(len(element.getparent())) or [])
    read(tmx_file(tmp_path / "a.tmx", *[tu(en="a", fr="b")] * 5000))
    assert len(left) == 5000 and max(left) < 1000


def test_entities_are_refused_and_not_expanded(tmp_path, documented):
    secret = written(tmp_path / "secret.txt", "secret")
    laughs = ['<!ENTITY l0 "ha">'] + [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    for doctype, text, name in (
        (f"<!DOCTYPE tmx [{''.join(laughs)}]>", "&l9;", "'l0', 'l1'"),
        (f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{secret.as_uri()}">]>', "&x;", "'x'"),
        ('<!DOCTYPE tmx [<!ENTITY % p SYSTEM "http://localhost:9/"> %p;]>', "x", "'p'"),
    ):
        path = tmx_file(tmp_path / "a.tmx", tu(en=text, fr="b"), doctype=doctype)
        refused(documented, path, rf"a.tmx declares the entities \[{name}")


def test_an_external_entity_is_not_read_even_if_it_is_not_refused(tmp_path, monkeypatch):
    secret = written(tmp_path / "secret.txt", "secret")
    doctype = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    monkeypatch.setattr(formats, "_refuse_entities", lambda *_: None)
    path = tmx_file(tmp_path / "a.tmx", tu(en="a &x;", fr="b"), doctype=doctype)
    assert read(path) == [("a  b", "", 1, "an entity, which is not read")]


def test_xml_that_is_refused(tmp_path, documented):
    refused(documented, written(tmp_path / "a.tmx", "<tmx><body>"), "a.tmx is not XML: .*line 1")
    refused(documented, tmx_file(tmp_path / "b.tmx", tu(en="a & b", fr="c")), "b.tmx is not XML: .*line 3")


# XLIFF


def test_xliff_1(tmp_path):
    units = """
    <trans-unit id="1"><source>Press <g id="1">OK</g><x id="2"/></source><target>Appuyez <ph id="1">{0}</ph>OK</target>
      <alt-trans><source>no</source><target>non</target></alt-trans></trans-unit>
    <group><trans-unit id="2"><source>New</source><target state="new">Nouveau</target></trans-unit></group>
    <trans-unit id="3"><source>None</source></trans-unit>
    <trans-unit id="4"><source>Empty</source><target/></trans-unit>
    <trans-unit id="5" approved="no"><source>No</source><target>Non</target></trans-unit>
    <trans-unit id="6"><source>Check</source><target state="needs-review-translation">Vois</target></trans-unit>
    <trans-unit id="7" approved="yes"><source>End</source><target state="final">Fin</target></trans-unit>"""
    file = '<file source-language="{}" target-language="{}"><body>{}</body></file>'
    other = "<trans-unit id='8'><source>Va</source><target>Go</target></trans-unit>"
    path = written(
        tmp_path / "a.xlf",
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f"{file.format('en-US', 'fr', units)}{file.format('fr', 'en', other)}{file.format('en', 'de', other)}</xliff>",
    )
    rows = [
        ("Press OK", "Appuyez OK", 1, ""),
        ("New Nouveau", "", 2, "not finished: its state is 'new'"),
        ("None", "", 3, "no pair of 'en' and 'fr'; the languages are ['en-US']"),
        ("Empty", "", 4, "not translated"),
        ("No Non", "", 5, "not approved"),
        ("Check Vois", "", 6, "not finished: its state is 'needs-review-translation'"),
        ("End", "Fin", 7, ""),
        ("Go", "Va", 8, ""),
        ("Va Go", "", 9, "no pair of 'en' and 'fr'; the languages are ['en', 'de']"),
    ]
    assert read(path) == rows
    assert read(path, REVERSE)[7] == ("Va", "Go", 8, "")


def test_xliff_2(tmp_path):
    path = written(
        tmp_path / "a.xliff",
        """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0"
        srcLang="en" trgLang="fr-FR"><file id="f">
        <unit id="u"><originalData><data id="d">x</data></originalData>
          <segment><source>Press <pc id="1">OK</pc>.</source>
            <target>Appuyez<ph id="2" dataRef="d"/>.</target></segment>
          <ignorable><source> </source></ignorable>
          <segment state="initial"><source>Go</source><target>Va</target></segment></unit></file></xliff>""",
    )
    assert read(path) == [
        ("Press OK.", "Appuyez.", 1, ""),
        ("Go Va", "", 2, "not finished: its state is 'initial'"),
    ]


@pytest.mark.parametrize("kind", [xliff.xlifffile, xliff2.Xliff2File])
def test_xliff_of_the_library(tmp_path, kind):
    store = kind()
    store.setsourcelanguage("en")
    store.settargetlanguage("fr")
    store.addsourceunit("Go & run").target = "Va"
    store.savefile(str(tmp_path / "a.xlf"))
    assert read(tmp_path / "a.xlf") == [("Go & run", "Va", 1, "")]


# PO


PO = r"""
msgid ""
msgstr "Language: {}\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n > 1);\n"

#: a.c:1
msgid "Go \"on\"\n"
"now"
msgstr "Va là"

#, fuzzy
msgid "Run"
msgstr "Cours"

msgctxt "menu"
msgid "Open"
msgstr ""

msgid "a file"
msgid_plural "%d files"
msgstr[0] "un fichier"
msgstr[1] "%d fichiers"

#~ msgid "Old"
#~ msgstr "Vieux"
"""


def test_po(tmp_path, documented):
    path = written(tmp_path / "a.po", PO.format("fr_FR"))
    rows = read(path)
    assert rows[0][1:] == ("", 0, "header")
    assert rows[1:] == [
        ('Go "on"\nnow', "Va là", 1, ""),
        ("Run", "", 2, "fuzzy"),
        ("Open", "", 3, "not translated"),
        ("%d files", "%d fichiers", 4, ""),
        ("Old", "", 5, "obsolete"),
    ]
    assert read(path, REVERSE)[1] == ("Va là", 'Go "on"\nnow', 1, "")
    assert read(written(tmp_path / "b.po", 'msgid "Go"\nmsgstr "Va"\n')) == [("Go", "Va", 1, "")]
    refused(
        documented, written(tmp_path / "c.po", PO.format("de")), "c.po: its translations are in 'de', which is neither"
    )


def test_a_po_of_the_library(tmp_path):
    store = pypo.pofile()
    store.updateheader(add=True, Language="fr")
    store.addsourceunit("Go").target = "Allez-y, « là »"
    store.savefile(str(tmp_path / "a.po"))
    assert read(tmp_path / "a.po")[1:] == [("Go", "Allez-y, « là »", 1, "")]


def test_a_po_that_is_refused(tmp_path, documented, monkeypatch):
    refused(documented, written(tmp_path / "a.po", 'msgid "Go\nmsgstr "Va"\n'), "a.po cannot be read")
    monkeypatch.setattr(formats, "LARGEST", 1 << 20)
    (tmp_path / "b.po.gz").write_bytes(gzip.compress(b"\n" * ((1 << 20) + 1)))
    refused(documented, tmp_path / "b.po.gz", "b.po.gz has over 1 MiB, unpacked")


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("a.po", "translate.storage.pypo", "translate-toolkit"), ("a.tmx", "lxml.etree", "lxml"),
     ("a.xlsx", "openpyxl", "openpyxl")],
)  # fmt: skip
def test_a_missing_package_is_named(tmp_path, documented, monkeypatch, name, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    refused(documented, written(tmp_path / name, "x"), f"{name} needs the package {package}")


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
        ("Go", "Va", 1, ""),
        ("\\xff", "b", 2, "not UTF-8: byte 0xff at column 1"),
        ("Run", "Cours", 3, ""),
    ]
    assert read(path, REVERSE)[0] == ("Va", "Go", 1, "")
    rows = load_source(DataArguments(data_path=[str(path)], source_language="fr", target_language="en"))["train"]
    assert rows["source"][:1] == ["Va"]


def test_archives_of_opus_that_are_refused(tmp_path, documented):
    two = {"A.en-fr.en": "a\n", "A.en-fr.fr": "b\nc\n"}
    refused(documented, opus(tmp_path / "a.zip", **two), "a.zip, A.en-fr.en has 1 lines and .*a.zip, A.en-fr.fr has 2")
    german = Columns((("en", "de"), ("source", "target")))
    refused(
        documented, tmp_path / "a.zip", r"a.zip: no columns \('en', 'de'\); its languages are \['en', 'fr'\]", german
    )
    path = opus(tmp_path / "b.zip", **two | {"B.en-fr.en": "a\n", "B.en-fr.fr": "b\n"})
    refused(documented, path, r"b.zip holds 2 pairs of aligned files: \['A.en-fr.en', 'A.en-fr.fr', 'B.en-fr.en'")
    refused(documented, opus(tmp_path / "c.zip", **{"A.en-fr.en": "a\n"}), "c.zip holds 0 text files")


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


def test_columns_by_number(tmp_path, documented):
    path = written(tmp_path / "a.tsv", "1.2\tGo\tx\tVa\n1.1\tRun\ty\tCours\nbroken\tline\n")
    assert read(path, numbered("2", "4")) == [
        ("Go", "Va", 1, ""),
        ("Run", "Cours", 2, ""),
        ("broken\tline", "", 3, "2 columns, where 4 are expected"),
    ]
    assert read(path, numbered("4", "2"))[0] == ("Va", "Go", 1, "")
    refused(
        documented, path, r"a.tsv, line 1: no columns \('2', '5'\); the file has columns 1 to 4", numbered("2", "5")
    )
    refused(documented, path, r"no columns \('0', '1'\)", numbered("0", "1"))
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
