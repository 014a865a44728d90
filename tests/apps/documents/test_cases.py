"""The given cases of documents, and each kind of them in other formats."""

import io
import json
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from shutil import which

import pytest
import yaml
from translating import KNOWN, Function, Given, translated

from glossa.apps.documents.formats.opening import Languages, open_document
from glossa.apps.documents.job import DocumentJob
from glossa.base.errors import GlossaError

CASES = Path(__file__).parents[4] / "shared" / "cases" / "files"
given = pytest.mark.skipif(not CASES.is_dir(), reason="../shared/cases is not here")
NS = {"x": "urn:oasis:names:tc:xliff:document:1.2"}


def shouted(path, function=str.upper, languages=KNOWN):
    return translated(path, function, languages=languages).decode()


def shouted_text(folder, name, text, function=str.upper, languages=KNOWN):
    (folder / name).write_text(text, encoding="utf-8")
    return shouted(folder / name, function, languages)


def targets(xliff):
    return ["".join(unit.itertext()) for unit in ElementTree.fromstring(xliff).iterfind(".//x:target", NS)]


def member(content, name):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name).decode()


class TestGiven:
    @given
    def test_content_controls_of_word(self):
        """The case `docx-content-control`."""
        found = member(translated(CASES / "docx-content-control" / "form.docx", str.upper), "word/document.xml")
        for text in ("A DOG RUNS.", "A MAN SLEEPS.", "A BOY EATS.", "A CAT EATS.", "A GIRL RUNS.", "THE START "):
            assert f">{text}</w:t>" in found, text
        assert '<w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent><w:r>' in found

    @given
    def test_chapters_of_a_book_have_any_name(self):
        """The case `epub-xml-content`; languages are set as in `html-lang`, and escaped HTML has tags."""
        book = translated(CASES / "epub-xml-content" / "book.epub", str.upper)
        texts = [member(book, f"OEBPS/{name}") for name in ("c1.xml", "C2.XHTML", "c3.xhtml")]
        for text, chapter in zip(("A MAN SLEEPS.", "A DOG RUNS.", "A BOY EATS."), texts, strict=True):
            assert f"<p>{text}</p>" in chapter and 'xml:lang="fr" lang="fr"' in chapter
        about = member(book, "OEBPS/content.opf")
        assert "<dc:language>fr</dc:language>" in about and 'xml:lang="fr"' in about and "A. Writer" in about
        assert "&lt;p&gt;A MAN &lt;b&gt;SLEEPS&lt;/b&gt;.&lt;/p&gt;" in about

    @given
    def test_the_language_of_a_page(self):
        """The case `html-lang`."""
        assert shouted(CASES / "html-lang" / "a.html").startswith('<html lang="fr"><body><p>THE BOY SLEEPS.')

    @given
    def test_the_number_of_a_plural_form_stays(self):
        """The case `icu-number-sign`, with an engine that loses what it does not know."""
        path = CASES / "icu-number-sign" / "messages.json"
        found = json.loads(shouted(path, lambda text: text.replace("#", "").replace("{n}", "").upper()))
        assert found["start"] == "{n, plural, one {# MAN SLEEPS.} other {# MEN SLEEP.}}"
        assert all(each.count("#") == 2 or each.count("{n}") == 2 for each in found.values())

    @given
    def test_messages_in_units(self):
        """The case `icu-xliff`."""
        found = targets(shouted(CASES / "icu-xliff" / "messages.xlf"))
        assert found[1:3] == [
            "{n, plural, one {A MAN SLEEPS.} other {A DOG RUNS.}}", "{x,plural,=1{A MAN SLEEPS}other{A DOG RUNS}}"
        ]  # fmt: skip
        assert '{<x id="INTERPOLATION" equiv-text="{{n}}"/> MEN SLEEP.}' in shouted(
            CASES / "icu-xliff" / "messages.xlf"
        )

    @given
    def test_notebooks(self):
        """The case `ipynb-advice`."""
        found = json.loads(shouted(CASES / "ipynb-advice" / "a.ipynb"))
        assert found["cells"][0] == {"cell_type": "markdown", "metadata": {}, "source": ["THE BOY SLEEPS.\n"]}

    @given
    def test_blocks_end_a_text_in_strings(self):
        """The case `json-block-tags`."""
        asked = []
        found = shouted(CASES / "json-block-tags" / "strings.json", lambda text: asked.append(text) or text.upper())
        assert json.loads(found) == {
            "p": "<p>A MAN SLEEPS.</p><p>A DOG RUNS.</p>",
            "br": "A MAN SLEEPS.<br>A DOG RUNS.<br/>A BOY EATS.",
            "ul": "<ul><li>A MAN SLEEPS</li><li>A DOG RUNS</li></ul>",
            "spaced": "<p>A MAN SLEEPS.</p> <p>A DOG RUNS.</p>",
        }
        assert "A man sleeps" in asked and "A dog runs" in asked

    @given
    @pytest.mark.parametrize("name", ["a.po", "a.xlf"])
    def test_a_file_of_another_language_is_refused(self, name):
        """The case `language-of-file`."""
        with pytest.raises(GlossaError, match=r"says that its translations are in (German|Spanish)"):
            shouted(CASES / "language-of-file" / name)

    @given
    def test_lines_of_other_markdown(self):
        """The case `markdown-blocks`."""
        path = CASES / "markdown-blocks" / "a.md"
        expected = path.read_text()
        for text in ("The boy sleeps.", "The girl eats.", "Term"):
            expected = expected.replace(text, text.upper())
        assert shouted(path) == expected

    @given
    def test_alerts(self):
        """The case `md-alerts`."""
        path = CASES / "md-alerts" / "page.md"
        expected = path.read_text()
        for text in ("A man sleeps in the street.", "A dog runs.", "A boy eats.", "A title", "A man sleeps."):
            expected = expected.replace(text, text.upper())
        assert shouted(path) == expected

    @given
    def test_directives(self):
        """The case `md-directives`."""
        path = CASES / "md-directives" / "page.md"
        expected = path.read_text()
        for text in ("A man sleeps in the street.", "A title", "A dog runs.", "A boy eats in the street.", "A dog",
                     "A DOG runs in the street.", "# The street", "[A man]", " sleeps."):  # fmt: skip
            expected = expected.replace(text, text.upper())
        assert shouted(path) == expected

    @given
    def test_two_prices_are_no_formula(self):
        """The case `md-dollar`."""
        path = CASES / "md-dollar" / "page.md"
        assert shouted(path) == path.read_text().upper().replace("$X$", "$x$").replace("$A+B$", "$a+b$")

    @given
    def test_labels_end_as_their_source(self):
        """The case `message-edges`, with an engine that makes sentences."""
        found = shouted(CASES / "message-edges" / "a.po", lambda text: text.rstrip(".:").upper() + ".")
        for text in ("OPEN THE HOUSE...", "&OPEN THE HOUSE", "_OPEN THE HOUSE", "THE HOUSE", "THE BOY\u00a0:"):
            assert f'msgstr "{text}"' in found, text

    @given
    def test_invisible_characters_change_nothing(self):
        """The case `nbsp-and-invisible`."""
        folder, asked = CASES / "nbsp-and-invisible", []
        shouted(folder / "page.html", lambda text: asked.append(text) or text)
        assert set(asked) == {"A man sleeps in the street."}
        (one, two) = (folder / "lines.txt").read_text().splitlines()
        engine = Function(str.upper)
        assert Given(engine).best([one, two]) == ["WE DO NOT FIND YOUR BOOK."] * 2
        assert set(engine.asked) == {"We do not find your book."}

    @given
    def test_every_message_of_a_catalog_is_a_text(self):
        """The case `po-mnemonics`."""
        found = shouted(CASES / "po-mnemonics" / "app.po")
        for text in ("_OPEN", "SA_VE", "_OPEN THE BOOK", "YES/NO", "A CAT EATS."):
            assert f'msgstr "{text}"' in found, text

    @given
    def test_the_header_of_a_template(self, tmp_path):
        """The case `pot-header`."""
        path = CASES / "pot-header" / "a.pot"
        found = shouted(path, languages=Languages("en", "pl"))
        assert '"Language: pl\\n"' in found and "charset=UTF-8" in found and "fuzzy" not in found
        assert '"Plural-Forms: nplurals=3; plural=' in found and 'msgstr[2] "%d BOYS"' in found
        assert 'msgstr[0] "%d BOY"' in found
        assert "msgstr[1]" not in shouted(path, languages=Languages("en", "ja"))
        if which("msgfmt"):
            for language in ("pl", "fr", "ja", "ar"):
                (tmp_path / "a.po").write_text(shouted(path, languages=Languages("en", language)), encoding="utf-8")
                checked = ["msgfmt", "--check-format", "--check-header", "-o", "/dev/null", tmp_path / "a.po"]
                result = subprocess.run(checked, capture_output=True, text=True)
                assert result.returncode == 0, result.stderr

    @given
    def test_readings_are_left_out(self):
        """The case `ruby-html`."""
        asked = []
        found = shouted(CASES / "ruby-html" / "page.html", lambda text: asked.append(text) or text.upper())
        assert set(asked) == {"I read the good book in the street."}
        assert "<ruby>GOOD<rt>bon</rt></ruby> <ruby>BOOK<rt>livre</rt></ruby>" in found

    @given
    @pytest.mark.parametrize("name", ["srt-blank-line-in-cue", "srt-no-blank-lines"])
    def test_blank_lines_of_subtitles(self, name):
        path = CASES / name / "film.srt"
        assert shouted(path) == path.read_text().upper()

    @given
    def test_sections_and_escaped_html_in_units(self):
        """The case `xliff-cdata-html`."""
        found = shouted(CASES / "xliff-cdata-html" / "file.xlf")
        assert targets(found) == [
            "A <b>MAN</b> SLEEPS IN THE STREET.", "<p>A MAN SLEEPS.</p><p>A DOG RUNS.</p>", "TOM & MARY SLEEP.",
            "<b>A MAN</b> SLEEPS.<br/>A DOG RUNS.", "<p>A MAN SLEEPS.</p><p>A DOG RUNS.</p>",
        ]  # fmt: skip
        assert found.count("<![CDATA[") == 6

    @given
    def test_anchors_and_tags_stay(self):
        """The case `yaml-anchor`."""
        found = shouted(CASES / "yaml-anchor" / "en.yml")
        assert yaml.safe_load(found)["en"] == {
            "base": "A DOG RUNS.", "again": "A DOG RUNS.", "quoted": "A MAN SLEEPS.", "again2": "A MAN SLEEPS.",
            "tagged": "A BOY EATS.",
        }  # fmt: skip
        assert "base: &base A DOG RUNS." in found and "again: *base" in found


