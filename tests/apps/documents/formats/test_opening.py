"""Each format: what is translated, and that the rest of a document stays as it is."""

import json
import subprocess
import sys
import tarfile
import unicodedata
from pathlib import Path

import numpy
import pytest
import yaml
from apps.documents.packed import MEMBERS, members, pack, write_packed
from translating import KNOWN, rot13, translated

from glossa.apps.documents.formats import LINES, MODULES
from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import format_of, open_document
from glossa.base.errors import GlossaError

FILES = Path(__file__).parents[1] / "files"
GIVEN = Path(__file__).parents[5] / "shared" / "data" / "documents" / "tldr-en-fr.tar.gz"
FILLED = ("app.po", "one.xliff", "two.xlf", "memory.tmx")  # whose translations stand beside their sources
IN_PLACE = sorted(path.name for path in FILES.iterdir() if path.is_file() and path.name not in FILLED)


def upper(text):
    return text.upper()


def shouted(name, **options):
    return translated(FILES / name, upper, **options).decode()


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_engine_that_returns_its_source_changes_no_byte(name):
    assert translated(FILES / name, languages=LanguagePair()) == (FILES / name).read_bytes()


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("name", [name for name in IN_PLACE if not name.endswith((".json", ".html"))])
def test_line_ends_stay(tmp_path, name, ends):
    (tmp_path / name).write_bytes((FILES / name).read_bytes().replace(b"\n", ends.encode()))
    assert translated(tmp_path / name) == (tmp_path / name).read_bytes()
    twice = tmp_path / f"twice-{name}"
    twice.write_bytes(translated(tmp_path / name, rot13))
    if ends == "\r\n":
        assert twice.read_bytes().count(b"\n") == twice.read_bytes().count(b"\r\n")


@pytest.mark.slow
@pytest.mark.skipif(not GIVEN.is_file(), reason="../shared/data/documents is not here")
def test_given_pages_stay_equal(tmp_path):
    with tarfile.open(GIVEN) as archive:
        archive.extractall(tmp_path, filter="data")
    pages = sorted(tmp_path.rglob("*.md"))
    assert len(pages) == 400
    assert [page.name for page in pages if translated(page) != page.read_bytes()] == []


def test_markdown():
    """Code, front matter, addresses and marks stay; a reference keeps its label."""
    found = shouted("page.md")
    for line in (
        "title: Hi", "# HEAD *ONE* #",
        'PARA WITH `code` AND [LINK **BOLD**](http://x "TITLE") AND ![ALT TEXT](a.png)',
        "SECOND LINE<br> END &amp; \\* ~~X~~ http://a.b AND [REF][ref] AND [NOT].", "> MORE QUOTE `x`", "  CONT",
        "- [ ] TASK", "| A | B `c` |", "| 1 | TWO |", "x", "    indented code", "HTML <b>BOLD</b>", "HARD BREAK  ",
        "NEXT LINE WITH {count, plural, one {# ITEM} other {# ITEMS AND {name}}} HERE.",
        '[ref]: http://x "TEE"', "SETEXT",
    ):  # fmt: skip
        assert line in found.split("\n"), line


def test_markdown_words_do_not_become_marks(tmp_path):
    (tmp_path / "a.md").write_text("One day\n\n| a |\n|---|\n| cell |\n")
    found = translated(tmp_path / "a.md", {"One day": "1. *Tag", "a": "a", "cell": "c|d"}.get).decode()
    assert found == "1\\. \\*Tag\n\n| a |\n|---|\n| c\\|d |\n"


def test_markdown_is_filled_to_its_width(tmp_path):
    (tmp_path / "a.md").write_text("- some words that go\n  on here\n")
    found = translated(tmp_path / "a.md", lambda text: "a much longer text than it was before").decode()
    assert found == "- a much longer text\n  than it was before\n"


