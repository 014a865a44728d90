"""A memory: what counts, what is found, and other processes."""

import random
import sqlite3
import subprocess
import sys

import pytest
from rapidfuzz import fuzz

from glossa.base.errors import GlossaError
from glossa.translate.memory import file as memory_file
from glossa.translate.memory import index, store
from glossa.translate.memory.store import Memory
from glossa.translate.memory.terms import key_of
from glossa.translate.memory.units import Unit


@pytest.fixture
def memory(tmp_path):
    with Memory.create(tmp_path / "m", "en", "de") as made:
        yield made


def best(memory, text, **options):
    return [(match.source, match.target, match.score) for match in memory.matches(text, **options)]


def test_scores(memory):
    memory.add([Unit("Press the key 5 times.", "Drücken Sie die Taste 5-mal."), Unit("Close it.", "Schließen.")])
    assert best(memory, "Press  the key 5 times.")[0][2] == 100  # white space is cleaned
    assert best(memory, "Press the key 7 times.")[0][2] == 99  # equal but for a value
    # 17 of 17 and of 22 characters of the key: 2 * 16 / (16 + 21) = 86.5%
    changed = "Press the key now 5 times."
    ratio = fuzz.ratio(key_of(changed), key_of("Press the key 5 times."))
    assert 90 < ratio < 92 and best(memory, changed)[0][2] == int(ratio)
    assert best(memory, changed, threshold=92) == [] and best(memory, "Something else") == []
    assert best(memory, "Press the key 5 times.", other_than="Press the key 5 times.") == []
    assert best(memory, "") == best(memory, " ") == []


