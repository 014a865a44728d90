"""Kinds of faults that `python -m benchmarks documents --real` showed in public repositories, with inputs of ours."""

import json

import pytest
from apps.documents.packed import members, pack
from refusals import refused
from translating import KNOWN, Function, Given, rot13, shouted, translated

from glossa.apps.documents.formats.opening import open_document
from glossa.apps.documents.formats.xml_positions import xml_tokens
from glossa.translate.build import pseudo_translator
from glossa.translate.texts.tags import Part, take_tags


@pytest.mark.parametrize("value", ["web/**", "*.nix", "tests/", ":day", "^Paths_.*$", 'if __name__ == "__main__":'])
def test_patterns_and_symbols_of_programs_are_no_texts(tmp_path, value):
    text = json.dumps({"a": value, "b": "Our cat"})
    assert shouted(tmp_path, "a.json", text) == json.dumps({"a": value, "b": "OUR CAT"})


@pytest.mark.parametrize(
    "kept",
    ["[it](/editor?context=theme&b=logo)", "/a/b?c=d", "chrome://inspect/#devices", ":material-alert:", "JAVA_HOME"],
)
def test_addresses_icons_and_names_in_texts_stay(tmp_path, kept):
    text = json.dumps({"a": f"See {kept} now"})
    assert shouted(tmp_path, "a.json", text) == json.dumps({"a": f"SEE {kept.replace('[it]', '[IT]')} NOW"})


def test_code_in_titles_of_hidden_lines(tmp_path):
    page = '=== ":icon-run: The `warn` tab"\n\n    Go\n\n!!! note "A *big* `code`"\n    Go\n'
    assert shouted(tmp_path, "a.md", page) == (
        '=== ":icon-run: THE `warn` TAB"\n\n    GO\n\n!!! note "A *BIG* `code`"\n    GO\n'
    )


@pytest.mark.parametrize("page", ["Title\n---", "# Title", "| a |\n|---|\n| Title |", "- Title `x`", "Été\n==="])
def test_the_last_line_of_a_page_needs_no_line_end(tmp_path, page):
    assert shouted(tmp_path, "a.md", page) == shouted(tmp_path, "a.md", f"{page}\n").removesuffix("\n")


def test_brackets_that_are_no_references(tmp_path):
    page = "See [`cards`] and [config.cards_b] or [Some *text*] here.\n"
    assert shouted(tmp_path, "a.md", page) == "SEE [`cards`] AND [config.cards_b] OR [SOME *TEXT*] HERE.\n"


def test_footnotes_of_asciidoc_are_texts_of_their_own(tmp_path):
    page = "A catfootnote:[A *big* one.] sits footnote:ab[There.] here.\n"
    asked = []
    found = shouted(tmp_path, "a.adoc", page, lambda text: asked.append(text) or text.upper())
    assert found == "A CATfootnote:[A *BIG* ONE.] SITS footnote:ab[THERE.] HERE.\n"
    assert {"A big one.", "There."} < {*asked}


def test_comments_of_go_templates(tmp_path):
    page = "{{- /* A note with {{< x >}} and {{ y }} in it */ -}}<p>{}</p>"
    assert shouted(tmp_path, "a.html", page.replace("{}", "Go on")) == page.replace("{}", "GO ON")


def test_an_address_in_angle_brackets_keeps_its_link(tmp_path):
    page = '<p>Free, &lt;<a href="https://a.org/">https://a.org/</a>&gt; here</p>'
    assert shouted(tmp_path, "a.html", page) == page.replace("Free", "FREE").replace("here", "HERE")


@pytest.mark.parametrize("end", [" ...", ",…", "…", "...", " …"])
def test_what_is_before_an_ellipsis_stays(tmp_path, end):
    assert json.loads(shouted(tmp_path, "a.json", json.dumps([f"Go on{end}"]))) == [f"GO ON{end}"]


def test_a_query_has_no_accelerator(tmp_path):
    assert shouted(tmp_path, "a.json", '["x this&that=those 7zip/_o/7zr y"]') == '["X THIS&THAT=THOSE 7ZIP/_O/7ZR Y"]'


