"""Cases of documents that once went wrong, each by its name, and each kind of them in other formats."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
import yaml
from apps.documents.packed import members, pack
from translating import KNOWN, Function, Given, shouted, translated

from glossa.apps.documents.job import DocumentJob
from glossa.base.errors import GlossaError

NS = {"x": "urn:oasis:names:tc:xliff:document:1.2"}


def targets(xliff):
    return ["".join(unit.itertext()) for unit in ElementTree.fromstring(xliff).iterfind(".//x:target", NS)]


def units(*sources, target=""):
    body = "".join(f'<trans-unit id="{n}"><source>{source}</source></trans-unit>' for n, source in enumerate(sources))
    return f'<xliff xmlns="{NS["x"]}" version="1.2"><file source-language="en"{target}>\n{body}</file></xliff>'


# The name of a file and its text; what is between « and » is translated, and nothing else.
TEXTS = {
    "markdown-blocks": ("a.md", """\
> [!CAUTION]
> «The bus is late.»

«She waits.»[^1]

[^1]: «The bus is late.»

!!! tip "«The bus is late.»"
    «She waits.»

:::info
«She waits.»
:::

«Word»
: «The bus is late.»

{{< image src="b.png" >}}
"""),
    "md-alerts": ("a.md", """\
> [!IMPORTANT]
> «Our cat sits on a chair.»

> [!CAUTION]
> «A train leaves.»
> «A child waits.»

> [!NOTE] «Its name»
> «Our cat sits.»
"""),
    "md-directives": ("a.md", """\
:::warning
«Our cat sits on a chair.»
:::

:::info «Its name»
«A train leaves.»
:::

!!! danger "«Its name»"
    «A child waits on a chair.»

«A train»
: «A train leaves the town.»

«# The town »{#town}

