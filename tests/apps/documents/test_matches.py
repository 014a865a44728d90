"""What documents say of the matches of a translation memory."""

import json
import re
import xml.etree.ElementTree as etree

import pytest
from refusals import refused
from small_models import knows
from translating import KNOWN, Given

from glossa.apps.documents.formats.format import Chosen, Opened
from glossa.apps.documents.job import DocumentJob
from glossa.apps.documents.resuming import SavedTranslations
from glossa.cli.translate import main
from glossa.model.spans_glossa import MEMORY
from glossa.translate.memory.store import Memory
from glossa.translate.memory.units import Unit
from glossa.translate.texts.recall import Recall

CORE, MATCHES = "urn:oasis:names:tc:xliff:document:2.0", "urn:oasis:names:tc:xliff:matches:2.0"
NAME = "{urn:oasis:names:tc:xliff:document:1.2}"
UNITS = [("Open the box now.", "Ouvrez la boîte."), ("Good day.", "Bonjour."), ("A & B are here.", "A & B là.")]
NEAR = "Open the bag now."  # 30 of its 34 characters and those of the first unit are equal and in order: 88.2%


@pytest.fixture
def translator():
    made = Given(str.upper)
    knows(made.engine, reads_memory=True)
    made.recall = Recall([Memory.temporary(UNITS)])
    return made


def translated(translator, path, report=None):
    target = path.with_name(f"new-{path.name}")
    target.unlink(missing_ok=True)
    DocumentJob(path, target, languages=KNOWN).run(translator, report, report is not None)
    return etree.parse(target).getroot()


def xliff_1(tmp_path, units):
    path = tmp_path / "a.xlf"
    path.write_text(
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" datatype="plaintext" '
        f'source-language="en" target-language="fr"><body>{units}</body></file></xliff>'
    )
    return path


def xliff_2(tmp_path, units):
    path = tmp_path / "a.xlf"
    file = f'<file id="f">{units}</file>'
    path.write_text(f'<xliff version="2.0" xmlns="{CORE}" srcLang="en" trgLang="fr">{file}</xliff>')
    return path


def po_texts(translator, tmp_path, entries):
    """The translations of the entries of a catalog."""
    path, target = tmp_path / "a.po", tmp_path / "b.po"
    path.write_text(f'msgid ""\nmsgstr "Language: fr\\n"\n\n{entries}')
    DocumentJob(path, target, languages=KNOWN).run(translator, None, False)
    return re.findall(r'msgstr "(.*)"', target.read_text())[1:]


def test_xliff_1_has_matches_as_alternatives(translator, tmp_path):
    path = xliff_1(
        tmp_path,
        f'<trans-unit id="1"><source>{NEAR}</source><note>read</note></trans-unit>'
        '<trans-unit id="2"><source>Good day.</source><target/></trans-unit>'
        '<trans-unit id="3"><source>Nothing alike.</source></trans-unit>',
    )
    read, copied, other = translated(translator, path).iter(f"{NAME}trans-unit")
    assert [child.tag.removeprefix(NAME) for child in read] == ["source", "target", "alt-trans", "note"]
    assert read.find(f"{NAME}target").attrib == {"state": "translated", "state-qualifier": "mt-suggestion"}
    match = read.find(f"{NAME}alt-trans")
    assert match.get("match-quality") == "88%" and [each.text for each in match] == list(UNITS[0])
    assert copied.find(f"{NAME}target").get("state-qualifier") == "exact-match"
    assert copied.find(f"{NAME}target").text == "Bonjour."
    assert copied.find(f"{NAME}alt-trans").get("match-quality") == "100%"
    assert other.find(f"{NAME}alt-trans") is None and other.find(f"{NAME}target").text == "NOTHING ALIKE."


