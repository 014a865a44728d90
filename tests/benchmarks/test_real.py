"""The comparators of real files: each sees a fault that is planted, and none in a right pseudo-translation."""

import pytest
from apps.documents.packed import pack

from benchmarks import comparators, real
from benchmarks.real import CHANGED, MOVED, STAYED
from glossa.translate.engines.pseudo import pseudo_engine

accented = pseudo_engine().function
SHOWN = "Our big cat sits on the old chair."
# For each format: a file with a text, and its code with other characters.
FILES = {
    "html": ("<p class='a'>{}</p><code>x y</code>{{% if z %}}", [("'a'", "'b'"), ("x y", "ẍ ẏ"), ("if z", "ḭḟ z")]),
    "markdown": ("# {}\n\nb `x y` [c](d.md)\n\n```\ne f\n```\n", [("x y", "ẍ ẏ"), ("d.md", "ḏ.md"), ("e f", "ḛ f")]),
    "json": ('{{"key": ["{}", 3, "user_name"]}}', [("key", "ḳey"), ("3", "4"), ("user_name", "ṳser_name")]),
    "yaml": ("key:\n- {}\n- 3\n", [("key", "ḳey"), ("3", "4")]),
    "toml": ('key = "{}"\nb = 3\n', [("key", "k"), ("3", "4")]),
    "ini": ("[a]\nkey = {}\n", [("key", "k"), ("[a]", "[b]")]),
    "properties": ("# note\nkey = {}\n", [("key", "k"), ("note", "ṉote")]),
    "strings": ('/* note */\n"key" = "{}";\n', [("key", "k"), ("note", "ṉote")]),
    "fluent": ("# note\nkey = {} {{ $count }}\n", [("key", "k"), ("$count", "$ḉount")]),
    "srt": ("1\n00:00:01,000 --> 00:00:02,000\n<i>{}</i>\n", [("02,", "03,"), ("<i>", "<b>")]),
    "asciidoc": ("= {}\n\nSee `x y` in link:a.html[it].\n", [("x y", "ẍ ẏ"), ("a.html", "ḁ.html")]),
    "android": ('<resources><string name="key">{}</string></resources>', [("key", "k")]),
    "ipynb": ('{{"cells": [{{"cell_type": "code", "source": "a b"}}, {{"cell_type": "markdown", "source": "{}"}}]}}',
              [("a b", "ḁ b")]),
}  # fmt: skip


def kinds(kind, old, new):
    contents = map(comparators.READERS[kind], (old, new))
    return {fault.kind for fault in real.compare(*contents, kind)}


@pytest.mark.parametrize("kind", FILES)
def test_planted_faults_are_seen(kind):
    written, codes = FILES[kind]
    old, new = written.format(SHOWN), written.format(accented(SHOWN))
    assert kinds(kind, old, new) <= {STAYED} and kinds(kind, old, old) == {STAYED}
    for wrong in (
        SHOWN.replace("big cat", "bigcat"),
        "Our cat sits big on the old chair.",
        f"{SHOWN} chair",
        "Our cat",
    ):
        assert MOVED in kinds(kind, old, written.format(accented(wrong))), wrong
    for code, other in codes:
        assert CHANGED in kinds(kind, old, new.replace(code, other)), code


def test_planted_faults_in_catalogs():
    old = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#: a.c\nmsgid "A big cat"\nmsgstr ""\n\n' \
        'msgid "Here"\nmsgstr "Ici"\n'  # fmt: skip
    new = old.replace('cat"\nmsgstr ""', f'cat"\nmsgstr "{accented("A big cat")}"')
    for wrong, expected in ((new, set()), (old, {STAYED}), (new.replace('"Ici"', '"Là"'), {CHANGED}),
                            (new.replace(accented("big cat"), accented("bigcat")), {MOVED})):  # fmt: skip
        assert {fault.kind for fault in real.compare(*comparators.read_pairs("po", old, wrong), "po")} == expected


def test_planted_faults_in_archives(tmp_path):
    word = '<w:document xmlns:w="w"><w:p><w:r><w:t>{}</w:t><w:tab/><w:t>{}</w:t></w:r></w:p><w:jc w:val="{}"/>'
    word += "</w:document>"

    def content(*given, **others):
        path = pack(tmp_path / "a.docx", {"word/document.xml": word.format(*given), "a.bin": "x", **others})
        return comparators.read_package(path.read_bytes())

    old = content(SHOWN, "a chair", "left")
    for new, expected in (
        (content(accented(SHOWN), accented("a chair"), "left"), set()),
        (content(SHOWN, "a chair", "left"), {STAYED}),
        (content(accented(SHOWN + "a"), accented(" chair"), "left"), {MOVED}),
        (content(accented(SHOWN), accented("a chair"), "right"), {CHANGED}),
        (content(accented(SHOWN), accented("a chair"), "left", **{"a.bin": "y"}), {CHANGED}),
    ):
        assert {fault.kind for fault in real.compare(old, new, "docx")} == expected


def test_the_table(tmp_path, capsys):
    (tmp_path / "a.md").write_text("# A title of it\n\nSome `code` here.\n")
    (tmp_path / "b.json").write_text("[1, ")
    real.run(tmp_path, 3)
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line[:1].isalpha()}
    assert rows["markdown"][:4] == ["1", "0", "2", "0"] and rows["json"][:2] == ["1", "1"]
    assert rows["all"][:3] == ["2", "1", "2"]


def test_what_is_no_difference_has_a_rule_and_only_in_its_formats():
    def moved(kind, old, new):
        contents = comparators.Content([old], []), comparators.Content([accented(new)], [])
        return bool([*real.compare(*contents, kind)])

    assert not moved("po", "_Open it", "Op_en it") and moved("html", "_Open it", "Op_en it")
    assert not moved("html", "Go on?", "Go on ？") and not moved("android", r"Is\?", "Is?")
    assert moved("html", "Go on?", "Goon?") and moved("html", "Go on. Stop", "Go on.Stop")
    assert len(real.RULES) + len(real.CODE) <= 20


def test_tags_inside_of_words_may_be_elsewhere_but_no_word_is_lost():
    pages = ["<u>S</u>tep <b>on</b>", f"<u>{accented('Step')}</u> <b>{accented('on')}</b>"]
    old, new = map(comparators.read_html, pages)
    assert not [*real.compare(old, new, "html")]
    assert [*real.compare(old, comparators.read_html(pages[1].replace(accented("tep"), accented("tp"))), "html")]