@pytest.mark.parametrize("bits", [index.PART, 5])
def test_the_best_of_all_are_found(monkeypatch, bits):
    monkeypatch.setattr(index, "PART", bits)  # few texts in a part: lists of many parts are read together
    draw = random.Random(1)
    words = ["".join(draw.choices("aeioulmnrst", k=draw.randint(2, 8))) for _ in range(300)]
    texts = sorted({" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(1500)})
    memory = Memory.temporary((text, "x") for text in texts)
    asked = []
    for text in draw.sample(texts, 60):
        own = text.split()
        own[draw.randrange(len(own))] = draw.choice(words)
        asked.append(" ".join(own))
    for text in asked:
        expected = sorted((int(fuzz.ratio(text, other)) for other in texts), reverse=True)
        wanted = [min(score, 100) for score in expected[:1] if score >= 70]
        assert [match.score for match in memory.matches(text)] == wanted, text
    memory.close()
    assert not memory.path.exists()


def test_several_matches_are_best_first(memory):
    memory.add(
        [Unit("Save the file", "a"), Unit("Save the files", "b"), Unit("Save the file 2", "c"), Unit("Go", "d")]
    )
    found = best(memory, "Save the file", most=3)
    assert [target for _, target, _ in found] == ["a", "b", "c"] and [score for *_, score in found] == [100, 96, 92]
    assert best(memory, "Save the file", most=1) == found[:1]


def test_of_texts_that_differ_in_values_the_nearest_is_best(memory):
    memory.add([Unit("Step 1 of 9", "a"), Unit("Step 2 of 9", "b"), Unit("Step 3 of 8", "c")])
    assert best(memory, "Step 2 of 9", most=2)[0][1] == "b"
    assert best(memory, "Step 2 of 7") == [("Step 2 of 9", "b", 99)]


def test_the_newest_translation_counts(memory):
    counts = memory.add([Unit("Open", "Öffnen", "2026-01-02"), Unit("Open", "Offen", "2026-01-01")])
    assert (counts.units, counts.duplicates, counts.conflicts) == (2, 0, 1)
    assert memory.exact("Open").target == "Öffnen" and len(memory) == 1
    counts = memory.add([Unit("Open", "Aufmachen", "2026-01-02")])  # as old: the later one
    assert memory.exact("Open").target == "Aufmachen" and counts.conflicts == 1
    assert memory.add([Unit("Open", "Aufmachen", "2026-01-02")]).duplicates == 1 and len(memory) == 1
    memory.add([Unit("Open", "Öffnen", "2026-01-03", "f", "ann")])  # approved again
    match = memory.exact("Open")
    assert (match.target, match.origin.date) == ("Öffnen", "2026-01-03")
    assert (match.origin.file, match.origin.key) == ("f", "ann")
    assert [target for _, target, _ in best(memory, "Open", most=9)] == ["Öffnen"]


def test_what_was_replaced_counts_again(memory):
    for number, target in enumerate("abc"):
        memory.add([Unit("Open", target, f"2026-01-0{number + 1}")])
    ids = {}
    for target in "cba":
        ids[target] = memory.exact("Open").origin.id
        assert memory.exact("Open").target == target
        memory.remove([ids[target]])
    assert memory.exact("Open") is None and best(memory, "Open") == [] and len(memory) == 0
    with pytest.raises(GlossaError, match=f"has no unit {ids['a']}"):
        memory.remove([ids["a"]])
    memory.add([Unit("Open", "d")])
    assert memory.exact("Open").origin.id > max(ids.values()), "an id is never given twice"


def test_removing_one_in_the_middle(memory):
    ids = []
    for number, target in enumerate("abc"):
        memory.add([Unit("Open", target, f"2026-01-0{number + 1}")])
        ids.append(memory.exact("Open").origin.id)
    memory.remove([ids[1]])
    assert memory.exact("Open").target == "c"
    memory.remove([ids[2]])
    assert memory.exact("Open").target == "a"


def test_nothing_is_removed_if_an_id_is_unknown(memory):
    memory.add([Unit("Open", "a")])
    with pytest.raises(GlossaError, match="has no unit 77"):
        memory.remove([memory.exact("Open").origin.id, 77])
    assert memory.exact("Open").target == "a"


def test_contexts(memory):
    memory.add([Unit("Open", "Öffnen", context="File"), Unit("Open", "Offen", context="State"), Unit("Open", "Auf")])
    assert len(memory) == 3
    assert memory.exact("Open", context="File").target == "Öffnen"
    assert memory.exact("Open", context="State").target == "Offen"
    assert memory.exact("Open", context="Door").target == "Auf"  # no other one says the same
    memory.remove([memory.exact("Open", context="Door").origin.id])
    assert memory.exact("Open", context="Door") is None
    assert memory.exact("Open").target == "Offen"  # the newest one, if nothing is known of the context


def test_what_is_a_unit(memory):
    """A side of white space or with half of a surrogate pair is none; a translation may equal its source."""
    refused = [Unit("", "x"), Unit("y", "\u200b"), Unit("a \ud83d", "b"), Unit("c", "d \ud83d")]
    counts = memory.add([Unit("LibreOffice", "LibreOffice"), Unit("e 🙂", "f 🙂"), *refused])
    assert memory.exact("LibreOffice").target == "LibreOffice"
    assert counts.units == 2 and counts.refused == {"a side is empty or no text": 4}
    assert memory.exact("a \ud83d") is None and memory.matches("a \ud83d") == []


def test_the_version_changes_with_each_change(memory):
    versions = [memory.version]
    memory.add([Unit("Open", "a")])
    versions.append(memory.version)
    memory.remove([memory.exact("Open").origin.id])
    versions.append(memory.version)
    assert versions[0] < versions[1] < versions[2]


@pytest.mark.slow
def test_other_processes_and_a_restart_see_additions(memory):
    version = memory.version
    program = (
        "import sys; from pathlib import Path\n"
        "from glossa.translate.memory.store import Memory; from glossa.translate.memory.units import Unit\n"
        "with Memory.open(Path(sys.argv[1])) as memory: memory.add([Unit('A new sentence.', 'Neu.')])"
    )
    subprocess.run([sys.executable, "-c", program, str(memory.path)], check=True, timeout=100)
    assert best(memory, "A new sentence") == [("A new sentence.", "Neu.", 96)] and memory.version > version
    memory.close()
    with Memory.open(memory.path) as again:
        assert again.exact("A new sentence.").target == "Neu." and again.source_language == "en"


def test_a_second_writer_waits_and_readers_go_on(memory, monkeypatch):
    memory.add([Unit("Open", "a")])
    monkeypatch.setattr(memory_file, "WAIT", 0.2)
    other = sqlite3.connect(memory.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Memory.open(memory.path) as second:
        assert second.exact("Open").target == "a"
        with pytest.raises(GlossaError, match=f"{memory.path} is being written by another process"):
            second.add([Unit("Close", "b")])
        other.execute("ROLLBACK")
        second.add([Unit("Close", "b")])
    assert memory.exact("Close").target == "b"
    other.close()


def test_a_block_that_fails_is_not_there(memory, monkeypatch):
    monkeypatch.setattr(store, "BLOCK", 2)

    def units():
        yield from (Unit(text, "x") for text in ("a", "b", "c"))
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        memory.add(units())
    assert len(memory) == 2 and memory.exact("b") and not memory.exact("c")


def full(path, count=2000):
    with Memory.create(path, "en", "de") as made:
        made.add(
            Unit(f"This is the sentence with the name {number:x}.", f"Das ist Satz {number:x}.")
            for number in range(count)
        )
    return path.read_bytes()


def test_a_memory_that_is_damaged_in_the_middle(tmp_path):
    path = tmp_path / "m"
    content = full(path)
    for damage in (content[: len(content) // 2], content[:20000] + bytes(len(content) - 40000) + content[-20000:]):
        path.write_bytes(damage)
        with pytest.raises(GlossaError, match=f"{path} is damaged.*build it again"), Memory.open(path) as memory:
            for number in range(0, 2000, 100):
                text = f"This is the sentence with the name {number:x}."
                found = memory.matches(text)
                assert not found or found[0].target == f"Das ist Satz {number:x}.", "no wrong use"


def test_a_translation_that_is_damaged_is_not_used(tmp_path):
    path = tmp_path / "m"
    place = full(path).index(b"Das ist Satz 3e7.")
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"Was")
    with Memory.open(path) as memory, pytest.raises(GlossaError, match="is damaged"):
        memory.matches("This is the sentence with the name 3e7.")


def test_files_that_are_no_memory(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(GlossaError, match=f"{path} is not there"):
        Memory.open(path)
    path.write_text("en\tde\n")
    with pytest.raises(GlossaError, match=f"{path} is no translation memory"):
        Memory.open(path)
    with pytest.raises(GlossaError, match=f"{path} exists"):
        Memory.create(path, "en", "de")
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE a (b)")
    other.commit()
    with pytest.raises(GlossaError, match=f"{path} is a database, but no translation memory"):
        Memory.open(path)
    other.execute(f"PRAGMA application_id = {memory_file.APPLICATION}")
    other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(GlossaError, match=f"{path} was made by a newer version of Glossa .*its format is 99"):
        Memory.open(path)


def test_the_languages(memory):
    memory.check_languages("en", "de")
    memory.check_languages("en_US", "de-AT")
    with pytest.raises(GlossaError, match=r"m is a memory from English to German, but English to French is needed"):
        memory.check_languages("en", "fr")


def test_without_the_package(memory, monkeypatch):
    memory.add([Unit("Open", "a")])
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    monkeypatch.setitem(sys.modules, "rapidfuzz.fuzz", None)
    assert memory.exact("Open").target == "a"
    with pytest.raises(GlossaError, match=r'rapidfuzz.*pip install "?glossa-mt\[memory\]'):
        memory.matches("Opens")


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    path = tmp_path / "a memory #1?"
    full(path, 3)
    monkeypatch.setattr(memory_file.os, "access", lambda *_: False)
    with Memory.open(path) as memory:
        assert memory.matches("This is the sentence with the name 2.")[0].score == 100
        assert [*tmp_path.iterdir()] == [path], "no file was made"
        with pytest.raises(GlossaError, match="may write it"):
            memory.add([Unit("a", "b")])


def test_long_texts(memory):
    long = " ".join(f"word{number}" for number in range(3000))
    memory.add([Unit(long, "x"), Unit("short", "y")])
    assert [match.target for match in memory.matches(long + " more")] == ["x"]


def test_a_memory_that_another_process_has_just_made(tmp_path, monkeypatch):
    path = tmp_path / "m"
    Memory.create(path, "en", "de").close()
    monkeypatch.setattr(type(path), "exists", lambda _: False)
    with pytest.raises(GlossaError, match="m exists"):
        Memory.create(path, "en", "de")
    monkeypatch.undo()
    assert Memory.open(path).is_empty


def test_taking_a_unit_back_keeps_the_same_of_another_origin():
    with Memory.temporary([]) as memory:
        memory.add([Unit("Hello.", "Hallo.", "2026-01-01T00:00:00Z", "a.tmx")])
        memory.add([Unit("Hello.", "Servus.", "2026-01-02T00:00:00Z", "b.tmx")])
        memory.add([Unit("Hello.", "Hallo.", "2026-01-03T00:00:00Z", key="ann")])
        found = memory.exact("Hello.")
        assert (found.target, found.origin.key) == ("Hallo.", "ann")
        memory.remove([found.origin.id])
        assert memory.exact("Hello.").target == "Servus."
        memory.remove([memory.exact("Hello.").origin.id])
        assert memory.exact("Hello.").target == "Hallo." and memory.exact("Hello.").origin.file == "a.tmx"
