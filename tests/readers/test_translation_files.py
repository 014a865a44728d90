"""The formats of translators, TMX, XLIFF and PO: handwritten files, and files as Translate Toolkit writes them."""

import gzip
import sys

import pytest
from reading import REVERSE, read, refused, written

from glossa.readers import formats
from glossa.readers.reading import Columns

# TMX


TMX = """<?xml version="1.0" encoding="UTF-8"?>
{doctype}
<tmx version="1.4"><header srclang="en-US"/><body>{units}</body></tmx>"""


def tu(**segments):
    variants = [f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in segments.items()]
    return f"<tu>{''.join(variants)}</tu>"


def tmx_file(path, *units, doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'):
    return written(path, TMX.format(units="\n".join(units), doctype=doctype))


def test_tmx(tmp_path, caplog):
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
        ("Go", "Va", 1, ""), ("Press OK now{0}!", "Appuyez sur OK & tôt !", 2, ""),
        ("a b", "", 3, "other language: no pair of 'en' and 'fr'; the languages are ['en', 'de']"),
        ("a", "", 4, "untranslated: its translation is empty"), ("a", "c", 5, ""),
        ("fr-CA", "", 5, "other variant of a language: fr-CA"),
        ("a b c", "", 6, "two texts in one language; the languages are ['en', 'fr', 'fr']"),
        ("a  b", "", 7, "an entity, which is not supported"),
    ]  # fmt: skip
    assert "1 texts are in variants of 'fr' that" in caplog.text and "--target_language fr-CA." in caplog.text
    canadian = read(path, Columns((("en", "fr-CA"), ("source", "target"))))
    assert canadian[4:6] == [("a", "b", 5, ""), ("fr-FR", "", 5, "other variant of a language: fr-FR")]
    assert read(path, REVERSE)[0] == ("Va", "Go", 1, "")
    (tmp_path / "b.tmx.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "b.tmx.gz") == rows


def test_the_units_of_xml_are_freed(tmp_path, monkeypatch):
    """Of 5,000 units, only those of the last block that the parser has read are in the tree."""
    left = []
    monkeypatch.setattr(formats, "_units", lambda element: left.append(len(element.getparent())) or [])
    read(tmx_file(tmp_path / "a.tmx", *[tu(en="a", fr="b")] * 5000))
    assert len(left) == 5000 and max(left) < 1000


def test_entities_are_refused_and_not_expanded(tmp_path):
    secret = written(tmp_path / "secret.txt", "secret")
    laughs = ['<!ENTITY l0 "ha">'] + [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    for doctype, text, name in (
        (f"<!DOCTYPE tmx [{''.join(laughs)}]>", "&l9;", "'l0', 'l1'"),
        (f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{secret.as_uri()}">]>', "&x;", "'x'"),
        ('<!DOCTYPE tmx [<!ENTITY % p SYSTEM "http://localhost:9/"> %p;]>', "x", "'p'"),
    ):
        path = tmx_file(tmp_path / "a.tmx", tu(en=text, fr="b"), doctype=doctype)
        refused(path, rf"a.tmx declares the entities \[{name}")


def test_an_external_entity_is_not_read_even_if_it_is_not_refused(tmp_path, monkeypatch):
    secret = written(tmp_path / "secret.txt", "secret")
    doctype = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    monkeypatch.setattr(formats, "_refuse_entities", lambda *_: None)
    path = tmx_file(tmp_path / "a.tmx", tu(en="a &x;", fr="b"), doctype=doctype)
    assert read(path) == [("a  b", "", 1, "an entity, which is not supported")]


def test_xml_that_is_refused(tmp_path):
    refused(written(tmp_path / "a.tmx", "<tmx><body>"), "a.tmx is not XML: .*line 1")
    refused(tmx_file(tmp_path / "b.tmx", tu(en="a & b", fr="c")), "b.tmx is not XML: .*line 3")


# XLIFF

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.1" version="1.1">
  <file original="NoName" source-language="en" datatype="plaintext" target-language="fr"><body>
    <trans-unit xml:space="preserve" id="2" approved="yes">
      <source>Go &amp; run</source>
      <target state="translated">Va</target>
    </trans-unit></body></file>
</xliff>
"""
XLIFF2 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr">
  <file id="f1"><unit><segment xml:space="preserve"><source>Go &amp; run</source>
    <target>Va</target>
  </segment></unit></file>
</xliff>
"""


@pytest.mark.parametrize("content", [XLIFF, XLIFF2])
def test_xliff_of_translate_toolkit(tmp_path, content):
    assert read(written(tmp_path / "a.xlf", content)) == [("Go & run", "Va", 1, "")]


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
        ("Press OK", "Appuyez {0}OK", 1, ""), ("New Nouveau", "", 2, "untranslated: its state is 'new'"),
        ("None", "", 3, "untranslated: it has no translation"),
        ("Empty", "", 4, "untranslated: its translation is empty"),
        ("No Non", "", 5, "untranslated: not approved"),
        ("Check Vois", "", 6, "untranslated: its state is 'needs-review-translation'"), ("End", "Fin", 7, ""),
        ("Go", "Va", 8, ""),
        ("Va Go", "", 9, "other language: no pair of 'en' and 'fr'; the languages are ['en', 'de']"),
    ]  # fmt: skip
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
    assert read(path) == [("Press OK.", "Appuyez.", 1, ""), ("Go Va", "", 2, "untranslated: its state is 'initial'")]


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


def test_po(tmp_path):
    path = written(tmp_path / "a.po", PO.format("fr_FR"))
    rows = read(path)
    assert rows[0][1:] == ("", 0, "header")
    assert rows[1:] == [
        ('Go "on"\nnow', "Va là", 1, ""), ("Run", "", 2, "untranslated: it is fuzzy"),
        ("Open", "", 3, "untranslated: its translation is empty"), ("%d files", "%d fichiers", 4, ""),
        ("Old", "", 5, "untranslated: it is obsolete"),
    ]  # fmt: skip
    assert read(path, REVERSE)[1] == ("Va là", 'Go "on"\nnow', 1, "")
    assert read(written(tmp_path / "b.po", 'msgid "Go"\nmsgstr "Va"\n')) == [("Go", "Va", 1, "")]
    refused(written(tmp_path / "c.po", PO.format("de")), "c.po: its translations are in 'de', which is neither")


def test_what_pos_may_have(tmp_path):
    """Windows' line ends, previous texts, a context, a text without a string of its own, and obsolete plural forms."""
    entries = (
        '#| msgid "Come"\n#, c-format\nmsgctxt "menu"\nmsgid "Go %s"\nmsgstr "Va %s"\n\n'
        'msgid ""\n"A\\tB"\nmsgstr ""\n"C"\n"\\\\D"\n\nmsgid "None"\n\n'
        '#, fuzzy\n#~| msgid "Olden"\n#~ msgid "Old"\n#~ msgid_plural "Olds"\n#~ msgstr[0] "x"\n#~ msgstr[1] "y"\n'
        "#~ what is broken here\n"
    )
    assert read(written(tmp_path / "a.po", entries.replace("\n", "\r\n"))) == [
        ("Go %s", "Va %s", 1, ""), ("A\tB", "C\\D", 2, ""),
        ("None", "", 3, "untranslated: its translation is empty"), ("Olds", "", 4, "untranslated: it is fuzzy"),
    ]  # fmt: skip


def test_a_po_that_is_refused(tmp_path):
    refused(written(tmp_path / "a.po", 'msgid "Go\nmsgstr "Va"\n'), "a.po, line 1: not PO")
    (tmp_path / "b.po.gz").write_bytes(gzip.compress(b"\n" * (formats.LARGEST + 1)))
    refused(tmp_path / "b.po.gz", "b.po.gz has over 100 MiB decompressed")


@pytest.mark.parametrize(
    ("name", "module", "package"), [("a.tmx", "lxml", "lxml"), ("a.xlsx", "openpyxl", "openpyxl")]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, name, module, package):
    for known in {module, *(known for known in sys.modules if known.partition(".")[0] == module)}:
        monkeypatch.setitem(sys.modules, known, None)
    refused(written(tmp_path / name, "x"), f"{name}: The package {package} is missing")


def test_an_installed_package_that_does_not_load_is_not_called_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)  # so that it is imported again
    monkeypatch.delitem(sys.modules, "openpyxl")
    broken = tmp_path / "openpyxl.py"
    broken.write_text("import a_package_that_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    refused(
        written(tmp_path / "a.xlsx", "x"),
        "a.xlsx: The package openpyxl is installed, but does not load: No module named 'a_package_that_it_needs'. "
        "Reinstall it: pip uninstall openpyxl, then",
    )
    broken.write_text("raise ImportError('its library is of another version')")
    refused(written(tmp_path / "b.xlsx", "x"), "does not load: its library is of another version.")
