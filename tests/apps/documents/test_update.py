"""`--update`: values of an older translation stay, new keys are translated, keys that are gone are named."""

import json
from pathlib import Path

import pytest
from refusals import refused
from translating import Given

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.job import DocumentJob
from glossa.cli.translate import main

CASE = Path(__file__).parents[4] / "shared" / "cases" / "desk" / "json-update"


GONE = {"a.ini": "[s] x", "a.toml": "t.x", "a.stringsdict": "x.one"}


def updated(folder, name, new, old, target="fr", before=None):
    (folder / "old").mkdir(exist_ok=True)
    (folder / "before").mkdir(exist_ok=True)
    (folder / "before" / name).write_text(before or "", encoding="utf-8")
    (folder / name).write_text(new, encoding="utf-8")
    (folder / "old" / name).write_text(old, encoding="utf-8")
    (folder / "out").unlink(missing_ok=True)
    job = DocumentJob(folder / name, folder / "out", languages=LanguagePair("en", target), old=folder / "old" / name)
    job.previous = folder / "before" / name if before else None
    job.run(Given(str.upper))
    return (folder / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "new", "old", "expected"),
    [
        ("a.json", '{"a": {"b": "A cat", "c": "A dog"}, "d": ["One", "Two"]}',
         '{"x": "Weg", "d": ["Un"], "a": {"b": "Un \\"chat\\""}}',
         '{"a": {"b": "Un \\"chat\\"", "c": "A DOG"}, "d": ["Un", "TWO"]}'),
        ("a.properties", "# note\na = A cat\nb: A dog\n", "x=Weg\na=Un \\u00e9l\\\n  an\n",
         "# note\na = Un \\u00e9l\\\n  an\nb: A DOG\n"),
        ("a.strings", '/* note */\n"a" = "A cat";\nb = "A dog";\n', '"x" = "Weg";\n"a" = "Un chat";\n',
         '/* note */\n"a" = "Un chat";\nb = "A DOG";\n'),
        ("a.resx", '<root><data name="a"><value>A cat</value></data><data name="b"><value>A dog</value></data></root>',
         '<root><data name="x"><value>Weg</value></data><data name="a"><value>Chat &amp; co</value></data></root>',
         '<root><data name="a"><value>Chat &amp; co</value></data><data name="b"><value>A DOG</value></data></root>'),
        ("strings.xml", '<resources><string name="a">A cat</string><string name="b">A dog</string></resources>',
         '<resources><string name="x">W</string><string name="a">Un\\u00a0<b>chat</b></string></resources>',
         '<resources><string name="a">Un\\u00a0<b>chat</b></string><string name="b">A DOG</string></resources>'),
        ("a.ini", "[s]\na = A cat\nb = A dog\n", "[s]\nx=W\na=Un chat\n  ici\n",
         "[s]\na = Un chat\n  ici\nb = A DOG\n"),
        ("a.toml", '[t]\na = "A cat" # note\nb = "A dog"\n', "[t]\na = \'Un chat\'\nx = \'W\'\n",
         '[t]\na = \'Un chat\' # note\nb = "A DOG"\n'),
        ("a.ftl", "a =\n    A cat\n    .b = A dog\n", "x = W\na = Un { $n }\n  chat\n",
         "a = Un { $n }\n  chat\n    .b = A DOG\n"),
        ("a.yml", "t:\n  a: A cat # note\n  b: A dog\n", "t:\n  a: 'Un chat'\nx: W\n",
         "t:\n  a: 'Un chat' # note\n  b: A DOG\n"),
        ("a.stringsdict", "<plist><dict><key>n</key><dict><key>one</key><string>A cat</string><key>other</key>"
         "<string>A dog</string></dict></dict></plist>",
         "<plist><dict><key>x</key><dict><key>one</key><string>W</string></dict><key>n</key><dict><key>one</key>"
         "<string>Un chat</string></dict></dict></plist>",
         "<plist><dict><key>n</key><dict><key>one</key><string>Un chat</string><key>other</key>"
         "<string>A DOG</string><key>many</key><string>A DOG</string></dict></dict></plist>"),
    ],
)  # fmt: skip
def test_known_keys_stay_and_new_ones_are_translated(tmp_path, capsys, name, new, old, expected):
    assert updated(tmp_path, name, new, old) == expected
    kept = 2 if name == "a.json" else 1
    assert (
        f"{kept} keys stay, {2 if kept == 2 else 1} are new, 1 are gone: {GONE.get(name, 'x')}."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("name", "new", "old", "expected"),
    [
        ("a.json", '{"a": "A cat", "b": "", "c": "C"}', '{"a": " ", "b": "", "c": "\'"}',
         '{"a": "A CAT", "b": "", "c": "\'"}'),
        ("a.yml", "a: A cat\nb: ''\nc: C\n", 'a: ""\nb: ""\nc: Un\n', 'a: A CAT\nb: ""\nc: Un\n'),
        ("strings.xml", '<resources><string name="a">A cat</string></resources>',
         '<resources><string name="a"></string></resources>',
         '<resources><string name="a">A CAT</string></resources>'),
    ],
)  # fmt: skip
def test_empty_values_are_not_translated_yet(tmp_path, capsys, name, new, old, expected):
    assert updated(tmp_path, name, new, old) == expected
    assert "1 values of --update are empty" in capsys.readouterr().err


