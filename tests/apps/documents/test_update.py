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


def updated(folder, name, new, old, target="fr"):
    (folder / "old").mkdir(exist_ok=True)
    (folder / name).write_text(new, encoding="utf-8")
    (folder / "old" / name).write_text(old, encoding="utf-8")
    (folder / "out").unlink(missing_ok=True)
    job = DocumentJob(folder / name, folder / "out", languages=LanguagePair("en", target), old=folder / "old" / name)
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
    ],
)  # fmt: skip
def test_known_keys_stay_and_new_ones_are_translated(tmp_path, capsys, name, new, old, expected):
    assert updated(tmp_path, name, new, old) == expected
    kept = 2 if name == "a.json" else 1
    assert f"{kept} keys stay, {2 if kept == 2 else 1} are new, 1 are gone: x." in capsys.readouterr().err


def test_plural_forms_of_the_translation_stay(tmp_path):
    new = '{"f_one": "a file", "f_other": "files", "g_one": "a dog", "g_other": "dogs"}'
    old = '{"f_one": "1", "f_few": "2", "f_many": "5", "f_other": "x"}'
    assert json.loads(updated(tmp_path, "a.json", new, old, "pl")) == {
        "f_one": "1", "f_few": "2", "f_many": "5", "f_other": "x",
        "g_one": "A DOG", "g_few": "DOGS", "g_many": "DOGS", "g_other": "DOGS",
    }  # fmt: skip


def test_what_cannot_be_updated_is_refused(tmp_path):
    refused("none of the keys of this file", updated, tmp_path, "a.json", '{"a": "A cat"}', '{"b": "Un chat"}')
    refused("--update is for JSON, ARB, properties", updated, tmp_path, "a.md", "A cat", "Un chat")
    (tmp_path / "b.json").write_text('{"a": "Un chat"}')
    given = ["--pseudo", "--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json")]
    refused("To keep its translations, give another --output and --update", main, given)
    refused("--update .*c.json: No such file", main, [*given[:-1], "out", "--update", str(tmp_path / "c.json")])


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