BLOCKS = "<p>A man sleeps</p><p>A dog runs</p>"
ESCAPED = BLOCKS.replace("<", "&lt;").replace(">", "&gt;")
FORMS = "{n, plural, one {# man sleeps} other {# men sleep}}"


def unit(source):
    body = f'<trans-unit id="1"><source>{source}</source></trans-unit>'
    return f'<xliff version="1.2"><file><body>{body}</body></file></xliff>'


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.yaml", "a: '{}'\n"), ("a.properties", "a={}\n"), ("a.json", '{{"a": "{}"}}'),
        ("a.po", 'msgid "{}"\nmsgstr ""\n'),
    ],
)  # fmt: skip
class TestKinds:
    """What holds in one format of strings holds in all."""

    def test_blocks(self, tmp_path, name, written):
        asked = []
        found = shouted_text(tmp_path, name, written.format(BLOCKS), lambda text: asked.append(text) or text.upper())
        assert sorted(asked) == ["A dog runs", "A man sleeps"] and "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>" in found

    def test_messages(self, tmp_path, name, written):
        found = shouted_text(tmp_path, name, written.format(FORMS), lambda text: text.replace("#", "").upper())
        assert "{n, plural, one {# MAN SLEEPS} other {# MEN SLEEP}}" in found

    def test_labels(self, tmp_path, name, written):
        for source, expected in (("The house", "THE HOUSE"), ("Wait...", "WAIT..."), ("Who?", "WHO\u202f?")):
            found = shouted_text(tmp_path, name, written.format(source), lambda text: text.rstrip(".?").upper() + ".")
            assert (
                expected in found.encode("latin-1", "backslashreplace").decode("unicode_escape") or expected in found
            )
            assert f"{expected}." not in found

    def test_invisible_characters(self, tmp_path, name, written):
        asked = []
        text = "A\u00a0man sle\u00adeps in\u200b the street"
        shouted_text(tmp_path, name, written.format(text), lambda text: asked.append(text) or text)
        assert asked == ["A man sleeps in the street"]