def test_segments_of_xliff_1_have_matches_after_their_target(translator, tmp_path):
    """As tools write segmented units; `mid` names the segment."""
    marks = '<mrk mtype="seg" mid="{}">{}</mrk>'
    sources = marks.format("0", NEAR) + " " + marks.format("s&amp;1", "Good day.") + marks.format("2", "Done.")
    filled = marks.format("0", "") + " " + marks.format("s&amp;1", "") + marks.format("2", "Fini.")
    unit = f"<source>{NEAR} Good day. Done.</source>\n <seg-source>{sources}</seg-source>\n <target>{filled}</target>"
    old = "<alt-trans><target>Vieux.</target></alt-trans>"
    (unit,) = translated(translator, xliff_1(tmp_path, f'<trans-unit id="1">{unit}{old}</trans-unit>')).iter(
        f"{NAME}trans-unit"
    )
    assert [child.tag.removeprefix(NAME) for child in unit] == ["source", "seg-source", "target"] + 3 * ["alt-trans"]
    assert [mark.text for mark in unit.find(f"{NAME}target")][1:] == ["Bonjour.", "Fini."]
    found = [(each.get("mid"), each.get("match-quality"), each[-1].text) for each in unit.iter(f"{NAME}alt-trans")]
    assert found == [("0", "88%", UNITS[0][1]), ("s&1", "100%", "Bonjour."), (None, None, "Vieux.")]


def test_xliff_2_has_matches_of_all_segments_at_the_beginning_of_a_unit(translator, tmp_path):
    path = xliff_2(
        tmp_path,
        f'<unit id="u"><notes><note>n</note></notes><segment id="s"><source>{NEAR}</source></segment>'
        "<segment><source>Good day.</source></segment></unit><unit id='v'>"
        "<segment><source>Nothing alike.</source></segment></unit>",
    )
    first, second = translated(translator, path).iter(f"{{{CORE}}}unit")
    assert first[0].tag == f"{{{MATCHES}}}matches" and second.find(f"{{{MATCHES}}}matches") is None
    segments = first.findall(f"{{{CORE}}}segment")
    found = [(match.get("ref"), match.get("matchQuality"), match[1].text) for match in first[0]]
    assert found == [("#s", "88", UNITS[0][1]), (f"#{segments[1].get('id')}", "100", "Bonjour.")]
    assert all(segment.get("state") == "translated" for segment in segments)


def test_a_unit_of_which_only_a_part_was_copied_is_no_exact_match(translator, tmp_path):
    sources = (
        "Good day. Nothing alike.", "{n, plural, one {Nothing alike.} other {Good day.}}",
        f"{{n, plural, one {{Good day.}} other {{{NEAR}}}}}", "{n, plural, one {Good day.} other {Good day.}}",
    )  # fmt: skip
    units = "".join(f'<trans-unit id="{n}"><source>{source}</source></trans-unit>' for n, source in enumerate(sources))
    found = list(translated(translator, xliff_1(tmp_path, units)).iter(f"{NAME}trans-unit"))
    states = [unit.find(f"{NAME}target").get("state-qualifier") for unit in found]
    assert states == ["mt-suggestion", "mt-suggestion", "mt-suggestion", "exact-match"]
    scores = [[match.get("match-quality") for match in unit.iter(f"{NAME}alt-trans")] for unit in found]
    assert scores == [["100%"], ["100%"], ["100%", "88%"], ["100%"]], "equal matches of a unit are written once"


def test_xliff_2_has_matches_where_a_segment_follows_at_once(translator, tmp_path):
    path = xliff_2(tmp_path, '<unit id="u"><segment><source>Good day.</source></segment></unit>')
    (unit,) = translated(translator, path).iter(f"{{{CORE}}}unit")
    assert [child.tag.rpartition("}")[2] for child in unit] == ["matches", "segment"]
    assert unit[0][0].get("ref") == f"#{unit[1].get('id')}"


