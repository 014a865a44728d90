"""Kinds of faults that real files of public repositories showed, each with an input of ours."""

import json
from pathlib import Path

import pytest
from apps.documents.packed import members, pack
from refusals import refused
from translating import KNOWN, Given, shouted, translated

from glossa.apps.documents.formats.format import Chosen
from glossa.apps.documents.formats.keys import COLUMNS, Keys
from glossa.apps.documents.job import DocumentJob
from glossa.cli.translate import main
from glossa.translate.engines.pseudo import undo

CASES = Path(__file__).parents[4] / "shared" / "cases"
WORD = '<w:document xmlns:w="w"><w:p>{}</w:p></w:document>'


def test_line_ends_tabs_and_spaces_of_office_files_stay_between_their_words(tmp_path):
    """With the case `odt-line-break`."""
    text = (
        "We see<text:line-break/>the cat<text:tab/>and<text:s text:c='3'/>her <text:span>boy<text:tab/>2</text:span>"
    )
    path = pack(tmp_path / "a.odt", {"content.xml": f'<o xmlns:text="t"><text:p>{text}</text:p></o>'})
    assert text.upper().replace("TEXT", "text").replace("text:LINE-BREAK", "text:line-break") == (
        members(translated(path, str.upper))["content.xml"].split("<text:p>")[1].split("</text:p>")[0]
        .replace("text:tab", "text:TAB").replace("text:s ", "text:S ").replace("text:c", "text:C")
        .replace("text:span", "text:SPAN")
    )  # fmt: skip
    cells = "<sst><si><t>We see\nthe\tcat</t></si><si><r><t>Go\n</t></r><r><rPr/><t>to the town</t></r></si></sst>"
    found = members(translated(pack(tmp_path / "a.xlsx", {"xl/sharedStrings.xml": cells}), str.upper))
    assert "<t>WE SEE\nTHE\tCAT</t>" in found["xl/sharedStrings.xml"]
    assert '>GO</t></r><r><t xml:space="preserve">\n</t></r>' in found["xl/sharedStrings.xml"]
    runs = "<w:r><w:t>a non</w:t><w:noBreakHyphen/><w:t>stop\tbus</w:t></w:r>"
    found = members(translated(pack(tmp_path / "a.docx", {"word/document.xml": WORD.format(runs)}), str.upper))
    assert ">A NON\u2011STOP</w:t>" in found["word/document.xml"] and ">\t</w:t>" in found["word/document.xml"]


def test_office_members_have_any_name(tmp_path):
    """With the cases `docx-document2`, `pptx-smartart` and `xlsx-comments-openpyxl`."""
    run = "<w:r><w:t>The cat</w:t></w:r>"
    paragraph = '<a:p xmlns:a="a"><a:r><a:t>The cat</a:t></a:r></a:p>'
    for name, member, content in (
        ("a.docx", "word/document7.xml", WORD.format(run)),
        ("a.docx", "word/header9x.xml", WORD.format(run).replace("document", "hdr")),
        ("a.pptx", "ppt/diagrams/drawing1.xml", f'<dsp:drawing xmlns:dsp="d">{paragraph}</dsp:drawing>'),
        ("a.xlsx", "xl/comments/comment1.xml", "<comments><comment><text><t>The cat</t></text></comment></comments>"),
    ):
        found = members(translated(pack(tmp_path / name, {member: content}), str.upper))
        assert ">THE CAT</" in found[member], member
    theme = f"<a:theme>{paragraph}</a:theme>"
    found = members(translated(pack(tmp_path / "a.pptx", {"ppt/presentation.xml": "<p/>", "ppt/t.xml": theme})))
    assert found["ppt/t.xml"] == theme


