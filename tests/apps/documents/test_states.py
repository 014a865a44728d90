"""`--only` chooses entries of catalogs by their state, and `--state` says what new translations are."""

import json

import pytest
from refusals import refused
from translating import Given

from glossa.apps.documents.formats.format import Chosen, LanguagePair
from glossa.apps.documents.job import DocumentJob
from glossa.cli.translate import main

PO = """msgid ""
msgstr "Language: fr\\n"

msgid "New"
msgstr ""

#, fuzzy, c-format
#| msgid "Older"
msgid "Old"
msgstr "Vieux"

msgid "Done"
msgstr "Fait"
"""
TS = (
    '<TS language="fr"><context><message><source>New</source><translation type="unfinished"></translation></message>'
    '<message><source>Old</source><translation type="unfinished">Vieux</translation></message>'
    "<message><source>Done</source><translation>Fait</translation></message></context></TS>"
)
XLIFF = (
    '<xliff version="1.2"><file source-language="en" target-language="fr"><body>'
    '<trans-unit id="1"><source>New</source></trans-unit><trans-unit id="2"><source>Old</source>'
    '<target state="needs-review-translation">Vieux</target></trans-unit><trans-unit id="3"><source>Done</source>'
    '<target state="final">Fait</target></trans-unit></body></file></xliff>'
)
CATALOG = json.dumps({
    "sourceLanguage": "en", "strings": {
        "New": {}, "Old": {"localizations": {"fr": {"stringUnit": {"state": "needs_review", "value": "Vieux"}}}},
        "Done": {"localizations": {"fr": {"stringUnit": {"state": "translated", "value": "Fait"}}}},
        "k": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "Here"}}}},
    },
})  # fmt: skip
FILES = {"a.po": PO, "a.ts": TS, "a.xlf": XLIFF, "a.xcstrings": CATALOG}


def translated(folder, name, only=("untranslated",), review=False):
    (folder / name).write_text(FILES.get(name, "A cat"), encoding="utf-8")
    (folder / "out").unlink(missing_ok=True)
    job = DocumentJob(
        folder / name, folder / "out", None, LanguagePair("en", "fr"), chosen=Chosen(only=only), for_review=review
    )
    job.run(Given(str.upper))
    return (folder / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_entries_are_chosen_by_their_state(tmp_path, name):
    for only in (("untranslated",), ("fuzzy",), ("untranslated", "fuzzy")):
        found = translated(tmp_path, name, only)
        assert ("NEW" in found, "OLD" in found) == ("untranslated" in only, "fuzzy" in only), only
        assert "Fait" in found and ("Vieux" in found) == ("fuzzy" not in only)


def test_a_new_translation_is_no_longer_fuzzy(tmp_path):
    assert '\n#, c-format\nmsgid "Old"\nmsgstr "OLD"\n' in translated(tmp_path, "a.po", ("fuzzy",))
    assert "<source>Old</source><translation>OLD</translation>" in translated(tmp_path, "a.ts", ("fuzzy",))
    found = translated(tmp_path, "a.xlf", ("fuzzy",))
    assert '<target state="translated" state-qualifier="mt-suggestion">OLD</target>' in found
    old = json.loads(translated(tmp_path, "a.xcstrings", ("fuzzy",)))["strings"]["Old"]
    assert old["localizations"]["fr"]["stringUnit"] == {"state": "translated", "value": "OLD"}


def test_all_new_translations_may_be_for_review(tmp_path):
    found = translated(tmp_path, "a.po", ("untranslated", "fuzzy"), True)
    assert '#, fuzzy\nmsgid "New"\nmsgstr "NEW"\n' in found and 'msgid "Done"\nmsgstr "Fait"' in found
    assert found.count("fuzzy") == 2 and "#, c-format\n" in found
    found = translated(tmp_path, "a.ts", review=True)
    assert '<source>New</source><translation type="unfinished">NEW</translation>' in found
    found = translated(tmp_path, "a.xlf", review=True)
    assert '<target state="needs-review-translation" state-qualifier="mt-suggestion">NEW</target>' in found
    strings = json.loads(translated(tmp_path, "a.xcstrings", review=True))["strings"]
    units = {key: own["localizations"]["fr"]["stringUnit"] for key, own in strings.items()}
    assert units["New"] == {"state": "needs_review", "value": "NEW"}
    assert units["k"] == {"state": "needs_review", "value": "HERE"} and units["Done"]["state"] == "translated"
    assert strings["k"]["localizations"]["en"]["stringUnit"]["state"] == "translated"


def test_states_need_a_format_that_has_them(tmp_path):
    words = "for formats whose translations have a state: po, xliff, xcstrings, ts"
    refused(words, translated, tmp_path, "a.md", review=True)
    refused(words, translated, tmp_path, "a.md", ("fuzzy",))
    refused("--only and --state are for PO", main, ["--pseudo", "--state", "review"])


def test_other_documents_of_a_folder_are_translated_as_usual(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.po").write_text(PO)
    (tmp_path / "in" / "b.md").write_text("A cat")
    job = DocumentJob(
        tmp_path / "in", tmp_path / "out", None, LanguagePair("en", "fr"), chosen=Chosen(only=("fuzzy",))
    )
    job.run(Given(str.upper))
    assert (tmp_path / "out" / "b.md").read_text() == "A CAT" and "OLD" in (tmp_path / "out" / "a.po").read_text()