def test_html():
    found = shouted("page.html")
    for piece in (
        "<title>MY PAGE</title>", 'content="ABOUT &quot;US&quot;"', 'content="width=device"', 'var text = "<p>no</p>"',
        '<P CLASS=a>HELLO <a href="x.html" title="GO THERE">BIG <b>WORLD</b></a>, AND',
        "</a>, AND <code>ls -l</code> X<sup>2</sup>.</p>",
        '<li>ONE<li>TWO <img src=a.png alt="A CAT"></ul><pre>code stays</pre>',
        '<p translate="no">keep me</p><!-- comment -->', "<p><em>ALL OF IT.</em></p>",
        '<button>SAVE</button><br>LINE<input type="submit" value="SEND"><input value="untouched">',
    ):  # fmt: skip
        assert piece in found, piece


def test_html_in_another_encoding(tmp_path):
    (tmp_path / "a.html").write_bytes('<meta charset="iso-8859-1"><p>café</p>'.encode("latin-1"))
    assert translated(tmp_path / "a.html", lambda text: "Œuf") == b'<meta charset="iso-8859-1"><p>&#338;uf</p>'
    (tmp_path / "a.html").write_bytes(b"<p>caf\xe9</p>")
    assert translated(tmp_path / "a.html", lambda text: "Œuf Ж") == b"<p>\x8cuf &#1046;</p>"
    (note,) = open_document(tmp_path / "a.html", "html", KNOWN).documents[0].notes
    assert note == f"{tmp_path}/a.html declares no encoding; it is read as windows-1252, as browsers do."
    (tmp_path / "a.html").write_bytes("<p>Мир</p>".encode("cp1251"))
    assert open_document(tmp_path / "a.html", "html", LanguagePair("ru", "en")).documents[0].text == "<p>Мир</p>"
    (tmp_path / "a.html").write_text("<p>café</p>")
    assert not open_document(tmp_path / "a.html", "html", KNOWN).documents[0].notes


@pytest.mark.parametrize("content", ["<p>été, ".encode() + b"caf\xe9</p>", b"<p>caf\x81</p>"])
def test_html_that_is_damaged_and_says_no_encoding_is_refused(tmp_path, content):
    """What is UTF-8 for the most part, and what has bytes without a character."""
    (tmp_path / "a.html").write_bytes(content)
    with pytest.raises(
        GlossaError, match=r"a\.html, line 1: wrong encoding: byte 0x[e8][91] is not UTF-8.*WINDOWS-1252"
    ):
        translated(tmp_path / "a.html")


def test_what_is_not_translated_keeps_its_spaces(tmp_path):
    (tmp_path / "a.html").write_text("<p>これはテストです。This is a test.</p>")
    assert translated(tmp_path / "a.html") == (tmp_path / "a.html").read_bytes()


def test_subtitles():
    assert shouted("film.srt") == (
        "1\n00:00:01,000 --> 00:00:02,500\nHELLO THERE, MY <i>DEAR</i> OLD\nFRIEND AND COLLEAGUE,\n\n"
        "2\n00:00:02,600 --> 00:00:04,000\nWHO CAME FROM THE NORTH.\n\n"
        "3\n00:00:05,000 --> 00:00:06,000\n{\\an8}- WHO IS IT?\n- IT IS ME.\n\n"
        "4\n00:00:07,000 --> 00:00:08,000\n<i>♪ MUSIC ♪</i>\n"
    )
    expected = (FILES / "film.vtt").read_text().replace("Rock &amp; roll is", "ROCK &amp; ROLL IS")
    assert shouted("film.vtt") == expected.replace("not<", "NOT<").replace("dead, my friend", "DEAD, MY FRIEND")


