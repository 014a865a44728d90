"""Glossaries: files, and terms found in texts."""

import json
import re
import sys
from unicodedata import normalize

import pytest
from refusals import refused

from glossa.apps.documents.formats.format import UNKNOWN, LanguagePair
from glossa.apps.documents.glossary import Glossary, read_glossary, stemmer
from glossa.base.errors import GlossaError
from glossa.base.languages import language_code
from glossa.cli.translate import main

PAIR = LanguagePair("en", "de")
ROWS = [
    ("pump", "Pumpe"),
    ("water pump", "Wasserpumpe"),
    ("shirt", "Hemd"),
    ("shirt", "T-Shirt"),
    ("Apple", "Apple"),
    ("IT", "IT"),
    ("pumps", "Pumps"),  # the shoes
]


def found(text, rows=ROWS, languages=PAIR):
    return [(term.source, *term.targets) for term in Glossary(rows, languages).find(text)]


class TestFind:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The pump is old.", [("pump", "Pumpe")]),
            ("The water pump is old.", [("water pump", "Wasserpumpe")]),  # the longest
            ("A pump for water pumps.", [("pump", "Pumpe"), ("water pumps", "Wasserpumpe")]),  # by stem
            ("The water, pump it.", [("pump", "Pumpe")]),  # nothing else may stand between
            ("The water\npump.", [("water\npump", "Wasserpumpe")]),
            ("The pumpkin.", []),  # a part of a word
            ("My shirts.", [("shirts", "Hemd", "T-Shirt")]),  # alternatives
            ("A pump and a pump.", [("pump", "Pumpe")]),  # once
            ("Her pumps are red.", [("pumps", "Pumps")]),  # as it is written, before inflected forms
            ("Pump it.", [("Pump", "Pumpe")]),  # a capital at the beginning of a sentence
            ("PUMP OFF", [("PUMP", "PUMPE")]),
            ("An apple.", []),  # a name needs its capital
            ("Apple sells it.", [("Apple", "Apple")]),
            ("i like apple products", [("apple", "Apple")]),  # a text without capitals
            ("it is it.", []),  # an abbreviation needs them anyway
            ("Our IT is new.", [("IT", "IT")]),
            ("See https://pump.example/pump or {pump}, /var/pump and --pump.", []),  # placeholders stay
        ],
    )
    def test_terms_in_a_text(self, text, expected):
        assert found(text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("We use C++ here.", [("C++", "C++")]), ("We use C here.", [("C", "C")]), ("(C++)", [("C++", "C++")]),
            ("The .NET way.", [(".NET", ".NET-Plattform")]), ("The NET way.", []),
        ],
    )  # fmt: skip
    def test_marks_belong_to_a_term(self, text, expected):
        rows = [("C", "C"), ("C++", "C++"), (".NET", ".NET-Plattform")]
        assert found(text, rows) == expected

    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    def test_text_and_terms_are_compared_in_one_form(self, form):
        """The kind of the case `hostile/server/nfd.tsv`."""
        glossary = Glossary([("café", "öffentliches Café")], PAIR)
        (term,) = glossary.find(normalize(form, "The café is here."))
        assert term.targets == ("öffentliches Café",)
        assert glossary.has(term, normalize(form, "Das öffentliche Café ist hier."))

    def test_without_spaces_between_words(self):
        rows = [("水泵", "water pump")]
        assert found("请检查水泵和电源。", rows, LanguagePair("zh", "en")) == rows

    def test_of_a_language_without_a_stemmer(self, caplog):
        caplog.set_level("INFO")
        rows = [("nasos", "pump")]
        assert found("Nasos va nasoslar.", rows, LanguagePair("uz", "en")) == [("Nasos", "pump")]
        assert "no stemmer for uz" in caplog.text

    def test_all_stemmers_of_the_library_are_used(self):
        import snowballstemmer

        others = {"porter", "dutch_porter", "sesotho"}  # other rules for a language, and one that has no code here
        codes = {name: language_code(name) for name in set(snowballstemmer.algorithms()) - others}
        assert [name for name, code in codes.items() if stemmer(code) is str.casefold] == []
        assert [stemmer(code) is str.casefold for code in ("nb", "nn", "ja", None)] == [False, False, True, True]

    def test_the_form_at_the_beginning_of_a_translation(self):
        rows, languages = [("pump", "pompe")], LanguagePair("en", "fr")
        (capital,), (small,) = (Glossary(rows, languages).find(text) for text in ("The pump.", "the pump"))
        assert (capital.targets, capital.first, small.first) == (("pompe",), ("Pompe",), ("pompe",))


