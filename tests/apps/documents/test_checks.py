"""`glossa check`: what is wrong with translations, by file and line."""

import json

import lxml.html
import pytest
from refusals import refused

from glossa.apps.documents.checks import Checks, length_ratio
from glossa.apps.documents.formats.format import LanguagePair, TextPair
from glossa.cli.check import main

RIGHT = [
    ("Save %s to %d files.", "%2$d Dateien nach %1$s sichern."),  # numbered arguments in another order
    ("<b>Save</b> all files", "<b>Jede</b> Datei sichern"),
    ("usage: copy <file>", "Aufruf: copy <Datei>"),  # a word in brackets is no tag
    ("&Open 1,000.5 files...", "1.000,5 Dateien ö&ffnen …"),
    ("It costs 5&nbsp;km.", "Es kostet 5 km."),
    ("translator-credits", "Anna <anna@example.org>"),
]
WRONG = [
    ("placeholders", "Save %s to %d files.", "%d Dateien nach %s sichern."),
    ("placeholders", "Open {name}", "Öffne"),
    ("tags", "<b>Save</b> it", "<b>Sichern"),
    ("addresses", "See https://a.example/x", "Siehe https://a.example/y"),
    ("numbers", "There are 5 files in 20 folders", "Es sind 5 Dateien in 30 Mappen"),
    ("spaces", "Save all files", "Jede  Datei sichern"),
    ("spaces", "Save it. Then leave.", "Sichere das.Danach geh."),
    ("spaces", "Name: ", "Name:"),
    ("end", "All files are saved.", "Jede Datei ist gesichert"),
    ("end", "Save all files", "Jede Datei sichern."),
    ("untranslated", "Save all files", " "),
    ("copied", "The files are in another folder", "The files are in another folder"),
    ("copied", "The dog sleeps in the garden.", "The dog sleeps in the garden."),
    ("repetitive", "Save all files", "Sichern sichern sichern sichern sichern sichern"),
    ("short", "The files in the other folder on this computer cannot be found by you.", "So."),
    ("long", "Save", "Jede Datei sichern, und dann das Haus verlassen"),
]  # fmt: skip


def rules(source, target, language="de", **options):
    checks = Checks(LanguagePair("en", language), **options)
    return {found.rule for found in checks.find(TextPair(1, source, target))}


@pytest.mark.parametrize(("source", "target"), RIGHT)
def test_right_translations_have_no_problem(source, target):
    assert rules(source, target) == set()


@pytest.mark.parametrize(("rule", "source", "target"), WRONG)
def test_each_rule_finds_its_fault_alone(rule, source, target):
    assert rules(source, target) == {rule}


def test_the_translations_of_a_file_say_how_long_others_are():
    pair = "The files in that folder cannot be found.", "Die."
    assert rules(*pair) == set()
    assert rules(*pair, length_ratio=length_ratio([TextPair(1, "A dog", "Ein Hund")] * 50)) == {"short"}
    assert length_ratio([TextPair(1, "A dog", "Ein Hund")] * 49) is None


def test_ends_and_spaces_follow_the_language():
    assert rules("Name: ", "名前：", "ja") == set()
    assert rules("Are you sure?", "Είστε σίγουροι;", "el") == set()
    assert rules("All files are saved.", "บันทึกไฟล์ทั้งหมดแล้ว", "th") == set()
    assert rules("Are you sure?", "Êtes-vous sûr\u202f?", "fr") == set()


def test_the_form_for_one_may_leave_out_the_number_but_adds_no_other():
    checks = Checks(LanguagePair("en", "de"))
    assert checks.find(TextPair(1, "%d file", "Eine Datei", several="%d files")) == []
    assert checks.find(TextPair(1, "One file", "%d Datei", several="%d files")) == []
    (found,) = checks.find(TextPair(1, "%d file", "Datei %s", several="%d files"))
    assert found == ("placeholders", "missing: %d, added: %s")


