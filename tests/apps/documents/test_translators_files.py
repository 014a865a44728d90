"""XLIFF of Trados, memoQ and Phrase: states of their own, codes in texts, and the lengths that XLIFF allows."""

import contextlib
import io
import json
import re

import pytest
from translating import Given

from glossa.apps.documents.formats.format import Chosen, LanguagePair
from glossa.apps.documents.job import DocumentJob
from glossa.cli.check import main as check

TRADOS = """<?xml version="1.0" encoding="utf-8"?><xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" \
xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2" sdl:version="1.0"><file original="a.docx" \
source-language="en-US" target-language="fr-FR"><body><group>
<trans-unit id="u1"><source>New. Old. Done. Fixed.</source>
<seg-source><g id="5"><mrk mtype="seg" mid="1">New.</mrk> <mrk mtype="seg" mid="2">Old.</mrk></g> \
<mrk mtype="seg" mid="3">Done.</mrk> <mrk mtype="seg" mid="4">Fixed.</mrk></seg-source>
<target><g id="5"><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2">Vieux.</mrk></g> \
<mrk mtype="seg" mid="3">Fait.</mrk> <mrk mtype="seg" mid="4">Fini.</mrk></target>
<sdl:seg-defs><sdl:seg id="1"/><sdl:seg id="2" conf="Draft" origin="tm" percent="80"/>\
<sdl:seg id="3" conf="Translated" origin="interactive"/><sdl:seg id="4" conf="Draft" locked="true"/></sdl:seg-defs>
</trans-unit></group></body></file></xliff>"""
MEMOQ = """<xliff xmlns:mq="MQXliff" version="1.2"><file source-language="en" target-language="fr"><body>\
<trans-unit id="1" mq:status="NotStarted"><source>New</source><target></target></trans-unit>\
<trans-unit id="2" mq:status="Pretranslated"><source>Old</source><target>Vieux</target></trans-unit>\
<trans-unit id="3" mq:status="ManuallyConfirmed"><source>Done</source><target>Fait</target></trans-unit>\
<trans-unit id="4" mq:status="PartiallyEdited" mq:locked="locked"><source>Fixed</source><target>Fini</target>\
</trans-unit></body></file></xliff>"""
PHRASE = """<xliff xmlns:m="http://www.memsource.com/mxlf/2.0" version="1.2"><file source-language="en" \
target-language="fr"><body><group id="0">\
<trans-unit id="a:0" m:trans-origin="null" m:confirmed="0" m:locked="false">\
<source>New {b&gt;red&lt;b} cat{1}</source><target></target>\
<alt-trans origin="memsource-tm"><target>Autre</target></alt-trans></trans-unit>\
<trans-unit id="a:1" m:trans-origin="tm" m:confirmed="0" m:locked="false"><source>Old</source><target>Vieux</target>\
</trans-unit><trans-unit id="a:2" m:trans-origin="null" m:confirmed="1" m:locked="false"><source>Done</source>\
<target>Fait</target></trans-unit><trans-unit id="a:3" m:confirmed="0" m:locked="true"><source>Fixed</source>\
<target>Fini</target></trans-unit></group></body></file></xliff>"""
FILES = {"a.sdlxliff": TRADOS, "a.mqxliff": MEMOQ, "a.mxliff": PHRASE}


def translated(folder, name, text, only=("untranslated",), review=False, report=None):
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "out").unlink(missing_ok=True)
    pair = LanguagePair("en", "fr")
    job = DocumentJob(folder / name, folder / "out", None, pair, chosen=Chosen(only=only), for_review=review)
    job.run(Given(str.upper), report)
    return (folder / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "code",
    ['<x id="1" equiv-text="&lt;br/&gt;"/>', '<ph id="1">&lt;br&gt;</ph>', '<x id="1" ctype="lb"/>',
     '<ph id="1" disp="&lt;/p&gt;"/>'],
)  # fmt: skip
def test_a_line_break_is_a_space_in_a_text(tmp_path, code):
    unit = f"<unit><segment><source>One cat{code}two</source></segment></unit>"
    texts = []

    def given(text):
        texts.append(text)
        return text.upper()

    (tmp_path / "a.xlf").write_text(f'<xliff version="2.0" srcLang="en" trgLang="fr"><file>{unit}</file></xliff>')
    DocumentJob(tmp_path / "a.xlf", tmp_path / "out").run(Given(given))
    assert texts == ["One cat two"]
    assert f"ONE CAT{code}TWO</target>" in (tmp_path / "out").read_text()


