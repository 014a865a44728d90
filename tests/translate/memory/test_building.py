"""Memories of files."""

import json
import os
import re

import pytest

from glossa.base.errors import GlossaError
from glossa.base.jobs.records import lock_path
from glossa.cli.memory import main
from glossa.cli.prepare import main as prepare_main
from glossa.translate.memory import building
from glossa.translate.memory.building import build, open_memory, stamp_of
from glossa.translate.memory.store import Memory

TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Open it. Close it.</seg></tuv>'
    '<tuv xml:lang="de"><seg>Öffnen. Schließen.</seg></tuv></tu><tu><tuv xml:lang="en"><seg>One. Two.</seg></tuv>'
    '<tuv xml:lang="de"><seg>Eins und zwei.</seg></tuv></tu><tu><tuv xml:lang="en"><seg>OK</seg></tuv>'
    '<tuv xml:lang="de"><seg>OK</seg></tuv></tu></body></tmx>'
)
PO = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Save"\nmsgstr "Sichern"\n\nmsgid "Undo"\nmsgstr ""\n'
LANGUAGES = ["--source_language", "English", "--target_language", "de"]


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.tmx").write_text(TMX, encoding="utf-8")
    (folder / "inner" / "b.po").write_text(PO, encoding="utf-8")
    (folder / "c.tsv").write_text("en\tde\nSave\tSpeichern\nBad line\n")
    (folder / "d.tsv").write_text("French\tItalian\nUn\tUno\n")
    (folder / "readme.md").write_text("no pairs")
    for number, name in enumerate(("a.tmx", "inner/b.po", "c.tsv")):
        os.utime(folder / name, (number * 86400, number * 86400))
    return folder


def test_a_folder_of_several_formats(files, tmp_path, caplog):
    counts = build(tmp_path / "m", [files], "en", "de")
    assert (counts.read, counts.units, counts.parts, counts.conflicts) == (7, 7, 2, 1)
    assert counts.refused == {"untranslated": 1, "malformed rows": 1, "files that cannot be read": 1}
    assert "d.tsv is left out" in caplog.text and "c.tsv, line 3, is left out" in caplog.text
    with Memory.open(tmp_path / "m") as memory:
        assert memory.exact("Open it. Close it.").target == "Öffnen. Schließen."
        assert memory.exact("Close it.").target == "Schließen."
        assert memory.exact("One.") is None  # the other side has one sentence
        assert memory.exact("OK").target == "OK"
        match = memory.exact("Save")  # c.tsv is newer
        assert (match.target, match.origin.date) == ("Speichern", "1970-01-03T00:00:00Z")
        assert match.origin.file == str(files / "c.tsv")


CONTEXTS = (
    'msgid ""\nmsgstr ""\n"Language: de\\n"\n"PO-Revision-Date: {date}\\n"\n\n'
    'msgctxt "menu"\nmsgid "Open"\nmsgstr "Öffnen"\n\nmsgid "Undone"\nmsgstr ""\n\n'
    'msgctxt "state"\nmsgid "Open"\nmsgstr "Offen"\n'
)


def test_entries_of_po_have_their_contexts_and_the_date_of_the_header(tmp_path):
    (tmp_path / "a.po").write_text(CONTEXTS.format(date="2023-05-01 12:00+0200"), encoding="utf-8")
    with open_memory(tmp_path / "a.po", "en", "de") as memory:
        menu, state = memory.exact("Open", "menu"), memory.exact("Open", "state")
        assert (menu.target, state.target, memory.exact("Open", "door")) == ("Öffnen", "Offen", None)
        assert menu.origin.date == "2023-05-01T10:00:00Z"


@pytest.mark.parametrize("date", ["YEAR-MO-DA HO:MI+ZONE", "2023-13-01 12:00+0200", "2023-05-01 12:00+9900", ""])
def test_a_header_without_a_date_leaves_the_date_of_the_file(tmp_path, date):
    file = tmp_path / "a.po"
    file.write_text(CONTEXTS.format(date=date), encoding="utf-8")
    os.utime(file, (86400, 86400))
    with open_memory(file, "en", "de") as memory:
        assert memory.exact("Open").origin.date == "1970-01-02T00:00:00Z"