def test_files_are_checked_and_the_status_says_so(tmp_path, capsys):
    (tmp_path / "a.po").write_text(
        'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Open %s"\nmsgstr "Öffnen"\n\nmsgctxt "x"\nmsgid "Open %s"\n'
        'msgstr "%s öffnen"\n\n#, fuzzy\nmsgid "Close"\nmsgstr "Zu"\n\n#~ msgid "Old"\n#~ msgstr "Alt."\n'
    )
    (tmp_path / "b.xlf").write_text(
        '<xliff version="1.2"><file source-language="en" target-language="de"><body>\n'
        '<trans-unit id="1"><source>Save <g id="1">it</g></source><target>Es <g id="2">sichern</g></target>'
        '</trans-unit>\n<trans-unit id="2" translate="no"><source>Save.</source></trans-unit></body></file></xliff>'
    )
    (tmp_path / "c.ts").write_text(
        '<TS language="de"><context><name>A</name><message><source>Close</source><translation>Zu.</translation>'
        "</message></context></TS>"
    )
    (tmp_path / "d.tsv").write_text("source\ttarget\nSave\tSichern\nSave\tSpeichern\n")
    (tmp_path / "e.tmx").write_text(
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Two</seg></tuv>\n'
        '<tuv xml:lang="de"><seg>Zwei.</seg></tuv></tu></body></tmx>'
    )
    files = [str(tmp_path / name) for name in ("a.po", "b.xlf", "c.ts", "d.tsv", "e.tmx")]
    with pytest.raises(SystemExit) as ended:
        main([*files, "--target_language", "de", "--json"])
    assert ended.value.code == 1
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["file"][-4:].strip("/"), row["line"], row["rule"]) for row in rows] == [
        ("a.po", 5, "placeholders"), ("a.po", 13, "untranslated"), (".xlf", 2, "tags"), ("c.ts", 1, "end"),
        (".tsv", 3, "inconsistent"), (".tmx", 1, "end"),
    ]  # fmt: skip
    assert rows[2]["detail"] == "missing: <g 1>, added: <g 2>"
    assert "6 of 8 translations have problems" in said.err
    main([files[2], "--skip", "end"])  # nothing is left: the command ends normally


def test_lines_of_two_files_with_a_glossary_and_forbidden_words(tmp_path, capsys):
    (tmp_path / "en").write_text("The pump\nThe wheel\n")
    (tmp_path / "de").write_text("Das Ding\nDas Rad\n")
    (tmp_path / "terms.tsv").write_text("pump\tPumpe\nwheel\tRad\n")
    sides = ["--source", str(tmp_path / "en"), "--translation", str(tmp_path / "de")]
    with pytest.raises(SystemExit):
        main([*sides, "--glossary", str(tmp_path / "terms.tsv"), "--forbid", "ding", "--target_language", "de"])
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("de:1: terms: pump is not Pumpe")
    assert second.endswith("de:1: forbidden: Ding")