def test_blocks_messages_and_sections_in_units(tmp_path):
    for source, expected in (
        (ESCAPED, "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>"),
        (f"<![CDATA[{BLOCKS}]]>", "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>"),
        (FORMS, "{n, plural, one {# MAN SLEEPS} other {# MEN SLEEP}}"),
    ):
        xliff = unit(source).replace("<xliff", f'<xliff xmlns="{NS["x"]}"')
        assert targets(shouted_text(tmp_path, "a.xliff", xliff)) == [expected]
        body = f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv></tu>'
        tmx = f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'
        found = ElementTree.fromstring(shouted_text(tmp_path, "a.tmx", tmx))
        assert found.findall(".//seg")[1].text == expected


def test_a_message_that_cannot_be_read_is_left_alone_and_named(tmp_path, capsys):
    for version in ("1.2", "2.0"):
        tags = ("trans-unit", "file") if version == "1.2" else ("segment", "file")
        body = f'<{tags[0]} id="1"><source>{{n, plural, one {{A man}} other {{</source></{tags[0]}>'
        xliff = f'<xliff version="{version}"><file>\n{body}</file></xliff>'
        (tmp_path / f"{version}.xliff").write_text(xliff)
        DocumentJob(tmp_path / f"{version}.xliff", tmp_path / version, languages=KNOWN).run(Given(str.upper))
        assert "<target" not in (tmp_path / version).read_text() and "state=" not in (tmp_path / version).read_text()
        assert f"{version}.xliff, line 2: a message that cannot be read is left alone." in capsys.readouterr().err