def test_units_of_tmx_have_their_last_dates(tmp_path):
    """A unit may have dates of its own and of its sides, in either form of ISO 8601."""
    sides = '<tuv xml:lang="en"{}><seg>{}</seg></tuv><tuv xml:lang="de"{}><seg>{}</seg></tuv>'
    units = [
        ('creationdate="20200101T000000Z"', sides.format("", "One", ' changedate="20210301T101112Z"', "Eins")),
        (
            'changedate="2022-01-01T01:00:00+01:00" creationdate="20200101T000000Z"',
            sides.format("", "Two", "", "Zwei"),
        ),
        ('changedate="yesterday"', sides.format("", "Three", "", "Drei")),
        ("", '<tuv xml:lang="fr"><seg>Quatre</seg></tuv>'),
        ('changedate="20230101T000000Z"', sides.format("", "Five", "", "Fünf")),
    ]
    file = tmp_path / "a.tmx"
    written = "".join(f"<tu {own}>{texts}</tu>" for own, texts in units)
    file.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{written}</body></tmx>', encoding="utf-8")
    os.utime(file, (86400, 86400))
    with open_memory(file, "en", "de") as memory:
        dates = [memory.exact(text).origin.date for text in ("One", "Two", "Three", "Five")]
    assert dates == ["2021-03-01T10:11:12Z", "2022-01-01T00:00:00Z", "1970-01-02T00:00:00Z", "2023-01-01T00:00:00Z"]


def test_plural_forms_and_texts_with_tags_are_found_as_documents_have_them(tmp_path):
    """In Slovene the form for 1 is the second one of four, as its rule in the header says."""
    rule = "nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);"
    forms = ("%d datotek", "%d datoteka", "%d datoteki", "%d datoteke")
    entry = 'msgid "%d file"\nmsgid_plural "%d files"\n'
    entry += "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    tagged = 'msgid "<b>Open</b> it<br/>now"\nmsgstr "<b>Odpri</b><br/>zdaj"\n'
    header = f'msgid ""\nmsgstr ""\n"Language: sl\\n"\n"Plural-Forms: {rule}\\n"\n'
    (tmp_path / "a.po").write_text("\n".join([header, entry, tagged]), encoding="utf-8")
    with open_memory(tmp_path / "a.po", "en", "sl") as memory:
        assert [memory.exact(text).target for text in ("%d file", "%d files")] == ["%d datoteka", "%d datoteke"]
        assert memory.exact("<b>Open</b> it<br/>now").target == "<b>Odpri</b><br/>zdaj"
        assert memory.exact("Open it now").target == "Odpri zdaj"
    with open_memory(tmp_path / "a.po", "sl", "en") as memory:
        assert memory.exact("%d datoteke").target == "%d files" and memory.exact("%d datoteka") is None


def test_the_newest_translation_of_two_files_counts_whichever_is_read_first(tmp_path):
    unit = (
        '<tmx version="1.4"><header srclang="en"/><body><tu changedate="{}"><tuv xml:lang="en"><seg>Save</seg></tuv>'
    )
    unit += '<tuv xml:lang="de"><seg>{}</seg></tuv></tu></body></tmx>'
    for name, date, target in (("a", "20240101T000000Z", "Speichern"), ("b", "20200101T000000Z", "Sichern")):
        (tmp_path / f"{name}.tmx").write_text(unit.format(date, target), encoding="utf-8")
    for names in ("ab", "ba"):
        build(tmp_path / names, [tmp_path / f"{name}.tmx" for name in names], "en", "de")
        with Memory.open(tmp_path / names) as memory:
            assert memory.exact("Save").target == "Speichern"


def test_an_edited_file_that_is_read_again(files, tmp_path):
    file, path = files / "c.tsv", tmp_path / "m"
    build(path, [file], "en", "de")
    file.write_text("en\tde\nSave\tSichern\n")
    with Memory.open(path) as memory:
        counts = building.add(memory, [file])
        assert (counts.units, counts.conflicts, counts.duplicates) == (1, 1, 0)
        assert memory.exact("Save").target == "Sichern" and len(memory) == 1
        assert building.add(memory, [file]).duplicates == 1