def test_a_page_has_every_problem(tmp_path):
    """Texts of a file are no markup of the page."""
    for name, texts in (("en", ["You have <b>%d</b> files", "Good"]), ("de", ["Du hast <b>Dateien</b>", "Gut"])):
        (tmp_path / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    page, sides = tmp_path / "page.html", [str(tmp_path / f"{name}.txt") for name in ("en", "de")]
    with pytest.raises(SystemExit):
        main(["--source", sides[0], "--translation", sides[1], "--target_language", "de", "--html", str(page)])
    (row,) = lxml.html.parse(str(page)).xpath("//tr[td]")
    place, problem, *texts = (cell.text_content() for cell in row.xpath("td"))
    assert place.endswith("de.txt:1") and "%d" in problem
    assert texts == ["You have <b>%d</b> files", "Du hast <b>Dateien</b>"] and not row.xpath(".//b")
    argv = ["--source", sides[0], "--translation", sides[0], "--html", str(tmp_path / "no" / "page.html")]
    refused("page.html cannot be written: No such file or directory. Give --html another file", main, argv)


def test_placeholders_are_named_as_texts_have_them():
    checks = Checks(LanguagePair("en", "de"))
    assert checks.find(TextPair(1, "Open %s and %d", "Öffne %s"))[0].detail == "missing: %d"
    assert checks.find(TextPair(1, "Open %2$s and %1$d", "Öffne %2$s"))[0].detail == "missing: %1$d"
    (found,) = checks.find(TextPair(1, "Save %s to %d", "%d nach %s"))
    assert found.detail == "in another order: %s %d; number them, as in %1$s"


def test_particles_and_counters_follow_placeholders():
    assert rules("Delete {0, plural} and %1$s", "{0, plural}을 %1$s을 삭제", "ko") == set()
    assert rules("Delete %s, %d files and %1", "%s를 %d개 파일 %1을 삭제", "ko") == set()
    assert rules("Delete %s", "을 삭제", "ko") == {"placeholders"}


def test_folders_other_names_and_files_without_texts(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.po").write_text('msgid ""\nmsgstr ""\n\nmsgid "Open"\nmsgstr "Öffnen."\n')
    (tmp_path / "in" / "b.md").write_text("text")
    (tmp_path / "in" / "c.po").write_text("damaged")
    (tmp_path / "in" / "d.po").write_text('msgid ""\nmsgstr ""\n')
    with pytest.raises(SystemExit):
        main([str(tmp_path / "in")])
    said = capsys.readouterr()
    assert [line.rpartition("/")[2] for line in said.out.splitlines()] == [
        "a.po:5: end: 'Open' and 'Öffnen.' end differently"
    ]
    assert "3 of 4 files have translations by their names" in said.err
    assert "c.po, line 1" in said.err and "d.po has no texts with translations." in said.err
    (tmp_path / "in" / "d.po").rename(tmp_path / "other.txt")
    refused("Nothing was checked", main, [str(tmp_path / "other.txt"), "--format", "po"])
    refused("Nothing was checked", main, [str(tmp_path / "other.txt")])
    assert "PO, XLIFF, TMX, TS, CSV or TSV, or --format" in capsys.readouterr().err
    refused("'xx123' is no language", main, [str(tmp_path / "in"), "--target_language", "xx123"])


@pytest.mark.parametrize(
    ("name", "options", "source", "target", "expected"),
    [
        ("a.json", ("--keys", "menu.*"), '{"menu": {"a": "Open %s", "b": "Save <b>it</b>"}, "c": "%d books"}',
         '{"menu": {"b": "Sichern", "a": "Öffne %s"},\n "c": "Bücher"}',
         ["1: tags: missing: </b> <b>"]),
        ("a.yml", (), "en:\n  a: Open %{name}\n  b: two cats\n  c: A dog\n", "de:\n  c: Ein Hund\n  a: Öffne\n",
         ["3: placeholders: missing: %{name}", "1: untranslated: there is no b"]),
        ("a.txt", ("--format", "properties"), "a=Open %s\nb=It\\u2019s\n", "# Kommentar\nb=Es\na=Öffne %d\n",
         ["3: placeholders: missing: %s, added: %d"]),
        ("strings.xml", (), '<resources><string name="a">%1$s\\\'s <b>file</b></string></resources>',
         '<resources>\n<string name="a">Datei von %d</string></resources>',
         ["2: tags: missing: </b> <b>", "2: placeholders: missing: %1$s, added: %d"]),
        ("b.yml", ("--keys", "en.a.*"), "en:\n  a:\n    b: Weight of %{w} cats\n    c: A cat\n    d: A dog\n",
         "ja:\n  a:\n    b: '%{w}'\n    c:\n    d: GitHubの犬\n",
         ["3: untranslated: %{w}", "1: untranslated: there is no a.c"]),
        ("c.json", (), '{"a": "A cat", "b": "Line:\\nhttps://a.example"}',
         '{\n"a": "",\n"b": "Zeile: https://a.example"}', ["2: untranslated: the translation is empty"]),
        ("d.yml", (), "en:\n  n:\n    one: '%{count} cat'\n    other: '%{count} cats'\n",
         "de:\n  n:\n    one: eine Katze\n    other: Katzen\n", ["4: placeholders: missing: %{count}"]),
        ("e.yml", (), "en:\n  n:\n    one: '%{count} cat'\n    other: '%{count} cats'\n  c: A dog\n",
         "ja:\n  n:\n    other: 猫%{count}匹\n", ["1: untranslated: there is no c"]),
        ("f.yml", (), "en:\n  n:\n    one: '%{count} cat'\n    other: '%{count} cats'\n",
         "pl:\n  n:\n    one: kot\n    few: koty %{count}\n    other: koty %{count}\n",
         ["5: untranslated: there is no n.many"]),
        ("g.yml", (), "en:\n  n:\n    one: '%{count} cat'\n    other: '%{count} cats'\n  c: A %1$dy\n",
         "fr:\n  n:\n    one: un chat\n    other: '%{count} chats'\n  c: Un %1$san\n",
         ["5: placeholders: missing: %1$d, added: %1$s"]),
    ],
)  # fmt: skip
def test_two_files_are_compared_by_key(tmp_path, capsys, name, options, source, target, expected):
    for folder, text in (("en", source), ("de", target)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    with pytest.raises(SystemExit):
        main(["--source", str(tmp_path / "en" / name), "--translation", str(tmp_path / "de" / name), *options])
    assert [line.partition(f"{name}:")[2] for line in capsys.readouterr().out.splitlines()] == expected


def test_keys_that_only_the_translation_has_are_shown(tmp_path, capsys):
    (tmp_path / "en.json").write_text('{"a": "A cat", "n_one": "One", "n_other": "Many"}')
    (tmp_path / "pl.json").write_text(
        '{"a": "Kot", "b": "Pies", "n_one": "1", "n_few": "2", "n_other": "5", "z": "?"}'
    )
    main(["--source", str(tmp_path / "en.json"), "--translation", str(tmp_path / "pl.json")])
    assert f"2 keys are not in {tmp_path}/en.json: b, z." in capsys.readouterr().err


def test_keys_that_are_not_there(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"a": "A cat"}')
    files = ["--source", str(tmp_path / "a.json"), "--translation", str(tmp_path / "b.json")]
    refused("Nothing was checked", main, [*files, "--keys", "x"])
    refused("--keys is for two files of JSON or YAML", main, [*files, "--keys", "x", "--format", "po"])
    refused("--keys is for two files of JSON or YAML", main, [str(tmp_path / "a.po"), "--keys", "x"])