def test_a_section_in_a_book(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("a.xhtml", "<html><body><p>Tom <![CDATA[& Mary]]> &amp; Ann</p></body></html>")
    found = member(translated(tmp_path / "a.epub", str.upper), "a.xhtml")
    assert "<p>TOM <![CDATA[& MARY]]> &amp; ANN</p>" in found


def test_languages_that_files_say(tmp_path, capsys):
    run = '<w:r><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>Hi</w:t></w:r>'
    word = f'<w:document xmlns:w="w"><w:p>{run}</w:p></w:document>'
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", word)
        archive.writestr("word/styles.xml", '<w:styles xmlns:w="w"><w:lang w:val="en-US" w:eastAsia="ja"/></w:styles>')
    found = translated(tmp_path / "a.docx", str.upper)
    assert '<w:lang w:val="fr"/>' in member(found, "word/document.xml")
    assert '<w:lang w:val="fr" w:eastAsia="ja"/>' in member(found, "word/styles.xml")
    (tmp_path / "a.html").write_text('<html lang="de"><p>Hi there</p></html>')
    DocumentJob(tmp_path / "a.html", tmp_path / "b.html", languages=KNOWN).run(Given(str.upper))
    assert "a.html says that its text is in German (de); it is translated as English." in capsys.readouterr().err
    assert (tmp_path / "b.html").read_text() == '<html lang="de"><p>HI THERE</p></html>'


def test_readings_in_a_book(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("a.xhtml", "<html><body><p>A <ruby>good<rp>(</rp><rt>x</rt></ruby> book</p></body></html>")
    found = member(translated(tmp_path / "a.epub", str.upper), "a.xhtml")
    assert "<p>A <ruby>GOOD<rp>(</rp><rt>x</rt></ruby> BOOK</p>" in found


def test_an_accelerator_goes_to_its_letter(tmp_path):
    for source, new, expected in (
        ("_Open", "Ouvrir", "_Ouvrir"),
        ("Save &as", "Enregistrer sous", "Enregistrer sous".replace("as", "&as")),
        ("&File", "Datei", "&Datei"),
        ("D_efault zoom:", "Standard:", "Standard:".replace("S", "_S")),
    ):
        found = shouted_text(tmp_path, "a.po", f'msgid "{source}"\nmsgstr ""\n', lambda text, new=new: new)
        assert found.count("&") + found.count("_") == 2, "once in each of both"
        if expected != new:
            assert f'msgstr "{expected}"' in found


def test_a_name_with_a_low_line_in_a_sentence_is_no_accelerator(tmp_path):
    found = shouted_text(tmp_path, "a.po", 'msgid "Used if side_pane is set."\nmsgstr ""\n', str.upper)
    assert 'msgstr "USED IF SIDE_PANE IS SET."' in found


def test_a_catalog_of_names_has_no_accelerators_of_gtk(tmp_path):
    names, keys = ["Set the_one_path of it", "See LANG_PATH"], ["_Open it", "_Save it", "Sho_w it"]
    for texts, expected in ((names, "Use side_pane here"), (names + keys, "Use sidepane here")):
        content = "".join(f'msgid "{text}"\nmsgstr ""\n\n' for text in [*texts, "Use side_pane here"])
        (tmp_path / "a.po").write_text(content)
        *_, place = open_document(tmp_path / "a.po", "po", KNOWN).documents[0].places
        assert "".join(part.text for part in place.parts) == expected


def test_names_and_abbreviations_have_no_accelerator(tmp_path):
    for source in ("Read JAVA_HOME first", "An x86_64 file", "Our R&D here", "By AT&T here", "Q&A"):
        (tmp_path / "a.po").write_text(f'msgid "{source}"\nmsgstr ""\n')
        (place,) = open_document(tmp_path / "a.po", "po", KNOWN).documents[0].places
        assert "".join(part.text for part in place.parts) == source


def test_titles_of_chapters_are_texts_of_their_own(tmp_path):
    def cues(*texts):
        return "WEBVTT\n\n" + "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{text}" for n, text in enumerate(texts))

    engine = Function(str.upper)
    for texts in (("The way", "Some more"), ("The way", "of it all"), ("IT IS", "SO")):
        (tmp_path / "a.vtt").write_text(cues(*texts))
        translated(tmp_path / "a.vtt", engine)
    assert engine.asked == ["The way", "Some more", "The way of it all", "IT IS SO"]


def test_a_header_without_plural_forms_gets_those_of_the_language(tmp_path):
    header, polish = 'msgid ""\nmsgstr "Language: \\n"\n', Languages("en", "pl")
    (tmp_path / "a.po").write_text(f'{header}\nmsgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    found = shouted(tmp_path / "a.po", languages=polish)
    assert '"Language: pl\\n"\n"Plural-Forms: nplurals=3; plural=n == 1 ?' in found and 'msgstr[2] "%d CATS"' in found
    (tmp_path / "a.po").write_text(f'{header}\nmsgid "A cat."\nmsgstr ""\n')
    assert "Plural-Forms" not in shouted(tmp_path / "a.po", languages=polish)


def test_plural_forms_that_are_made_are_reported(tmp_path, capsys):
    header = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n<5 ? 1 : 2);\\n"\n\n'
    (tmp_path / "a.po").write_text(f'{header}msgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    DocumentJob(tmp_path / "a.po", tmp_path / "b.po", languages=KNOWN).run(Given(str.upper))
    assert 'msgstr[0] "%d CAT"\nmsgstr[1] "%d CATS"\nmsgstr[2] "%d CATS"\n' in (tmp_path / "b.po").read_text()
    assert "1 plural forms that the language has and the file has not" in capsys.readouterr().err