class TestHas:
    @pytest.mark.parametrize(
        ("translation", "expected"),
        [
            ("Die Pumpe ist alt.", True),
            ("Zwei Pumpen.", True),  # inflected
            ("Die Wasserpumpen sind alt.", True),  # at the end of a compound
            ("Das Pumpenrad ist alt.", False),
            ("Der Motor.", False),
        ],
    )
    def test_a_translation_has_a_term(self, translation, expected):
        glossary = Glossary(ROWS, PAIR)
        (term,) = glossary.find("The pump.")
        assert glossary.has(term, translation) is expected

    def test_one_of_several_is_enough(self):
        glossary = Glossary(ROWS, PAIR)
        (term,) = glossary.find("A shirt.")
        assert [glossary.has(term, text) for text in ("Ein Hemd.", "Ein T-Shirt.", "Ein Rock.")] == [True, True, False]

    def test_all_of_a_term_is_needed(self):
        glossary = Glossary([("language", "C++"), ("house", "Haus (alt)")], PAIR)
        language, house = glossary.find("The language of the house.")
        assert [glossary.has(language, text) for text in ("In C geschrieben.", "In C++ geschrieben.")] == [False, True]
        assert [glossary.has(house, text) for text in ("Das Haus.", "Das Haus (alt).")] == [False, True]

    def test_compounds_are_of_some_languages(self):
        glossary = Glossary([("house", "casa")], LanguagePair("en", "es"))
        assert not glossary.has(glossary.find("A house.")[0], "Una sobrecasa.")