def test_plural_forms_of_the_translation_stay(tmp_path):
    new = '{"f_one": "a file", "f_other": "files", "g_one": "a dog", "g_other": "dogs"}'
    old = '{"f_one": "1", "f_few": "2", "f_many": "5", "f_other": "x"}'
    assert json.loads(updated(tmp_path, "a.json", new, old, "pl")) == {
        "f_one": "1", "f_few": "2", "f_many": "5", "f_other": "x",
        "g_one": "A DOG", "g_few": "DOGS", "g_many": "DOGS", "g_other": "DOGS",
    }  # fmt: skip


def test_nested_keys_of_toml_are_found(tmp_path):
    new = 'a = ["One", {b = "Two"}]\n[[c]]\nd.e = "Three"\n[[c]]\n"d.e" = "Four"\n[f.g]\nh = {i = "Five", j = "Six"}\n'
    old = 'a = ["1", {b = "2"}]\n[[c]]\nd.e = "3"\n[[c]]\n"d.e" = "4"\n[f]\ng.h.j = "6"\n'
    expected = 'a = ["1", {b = "2"}]\n[[c]]\nd.e = "3"\n[[c]]\n"d.e" = "4"\n[f.g]\nh = {i = "FIVE", j = "6"}\n'
    assert updated(tmp_path, "a.toml", new, old) == expected


def test_the_language_at_the_root_of_a_file_of_rails_is_that_of_the_translation(tmp_path):
    new = "en:\n  a: A cat\n  n:\n    one: A dog\n    other: Dogs\n"
    old = 'pl:\n  a: "Kot"\n  n:\n    one: Pies\n    few: Psy\n    other: Psa\n'
    expected = 'pl:\n  a: "Kot"\n  n:\n    one: Pies\n    other: Psa\n    many: Psa\n    few: Psy\n'
    assert updated(tmp_path, "a.yml", new, old, "pl") == expected


def test_sources_that_have_changed_are_translated_again(tmp_path, capsys):
    before = '{"a": "A cat", "b": "A dog", "f_one": "one", "f_other": "some files"}'
    new = '{"a": "A cat", "b": "Two dogs", "c": "New", "f_one": "one", "f_other": "All files"}'
    old = '{"a": "Kot", "b": "Pies", "f_one": "1", "f_few": "2", "f_many": "5", "f_other": "x"}'
    assert json.loads(updated(tmp_path, "a.json", new, old, "pl", before)) == {
        "a": "Kot", "b": "TWO DOGS", "c": "NEW", "f_one": "1", "f_few": "ALL FILES", "f_many": "ALL FILES",
        "f_other": "ALL FILES",
    }  # fmt: skip
    said = capsys.readouterr().err
    assert "2 keys stay, 2 have another source and are translated again, 1 are new, 0 are gone" in said
    assert "2 plural forms that the language needs were missing" in said
    refused("Give this translation with --update", main, [
        "--pseudo", "--input", str(tmp_path / "a.json"), "--output", "x", "--previous", str(tmp_path / "a.json"),
    ])  # fmt: skip


def test_a_list_of_another_length_is_named(tmp_path, capsys):
    new, old = '{"a": ["New", "One", {"b.1": "Two"}], "1": "x"}', '{"a": ["Un", {"b.1": "Deux"}], "1": "y"}'
    assert json.loads(updated(tmp_path, "a.json", new, old))["a"] == ["Un", "ONE", {"b.1": "TWO"}]
    said = "1 lists have another length in --update, and their items stay by their numbers"
    printed = capsys.readouterr().err
    assert said in printed and "give --previous with the older source: a." in printed
    found = updated(tmp_path, "a.json", new, old, before='{"a": ["One", {"b.1": "Two"}], "1": "x"}')
    assert json.loads(found)["a"] == ["NEW", "ONE", {"b.1": "TWO"}]
    assert said not in capsys.readouterr().err


def test_an_older_translation_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.json").write_text('{"a": "A cat"}')
    (tmp_path / "fr.json").write_text('{"a": "Un chat"}')
    folder, output = str(tmp_path / "docs"), ["--output", str(tmp_path / "new")]
    for older in ("nodir", "fr.json"):
        given = ["--update", str(tmp_path / older)]
        refused(rf"{older} is not a folder, as .*docs is", main, ["--pseudo", "--input", folder, *output, *given])
    given = ["--update", folder, "--target_language", "fr"]
    refused(r"docs is not a file", main, ["--pseudo", "--input", str(tmp_path / "fr.json"), *output, *given])