def test_a_sentence_over_several_subtitles_is_translated_whole(tmp_path):
    source = "1\n00:00:01,000 --> 00:00:02,000\nI told you\n\n2\n00:00:02,100 --> 00:00:03,000\nthat he would come.\n"
    (tmp_path / "a.srt").write_text(source)
    asked = []

    def align(pairs):
        links = numpy.zeros((8, 8))
        for row, column in ((0, 0), (1, 3), (2, 1), (4, 5), (6, 6), (7, 7)):
            links[row, column] = 1
        return [links]

    def engine(text):
        asked.append(text)
        return "Je t'ai dit, il viendrait."

    found = translated(tmp_path / "a.srt", engine, aligner=align).decode()
    assert asked == ["I told you that he would come."]
    assert found == source.replace("I told you", "Je t'ai dit,").replace("that he would come.", "il viendrait.")


def test_subtitles_are_at_most_as_wide_as_a_screen(tmp_path):
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nShort.\n")
    found = translated(
        tmp_path / "a.srt", lambda text: "A translation that is much too wide for a single line."
    ).decode()
    assert found.split("\n")[2:] == ["A translation that is much", "too wide for a single line.", ""]


def test_po():
    """Filled entries stay; plural forms come from the plural; the end of a line stays at the end."""
    forms = '"Plural-Forms: nplurals=2; plural=(n == 0 || n == 1) ? 0 : 1;\\n"'
    header, _, rest = (FILES / "app.po").read_text().partition("\n\n")
    assert shouted("app.po") == f"{header}\n{forms}\n\n{rest}".replace(
        'here</a>\\n"\nmsgstr ""', 'here</a>\\n"\nmsgstr "HELLO %s, PRESS <a href=\\"x\\">HERE</a>\\n"'
    ).replace('msgstr[0] ""', 'msgstr[0] "ONE FILE"').replace('msgstr[1] ""', 'msgstr[1] "%d FILES"')


def test_filled_catalogs_and_units_stay(tmp_path):
    for name in FILLED:
        (tmp_path / name).write_bytes(translated(FILES / name, upper))
        assert translated(tmp_path / name, rot13) == (tmp_path / name).read_bytes()


def test_a_quoted_name_of_json_keeps_its_quotes(tmp_path):
    """Where they stood apart from the braces, `''` would be an apostrophe in ICU, and the name an argument."""
    (tmp_path / "a.json").write_text('{"a": "\'{name}\' is it, don\'t"}')
    found = translated(tmp_path / "a.json", lambda text: text.replace("'", "").upper())
    assert found == b'{"a": "\'{name}\' IS IT, DONT"}'


def test_what_only_unicode_spells_otherwise_stays(tmp_path):
    """Without its period, the translation has one character less before the name, but is no other language."""
    text = json.dumps({"a": "Cafe\u0301 '{name}' and <b>more</b>", "b": "Cafe\u0301 '{name}'"}, ensure_ascii=False)
    (tmp_path / "a.json").write_text(text)
    found = translated(tmp_path / "a.json", lambda words: unicodedata.normalize("NFC", f"{words}."), kept=False)
    assert found.decode() == text


def test_json():
    found = json.loads(shouted("app.json"))
    source = json.loads((FILES / "app.json").read_text())
    assert found == source | {
        "title": "HELLO <b>BIG</b> WORLD", "x": ["ONE\nTWO LINES", 'CAFÉ "QUOTED" {name}'],
        "p": "{n, plural, one {# FILE} other {# FILES}}",
    }  # fmt: skip
    assert "CAF\\u00c9" in shouted("app.json"), "it has no letters but ASCII"


def test_yaml():
    found = shouted("app.yaml")
    assert found.startswith("# c\ntitle: HELLO WORLD, MY FRIEND\n") and "s: 'IT''S HERE'" in found
    assert yaml.safe_load(found) == {
        "title": "HELLO WORLD, MY FRIEND", "key": "user_name", "q": 'SAY "HI" TO {name}', "s": "IT'S HERE",
        "list": ["ONE ITEM", True, {True: "PLEASE STOP"}], "lit": "FIRST LINE HERE\nSECOND <b>LINE</b>\n",
        "folded": "SOME LONG TEXT THAT RUNS ON.\nANOTHER ONE", "multi": "PLAIN TEXT THAT CONTINUES",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("new", "written"), [("yes", "'yes'"), ("a: b", "'a: b'"), ("it's", "it's"), ("- a", "'- a'")]
)
def test_yaml_words_do_not_become_something_else(tmp_path, new, written):
    (tmp_path / "a.yaml").write_text("a: Good day\n")
    assert translated(tmp_path / "a.yaml", lambda text: new).decode() == f"a: {written}\n"
    assert yaml.safe_load(f"a: {written}") == {"a": new}