TBX = """<?xml version="1.0"?>
<tbx xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry id="1"><langSec xml:lang="en-US"><termSec><term>water
 pump</term></termSec></langSec><langSec xml:lang="de"><termSec><term>Wasserpumpe</term></termSec>
<termSec><term>Pumpe</term></termSec></langSec></conceptEntry>
<conceptEntry id="2"><langSec xml:lang="fr"><termSec><term>eau</term></termSec></langSec></conceptEntry>
</body></text></tbx>
"""
MARTIF = """<martif type="TBX"><text><body><termEntry><langSet xml:lang="en"><tig><term>shirt</term></tig></langSet>
<langSet xml:lang="de"><ntig><termGrp><term>Hemd</term></termGrp></ntig></langSet></termEntry></body></text></martif>
"""


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "content", "expected"),
        [
            ("a.tsv", "dog\tHund\nold dog\talter Hund\n", {"dog": ["Hund"], "old dog": ["alter Hund"]}),
            ("a.tsv", "en\tde\ndog\tHund\n\ndog\tHund\ndog\tTöle\n", {"dog": ["Hund", "Töle"]}),
            ("a.csv", 'de,en\n"Hund, alt",dog\n', {"dog": ["Hund, alt"]}),  # the header says which is which
            ("a.tsv", "dog\tHund\ta note\n", {"dog": ["Hund"]}),
            ("a.csv", "source;target\ndog;Hund\n", {"dog": ["Hund"]}),
            ("a.tbx", TBX, {"water pump": ["Wasserpumpe", "Pumpe"]}),
            ("a.tbx", MARTIF, {"shirt": ["Hemd"]}),
        ],
    )
    def test_forms_of_a_glossary(self, tmp_path, name, content, expected):
        (tmp_path / name).write_text(content)
        assert read_glossary(tmp_path / name, PAIR).targets == expected

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.tsv", "dog\tHund\ncat\t\n", r"a\.tsv, line 2: the target of 'cat' has no word\. Write a term there"),
            ("a.tsv", "dog\tHund\n\tKatze\n", r"a\.tsv, line 2: the source of 'Katze' has no word"),
            ("a.tsv", "dog\tHund\n--\tKatze\n", r"a\.tsv, line 2: the source of 'Katze' has no word"),
            (
                "a.tsv", f"dog\tHund\ncat\t{'Tier ' * 250}\n",
                r"a\.tsv, line 2: the target of 'cat' has 250 words; a term may",
            ),
            ("a.tsv", "dog\tHund\ncat\n", r"a\.tsv, line 2: no tab: 1 column, where 2 or 3"),
            ("a.tsv", "dog\tHund\nan\told\tdog\tHund\n", r"a\.tsv, line 2: 4 columns"),
            ("a.tsv", "", r"a\.tsv has no terms"),
            ("a.tsv", "dog\tHund\ncat\tböse Katze\n", r"a\.tsv, line 2: --forbid excludes the translation of 'cat'"),
            ("a.tbx", TBX.replace("Wasserpumpe", ""), r"a\.tbx, line 3: the target of 'water pump' has no word"),
            ("a.tbx", TBX.replace('"de"', '"cs"'), r"a\.tbx has no entry in both en and de"),
            ("a.tbx", TBX[:200], r"a\.tbx, line 4: not well-formed XML"),
            ("a.tbx", '<!DOCTYPE a [<!ENTITY b "c">]><a/>', r"a\.tbx, line 1: the document defines the entity b"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_one_line(self, tmp_path, name, content, message):
        (tmp_path / name).write_text(content)
        with pytest.raises(GlossaError, match=message) as error:
            read_glossary(tmp_path / name, PAIR, ["Katze"])
        assert "\n" not in str(error.value)

    def test_a_forbidden_alternative_is_no_alternative(self, tmp_path):
        (tmp_path / "a.tsv").write_text("shirt\tHemd\nshirt\tT-Shirt\n")
        assert read_glossary(tmp_path / "a.tsv", PAIR, ["Hemd"]).targets == {"shirt": ["T-Shirt"]}

    def test_files_that_are_not_there_or_need_languages(self, tmp_path):
        refused(r"none\.tsv does not exist\. Give a file of terms", read_glossary, tmp_path / "none.tsv", PAIR)
        (tmp_path / "a.tbx").write_text(TBX)
        refused("the languages of the model are unknown", read_glossary, tmp_path / "a.tbx", UNKNOWN)

    def test_without_the_library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "snowballstemmer", None)
        refused(r'snowballstemmer is missing\. Install it: pip install "glossa-mt\[doc', Glossary, ROWS, PAIR)