def test_texts_of_office_files_outside_paragraphs(tmp_path):
    """With the cases `pptx-alt-text` and `xlsx-literals`."""
    slide = '<p:sld xmlns:p="p"><p:cNvPr id="1" name="Picture 3" descr="A cat" title="Our cat"/></p:sld>'
    chart = '<c:chartSpace xmlns:c="c"><c:strCache><c:v>Books</c:v></c:strCache><c:v>1.5</c:v></c:chartSpace>'
    about = '<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Our cat</dc:title><dc:creator>Ann</dc:creator>' \
        "</cp:coreProperties>"  # fmt: skip
    path = pack(tmp_path / "a.pptx", {"ppt/s.xml": slide, "ppt/charts/c.xml": chart, "docProps/core.xml": about})
    found = members(translated(path, str.upper))
    assert 'name="Picture 3" descr="A CAT" title="OUR CAT"' in found["ppt/s.xml"]
    assert "<c:v>BOOKS</c:v>" in found["ppt/charts/c.xml"] and "<c:v>1.5</c:v>" in found["ppt/charts/c.xml"]
    assert "<dc:title>OUR CAT</dc:title><dc:creator>Ann<" in found["docProps/core.xml"]
    sheet = (
        '<worksheet><dataValidation promptTitle="The state" error="It is wrong"/><hyperlink tooltip="See it" id="a"/>'
        "<oddHeader>&amp;CThe books&amp;R&amp;P of our book</oddHeader></worksheet>"
    )
    found = members(translated(pack(tmp_path / "a.xlsx", {"xl/worksheets/s.xml": sheet}), str.upper))
    assert found["xl/worksheets/s.xml"] == (
        '<worksheet><dataValidation promptTitle="THE STATE" error="IT IS WRONG"/><hyperlink tooltip="SEE IT" id="a"/>'
        "<oddHeader>&amp;CTHE BOOKS&amp;R&amp;P OF OUR BOOK</oddHeader></worksheet>"
    )


def test_cells_that_a_workbook_compares_stay_and_are_counted(tmp_path, capsys):
    """With the case `xlsx-literals`."""
    cells = "".join(f"<si><t>{text}</t></si>" for text in ("Yes", "The cat", "Open", "Done", "Late", "A dog"))
    sheet = (
        '<worksheet><f>IF(B2="Yes",1,"he said ""no""")</f><formula1>"Open,Shut"</formula1><filter val="Done"/>'
        '<cfRule text="Late"/></worksheet>'
    )
    path = pack(tmp_path / "a.xlsx", {"xl/sharedStrings.xml": f"<sst>{cells}</sst>", "xl/worksheets/s.xml": sheet})
    DocumentJob(path, tmp_path / "out.xlsx", languages=KNOWN).run(Given(str.upper))
    found = members(tmp_path / "out.xlsx")
    texts = found["xl/sharedStrings.xml"].replace("</t></si><si><t>", "|").split("<t>")[1].split("</t>")[0]
    assert texts.split("|") == ["Yes", "THE CAT", "Open", "Done", "Late", "A DOG"]
    assert found["xl/worksheets/s.xml"] == sheet
    assert "4 texts stay, since formulas, lists, filters or tables name them" in capsys.readouterr().err


TEMPLATES = """\
{% extends "base.html" %}
{# a note about it #}
<p class="{% if a %}big{% endif %}" title="«The »{{ name }}« cat»">«Good day», {{ user }}{% if x %} «now»{% endif %}
</p><img alt="{% trans "The cat" %}"> {{! a note }} {{!-- a }} note --}} {{#if x}}«We go»{{else}}«We stay»{{/if}}
<?php if ($a->b > 3) { echo "Go there"; } ?>«It is »<?= $name ?>.<% for a in b %> «Say »<%= a %>« twice» <% end %>
{% comment %}This is <b>no</b> text{% endcomment %}{{ x | default("a long value") }}
{% raw %}«A text»{% endraw %} and (
"""


def marked(text, function=str.upper):
    """A text in which `function` has changed what is between « and »."""
    parts = text.replace("»", "«").split("«")
    return "".join(function(part) if number % 2 else part for number, part in enumerate(parts))


