"""Tables, settings, pages, notebooks and lyrics: what is translated, and that other readers read the result."""

import configparser
import csv
import io
import json
import tomllib
from pathlib import Path

import pytest
import translating
from refusals import refused
from translating import KNOWN, translated

from glossa.apps.documents.formats.format import UNKNOWN
from glossa.base.errors import GlossaError

FOLDER = Path(__file__).parents[1] / "files" / "more"
FILES = {
    name: (FOLDER / name).read_text(encoding="utf-8")
    for name in ("a.ini", "a.toml", "a.adoc", "a.lrc", "a.ass", "a.ipynb")
}


def shouted(folder, name, text=None, function=str.upper, languages=KNOWN):
    return translating.shouted(folder, name, text or FILES[name], function, languages)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("name", FILES)
def test_an_engine_that_returns_its_source_changes_no_byte(tmp_path, name, ends):
    content = FILES[name].replace("\n", ends).encode()
    (tmp_path / name).write_bytes(content)
    assert translated(tmp_path / name, languages=UNKNOWN) == content


def test_ini(tmp_path):
    parser = configparser.ConfigParser()
    parser.read_string(shouted(tmp_path, "a.ini"))
    assert dict(parser["Main section"]) == {
        "title": "THE HOUSE", "name": '"GOOD DAY, SIR"', "path": "/etc/x", "long": "ONE LINE\nAND ANOTHER"
    }  # fmt: skip
    found = shouted(tmp_path, "a.ini", "[a]\nb =\n    Good day\n\n    and more\n")
    assert found == "[a]\nb =\n    GOOD DAY\n\n    AND MORE\n"
    refused(r"a\.ini, line 2: not an entry", shouted, tmp_path, "a.ini", "[a]\nthis is text\n")


def test_toml(tmp_path):
    found = tomllib.loads(shouted(tmp_path, "a.toml"))
    assert found["title"] == 'THE "BIG" HOUSE' and found["owner"]["name"] == "GOOD DAY"
    assert found["owner"]["quoted key"] == "A MAN SLEEPS."
    assert found["owner"]["list"] == ["A DOG", "a.b/c", "ANOTHER DOG"] and found["owner"]["t"] == {
        "x": "A CAT",
        "y": 1,
    }
    assert found["owner"]["multi"] == "FIRST LINE HERE.\nSECOND LINE"
    assert tomllib.loads(shouted(tmp_path, "a.toml", "a = 'Good day'\n", lambda text: "it's")) == {"a": "it’s"}
    refused(r"a\.toml: not TOML: .*line 1", shouted, tmp_path, "a.toml", "a = b\n")


def test_asciidoc(tmp_path):
    expected = FILES["a.adoc"]
    for text in (
        "= The title", "A man *sleeps* in the `", "` and\n", "[the house], see", ",that one>>", "A block title",
        "One item", "Another _item_", "Number one", "A dog runs.", "Term::", "The meaning", "A cell", "Another cell",
    ):  # fmt: skip
        expected = expected.replace(text, text.upper())
    assert shouted(tmp_path, "a.adoc") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("First:: the one\nNext:: another one\n", "First:: one the\nNext:: one another\n"),
        ("* one item\nNext:: another one\n", "* item one\nNext:: one another\n"),
        ('It says "`see below`" twice\n', 'twice "`below see`" says It\n'),
        ("== [[a-b]] [[c]] Two words\n", "== [[a-b]] [[c]] words Two\n"),
        ("See the {url-a}[second page^] there\n", "there {url-a}[page second^] the See\n"),
        (
            "|===\n|a b |[source]\nsome code\n  here\n|c d\n|===\n",
            "|===\n|b a |[source]\nsome code\n  here\n|d c\n|===\n",
        ),
    ],
)
def test_what_asciidoc_marks(tmp_path, source, expected):
    found = shouted(tmp_path, "a.adoc", source, function=lambda text: " ".join(text.split()[::-1]))
    assert found == expected


def test_lyrics(tmp_path):
    found = shouted(tmp_path, "a.lrc")
    assert found == "[ar:Somebody]\n[00:01.00]THE BOY SLEEPS.\n[00:02.00][00:05.00]<00:02.00>A <00:02.50>DOG\n"


def test_subtitles_of_substation(tmp_path):
    expected = FILES["a.ass"].replace("The boy, ", "THE BOY, ").replace("}he{", "}HE{")
    expected = expected.replace(" sleeps.", " SLEEPS.").replace("NA dog runs", "NA DOG RUNS")
    assert shouted(tmp_path, "a.ass") == expected
    refused(r"a\.ass, line 1: not subtitles of SubStation Alpha", shouted, tmp_path, "a.ass", "Hi there\n")


def test_notebooks(tmp_path):
    """The case `ipynb-advice`: only Markdown cells."""
    text = shouted(tmp_path, "a.ipynb")
    cells = json.loads(text)["cells"]
    assert [cell["source"] for cell in cells] == [
        ["# THE TITLE\n", "\n", "A *MAN* SLEEPS."], ['print("stay here")'], "ONE STRING\nHERE"
    ]  # fmt: skip
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.reads(text, as_version=4))
    refused("not a notebook of version 4", shouted, tmp_path, "a.ipynb", "{}")


class TestTables:
    def rows(self, text, **options):
        return list(csv.reader(io.StringIO(text, newline=""), **options))

    def test_empty_cells_are_filled(self, tmp_path):
        text = 'key,en,fr,note\na,"Hello, ""you"" {name}",,x\nb,Good day,Oui,\nc,"Two\nlines",,\nd,42,,\n'
        found = shouted(tmp_path, "a.csv", text)
        assert self.rows(found) == [
            ["key", "en", "fr", "note"], ["a", 'Hello, "you" {name}', 'HELLO, "YOU" {name}', "x"],
            ["b", "Good day", "Oui", ""], ["c", "Two\nlines", "TWO\nLINES", ""], ["d", "42", "", ""],
        ]  # fmt: skip
        assert found.replace('"HELLO, ""YOU"" {name}"', "").replace('"TWO\nLINES"', "") == text

    @pytest.mark.parametrize(("separator", "name"), [("\t", "a.tsv"), (";", "a.csv"), ("|", "a.csv")])
    def test_separators(self, tmp_path, separator, name):
        text = f"id{separator}source{separator}target\r\n1{separator}A man sleeps.{separator}\r\n"
        found = shouted(tmp_path, name, text)
        assert self.rows(found, delimiter=separator)[1] == ["1", "A man sleeps.", "A MAN SLEEPS."]

    def test_other_tables_are_refused(self, tmp_path):
        with pytest.raises(GlossaError, match=r"line 1: the columns are a, b; two of them must be named en and fr"):
            shouted(tmp_path, "a.csv", "a,b\n1,2\n")
        refused(r"line 3: the row has 1 cells, not 2", shouted, tmp_path, "a.csv", "en,fr\nHi there,\nHi\n")


def test_subtitles_in_utf_16_and_with_short_times(tmp_path):
    text = "\ufeff1\r\n00:00:0,000 --> 00:00:1,500\r\n{}\r\n"
    (tmp_path / "a.srt").write_bytes(text.format("The end.").encode("utf-16-le"))
    assert translated(tmp_path / "a.srt", str.upper) == text.format("THE END.").encode("utf-16-le")