def test_corrections_of_a_server(tmp_path):
    file = tmp_path / "corrections.jsonl"
    row = {
        "source": "Save", "output": "Retten", "correction": "Speichern", "time": "2026-11-29T08:00:00Z", "key": "ann",
    }  # fmt: skip
    others = [
        row | {"from": "en", "to": "fr"},
        row | {"source": "GIMP", "correction": "GIMP", "from": "en", "to": "de"},
    ]
    file.write_text("\n".join(map(json.dumps, [row, *others])) + '\n{"source": "cut o')
    counts = build(tmp_path / "m", [file], "en", "de")
    assert (counts.read, counts.units) == (4, 2) and counts.refused == {"malformed rows": 1, "other language": 1}
    with Memory.open(tmp_path / "m") as memory:
        match = memory.exact("Save")
        assert (match.target, match.origin.date, match.origin.key) == ("Speichern", "2026-11-29T08:00:00Z", "ann")
        assert memory.exact("GIMP").target == "GIMP"


def test_a_prepared_folder_gives_its_training_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text("en\tde\n" + "".join(f"Word {n * n}\tWort {n * n}\n" for n in range(40)))
    folder = tmp_path / "prepared"
    prepare = ["--source_language", "en", "--target_language", "de", "--data_path", str(tmp_path / "pairs.tsv")]
    prepare_main([*prepare, "--validation_size", "5", "--test_size", "5", "--output", str(folder), "--processes", "1"])
    counts = build(tmp_path / "m", [folder], "en", "de")
    assert counts.units == counts.read == 30
    with pytest.raises(GlossaError, match=r"prepared has no training pairs of \('en', 'fr'\), but of \[\('en', 'de'"):
        build(tmp_path / "n", [folder], "en", "fr")
    (folder / "prepared.json").write_text("{")
    with pytest.raises(GlossaError, match=r"prepared\.json is damaged"):
        build(tmp_path / "n", [folder], "en", "de")


def test_two_processes_that_build_one(files, tmp_path):
    with lock_path(tmp_path / "m", "file"), pytest.raises(GlossaError, match="Another process is writing"):
        build(tmp_path / "m", [files], "en", "de")


def test_what_is_refused_names_the_file(files, tmp_path):
    path = tmp_path / "m"
    for given, message in [
        (files / "d.tsv", r"d.tsv, line 1: no columns \('en', 'de'\)"),
        (files / "none.tmx", r"none\.tmx is not there"),
        (files / "readme.md", "readme.md: unknown format"),
        (tmp_path / "empty", "empty has no files of pairs"),
    ]:
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(GlossaError, match=message):
            build(path, [given], "en", "de")
    with pytest.raises(GlossaError, match=r"a\.tmx has no pair of en and fr \(other language: 3\)"):
        build(path, [files / "a.tmx"], "en", "fr")
    (files / "a.tmx").write_text(TMX[:-90], encoding="utf-8")
    with pytest.raises(GlossaError, match=r"a\.tmx is not XML"):
        build(path, [files / "a.tmx"], "en", "de")
    assert not [*tmp_path.glob("m*")], "nothing is left"


def test_a_memory_that_is_there_is_kept(files, tmp_path):
    path = tmp_path / "m"
    build(path, [files], "en", "de")
    content = path.read_bytes()
    with pytest.raises(GlossaError, match=r"m exists\. Add to it"):
        build(path, [files], "en", "de")
    assert path.read_bytes() == content


def test_a_memory_or_other_files_are_opened(files, tmp_path, caplog):
    path = tmp_path / "m"
    build(path, [files], "en", "de")
    for given in (path, files, files / "a.tmx"):
        with open_memory(given, "en", "de") as memory:
            assert memory.exact("Close it.").target == "Schließen." and memory.name == str(given)
    with Memory.create(tmp_path / "empty", "en", "de") as empty:
        assert empty and empty.is_empty and not len(empty)
    open_memory(tmp_path / "empty", "en", "de").close()
    assert "empty has no translation yet" in caplog.text
    with pytest.raises(GlossaError, match="m is a memory from English to German, but English to French"):
        open_memory(path, "en", "fr")