@pytest.mark.parametrize("name", ["a.html", "a.twig", "a.hbs", "a.html.j2", "a.njk", "a.liquid"])
def test_statements_of_templates_stay_in_pages(tmp_path, name):
    """With the case `html-template`."""
    source = TEMPLATES.replace("«", "").replace("»", "").replace(" and (", "")
    found = shouted(tmp_path, name, source)
    assert found == marked(TEMPLATES.replace(" and (", "")).replace("Good day", "GOOD DAY")


def test_statements_of_templates_stay_in_markdown(tmp_path):
    source = """\
{% include a.html title="The page" %}

# «The »{{ page.title }}« title»

«See »[«the page»]({% link a.md %})« in »`{% if %}`« and »`{{ x }}`. {# a note #} «Go on»

{% highlight ruby %}
puts "Hello *there*"

more
{% endhighlight %}

| «A cell» | {{ x }} |
|---|---|
| {% if a %}«A text»{% endif %} | «more text» |

{% for x in y
   if z %}
«Some text»
{% endfor %}
"""
    assert shouted(tmp_path, "a.md", source.replace("«", "").replace("»", "")) == marked(source)


def test_a_reference_alone_keeps_its_label(tmp_path):
    """With the cases `markdown-reference-in-table` and `md-reference-alone`."""
    page = "- [The boy]\n- *[The boy][]*\n- ![The boy]\n\n| [The boy] | b |\n|--|--|\n| a | [The boy][] |\n\n"
    page += "[the boy]: b.md\n"
    found = shouted(tmp_path, "a.md", page)
    assert found.count("[THE BOY][The boy]") == 5 and found.endswith("\n[the boy]: b.md\n")


def test_paragraphs_of_a_footnote(tmp_path):
    """With the case `md-footnotes`."""
    page = "Go[^1]\n\n[^1]: One\n    goes on.\n\n    Two.\n\n        code\n\nText\n\n    code\n"
    assert shouted(tmp_path, "a.md", page) == (
        "GO[^1]\n\n[^1]: ONE\n    GOES ON.\n\n    TWO.\n\n        code\n\nTEXT\n\n    code\n"
    )


def test_texts_of_cross_references_in_asciidoc(tmp_path):
    """With the case `adoc-xref`."""
    page = "See xref:a:b.adoc#c[the page^] and {url}/x[it].\n\nxref:a:b.adoc[TERM]::\nThe cat.\n\n a. One\n b. Two\n"
    assert shouted(tmp_path, "a.adoc", page) == (
        "SEE xref:a:b.adoc#c[THE PAGE^] AND {url}/x[IT].\n\nxref:a:b.adoc[TERM]::\nTHE CAT.\n\n a. ONE\n b. TWO\n"
    )


@pytest.mark.parametrize("kept", ["$t(items_other)", "@:common.save", "@.lower:a.b", "@:{a}", '$t(a, {"n": 1})'])
def test_references_to_other_texts_stay(tmp_path, kept):
    """With the cases `i18n-nesting` and `i18n-references`."""
    text = json.dumps({"a": f"See {kept} now"})
    assert shouted(tmp_path, "a.json", text) == json.dumps({"a": f"SEE {kept} NOW"})


def test_messages_over_several_lines(tmp_path):
    """With the case `icu-lines`, and tabs of strings."""
    text = json.dumps({"a": "Read {n, plural,\n  one {a book}\n\tother {many\nbooks}\n}", "b": "The file\tCtrl"})
    assert json.loads(shouted(tmp_path, "a.json", text)) == {
        "a": "READ {n, plural,\n  one {A BOOK}\n\tother {MANY\nBOOKS}\n}", "b": "THE FILE\tCTRL"
    }  # fmt: skip