def test_what_cannot_be_updated_is_refused(tmp_path):
    refused("none of the keys of this file", updated, tmp_path, "a.json", '{"a": "A cat"}', '{"b": "Un chat"}')
    refused("--update is for formats with keys", updated, tmp_path, "a.md", "A cat", "Un chat")
    (tmp_path / "b.json").write_text('{"a": "Un chat"}')
    given = ["--pseudo", "--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json")]
    refused("To keep its translations, give another --output and --update", main, given)
    refused("c.json is not a file", main, [*given[:-1], "out", "--update", str(tmp_path / "c.json")])


def test_a_folder_is_updated_file_by_file(tmp_path):
    for name, text in (("new/a.json", "A cat"), ("new/b.json", "A dog"), ("old/a.json", "Un chat")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"a": text}))
    DocumentJob(tmp_path / "new", tmp_path / "out", old=tmp_path / "old").run(Given(str.upper))
    found = [json.loads((tmp_path / "out" / name).read_text())["a"] for name in ("a.json", "b.json")]
    assert found == ["Un chat", "A DOG"]


def test_the_shared_case(tmp_path):
    """The case `json-update`."""
    if not CASE.exists():
        pytest.skip("needs the cases of ../shared")
    found = updated(tmp_path, "a.json", (CASE / "en.json").read_text(), (CASE / "fr.json").read_text())
    assert json.loads(found) == {"a": "Je suis ravi.", "b": "SAVE"}


def test_a_job_with_another_older_version_is_another_job(tmp_path):
    """The command records its settings as JSON, with a hash of the older version."""
    from argparse import Namespace

    from glossa.cli.documents import settings_of

    found = []
    for content in ('{"a": "b"}', '{"a": "c"}'):
        (tmp_path / "old.json").write_text(content)
        found.append(json.dumps(settings_of(Namespace(glossary=None, update=tmp_path / "old.json"), ())))
    assert found[0] != found[1]


def test_an_older_file_that_is_no_translation_into_the_language_is_named(tmp_path, capsys):
    texts = [
        "The old dog sleeps in the garden.",
        "Nobody knows where the boat is now.",
        "We will buy the house next year.",
    ]
    german = [
        "Der alte Hund schläft im Garten.",
        "Niemand weiß, wo das Boot jetzt ist.",
        "Wir kaufen das Haus im Jahr darauf.",
    ]
    french = [
        "Le vieux chien dort dans le jardin.",
        "Personne ne sait où est le bateau.",
        "Nous achèterons la maison.",
    ]
    new, same, other, right = (
        json.dumps(dict(zip("abc", own, strict=True))) for own in (texts, texts, german, french)
    )
    updated(tmp_path, "a.json", new, same)
    assert "3 of 3 values of --update equal the source. Is it a translation?" in capsys.readouterr().err
    updated(tmp_path, "a.json", new, other)
    assert "the values of --update look like German, not French" in capsys.readouterr().err
    updated(tmp_path, "a.json", new, right)
    assert len(capsys.readouterr().err.splitlines()) == 2  # what stays, and the summary
    files = ["--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json")]
    refused("--update is the file of --input", main, ["--pseudo", *files, "--update", str(tmp_path / "a.json")])


def test_a_model_next_to_pseudo_and_an_unknown_language_are_refused(tmp_path):
    refused("does not use a/model", main, ["--pseudo", "a/model"])
    refused("does not use a/model", main, ["a/model", "--pseudo"])
    (tmp_path / "a.json").write_text('{"a": "A cat"}')
    files = ["--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json")]
    refused("'xx123' is no language", main, ["--pseudo", *files, "--target_language", "xx123"])


@pytest.mark.parametrize(
    ("name", "before", "new", "old", "expected"),
    [
        ("a.yml", "a: We find it,\n  a dog. \n  Here\nb: 'A cat'\nc: 1 dog\n",
         'a: We find it, a\n  dog. Here\nb: "A cat"\nc: 2 dogs\n',
         "a: Un chien\nb: Un chat\nc: 1 chien\n", "a: Un chien\nb: Un chat\nc: 2 DOGS\n"),
        ("a.json", '{"a": "caf\\u00e9", "b": 1, "c": "5"}', '{"a": "café", "b": 2, "c": "6"}',
         '{"a": "Bar", "b": 1, "c": "5"}', '{"a": "Bar", "b": 2, "c": "6"}'),
        ("strings.xml", '<resources><string name="a">\n  A cat &amp; I\n</string></resources>',
         '<resources><string name="a">A cat\n  &#38; I</string></resources>',
         '<resources><string name="a">Moi</string></resources>',
         '<resources><string name="a">Moi</string></resources>'),
    ],
)  # fmt: skip
def test_a_text_that_is_written_in_another_way_is_the_same(tmp_path, name, before, new, old, expected):
    """Other line breaks, quotes and escapes are no other source, but another number is."""
    assert updated(tmp_path, name, new, old, before=before) == expected