def test_an_accelerator_is_placed_at_a_letter_with_an_accent(tmp_path):
    found = shouted(tmp_path, "a.json", '["_Ecole now"]', lambda text: "Grande École")
    assert found == '["Grande _École"]'


def test_comments_and_pictures_of_open_document(tmp_path):
    cell = "<table:table-cell office:value-type='float'><office:annotation><text:p>{}</text:p></office:annotation>"
    cell += (
        "<text:p>12 May</text:p></table:table-cell><text:p><draw:frame><svg:title>{}</svg:title></draw:frame></text:p>"
    )
    names = "".join(f' xmlns:{name}="{name}"' for name in ("table", "office", "text", "draw", "svg"))
    path = pack(tmp_path / "a.ods", {"content.xml": f"<o{names}>{cell.format('A note', 'A cat')}</o>"})
    assert cell.format("A NOTE", "A CAT") in members(translated(path, str.upper))["content.xml"]


def test_an_encoding_that_lacks_the_translation_becomes_utf_8(tmp_path, caplog):
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\nmsgid "Café"\nmsgstr "{}"\n'
    (tmp_path / "a.po").write_text(text.format("ISO-8859-1", ""), encoding="latin-1")
    assert translated(tmp_path / "a.po", lambda text: "Ţ").decode() == text.format("UTF-8", "Ţ")
    assert "lacks 'Ţ'; it becomes UTF-8" in caplog.text
    assert translated(tmp_path / "a.po", lambda text: "É").decode("latin-1") == text.format("ISO-8859-1", "É")


def test_empty_elements_are_one_token():
    """Of an empty element, libexpat gives the first character or the one after the last, by its version."""
    tokens = xml_tokens('<a>x<b/>y<c></c><d  e="/"/>\n<f/></a>', "a.xml")
    kinds = [(token.kind, token.name) for token in tokens if token.kind != "text"]
    assert kinds == [("open", "a"), ("empty", "b"), ("open", "c"), ("close", "c"), ("empty", "d"), ("empty", "f"),
                     ("close", "a")]  # fmt: skip


def test_a_code_word_that_is_also_a_word_keeps_its_place():
    """The engine translates the word, so that the code word is there once; it is not searched for again."""
    parts = [Part("alone", 0, 6, "name"), Part("text", 6, 26, ": The name of the cat.")]
    engine = Function(lambda text: rot13(text), keeps_placeholders=True)
    translator = Given(engine)
    planned = translator.plan([take_tags(parts)])
    translator.translate_segments(planned[0].sentences)
    (pieces,) = translator.join_tagged(planned)
    assert pieces == [parts[0], ": Gur anzr bs gur png."] and len(engine.asked) == 1


def test_a_quotation_mark_stays_behind_its_link():
    text = "Read our 'big page' now."
    parts = [
        Part("text", 0, 10, text[:10]), Part("open", 0, 0, "", "a"), Part("text", 10, 18, text[10:18]),
        Part("close", 0, 0, "", "a"), Part("text", 18, len(text), text[18:]),
    ]  # fmt: skip
    translator = pseudo_translator()
    planned = translator.plan([take_tags(parts)])
    translator.translate_segments(planned[0].sentences)
    (pieces,) = translator.join_tagged(planned)
    assert pieces[3] == parts[3] and pieces[4].startswith("' ")


@pytest.mark.parametrize(("name", "text"), [("a.json", '{"a": "%s"}'), ("a.po", 'msgid "%s"\nmsgstr ""\n')])
def test_code_elements_in_strings_stay(tmp_path, name, text):
    source = "<p>Use the <code class='x'>a big one</code> here or <kbd>Ctrl</kbd></p>"
    expected = "<p>USE THE <code class='x'>a big one</code> HERE OR <kbd>Ctrl</kbd></p>"
    assert expected in shouted(tmp_path, name, text % source)


def test_items_of_arrays_that_programs_read(tmp_path):
    items = "<resources><string-array name='a'><item>{}</item><item>feed_refresh</item></string-array></resources>"
    assert shouted(tmp_path, "arrays.xml", items.format("Our feed")) == items.format("OUR FEED")