def test_apostrophes_of_message_format(tmp_path):
    """With the case `properties-messageformat-apostrophe`."""
    text = "a=We see {0}.\nb=We can't see {0}.\nc=We see.\nd=Say '{'x'}' to {0}.\n"
    found = shouted(tmp_path, "a.properties", text, lambda text: text.replace("We", "L'on"))
    assert found == "a=L''on see {0}.\nb=L'on can't see {0}.\nc=L'on see.\nd=Say '{'x'}' to {0}.\n"


UNITS = (
    '<xliff version="1.2"><file source-language="en" target-language="fr"><body><trans-unit id="1"{}>\n{}</trans-unit>'
    "</body></file></xliff>"
)
SEGMENTS = (
    '<source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>'
    "</seg-source>"
)


@pytest.mark.parametrize("name", ["a.xlf", "a.sdlxliff", "a.mqxliff", "a.mxliff"])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("", ["ONE.", "TWO."]), ("<target/>", ["ONE.", "TWO."]),
        ('<target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2">Zwei.</mrk></target>', ["ONE.", "Zwei."]),
        ('<target><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2"></mrk></target>', ["Eins.", "TWO."]),
        ('<target state="new"><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></target>',
         ["ONE.", "TWO."]),
        ("<target>Eins. Zwei.</target>", None),
        ('<target/><seg-defs><seg id="2" locked="true"/></seg-defs>', ["ONE.", "Two."]),
    ],
)  # fmt: skip
def test_segments_of_units(tmp_path, name, target, expected):
    """With the cases `xliff-mrk-empty` and `sdlxliff-name`."""
    source = UNITS.format("", SEGMENTS + target)
    found = shouted(tmp_path, name, source)
    if expected is None:
        assert found == source
    else:
        first, second = (f'<mrk mtype="seg" mid="{n}">{text}</mrk>' for n, text in enumerate(expected, 1))
        assert f">{first} {second}</target>" in found and found.count("<target") == 1


def test_locked_units_stay(tmp_path):
    """With the case `xliff-locked`."""
    for given in (' mq:locked="locked"', ' m:locked="true"'):
        source = UNITS.format(f' xmlns:mq="q" xmlns:m="m"{given}', "<source>The cat</source><target/>")
        assert shouted(tmp_path, "a.xlf", source) == source
    assert "THE CAT" in shouted(tmp_path, "a.xlf", UNITS.format(' locked="no"', "<source>The cat</source>"))


def test_line_ends_of_units(tmp_path):
    """With the case `xliff-newlines`."""
    found = shouted(tmp_path, "a.xlf", UNITS.format("", "<source>One.\n\nTwo.\n\tThree.</source>"))
    assert ">ONE.\n\nTWO.\n\tTHREE.</target>" in found
    found = shouted(tmp_path, "a.resx", "<root><data name='a'><value>One\n  two</value></data></root>")
    assert found == "<root><data name='a'><value>ONE\n  TWO</value></data></root>"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.po", 'msgid ""\nmsgstr "Language: en\\nPlural-Forms: nplurals=1; plural=0;\\n"\n\n'
         'msgid "Go"\nmsgstr "{}"\n',
         "Language: fr\\nPlural-Forms: nplurals=2; plural="),
        ("a.ts", '<TS language="en_US"><message><source>Go</source><translation>{}</translation></message></TS>',
         '<TS language="fr">'),
        ("a.xlf", '<xliff version="1.2"><file source-language="en" target-language="en"><trans-unit id="1">'
         "<source>Go</source><target>{}</target></trans-unit></file></xliff>", 'target-language="fr"'),
    ],
)  # fmt: skip
def test_a_template_in_the_source_language_becomes_one_of_the_target(tmp_path, name, text, expected):
    """With the case `source-language-catalog`."""
    found = shouted(tmp_path, name, text.format(""))
    assert expected in found and "GO" in found
    refused("declares that its translations are in English", shouted, tmp_path, name, text.format("Go"))