def test_the_report_has_the_matches(translator, tmp_path):
    unit = "<unit id='{}'><segment><source>{}</source></segment></unit>"
    path = xliff_2(tmp_path, unit.format("u", NEAR) + unit.format("w", "Good day."))
    report = tmp_path / "report.jsonl"
    with open(report, "w") as file:
        translated(translator, path, file)
    assert [json.loads(line).get("matches") for line in report.read_text().splitlines()] == [
        [[88, "read"]],
        [[100, "copied"]],
    ]


def test_an_interrupted_job_writes_the_matches_of_sentences_that_it_had_finished(translator, tmp_path, monkeypatch):
    path = xliff_1(tmp_path, f'<trans-unit id="1"><source>{NEAR}</source></trans-unit>')
    with monkeypatch.context() as patch:
        patch.setattr(Opened, "pack", lambda self, done: pytest.fail("interrupted"))
        with pytest.raises(pytest.fail.Exception):
            translated(translator, path)
    translator.engine.asked.clear()
    (match,) = translated(translator, path).iter(f"{NAME}alt-trans")
    assert match.get("match-quality") == "88%" and translator.engine.asked == []


def test_finished_sentences_of_an_interrupted_job_count_only_with_the_same_match(translator, tmp_path):
    asked = []

    def planned(units):
        translator.recall = Recall([Memory.temporary(units)])
        return [sentence for text in translator.plan([NEAR, "It rains."]) for sentence in text.sentences]

    def translate(sentences):
        asked.append([sentence.source for sentence in sentences])
        translator.translate_segments(sentences)

    for units, expected in ((UNITS, [NEAR, "It rains."]), (UNITS, None), ([(UNITS[0][0], "Neu.")], [NEAR])):
        sentences = planned(units)
        SavedTranslations(translate, tmp_path / "segments.jsonl").translate(sentences)
        assert (asked.pop() if asked else None) == expected
        assert [match.score for match in sentences[0].best.matches] == [88]


def test_an_entry_of_po_takes_no_translation_of_another_context(translator, tmp_path):
    """With equal context it is copied; with another one the model reads it, and people see that it did."""
    units = [Unit("Open the door", "Ouvrir", context="menu"), Unit("Open the door", "Ouverte", context="state")]
    translator.recall = Recall([Memory.temporary(())])
    translator.recall.memories[0].add(units)
    entries = "".join(f'msgctxt "{name}"\nmsgid "Open the door"\nmsgstr ""\n\n' for name in ("menu", "state", "x"))
    found = po_texts(translator, tmp_path, entries)
    assert found[:2] == ["Ouvrir", "Ouverte"]
    assert found[2].startswith("OPEN THE DOOR") and any(MEMORY in asked for asked in translator.engine.asked)


def test_of_equally_good_matches_the_one_for_the_context_counts(translator, tmp_path):
    units = [Unit("Open 5 doors", "Ouvrir 5", context="menu"), Unit("Open 5 doors", "Ouvertes : 5", context="state")]
    translator.recall = Recall([Memory.temporary(())])
    translator.recall.memories[0].add(units)
    entries = "".join(f'msgctxt "{name}"\nmsgid "Open 7 doors"\nmsgstr ""\n\n' for name in ("menu", "state"))
    assert po_texts(translator, tmp_path, entries) == ["Ouvrir 7", "Ouvertes : 7"]


def test_texts_of_menus_are_found_with_and_without_accelerators(translator, tmp_path):
    """The approved mark stays where it is; a text without one gets none, and one of its own goes to its letter."""
    pairs = [("_Remove all", "To_ut effacer"), ("&Keep all", "Tout &garder"), ("Close all", "Tout fermer")]
    translator.recall = Recall([Memory.temporary(pairs)])
    texts = ["_Remove all", "Remove all", "Keep all", "Clos_e all"]
    entries = "".join(f'msgid "{text}"\nmsgstr ""\n\n' for text in texts)
    assert po_texts(translator, tmp_path, entries) == ["To_ut effacer", "Tout effacer", "Tout garder", "Tout f_ermer"]


OTHER = [*UNITS, Unit("Save the old files", "Enregistrer les vieux fichiers"), Unit("A <b>big</b> dog\nsits", "Chien")]