def test_spaces_around_elements_that_end_texts_stay(tmp_path):
    text = json.dumps({"a": "Put the <li> tag here. <br> Go"})
    assert shouted(tmp_path, "a.json", text) == json.dumps({"a": "PUT THE <li> TAG HERE. <br> GO"})


def test_addresses_of_references_and_parameters_in_strings_stay(tmp_path):
    asked = []
    text = 'msgid "Go to `our page <our-page>` with <<big.one>> now."\nmsgstr ""\n'
    found = shouted(tmp_path, "a.po", text, lambda text: asked.append(text) or text.upper())
    assert 'msgstr "GO TO `OUR PAGE <our-page>` WITH <<big.one>> NOW."' in found


def test_apostrophes_of_messages_stay_doubled(tmp_path):
    message = "Our {0, plural, one {cat} other {cats}} can''t go, it''s {1}"
    expected = "OUR {0, plural, one {CAT} other {CATS}} CAN''T GO, IT''S {1}"
    assert shouted(tmp_path, "a.json", json.dumps({"a": message})) == json.dumps({"a": expected})


@pytest.mark.parametrize("value", ["ca@valencia", r"(?P<big>\d+)\.(?P<small>a|b)", "read_page()"])
def test_names_patterns_and_calls_are_no_texts(tmp_path, value):
    text = json.dumps({"a": value, "b": "If a >= 5, call read_page() now"})
    assert shouted(tmp_path, "a.json", text) == json.dumps({"a": value, "b": "IF A >= 5, CALL read_page() NOW"})


def test_texts_of_scripts_without_spaces_are_no_names(tmp_path):
    values = {"a": "GitHubでx", "b": "2番目の項目x", "c": "มี2รายการx", "d": "https://a.example/ページx", "e": "x_2"}
    written = json.dumps(values, ensure_ascii=False)
    expected = values | {"a": "GITHUBでX", "b": "2番目の項目X", "c": "มี2รายการX"}
    assert json.loads(shouted(tmp_path, "a.json", written)) == expected


def test_attributes_with_statements_are_texts(tmp_path):
    page = (
        '<input placeholder="{% trans %}Our cat{% endtrans %}" type="x"><meta itemprop="keywords" content="Our cat">'
    )
    assert shouted(tmp_path, "a.html", page) == page.replace("Our cat", "OUR CAT")


def test_a_period_before_an_ellipsis_stays(tmp_path):
    assert shouted(tmp_path, "a.html", "<p>Our cat is here. ...</p>") == "<p>OUR CAT IS HERE. ...</p>"


@pytest.mark.parametrize(
    "between", ['<p><embed alt="x"/></p>', "<p><br/></p>", "<p><span><br/></span></p>\n", "<hr><i></i>"]
)
def test_elements_without_words_between_texts_of_a_string_stay_where_they_are(tmp_path, between):
    text = json.dumps({"a": f"<p>One cat.</p>{between}<p><b>Two</b> dogs.</p>"})
    expected = json.dumps({"a": f"<p>ONE CAT.</p>{between}<p><b>TWO</b> DOGS.</p>"})
    assert shouted(tmp_path, "a.json", text) == expected


def test_localizations_that_are_no_object_are_refused_with_their_line(tmp_path):
    text = '{"sourceLanguage": "en", "strings": {"k":\n{"localizations": [[]]}}}'
    refused("a.xcstrings, line 2: the localizations of a string are no object", shouted, tmp_path, "a.xcstrings", text)


def test_a_class_named_no_is_translated(tmp_path):
    page = '<a class="button no">Our cat</a><p class="notranslate">cat</p><p translate="no">cat</p>'
    assert shouted(tmp_path, "a.html", page) == page.replace("Our cat", "OUR CAT")


def test_a_language_in_a_statement_is_not_named(tmp_path):
    (tmp_path / "a.html").write_text('<html lang="{{ LANGUAGE }}"><p>Our cat</p></html>')
    assert open_document(tmp_path / "a.html", "html", KNOWN).documents[0].notes == []
    (tmp_path / "a.html").write_text('<html lang="de-AT"><p>Our cat</p></html>')
    (note,) = open_document(tmp_path / "a.html", "html", KNOWN).documents[0].notes
    assert "German (AT) (de-AT)" in note