def test_the_stamp_changes_with_the_units(files, tmp_path):
    path = tmp_path / "m"
    build(path, [files / "c.tsv"], "en", "de")
    stamps = [stamp_of(path), stamp_of(files)]
    assert stamps == [stamp_of(path), stamp_of(files)]
    with Memory.open(path) as memory:
        memory.remove([memory.exact("Save").origin.id])
    (files / "c.tsv").write_text("en\tde\nSave\tSichern\n")
    assert stamp_of(path) != stamps[0] and stamp_of(files) != stamps[1]


def test_the_command(files, tmp_path, capsys):
    path = str(tmp_path / "m")
    main(["build", path, str(files / "a.tmx"), *LANGUAGES])
    assert "3 rows read. 5 new units" in capsys.readouterr().err
    main(["add", path, str(files / "c.tsv")])
    assert "1 new units" in capsys.readouterr().err
    main(["search", path, "Saves"])
    first, source, target = capsys.readouterr().out.splitlines()
    assert first.startswith("88%  id 6  ") and str(files / "c.tsv") in first
    assert (source, target) == ("  Save", "  Speichern")
    main(["remove", path, "6"])
    assert "1 removed, 5 units remain" in capsys.readouterr().err
    main(["search", path, "Saves"])
    assert "No match of 50% or more" in capsys.readouterr().err
    main(["show", path])
    shown = capsys.readouterr().out
    assert "source language: en\ntarget language: de\nunits: 5\n" in shown
    with pytest.raises(GlossaError, match=r"has no action 'bild'\. Give one of build, add"):
        main(["bild"])


ANDROID = '<resources><string name="a">{}</string><string name="b">{}</string></resources>'


def test_files_of_one_language_each_are_read_by_key(tmp_path, capsys, caplog):
    for folder, good, later in (("en", "Good morning", "See you soon"), ("fr", "Bonjour", "À bientôt")):
        (tmp_path / folder / "app").mkdir(parents=True)
        (tmp_path / folder / "a.json").write_text(json.dumps({"x": {"good": good}, "later": later}))
        (tmp_path / folder / "app" / "strings.xml").write_text(ANDROID.format(good, later + "!"))
    (tmp_path / "en" / "only.yaml").write_text("hello: Hello")
    (tmp_path / "fr" / "a.json").write_text('{"later": "À bientôt", "x": {"good": "", "more": "Plus"}}')
    options = ["--source_language", "en", "--target_language", "fr"]
    main(["build", str(tmp_path / "one"), str(tmp_path / "en" / "a.json"), str(tmp_path / "fr" / "a.json"), *options])
    assert "2 rows read, 1 left out (no translation). 1 new units" in capsys.readouterr().err
    main(["build", str(tmp_path / "all"), str(tmp_path / "en"), str(tmp_path / "fr"), *options])
    printed = capsys.readouterr().err
    assert "4 rows read, 1 left out (no translation), 1 left out (files that cannot be read). 3 new units" in printed
    assert re.search(r"left out: .*only.yaml: No such file", caplog.text)
    with Memory.open(tmp_path / "all") as memory:
        found = [memory.exact(text) for text in ("Good morning", "See you soon", "See you soon!", "Plus")]
        assert [match and match.target for match in found] == ["Bonjour", "À bientôt", "À bientôt!", None]


def test_two_files_of_rows_in_json_are_read_as_pairs(tmp_path, capsys):
    rows = [{"en": "Good morning", "fr": "Bonjour"}]
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path in paths:
        path.write_text(json.dumps(rows))
    main(["build", str(tmp_path / "m"), *map(str, paths), "--source_language", "en", "--target_language", "fr"])
    assert "2 rows read. 1 new units, 1 known" in capsys.readouterr().err


def test_units_of_other_languages_are_counted(tmp_path):
    """The case `tmx-many-pairs`."""
    unit = '<tu><tuv xml:lang="en"><seg>Cat {0}</seg></tuv><tuv xml:lang="{1}"><seg>{2} {0}</seg></tuv></tu>'
    units = [unit.format(n, *(("de", "Katze") if n % 3 == 0 else ("fr", "Chat"))) for n in range(30)]
    body = "".join(units)
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>')
    counts = build(tmp_path / "m", [tmp_path / "a.tmx"], "en", "de")
    assert counts.units == 10 and counts.refused["other language"] == 20