def test_properties(tmp_path):
    found = shouted("app.properties")
    assert "greeting = HELLO {0}, IT''S YOU\nlong=THIS IS A LONG VALUE\nname:CAF\\u00c9 IS OPEN\n" in found
    assert "# comment" in found and "url=http://x.y" in found and "empty=\n" in found
    for encoding, written in (("utf-8", "Ünü Ж"), ("latin-1", "Ünü \\u0416")):
        (tmp_path / "a.properties").write_bytes("a=Ünü\n".encode(encoding))
        assert translated(tmp_path / "a.properties", lambda text: "Ünü Ж") == f"a={written}\n".encode(encoding)


def test_xliff():
    found = shouted("one.xliff")
    state = 'state="translated" state-qualifier="mt-suggestion"'
    assert f'\n    <target {state}>HELLO <g id="1">BIG</g> WORLD<x id="2"/>.</target>\n' in found
    assert '<target state="final">Fait</target>' in found and "<source>No</source></trans-unit>" in found
    assert f'<target {state}>A <bpt id="1">&lt;b></bpt>B<ept id="1">&lt;/b></ept> C</target>' in found
    assert f"<source>42</source><target {state}>42</target>" in found
    found = shouted("two.xlf")
    assert '<segment state="translated"><source>' in found and 'trgLang="fr"' in found
    assert '<target>HELLO <pc id="1">BIG</pc> <ph id="2"/>WORLD.</target></segment>' in found


def test_tmx():
    added = '<tuv xml:lang="fr"><seg>HELLO <bpt i="1">x</bpt>BIG<ept i="1">y</ept> WORLD</seg></tuv>'
    source = (FILES / "memory.tmx").read_text()
    assert shouted("memory.tmx") == source.replace("</seg></tuv>", f"</seg></tuv>{added}")
    with pytest.raises(GlossaError, match=r"the code of their language.*Give --target_language"):
        shouted("memory.tmx", languages=LanguagePair())


def test_packed_formats(tmp_path):
    word, text, book = (members(translated(path, upper)) for path in write_packed(tmp_path))
    run = '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">BIG</w:t></w:r>'
    assert (
        f'HELLO </w:t></w:r>{run}<w:r><w:t xml:space="preserve"> WORLD</w:t></w:r><w:r><w:br/></w:r>'
        in word["word/document.xml"]
    )
    link = '<w:hyperlink r:id="r1"><w:r><w:t xml:space="preserve">HERE</w:t></w:r></w:hyperlink>'
    assert f'AGAIN </w:t></w:r>{link}<w:r><w:t xml:space="preserve">.</w:t></w:r></w:p>' in word["word/document.xml"]
    assert '<w:rPr><w:i/></w:rPr><w:t xml:space="preserve">CELL &amp; MORE</w:t>' in word["word/document.xml"]
    assert '>HELLO <text:span text:style-name="b">BIG</text:span> WORLD<text:note>' in text["content.xml"]
    assert "<text:p>A NOTE HERE</text:p>" in text["content.xml"]
    assert "<p>HELLO <i>BIG</i> WORLD.</p>" in book["OEBPS/a.xhtml"] and "<text>START</text>" in book["toc.ncx"]
    assert "<dc:title>BOOK</dc:title><dc:creator>Ann</dc:creator>" in book["content.opf"]
    for name, found in zip(MEMBERS, (word, text, book), strict=True):
        assert list(found) == list(MEMBERS[name])