SHEETS = 'xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def test_a_workbook_whose_elements_have_a_prefix(tmp_path):
    path = pack(tmp_path / "a.xlsx", {
        "[Content_Types].xml": "<Types/>",
        "xl/workbook.xml": f"<x:workbook {SHEETS}/>",
        "xl/sharedStrings.xml": f"<x:sst {SHEETS}><x:si><x:t>A cat</x:t></x:si><x:si><x:r><x:rPr><x:b/></x:rPr>"
        "<x:t>Big</x:t></x:r><x:r><x:t> dog</x:t></x:r></x:si><x:si><x:t>yes</x:t></x:si></x:sst>",
        "xl/worksheets/sheet1.xml": f'<x:worksheet {SHEETS}><x:c><x:f>IF(A1="yes",1)</x:f></x:c></x:worksheet>',
    })  # fmt: skip
    found = members(translated(path, str.upper))["xl/sharedStrings.xml"]
    assert "<x:si><x:t>A CAT</x:t></x:si>" in found and "<x:t>yes</x:t>" in found
    assert '<x:r><x:rPr><x:b/></x:rPr><x:t xml:space="preserve">BIG</x:t></x:r>' in found
    assert '<x:r><x:t xml:space="preserve"> DOG</x:t></x:r>' in found and "<t" not in found and "<r" not in found


def test_fields_of_a_pivot_table_keep_their_names(tmp_path):
    path = pack(tmp_path / "a.xlsx", {
        "[Content_Types].xml": "<Types/>",
        "xl/sharedStrings.xml": "<sst><si><t>Ship date</t></si><si><t>A cat</t></si></sst>",
        "pivotCache/a.xml": '<pivotCacheDefinition><cacheField name="Ship date"/></pivotCacheDefinition>',
    })  # fmt: skip
    found = members(translated(path, str.upper))["xl/sharedStrings.xml"]
    assert found == "<sst><si><t>Ship date</t></si><si><t>A CAT</t></si></sst>"


def test_comments_on_slides_and_threads_on_cells(tmp_path):
    slides = {"ppt/comments/c.xml": '<p:cmLst xmlns:p="p"><p:cm><p:text>See &amp; go</p:text></p:cm></p:cmLst>'}
    slides["ppt/presentation.xml"] = "<p/>"
    found = members(translated(pack(tmp_path / "a.pptx", slides), str.upper))
    assert "<p:text>SEE &amp; GO</p:text>" in found["ppt/comments/c.xml"]
    cells = {"xl/threadedComments/t.xml": '<ThreadedComments><threadedComment id="1"><text>Why so?</text>'
             "</threadedComment></ThreadedComments>", "xl/workbook.xml": "<workbook/>"}  # fmt: skip
    found = members(translated(pack(tmp_path / "a.xlsx", cells), str.upper))
    assert "<text>WHY SO?</text>" in found["xl/threadedComments/t.xml"]


@pytest.mark.parametrize("field", ["author-name", "chapter", "file-name", "bibliography-mark", "sender-city", "title"])
def test_fields_of_open_document_are_inside_of_a_sentence_and_stay(tmp_path, field):
    page = f"<text:p>Written by <text:{field}>our cat</text:{field}> here.</text:p>"
    path = pack(tmp_path / "a.odt", {"content.xml": f'<o xmlns:text="t">{page}</o>'})
    expected = page.replace("Written by", "WRITTEN BY").replace("here", "HERE")
    assert expected in members(translated(path, str.upper))["content.xml"]


def words_of(tmp_path, runs, function):
    path = pack(tmp_path / "a.docx", {"word/document.xml": f'<w:document xmlns:w="w"><w:p>{runs}</w:p></w:document>'})
    return members(translated(path, function))["word/document.xml"]


def test_a_tab_to_a_margin_is_between_words(tmp_path):
    found = words_of(tmp_path, "<w:r><w:t>Our</w:t></w:r><w:r><w:ptab/></w:r><w:r><w:t>cat</w:t></w:r>", str.upper)
    assert 'OUR</w:t></w:r><w:r><w:ptab/></w:r><w:r><w:t xml:space="preserve">CAT' in found