«[Our cat]»(https://example.com){:rel="nofollow"}« sits.»

import Image from '@theme/Image';
"""),
    "md-dollar": ("a.md", """\
«A ticket costs $7 and a coffee costs $2 here.»

«She has $1 and he has $6.»

«A seat is $4 to $9 for a child and a cat.»

«It is $8, not less.»

«The rate »$y$« is low and »$c+d$« also.»
"""),
    "srt-blank-line-in-cue": ("a.srt", """\
1
00:00:02,000 --> 00:00:03,000
«A train leaves.»

«Our cat sits.»

2
00:00:04,000 --> 00:00:05,000
«A child waits.»
"""),
    "srt-no-blank-lines": ("a.srt", """\
1
00:00:02,000 --> 00:00:03,000
«A train leaves.»
2
00:00:04,000 --> 00:00:05,000
«Our cat sits.»
3
00:00:06,000 --> 00:00:07,000
«A child waits.»
"""),
    "json-block-tags": ("a.json", """{
  "p": "<p>«Our cat sits.»</p><p>«A train leaves.»</p>",
  "br": "«Our cat sits.»<br>«A train leaves.»<br/>«A child waits.»",
  "ul": "<ul><li>«Our cat sits»</li><li>«A train leaves»</li></ul>",
  "spaced": "<p>«Our cat sits.»</p> <p>«A train leaves.»</p>"
}
"""),
    "yaml-anchor": ("a.yml", """\
en:
  first: &first «A train leaves.»
  same: *first
  quoted: &q "«Our cat sits.»"
  again: *q
  tagged: !!str «A child waits.»
"""),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_what_is_a_text(tmp_path, case):
    name, marked = TEXTS[case]
    asked, source = [], re.sub("[«»]", "", marked)
    found = shouted(tmp_path, name, source, lambda text: asked.append(text) or text.upper())
    assert found == re.sub("«(.*?)»", lambda match: match[1].upper(), marked)
    if case == "json-block-tags":
        assert {*asked} == {*re.findall("«(.*?)»", marked)}
    if case == "yaml-anchor":
        assert yaml.safe_load(found)["en"]["same"] == "A TRAIN LEAVES."


def test_content_controls_of_word(tmp_path):
    """The case `docx-content-control`: wrappers of runs in a paragraph."""
    run = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
    wrapped = {
        "Our cat sits.": '<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>',
        "A child waits.": '<w:customXml w:element="x">{}</w:customXml>',
        "A bus stops.": '<w:bdo w:val="ltr">{}</w:bdo>',
        "A train leaves.": '<w:fldSimple w:instr=" REF x ">{}</w:fldSimple>',
    }
    body = "".join(f"<w:p>{outer.format(run.format(text))}</w:p>" for text, outer in wrapped.items())
    inside = f"<w:sdt><w:sdtPr/><w:sdtContent>{run.format('the cat')}</w:sdtContent></w:sdt>"
    body += f"<w:p>{run.format('Here ')}{inside}{run.format(' sits.')}</w:p>"
    path = pack(tmp_path / "a.docx", {"word/document.xml": f'<w:document xmlns:w="w">{body}</w:document>'})
    asked = []
    found = members(translated(path, lambda text: asked.append(text) or text.upper()))["word/document.xml"]
    assert {*asked} == {*wrapped, "Here the cat sits."}
    for text, outer in wrapped.items():
        assert outer.format(run.format(text.upper())) in found, text


def test_chapters_of_a_book_have_any_name(tmp_path):
    """The case `epub-xml-content`; languages are set as in `html-lang`, and escaped HTML has tags."""
    kind = 'media-type="application/xhtml+xml"'
    texts = {"1.xml": "Our cat sits.", "TWO.XHTML": "A train leaves.", "3.xhtml": "A child waits."}
    items = "".join(f'<item id="i{name[0]}" href="{name}" {kind}/>' for name in texts)
    about = "<dc:title>Our cat</dc:title><dc:language>en</dc:language><dc:creator>A. Person</dc:creator>"
    about += "<dc:description>&lt;p&gt;Our &lt;b&gt;cat&lt;/b&gt;.&lt;/p&gt;</dc:description>"
    package = (
        f'<package xmlns:dc="dc" xml:lang="en"><metadata>{about}</metadata><manifest>{items}</manifest></package>'
    )
    book = {"OPS/a.opf": package} | {
        f"OPS/{name}": f'<html xml:lang="en" lang="en"><body><p>{text}</p></body></html>'
        for name, text in texts.items()
    }
    found = members(translated(pack(tmp_path / "a.epub", book), str.upper))
    for name, text in texts.items():
        assert f"<p>{text.upper()}</p>" in found[f"OPS/{name}"] and 'xml:lang="fr" lang="fr"' in found[f"OPS/{name}"]
    about = found["OPS/a.opf"]
    assert "<dc:language>fr</dc:language>" in about and 'xml:lang="fr"' in about and "A. Person" in about
    assert "&lt;p&gt;OUR &lt;b&gt;CAT&lt;/b&gt;.&lt;/p&gt;" in about


@pytest.mark.parametrize(
    "message",
    [
        "{n, plural, one {We see # cat.} other {We see # cats.}}",
        "{n, plural, one {The cat is #.} other {The cats are #.}}",
        "{n, plural, one {# cat sits.} other {# cats sit.}}",
        "{n, plural, one {We see {n} cat.} other {We see {n} cats.}}",
    ],
)
def test_the_number_of_a_plural_form_stays(tmp_path, message):
    """The case `icu-number-sign`, with an engine that loses what it does not know."""
    mark = "#" if "#" in message else "{n}"
    found = shouted(tmp_path, "a.json", json.dumps({"a": message}), lambda text: re.sub(r"#|\{n\}", "", text).upper())
    assert found.count(mark) == 2 and "CATS" in found and json.loads(found)["a"].startswith("{n, plural, one {")
    if message.count("{#"):
        assert json.loads(found)["a"] == "{n, plural, one {# CAT SITS.} other {# CATS SIT.}}"


def test_messages_in_units(tmp_path):
    """The case `icu-xliff`."""
    code = '<x id="INTERPOLATION" equiv-text="{{n}}"/>'
    found = shouted(tmp_path, "a.xlf", units(
        f"{{VAR_PLURAL, plural, =0 {{Our cat sits.}} other {{{code} cats sit.}}}}",
        "{n, plural, one {Our cat sits.} other {A bus stops.}}", "{x,plural,=1{Our cat sits}other{A bus stops}}",
    ))  # fmt: skip
    assert targets(found)[1:] == [
        "{n, plural, one {OUR CAT SITS.} other {A BUS STOPS.}}", "{x,plural,=1{OUR CAT SITS}other{A BUS STOPS}}"
    ]  # fmt: skip
    assert f"{{{code} CATS SIT.}}" in found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.po", 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Our cat sits."\nmsgstr ""\n'),
        ("a.xlf", units("Our cat sits.", target=' target-language="es"').replace('"en"', '"de"')),
    ],
)
def test_a_file_of_another_language_is_refused(tmp_path, name, text):
    """The case `language-of-file`."""
    with pytest.raises(GlossaError, match=r"declares that its translations are in (German|Spanish)"):
        shouted(tmp_path, name, text)


def test_invisible_characters_change_nothing(tmp_path):
    """The case `nbsp-and-invisible`."""
    text, asked = "Our cat sits on a chair.", []
    others = (
        "Our cat&nbsp;sits on&nbsp;a chair.", "Our cat sits on a ch&shy;air.", "Our cat sits&#8239;on a chair.",
        "Our cat&#8203; sits on&#8203; a chair.", "&#8206;Our cat sits on a chair.&#8207;",
    )  # fmt: skip
    page = "".join(f"<p>{each}</p>\n" for each in (text, *others))
    shouted(tmp_path, "a.html", page, lambda text: asked.append(text) or text)
    assert set(asked) == {text}
    engine = Function(str.upper)
    assert Given(engine).best([text, text.replace(" on ", "\u00a0on ")]) == [text.upper()] * 2
    assert set(engine.asked) == {text}


@pytest.mark.parametrize("name", ["a.html", "a.epub/a.xhtml"])
def test_readings_are_left_out(tmp_path, name):
    """The case `ruby-html`, in a page and in a book."""
    ruby = "<ruby>{}<rp>(</rp><rt>gut</rt></ruby> <ruby>{}<rt>Buch</rt></ruby>"
    page = f"<html><body><p>We open the {ruby.format('good', 'book')} here.</p></body></html>"
    asked = []
    file, _, member = name.partition("/")
    if member:
        pack(tmp_path / file, {member: page})
    else:
        (tmp_path / file).write_text(page)
    found = translated(tmp_path / file, lambda text: asked.append(text) or text.upper())
    assert set(asked) == {"We open the good book here."}
    assert ruby.format("GOOD", "BOOK") in (members(found)[member] if member else found.decode())


BLOCKS = "<p>A man sleeps</p><p>A dog runs</p>"
FORMS = "{n, plural, one {# man sleeps} other {# men sleep}}"


def escaped(html):
    return html.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
        found = shouted(tmp_path, name, written.format(BLOCKS), lambda text: asked.append(text) or text.upper())
        assert sorted(asked) == ["A dog runs", "A man sleeps"] and "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>" in found

    def test_messages(self, tmp_path, name, written):
        found = shouted(tmp_path, name, written.format(FORMS), lambda text: text.replace("#", "").upper())
        assert "{n, plural, one {# MAN SLEEPS} other {# MEN SLEEP}}" in found

    def test_labels(self, tmp_path, name, written):
        for source, expected in (("The house", "THE HOUSE"), ("Wait...", "WAIT..."), ("Who?", "WHO\u202f?")):
            found = shouted(tmp_path, name, written.format(source), lambda text: text.rstrip(".?").upper() + ".")
            read = found.encode("latin-1", "backslashreplace").decode("unicode_escape")
            assert expected in read or expected in found
            assert f"{expected}." not in found

    def test_invisible_characters(self, tmp_path, name, written):
        asked = []
        text = "A\u00a0man sle\u00adeps in\u200b the street"
        shouted(tmp_path, name, written.format(text), lambda text: asked.append(text) or text)
        assert asked == ["A man sleeps in the street"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (escaped(BLOCKS), "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>"),
        (f"<![CDATA[{BLOCKS}]]>", "<p>A MAN SLEEPS</p><p>A DOG RUNS</p>"),
        ("<![CDATA[Our <b>cat</b> sits.]]>", "OUR <b>CAT</b> SITS."),
        ("<![CDATA[Ann & Tom sit.]]>", "ANN & TOM SIT."),
        (escaped("<b>Our cat</b> sits.<br/>A bus stops."), "<b>OUR CAT</b> SITS.<br/>A BUS STOPS."),
        (FORMS, "{n, plural, one {# MAN SLEEPS} other {# MEN SLEEP}}"),
    ],
)
def test_blocks_messages_and_sections_in_units(tmp_path, source, expected):
    """The case `xliff-cdata-html`, and the same in TMX."""
    found = shouted(tmp_path, "a.xliff", units(source))
    assert targets(found) == [expected] and found.count("<![CDATA[") == 2 * source.count("<![CDATA[")
    body = f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv></tu>'
    tmx = f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'
    found = ElementTree.fromstring(shouted(tmp_path, "a.tmx", tmx))
    assert found.findall(".//seg")[1].text == expected


def test_a_message_that_cannot_be_read_is_left_alone_and_named(tmp_path, capsys):
    for version in ("1.2", "2.0"):
        tags = ("trans-unit", "file") if version == "1.2" else ("segment", "file")
        body = f'<{tags[0]} id="1"><source>{{n, plural, one {{A man}} other {{</source></{tags[0]}>'
        xliff = f'<xliff version="{version}"><file>\n{body}</file></xliff>'
        (tmp_path / f"{version}.xliff").write_text(xliff)
        DocumentJob(tmp_path / f"{version}.xliff", tmp_path / version, languages=KNOWN).run(Given(str.upper))
        assert "<target" not in (tmp_path / version).read_text() and "state=" not in (tmp_path / version).read_text()
        assert f"{version}.xliff, line 2: a broken ICU message is left alone." in capsys.readouterr().err


def test_a_section_in_a_book(tmp_path):
    page = "<html><body><p>Tom <![CDATA[& Mary]]> &amp; Ann</p></body></html>"
    found = members(translated(pack(tmp_path / "a.epub", {"a.xhtml": page}), str.upper))["a.xhtml"]
    assert "<p>TOM <![CDATA[& MARY]]> &amp; ANN</p>" in found


def test_languages_that_files_say(tmp_path, capsys):
    """With the case `html-lang`."""
    run = '<w:r><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>Hi</w:t></w:r>'
    styles = '<w:styles xmlns:w="w"><w:lang w:val="en-US" w:eastAsia="ja"/></w:styles>'
    word = {"word/document.xml": f'<w:document xmlns:w="w"><w:p>{run}</w:p></w:document>', "word/styles.xml": styles}
    found = members(translated(pack(tmp_path / "a.docx", word), str.upper))
    assert '<w:lang w:val="fr"/>' in found["word/document.xml"]
    assert '<w:lang w:val="fr" w:eastAsia="ja"/>' in found["word/styles.xml"]
    page = '<html lang="{}"><p>{}</p></html>'
    assert shouted(tmp_path, "a.html", page.format("en", "Hi there")) == page.format("fr", "HI THERE")
    (tmp_path / "a.html").write_text(page.format("de", "Hi there"))
    DocumentJob(tmp_path / "a.html", tmp_path / "b.html", languages=KNOWN).run(Given(str.upper))
    assert "a.html declares that its text is in German (de); it is translated as English." in capsys.readouterr().err
    assert (tmp_path / "b.html").read_text() == page.format("de", "HI THERE")


def test_titles_of_chapters_are_texts_of_their_own(tmp_path):
    def cues(*texts):
        return "WEBVTT\n\n" + "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{text}" for n, text in enumerate(texts))

    engine = Function(str.upper)
    for texts in (("The way", "Some more"), ("The way", "of it all"), ("IT IS", "SO")):
        shouted(tmp_path, "a.vtt", cues(*texts), engine)
    assert engine.asked == ["The way", "Some more", "The way of it all", "IT IS SO"]