@pytest.mark.parametrize("name", FILES)
def test_entries_are_chosen_by_the_states_of_the_program(tmp_path, name):
    for only in (("untranslated",), ("fuzzy",), ("untranslated", "fuzzy")):
        found = translated(tmp_path, name, FILES[name], only)
        assert ("NEW" in found, "OLD" in found) == ("untranslated" in only, "fuzzy" in only), only
        assert "DONE" not in found and "FIXED" not in found and ("Vieux" in found) == ("fuzzy" not in only)


@pytest.mark.parametrize(
    ("name", "usual", "review"),
    [
        (
            "a.sdlxliff",
            '<sdl:seg id="1" conf="Translated" origin="mt"/>',
            '<sdl:seg id="1" conf="Draft" origin="mt"/>',
        ),
        ("a.mqxliff", 'id="1" mq:status="MachineTranslated"', 'id="1" mq:status="MachineTranslated"'),
        ("a.mxliff", 'id="a:0" m:trans-origin="mt" m:confirmed="0"', 'id="a:0" m:trans-origin="mt" m:confirmed="0"'),
    ],
)
def test_new_translations_have_the_state_of_the_program(tmp_path, name, usual, review):
    others = re.findall(r'<(?:trans-unit|sdl:seg) id="[^"]*[234]"[^>]*>', FILES[name])
    for given, state in ((False, usual), (True, review)):
        found = translated(tmp_path, name, FILES[name], review=given)
        assert state in found and len(others) >= 2 and all(other in found for other in others)


def test_segments_of_trados_are_filled_where_they_are(tmp_path):
    found = translated(tmp_path, "a.sdlxliff", TRADOS)
    assert '<target><g id="5"><mrk mtype="seg" mid="1">NEW.</mrk> <mrk mtype="seg" mid="2">Vieux.</mrk></g>' in found
    (without,) = re.findall("<target>.*?</target>", TRADOS, re.S)
    found = translated(tmp_path, "a.sdlxliff", TRADOS.replace(without, ""))
    assert '<mrk mtype="seg" mid="1">NEW.</mrk> <mrk mtype="seg" mid="2">OLD.</mrk>' in found
    assert '<mrk mtype="seg" mid="4">Fixed.</mrk></target>' in found and 'id="4" conf="Draft" locked' in found


def test_codes_in_texts_of_phrase_stay(tmp_path):
    found = translated(tmp_path, "a.mxliff", PHRASE)
    assert ">NEW {b&gt;RED&lt;b} CAT{1}</target>" in found and "<target>Autre</target></alt-trans>" in found


LONG_1 = (
    '<xliff version="1.2"><file source-language="en" target-language="fr"><body>'
    '<trans-unit id="1" maxwidth="9" size-unit="char"><source>A cat &amp; a dog</source></trans-unit>'
    '<trans-unit id="2" maxwidth="13" size-unit="char"><source>A cat &amp; <g id="1">a</g> dog</source></trans-unit>'
    '<trans-unit id="3" maxwidth="9"><source>A cat in pixels</source></trans-unit></body></file></xliff>'
)
LONG_2 = (
    '<xliff version="2.1" srcLang="en" trgLang="fr" xmlns:slr="urn:oasis:names:tc:xliff:sizerestriction:2.0">'
    '<file id="f"><unit id="1" slr:sizeRestriction="0,9"><segment><source>A cat</source></segment><segment>'
    '<source>A dog</source></segment></unit><unit id="2" slr:sizeRestriction="10"><segment><source>A cat</source>'
    "</segment><segment><source>A dog</source></segment></unit></file></xliff>"
)


def test_translations_that_are_longer_than_the_file_allows_need_review(tmp_path):
    report = io.StringIO()
    found = translated(tmp_path, "a.xlf", LONG_1, report=report)
    assert re.findall(' state="([^"]*)"', found) == ["needs-review-translation", "translated", "translated"]
    (row,) = map(json.loads, report.getvalue().splitlines())
    assert (row["problem"], row["source"]) == ("longer than the file allows", "A cat & a dog")
    found = translated(tmp_path, "a.xlf", LONG_2)
    assert re.findall(' state="([^"]*)"', found) == ["translated", "initial", "translated", "translated"]