def test_entries_without_msgstr_are_refused_with_their_line(tmp_path):
    """The case `po-plural-without-forms`; the other files of a folder are translated."""
    text = 'msgid "One cat"\nmsgid_plural "Many cats"\n'
    refused(r'a\.po, line 1: the entry has no msgstr\[0\]. Add msgstr\[0\] ""', shouted, tmp_path, "a.po", text)
    refused("line 3: the entry has no msgstr. Add", shouted, tmp_path, "a.po", '\n\nmsgid "One cat"\n')


def test_columns_of_a_table_are_translated_in_place(tmp_path):
    """With the case `csv-text-columns`."""
    path = tmp_path / "a.csv"
    path.write_text('id,title,text\n1,Our book,"A ""big"" one, red"\n2,A cat,\n')
    job = DocumentJob(path, tmp_path / "b.csv", languages=KNOWN, chosen=Chosen(columns=Keys.of("t*", COLUMNS)))
    job.run(Given(lambda text: f"{text}, x"))
    assert (
        tmp_path / "b.csv"
    ).read_text() == 'id,title,text\n1,"Our book, x","A ""big"" one, red, x"\n2,"A cat, x",\n'
    refused("choose the columns with --columns", translated, path)


def test_numbers_alone_are_no_part_of_a_sentence(tmp_path):
    """With the case `srt-numbers-only`."""
    film = "".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}\n\n"
        for n, text in enumerate(("3", "2", "The dog", "runs."), 1)
    )
    asked = []
    shouted(tmp_path, "a.srt", film, lambda text: asked.append(text) or text)
    assert asked == ["The dog runs."]


def test_lines_of_text_files_in_a_folder(tmp_path):
    """With the case `txt-in-folder-and-server`."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_bytes(b"\xef\xbb\xbfA man\r\n\r\n  A dog runs.\r\nA boy")
    DocumentJob(tmp_path / "docs", tmp_path / "out", languages=KNOWN).run(Given(str.upper))
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"\xef\xbb\xbfA MAN\r\n\r\n  A DOG RUNS.\r\nA BOY"


def test_the_mark_and_the_line_ends_of_a_text_file_stay(tmp_path):
    """With the case `text-bom-crlf`."""
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfA man\r\n\r\nA dog\n")
    main(["--pseudo", "--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / "b.txt")])
    found = (tmp_path / "b.txt").read_bytes().decode()
    assert found != undo(found) == "\ufeffA man\r\n\r\nA dog\n"


def test_a_cell_of_a_notebook_without_text_is_refused(tmp_path):
    """The case `hostile2/notebook-odd-source`."""
    for source in (5, [3], {"a": "b"}):
        cells = [{"cell_type": "code", "source": ""}, {"cell_type": "markdown", "source": source}]
        refused(r"a\.ipynb, cell 2: its source", shouted, tmp_path, "a.ipynb", json.dumps({"cells": cells}))


def test_a_key_of_many_parts_is_refused(tmp_path):
    """The case `hostile2/toml-dotted`."""
    assert shouted(tmp_path, "a.toml", '"a b" . c.d = "A cat"\n') == '"a b" . c.d = "A CAT"\n'
    for text in (f"x = 1\n{'a.' * 101}b = 1\n", f"x = 1\n[{'a . ' * 101}b]\n"):
        refused(r"a\.toml, line 2: a key has more than 100 parts", shouted, tmp_path, "a.toml", text)


def test_a_link_in_the_place_of_saved_translations_is_refused(tmp_path):
    """The case `hostile2/parts-is-a-link`."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "b.json.parts").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a.json").write_text('{"a": "The cat"}')
    job = DocumentJob(tmp_path / "a.json", tmp_path / "b.json", languages=KNOWN)
    refused(r"b\.json\.parts is a link", job.run, Given(str.upper))
    assert not list((tmp_path / "elsewhere").iterdir()) and not (tmp_path / "b.json").exists()
