"""`--keep`: placeholders of a program's own stay in translations, and `glossa check` knows them."""

import random
import re

import pytest
from refusals import refused
from translating import Function, Given

from glossa.apps.documents.checks import Checks
from glossa.apps.documents.formats.format import TextPair
from glossa.base.values import kept_patterns
from glossa.cli.check import main as check
from glossa.cli.serve import main as serve
from glossa.cli.translate import main as translate
from glossa.model.spans_glossa import ANY_SPAN, KINDS, Span, find_spans
from glossa.train.data.arguments import DataArguments

NAMES = kept_patterns([r"\[\[.*?\]\]"])


def test_what_a_pattern_matches_comes_before_other_spans():
    text = "See [[https://a.example|b]] and {name}"
    assert [text[slice(*span)] for span in find_spans(text, NAMES)] == ["[[https://a.example|b]]", "{name}"]
    assert find_spans("a1b2", [re.compile("[ab]"), re.compile("b2|1")]) == [Span(0, 1), Span(1, 2), Span(2, 3)]


@pytest.mark.parametrize(
    "text", ["Open [[a cat]] now.", "[[a. Cat]] sleeps", "The dog of [[cat]]", "[[a]] and [[b c]]"]
)
def test_kept_text_stays_in_translations(text):
    translator = Given(str.upper).with_kept(NAMES)
    expected = re.sub(r"\[\[.*?\]\]|[^\[\]]+", lambda part: part[0] if part[0][0] == "[" else part[0].upper(), text)
    assert translator.best([text]) == [expected]
    assert translator.with_checks(on_error="blank").best([text]) == [expected]
    assert Given(str.upper).best([text]) == [text.upper()]


def test_a_model_has_patterns_of_its_own():
    """Its run had `keep`; a command or a server may have others."""
    translator = Given(Function(str.upper, keep=("@@.*?@@",)))
    assert translator.best(["Open @@a dog@@ now."]) == ["OPEN @@a dog@@ NOW."]
    assert translator.with_kept(NAMES).best(["See @@a dog@@, [[cat]]"]) == ["SEE @@a dog@@, [[cat]]"]
    refused("keep in the model's text_profile: 'x\\*' also matches", Given, Function(str.upper, keep=("x*",)))
    refused("keep: '\\[' is no regular expression", DataArguments, keep=["["])
    assert DataArguments(keep="@@.*?@@").keep == ["@@.*?@@"]


def test_patterns_of_the_command(tmp_path, capsys):
    (tmp_path / "a.json").write_text('{"a": "Open [[a cat]] or @@dog@@ now"}')
    files = ["--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json")]
    translate(["--pseudo", *files, "--keep", r"\[\[.*?\]\]", "--keep", "@@.*?@@"])
    found = (tmp_path / "b.json").read_text()
    assert "[[a cat]]" in found and "@@dog@@" in found and "Open" not in found and "now" not in found
    for command in (translate, check, serve):
        refused(r"--keep: '\[' is no regular expression of Python: unterminated", command, ["a", "--keep", "["])
        refused("no regular expression of Python: Possible nested set", command, ["a", "--keep", "[[a]]"])
        refused("also matches a text without characters", command, ["a", "--keep", "x*"])


def test_checks_compare_what_is_kept():
    assert Checks(kept=NAMES).find(TextPair(1, "Open [[the cat]]", "[[the cat]] öffnen")) == []
    assert Checks(kept=NAMES).find(TextPair(1, "Open [[the cat]]", "[[die Katze]] auf")) == [
        ("placeholders", "missing: [[the cat]], added: [[die Katze]]")
    ]


def test_characters_that_begin_no_span_are_passed_without_a_change():
    """The pattern looks at few characters, and finds what its parts find at any character."""
    plain = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))
    pieces = [
        "https://a.b/c", "www.x.y", "a@b.co", "{x}", "%s", "%1$s", "snake_case", "camelCase", "utf-8", "v1.2", "10 km",
        "DE89 3704 0044", "-x", "--long=3", "C:\\a\\b", "/etc/x", "a/b.py", "🙂", "ℹ", "1️⃣", "我们", "을", "Word",
        "word", "NASA", ":smile:", "`c`", "git://x.y/z", "+49 30 12", "978-3-16-1-0", "0xff", "x.y.z", "a1b2c3d", " ",
        ".", ",", "(", ")", "\n", "é", "@me", "#tag", "&amp;", "<b>", "$t(a)", "@:k",
    ]  # fmt: skip
    drawn = random.Random(1)
    for _ in range(3000):
        text = "".join(drawn.choices(pieces, k=10))
        assert [(each.span(), each.lastgroup) for each in ANY_SPAN.finditer(text)] == [
            (each.span(), each.lastgroup) for each in plain.finditer(text)
        ]


def test_a_text_that_the_model_copies_keeps_all_spans_where_they_are():
    text = "Go -l</code> x<sup>2</sup>.</p> <ul><l\\ii>One<li>Two <img src=a.png alt="
    assert Given(lambda given: given).best([text]) == [text]