def test_checks_know_states_and_lengths(tmp_path, capsys):
    (tmp_path / "a.xlf").write_text(LONG_1.replace("</source>", "</source><target>Un chat, un</target>"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit):
        check([str(tmp_path / name) for name in ("a.xlf", *FILES)])
    found = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert "long: 11 characters, and the file allows 9" in found
    assert [each for each in found if each.startswith("untranslated")] == [
        f"untranslated: {each}" for each in (
            "the translation is empty", "Draft", "Draft", "the translation is empty", "Pretranslated",
            "PartiallyEdited", "0", "0", "0",
        )
    ]  # fmt: skip


def test_lost_codes_of_phrase_are_found(tmp_path, capsys):
    for target, problems in (
        ("{1}Chat {b&gt;rouge&lt;b}", []),
        ("Chat {b&gt;rouge{1}", ["tags: missing: </g code b>"]),
    ):
        (tmp_path / "a.mxliff").write_text(
            PHRASE.replace('m:confirmed="0"', 'm:confirmed="1"').replace(
                "<target></target>", f"<target>{target}</target>"
            )
        )
        with contextlib.suppress(SystemExit):
            check([str(tmp_path / "a.mxliff"), "--skip", "untranslated"])
        assert [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()] == problems


SUBSTATES = (
    '<xliff version="2.1" srcLang="en" trgLang="fr"><file id="f"><unit id="u">'
    "<segment subState = 'tool:draft' state=\"initial\"><source>A red cat</source><target>Chat</target></segment>"
    '<segment state="translated" subState="tool:b"><source>A dog</source><target/></segment>'
    "<segment><source>A fox</source></segment></unit></file></xliff>"
)


def test_substates_of_xliff_2(tmp_path):
    """A text with a `subState` was written, and is to be reviewed; a new state has none of another program."""
    found = translated(tmp_path, "a.xlf", SUBSTATES)
    assert re.findall("<segment.*?>", found) == [
        "<segment subState = 'tool:draft' state=\"initial\">", '<segment state="translated">',
        '<segment state="translated">',
    ]  # fmt: skip
    found = translated(tmp_path, "a.xlf", SUBSTATES, only=("fuzzy",))
    assert re.findall("<segment.*?>", found)[0] == '<segment state="translated">' and ">A RED CAT</target>" in found
    found = translated(tmp_path, "a.xlf", SUBSTATES, review=True)
    done = SUBSTATES.replace('"initial"', '"final"')
    assert ">Chat</target>" in translated(tmp_path, "a.xlf", done, only=("fuzzy",))
    reviewed = '<segment state="initial" subState="glossa:review">'
    assert re.findall("<segment.*?>", found)[1:] == [reviewed, reviewed]
    again = translated(tmp_path, "a.xlf", found)
    assert again == found, "what waits for its review is not translated again"


NO_TEXTS = (
    '<xliff version="1.2"><file source-language="en" target-language="fr"><body>'
    '<trans-unit id="a" restype="icon"><source>Our icon</source></trans-unit>'
    '<trans-unit id="b" restype="button"><source>Open it</source></trans-unit>'
    '<trans-unit id="c"><source>Our Name</source><note>Do not translate.</note></trans-unit>'
    '<trans-unit id="d"><source>Use Our Name</source><note>Do not translate "Our Name"</note></trans-unit>'
    "</body></file></xliff>"
)


def test_kinds_of_resources_and_notes_that_say_that_there_is_no_text(tmp_path, capsys):
    found = translated(tmp_path, "a.xlf", NO_TEXTS)
    assert re.findall(">([^<]*)</target>", found) == ["OPEN IT", "USE OUR NAME"]
    assert "2 texts are left alone: they are by their restype no text, or by their note" in capsys.readouterr().err
    note = '<notes><note category="x">Please don&apos;t translate this string!</note></notes>'
    found = translated(tmp_path, "b.xlf", SUBSTATES.replace('<unit id="u">', f'<unit id="u">{note}'))
    assert "<target/>" in found and "A FOX" not in found
    (tmp_path / "c.xlf").write_text(NO_TEXTS)
    with pytest.raises(SystemExit):
        check([str(tmp_path / "c.xlf")])
    assert "2 of 2 translations have problems" in capsys.readouterr().err