def plain(taken=float("inf")):
    """A translator whose model reads no matches."""
    made = Given(str.upper)
    memory = Memory.temporary(())
    memory.add([Unit(*pair) if isinstance(pair, tuple) else pair for pair in OTHER])
    made.recall = Recall([memory], taken=taken)
    return made


def po_entry(translator, tmp_path, entry):
    (tmp_path / "a.po").write_text(f'msgid ""\nmsgstr "Language: fr\\n"\n\n{entry}')
    (tmp_path / "b.po").unlink(missing_ok=True)
    job = DocumentJob(
        tmp_path / "a.po", tmp_path / "b.po", languages=KNOWN, chosen=Chosen(only=("untranslated", "fuzzy"))
    )
    job.run(translator)
    return (tmp_path / "b.po").read_text().partition("\n\n")[2]


NEAR_PO = "#. 88%: Open the box now. → Ouvrez la boîte.\n"


def test_a_model_that_reads_no_matches_shows_them_in_xliff(tmp_path):
    unit = f'<trans-unit id="1"><source>{NEAR}</source></trans-unit>'
    (match,) = translated(plain(), xliff_1(tmp_path, unit)).iter(f"{NAME}alt-trans")
    assert match.get("match-quality") == "88%" and [each.text for each in match] == list(UNITS[0])
    (unit,) = translated(plain(80), xliff_1(tmp_path, unit)).iter(f"{NAME}trans-unit")
    target = unit.find(f"{NAME}target")
    assert target.text == UNITS[0][1]
    assert target.attrib == {"state": "needs-review-translation", "state-qualifier": "fuzzy-match"}


def test_matches_are_comments_in_po(tmp_path):
    entry = f'# me\n#. of programmers\n#: a.c:1\n#, c-format\nmsgid "{NEAR}"\nmsgstr ""\n'
    assert po_entry(plain(), tmp_path, entry) == entry.replace("#: a", f"{NEAR_PO}#: a").replace(
        '""', f'"{NEAR.upper()}"'
    )
    for before in ("", '#, fuzzy\n#| msgid "Older"\n'):
        found = po_entry(plain(), tmp_path, f'{before}msgctxt "x"\nmsgid "{NEAR}"\nmsgstr "{before and "Vieux"}"\n')
        assert found == f'{NEAR_PO}msgctxt "x"\nmsgid "{NEAR}"\nmsgstr "{NEAR.upper()}"\n'
    copied = po_entry(plain(), tmp_path, 'msgid "Good day."\nmsgstr ""\n')
    assert copied == 'msgid "Good day."\nmsgstr "Bonjour."\n'


def test_a_match_that_is_taken_is_fuzzy_with_its_source_in_po(tmp_path):
    for before in ("", "#: a.c:1\n", '#, fuzzy\n#| msgid "Older"\n'):
        found = po_entry(plain(80), tmp_path, f'{before}msgid "{NEAR}"\nmsgstr "{"x" * ("|" in before)}"\n')
        kept = before if ":" in before else ""
        assert found == f'{kept}#, fuzzy\n#| msgid "Open the box now."\nmsgid "{NEAR}"\nmsgstr "Ouvrez la boîte."\n'


def test_plural_forms_have_the_matches_of_all_and_stay_fuzzy(tmp_path):
    entry = f'msgid "{NEAR}"\nmsgid_plural "Save the new files"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    found = po_entry(plain(), tmp_path, entry)
    assert found.startswith(f"{NEAR_PO}#. 8") and "Save the old files → Enregistrer les vieux fichiers\nmsgid" in found
    found = po_entry(plain(88), tmp_path, entry)  # the plural is below
    assert found.startswith("#. 8") and "vieux fichiers\n#, fuzzy\nmsgid" in found and "#|" not in found


def test_the_command_takes_matches(tmp_path, tiny_run):
    refused("--take_matches needs a memory", main, [str(tiny_run), "--take_matches", "80"])