def test_packed_formats_stay_equal(tmp_path):
    for path in write_packed(tmp_path):
        assert members(translated(path)) == members(path)
        assert list(members(translated(path, upper))) == list(MEMBERS[path.name])


def test_files_without_slides_or_texts_stay_as_they_are(tmp_path):
    for name, main in (("a.pptx", "ppt/presentation.xml"), ("a.xlsx", "xl/workbook.xml")):
        for member in (main, "other.xml"):
            pack(tmp_path / name, {member: "<a/>"})
            if member == main:
                assert members(translated(tmp_path / name)) == {main: "<a/>"}
        with pytest.raises(GlossaError, match=f"{name}: not a .* file: it has no texts"):
            translated(tmp_path / name)


def test_paragraphs(tmp_path):
    (tmp_path / "a.txt").write_text("One long line\nof text. Another\none.\n\n\nSecond.\n")
    found = translated(tmp_path / "a.txt", upper, kind="paragraphs").decode()
    assert found == "ONE LONG LINE OF\nTEXT. ANOTHER\nONE.\n\n\nSECOND.\n"
    assert translated(tmp_path / "a.txt", kind="paragraphs") == (tmp_path / "a.txt").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"a": }', r"a\.json: not JSON: .*line 1 column 7"),
        ("a.yaml", b"a: 1\n b: [", r"a\.yaml, line 2: not YAML"),
        ("a.xliff", b"<xliff><file>", r"a\.xliff, line 1: not well-formed XML \(no element found\)"),
        ("a.xliff", b"<tmx></tmx>", "the first element is tmx, not xliff"),
        ("a.tmx", b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "line 1: the document defines the entity a"),
        ("a.srt", b"Hello.\n", "line 1: no subtitle has a time"),
        ("a.csv", b'"One\n\nmore",b\n', "line 1: the columns are One more, b; two of them"),
        ("a.docx", b"PK\x03\x04", "not a docx file that can be read"),
        ("a.md", b"caf\xe9", r"a\.md, line 1: wrong encoding: byte 0xe9"),
        ("a.md", "Hi".encode("utf-16"), "this looks like UTF-16"),
        ("a.srt", "Hi".encode("utf-32"), "this looks like UTF-32. .*-f UTF-32"),
        (
            "a.po", b'msgid ""\nmsgstr "Content-Type: text/plain; charset=klingon\\n"\n',
            "declares the encoding klingon",
        ),
    ],
)  # fmt: skip
def test_broken_documents_are_refused_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GlossaError, match=message) as refused:
        open_document(tmp_path / name, format_of(name), KNOWN)
    assert "\n" not in str(refused.value)


def test_formats_follow_from_names():
    assert format_of("a/strings.xml") == format_of("app_strings.xml") == "android"
    assert format_of("non-strings.xml") is None and format_of("mystrings.xml") is None
    assert format_of("a/B.HTML") == "html" and format_of("a.txt") is None and format_of("a.pdf") is None
    assert format_of("a.txt", "markdown") == "markdown" and format_of("a.md", "lines") is None
    assert {format_of(f"a.{name}", name) or name for name in (*MODULES, LINES)} == {*MODULES, LINES}


@pytest.mark.slow
def test_the_help_reads_no_module_of_a_format():
    loaded = """
import sys
import glossa.cli.translate
print(*(name for name in sys.modules if name.startswith("glossa.apps.documents.")))"""
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert {name.removeprefix("glossa.apps.documents.formats.") for name in found}.isdisjoint(MODULES.values())
    assert "glossa.apps.documents.formats" in found and "glossa.apps.documents.places" not in found


@pytest.mark.parametrize("name", ["tree_sitter", "tree_sitter_markdown"])
def test_a_missing_library_is_named_with_its_command(tmp_path, monkeypatch, name):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(
        GlossaError, match=rf'{name.replace("_", "-")} is missing.*pip install "glossa-mt\[documents\]"'
    ):
        translated(FILES / "page.md")