class TestCommand:
    """A run of a few steps has no idea of terms: all of them are forced. It was trained on "a k." and "k a!"."""

    @pytest.fixture
    def terms(self, tmp_path):
        (tmp_path / "terms.tsv").write_text("k\tvw\nm\tzz\n")
        return ["--glossary", str(tmp_path / "terms.tsv"), "--engine", "torch", "--num_beams", "2"]

    def test_lines(self, tiny_run, tmp_path, terms, capsys):
        (tmp_path / "a.txt").write_text("a k.\nb p.\nm k. c p.\n")
        report = tmp_path / "report.jsonl"
        files = ["--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / "b.txt"), "--report", str(report)]
        main([str(tiny_run), *files, *terms, "--report_all"])
        first, second, third = (tmp_path / "b.txt").read_text().splitlines()
        assert "vw" in words(first) and not {"vw", "zz"} & words(second) and {"vw", "zz"} <= words(third)
        assert re.search(r"3 terms found: .* used.*, 0 not used", capsys.readouterr().err)
        plain = tmp_path / "plain.txt"
        main([str(tiny_run), *files[:2], "--output", str(plain), *terms[2:]])
        assert plain.read_text().splitlines()[1] == second, "a line without terms stays as it was"

    @pytest.mark.slow
    def test_terms_that_are_not_used_are_reported(self, tiny_run, tmp_path, terms, capsys):
        long = "vw " * 40
        (tmp_path / "terms.tsv").write_text(f"k\t{long}\n")  # more tokens than a translation may have
        (tmp_path / "a.txt").write_text("b p.\na k.\n")
        report = tmp_path / "report.jsonl"
        files = ["--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / "b.txt"), "--report", str(report)]
        main([str(tiny_run), *files, *terms])
        shown = capsys.readouterr().err
        assert "1 terms found: 0 used, 1 not used." in shown
        row = next(row for row in map(json.loads, report.read_text().splitlines()) if row["line"] == 2)
        assert row["missing"] == [f"k -> {long.strip()}"]
        assert row["problem"] != "not as asked" or "1 of 2 translations look not as asked: line 2" in shown

    def test_documents(self, tiny_run, tmp_path, terms, capsys):
        (tmp_path / "a.html").write_text("<p>a <b>k</b>.</p><p>b p.</p><pre>k</pre>")
        files = ["--input", str(tmp_path / "a.html"), "--output", str(tmp_path / "b.html")]
        main([str(tiny_run), *files, *terms])
        document = (tmp_path / "b.html").read_text()
        assert "vw" in document and document.endswith("<pre>k</pre>")
        assert re.search(r"1 terms found: .* used.*, 0 not used", capsys.readouterr().err)

    def test_forbidden_words_and_a_beginning(self, tiny_run, tmp_path, terms):
        (tmp_path / "a.txt").write_text("a k.\nb p.\n")
        files = ["--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / "b.txt"), *terms[2:]]
        main([str(tiny_run), *files])
        before = (tmp_path / "b.txt").read_text()
        word = sorted(words(before))[0]
        main([str(tiny_run), *files, "--forbid", word, "--prefix", "qr st"])
        after = (tmp_path / "b.txt").read_text().splitlines()
        assert len(after) == 2 and all(line.startswith("qr st") and word not in words(line) for line in after)

    @pytest.mark.slow
    def test_workers_count_terms_too(self, tiny_run, tmp_path, terms, capfd, monkeypatch):
        (tmp_path / "a.txt").write_text("a k.\nb p.\nm k.\n")
        for name, more in (("one", []), ("two", ["--workers", "1"])):
            files = ["--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / f"{name}.txt")]
            main([str(tiny_run), *files, *terms, *more])
            assert "3 terms found: 3 used (3 by a second search), 0 not used." in capfd.readouterr().err
        assert (tmp_path / "one.txt").read_text() == (tmp_path / "two.txt").read_text()

    def test_a_job_does_not_continue_with_another_glossary(self, tmp_path):
        from argparse import Namespace

        from glossa.cli.documents import settings_of

        settings = []
        for content in ("a\tb\n", "a\tc\n"):
            (tmp_path / "g.tsv").write_text(content)
            settings.append(settings_of(Namespace(glossary=str(tmp_path / "g.tsv"), forbid=[]), ()))
        assert settings[0] != settings[1]

    def test_a_beginning_is_for_lines(self, tiny_run, tmp_path):
        (tmp_path / "a.html").write_text("<p>a k.</p>")
        files = ["--input", str(tmp_path / "a.html"), "--output", str(tmp_path / "b.html")]
        refused("--prefix is for lines of text", main, [str(tiny_run), *files, "--prefix", "x"])


def words(text):
    return set("".join(letter if letter.isalnum() else " " for letter in text).split())
