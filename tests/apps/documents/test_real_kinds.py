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