def test_runs_of_one_format_after_each_other_are_one(tmp_path):
    bold = "<w:r><w:rPr><w:b/></w:rPr><w:t>{}</w:t></w:r>"
    name = f"{bold.format('Big ')}<w:proofErr/>{bold.format('Cat')}"
    runs = f"<w:r><w:t>This was said by </w:t></w:r>{name}<w:r><w:t>.</w:t></w:r>"
    found = words_of(tmp_path, runs, str.upper)
    assert '<w:rPr><w:b/></w:rPr><w:t xml:space="preserve">BIG CAT</w:t></w:r><w:r>' in found


def test_elements_that_end_a_text_in_a_cell_of_markdown(tmp_path):
    page = "| a |\n|---|\n| <ul><li>Bug fixes</li><li>More *good* text</li></ul> |\n"
    assert shouted(tmp_path, "a.md", page) == page.replace("| a", "| A").replace(
        "Bug fixes", "BUG FIXES").replace("More *good* text", "MORE *GOOD* TEXT")  # fmt: skip


def test_footnotes_without_blank_lines_between_them(tmp_path):
    page = "Go[^1] on[^22].\n\n[^1]: Big cat\n[^22]: Old dog\n[^3]: Red bird\n"
    assert shouted(tmp_path, "a.md", page) == page.upper()


def test_links_and_marks_of_asciidoc_over_several_lines(tmp_path):
    page = "See xref:a/b.adoc[our old\nchair] and *big\ncats* and [no link.\n\nGo https://a.b/c[on] now.\n"
    expected = "SEE xref:a/b.adoc[OUR OLD\nCHAIR] AND *BIG\nCATS* AND [NO LINK.\n\nGO https://a.b/c[ON] NOW.\n"
    assert shouted(tmp_path, "a.adoc", page).split() == expected.split()


def test_what_php_prints_in_an_attribute_stays(tmp_path):
    page = '<p title="<?= tr("Big cat") ?>">Go</p><p title="Our <?= $name ?> cat">on</p>'
    assert shouted(tmp_path, "a.html", page) == (
        '<p title="<?= tr("Big cat") ?>">GO</p><p title="OUR <?= $name ?> CAT">ON</p>'
    )


def test_directives_with_digits_before_a_letter_stay(tmp_path):
    entry = '#, python-format\nmsgid "It took %.3fs for %dm"\nmsgstr ""\n'
    found = shouted(tmp_path, "a.po", f'msgid ""\nmsgstr "Language: fr\\n"\n\n{entry}')
    assert "%.3f" in found.rpartition("msgstr")[2] and "fuzzy" not in found


def test_names_in_angle_brackets_are_words_in_their_place(tmp_path):
    text = json.dumps({"a": 'Use {<file>[,<class>] | <thing>} in "cat<number>.log" and <b>go</b> to <Link>it</Link>'})
    assert shouted(tmp_path, "a.json", text) == json.dumps(
        {"a": 'USE {<file>[,<class>] | <thing>} IN "CAT<number>.LOG" AND <b>GO</b> TO <Link>IT</Link>'}
    )


def test_a_command_has_no_accelerator(tmp_path):
    entry = 'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "Run the site _build --port now"\nmsgstr ""\n'
    assert 'msgstr "RUN THE SITE _BUILD --port NOW"' in shouted(tmp_path, "a.po", entry)


def test_code_of_asciidoc_over_several_lines(tmp_path):
    page = "Use `@A({\nB.class })` with the `Default` group\nof `C` and\n`D` too.\n"
    expected = "USE `@A({\nB.class })` WITH THE `Default` GROUP OF `C` AND `D` TOO."
    assert shouted(tmp_path, "a.adoc", page).split() == expected.split()


def test_an_empty_element_after_the_words_stays_there(tmp_path):
    text = "a =\n    Go { $count ->\n       *[other] on\n    }<glyph></glyph>\n"
    assert shouted(tmp_path, "a.ftl", text) == text.replace("Go", "GO").replace("on\n", "ON\n")
