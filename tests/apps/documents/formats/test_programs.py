"""Formats of strings of programs: what is translated, and that a reader of the format's own reads the result."""

import io
import json
import plistlib
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import translating
from refusals import refused
from translating import Given, translated

from glossa.apps.documents.formats.format import UNKNOWN, LanguagePair
from glossa.apps.documents.job import DocumentJob

POLISH = LanguagePair("en", "pl")  # one, few, many and other
FOLDER = Path(__file__).parents[1] / "files" / "more"
FILES = {
    name: (FOLDER / name).read_text(encoding="utf-8")
    for name in ("strings.xml", "a.resx", "a.strings", "a.stringsdict", "a.ftl")
}


def shouted(folder, name, text=None, languages=POLISH, function=str.upper):
    return translating.shouted(folder, name, text or FILES[name], function, languages)


@pytest.mark.parametrize("name", FILES)
def test_an_engine_that_returns_its_source_changes_no_byte(tmp_path, name):
    if name == "a.ftl":
        pytest.importorskip("fluent.syntax")
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    assert translated(tmp_path / name, languages=UNKNOWN).decode() == FILES[name]


def test_android(tmp_path):
    found = shouted(tmp_path, "strings.xml")
    root = ElementTree.fromstring(found)
    strings = {each.get("name"): "".join(each.itertext()) for each in root.iter("string")}
    assert strings == {
        "app": "App name", "hello": r"HELLO, %1$s! IT\'S \"YOU\" & ME.\nNEXT LINE", "ref": "@string/hello",
        "code": "CODE: %s HERE", "html": r"A <b>MAN</b> ISN\'T HERE",
    }  # fmt: skip
    assert "HELLO, <b>%1$s</b>!" in found and "<![CDATA[" in found and "<item>MONDAY</item><item>42</item>" in found
    forms = {item.get("quantity"): item.text for item in root.find("plurals")}
    assert forms == {"one": "%d FILE", "other": "%d FILES", "few": "%d FILES", "many": "%d FILES"}
    assert '\n        <item quantity="few">' in found
    found = shouted(tmp_path, "strings.xml", function=lambda text: '@it\'s "x" & <y>')
    assert r"<item>\@it\'s \"x\" &amp; &lt;y&gt;</item>" in found
    text = r'<resources><string name="a">What\'s new?</string></resources>'
    assert r"<string name='a'>WHAT\'S NEW?<".replace("'a'", '"a"') in shouted(tmp_path, "strings.xml", text)


def test_resx(tmp_path):
    found = shouted(tmp_path, "a.resx")
    assert found == FILES["a.resx"].replace("&amp;Save the file", "&amp;SAVE THE FILE")
    (tmp_path / "a.resx").write_bytes(FILES["a.resx"].replace("utf-8", "utf-16").encode("utf-16"))
    wide = translated(tmp_path / "a.resx", str.upper, languages=POLISH)
    assert wide.decode("utf-16") == found.replace("utf-8", "utf-16") and wide[:2] == b"\xff\xfe"


def test_apple_strings(tmp_path):
    found = shouted(tmp_path, "a.strings")
    assert found == FILES["a.strings"].replace("Hello %@", "HELLO %@").replace("it's", "IT'S").replace(
        "you", "YOU"
    ).replace("Good day", "GOOD DAY")
    for mark in ("utf-16-le", "utf-16-be"):
        (tmp_path / "a.strings").write_bytes(f"\ufeff{FILES['a.strings']}".encode(mark))
        assert translated(tmp_path / "a.strings", str.upper).decode(mark) == f"\ufeff{found}"
    (tmp_path / "a.strings").write_text('"a" = "b";\n"c" = d e;\n')
    refused(r"a\.strings, line 2: not an entry", translated, tmp_path / "a.strings")


def test_apple_plural_forms(tmp_path):
    found = plistlib.loads(shouted(tmp_path, "a.stringsdict").encode())["files"]
    assert found["NSStringLocalizedFormatKey"] == "%#@files@ IN THE HOUSE"
    assert found["files"] == {
        "NSStringFormatSpecTypeKey": "NSStringPluralRuleType", "one": "%d FILE", "other": "%d FILES",
        "few": "%d FILES", "many": "%d FILES",
    }  # fmt: skip


def test_string_catalogs(tmp_path):
    def unit(value):
        return {"stringUnit": {"state": "translated", "value": value}}

    plural = {"one": unit("%d file"), "other": unit("%d files")}
    strings = {
        "Hello, %@!": {}, "Stay": {"shouldTranslate": False}, "Da": {"localizations": {"pl": unit("Tak")}},
        "greeting": {"localizations": {"de": unit("Guten Tag"), "en": unit('Good "day"')}},
        "files": {"localizations": {"en": {"variations": {"plural": plural}}}},
    }  # fmt: skip
    text = json.dumps({"sourceLanguage": "en", "strings": strings, "version": "1.0"}, indent=2)
    found = json.loads(shouted(tmp_path, "a.xcstrings", text))["strings"]
    assert found["Hello, %@!"] == {"localizations": {"pl": unit("HELLO, %@!")}}
    assert found["Stay"] == strings["Stay"] and found["Da"] == strings["Da"]
    assert found["greeting"]["localizations"] == strings["greeting"]["localizations"] | {"pl": unit('GOOD "DAY"')}
    forms = found["files"]["localizations"]["pl"]["variations"]["plural"]
    assert forms == {"one": unit("%d FILE"), **dict.fromkeys(("other", "few", "many"), unit("%d FILES"))}
    assert found["files"]["localizations"]["en"] == strings["files"]["localizations"]["en"]
    refused("Give --target_language", shouted, tmp_path, "a.xcstrings", text, languages=UNKNOWN)


def test_qt(tmp_path):
    message = "<message><source>{}</source><translation{}</translation></message>"
    numerus = "<numerusform></numerusform>"
    body = message.format("&amp;Open the %1", ' type="unfinished">') + message.format("Done", ">Gotowe")
    body += message.format("%n file(s)", f' type="unfinished">{numerus}{numerus}{numerus}')
    text = f'<!DOCTYPE TS>\n<TS version="2.1" sourcelanguage="en"><context>{body}</context></TS>\n'
    found = shouted(tmp_path, "a.ts", text)
    root = ElementTree.fromstring(found)
    assert root.get("language") == "pl"
    texts = [["".join(each.itertext()) for each in message.iter("translation")] for message in root.iter("message")]
    assert texts == [["&OPEN THE %1"], ["Gotowe"], ["%n FILE(S)" * 3]]
    assert not any(each.get("type") for each in root.iter("translation"))
    (tmp_path / "a.ts").write_text(found)
    assert translated(tmp_path / "a.ts", str.lower, languages=POLISH).decode() == found, "what is filled stays"
    one = text.replace(numerus * 3, f"\n {numerus}\n")
    assert "\n <numerusform>%n FILE(S)</numerusform>" * 3 in shouted(tmp_path, "a.ts", one)
    (tmp_path / "a.ts").write_text("export const a = 1;\n")
    refused(r"a\.ts, line 1: not a translation file of Qt", translated, tmp_path / "a.ts")


def test_fluent(tmp_path):
    syntax = pytest.importorskip("fluent.syntax")
    found = shouted(tmp_path, "a.ftl")
    for line in (
        "sleep = THE BOY SLEEPS.", "    HELLO { $name }, AND", "    WELCOME TO { -brand }.",
        "    .title = A TITLE <b>HERE</b>", "emails = YOU HAVE { $count ->", "        [one] ONE EMAIL",
        "       *[other] { $count } EMAILS", "    } HERE.",
    ):  # fmt: skip
        assert line in found.split("\n"), line
    assert not any(isinstance(entry, syntax.ast.Junk) for entry in syntax.parse(found).body)
    (tmp_path / "a.ftl").write_text("sleep = Hi\nb b\n")
    refused(r"a\.ftl, line 2: not Fluent", translated, tmp_path / "a.ftl")


ENTRY = 'msgid ""\nmsgstr ""\n\n#, {}\nmsgid "{}"\nmsgstr ""\n'
REORDERED = {
    "a.po": (ENTRY.format("c-format", "%s has %'d of %s"), "%2$'d OF %1$s, %3$s"),
    "b.po": (ENTRY.format("python-format", "%s has %'d of %s"), "%'d OF %s, %s"),
    "c.po": (ENTRY.format("c-format", "%1$s has %2$'d of %3$s"), "%2$'d OF %1$s, %3$s"),
    "a.strings": ('"a" = "%s has %\'d of %s";\n', "%2$'d OF %1$s, %3$s"),
    "strings.xml": ('<resources><string name="a">%s has %d of %s</string></resources>', "%2$d OF %1$s, %3$s"),
}


@pytest.mark.parametrize("name", REORDERED)
def test_directives_in_another_order_are_numbered_where_programs_read_numbers(tmp_path, name):
    def reorder(text):
        first, number, last = re.findall(r"%\S+", text)
        return f"{number} OF {first}, {last}"

    content, expected = REORDERED[name]
    assert expected in shouted(tmp_path, name, content, function=reorder)


def test_a_directive_that_the_text_lacks_makes_an_entry_fuzzy(tmp_path, capsys):
    path, target = tmp_path / "a.po", tmp_path / "b.po"
    entries = [f'#, c-format\nmsgid "{text}"\nmsgstr ""\n' for text in ("%s is 100%% here", "%d files")]
    path.write_text("\n".join(['msgid ""\nmsgstr ""\n', *entries]))
    translator = Given(lambda text: text.replace("files", "files of %d"))
    DocumentJob(path, target, languages=UNKNOWN).run(translator, None, False)
    assert target.read_text().endswith('#, c-format\n#, fuzzy\nmsgid "%d files"\nmsgstr "%d files of %d"\n')
    assert "1 of 2 translations look different in placeholders: line 9" in capsys.readouterr().err
    assert "fuzzy" not in target.read_text().partition("files")[0].partition("#, fuzzy")[0]


def test_files_of_web_apps_get_plural_forms(tmp_path):
    content = {
        "file_one": "{{count}} file", "file_other": "{{count}} files", "place_ordinal_one": "st",
        "place_ordinal_other": "th", "other": "Other", "one": "One",
    }  # fmt: skip
    found = json.loads(shouted(tmp_path, "a.json", json.dumps({"en": content}, indent=1)))
    assert found == {
        "en": {key: value.upper().replace("COUNT", "count") for key, value in content.items()}
        | {"file_few": "{{count}} FILES", "file_many": "{{count}} FILES"}
    }
    lines = [
        "en:", "  day:", '    one: "a day"', '    other: &o "some days" # many', "  x: {one: a cat, other: cats}", "",
    ]  # fmt: skip
    (tmp_path / "a.yml").write_bytes("\r\n".join(lines).encode())
    found = translated(tmp_path / "a.yml", str.upper, languages=POLISH).decode()
    assert found.split("\r\n") == [
        "en:", "  day:", '    one: "A DAY"', '    other: &o "SOME DAYS"', '    few: "SOME DAYS"',
        '    many: "SOME DAYS" # many', "  x: {one: A CAT, other: CATS, few: CATS, many: CATS}", "",
    ]  # fmt: skip


def test_arb_names_the_language_of_the_translation(tmp_path):
    found = shouted(tmp_path, "a.arb", '{"@@locale": "en", "a": "It is"}', languages=LanguagePair("en", "pt-BR"))
    assert found == '{"@@locale": "pt_BR", "a": "IT IS"}'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{n} new people|{n} new person", "people new {n}|person new {n}"),  # Vue
        ("one day | two days", "day one | days two"),
        ("{0} None here |[1,19] Some|]20,Inf[ Many more", "{0} here None |[1,19] Some|]20,Inf[ more Many"),  # Laravel
        ("set a=b | wc it", "it wc | a=b set"),  # a command
        ("either (this one|that one) here", "here one) one|that (this either"),
        ("{{ name | upper }} is here", "here is {{ name | upper }}"),
    ],
)
def test_forms_between_bars_are_texts_of_their_own(tmp_path, source, expected):
    content = json.dumps({"a": source})
    found = shouted(tmp_path, "a.json", content, function=lambda text: " ".join(text.split(" ")[::-1]))
    assert json.loads(found)["a"] == expected


def test_words_in_angle_brackets_are_no_tag(tmp_path):
    texts = {"<None>": "<NONE>", "<not set>": "<NOT SET>", "<b>": "", "<br>": ""}
    text = "".join(f'msgid "{each}"\nmsgstr ""\n\n' for each in texts)
    expected = "".join(f'msgid "{each}"\nmsgstr "{new}"\n\n' for each, new in texts.items())
    assert shouted(tmp_path, "a.po", text) == expected
    text = '<resources><string name="a">&lt;not set&gt;</string></resources>'
    assert "&lt;NOT SET&gt;" in shouted(tmp_path, "strings.xml", text)


def test_fuzzy_stands_before_the_source_of_the_entry_before(tmp_path):
    before = '#, c-format\n#| msgid ""\n#| "%d old"\n'
    (tmp_path / "a.po").write_text(f'{before}msgid "%d files"\nmsgstr ""\n')
    DocumentJob(tmp_path / "a.po", tmp_path / "b.po", languages=UNKNOWN).run(Given(lambda text: f"{text} %x"))
    assert (tmp_path / "b.po").read_text().startswith('#, c-format\n#, fuzzy\n#| msgid ""\n#| "%d old"\nmsgid')


def test_directives_of_python_stay_in_order_or_are_reported(tmp_path):
    entry = '#, python-format\nmsgid "%s has %d files"\nmsgstr ""\n'
    (tmp_path / "a.po").write_text(entry)
    for name, function in (("b.po", str.upper), ("c.po", lambda text: "%d FILES HAS %s")):
        DocumentJob(tmp_path / "a.po", tmp_path / name, languages=UNKNOWN).run(Given(function))
    assert (tmp_path / "b.po").read_text() == entry.replace('msgstr ""', 'msgstr "%s HAS %d FILES"')
    assert "#, fuzzy" in (tmp_path / "c.po").read_text() and "$" not in (tmp_path / "c.po").read_text()


def test_a_directive_before_a_letter_stays_where_printf_reads_it(tmp_path):
    entry = 'msgid "%sFile %s"\nmsgstr ""\n'
    assert 'msgstr "%sFILE %s"' in shouted(tmp_path, "a.po", f"#, c-format\n{entry}")
    found = shouted(tmp_path, "a.po", f"#, c-format\n{entry}", function=lambda text: "%s: %sFile")
    assert 'msgstr "%s: %sFile"' in found
    both = "#, c-format\n" + 'msgid "%sFile of %d"\nmsgstr ""\n'
    assert 'msgstr "%2$d: %1$sFile"' in shouted(tmp_path, "a.po", both, function=lambda text: "%d: %sFile")


def test_a_percentage_in_a_text_that_printf_may_not_read_is_no_directive(tmp_path):
    text = '<resources><string name="a">Save 50% of it</string></resources>'
    (tmp_path / "strings.xml").write_text(text)
    report = io.StringIO()
    job = DocumentJob(tmp_path / "strings.xml", tmp_path / "b.xml", languages=UNKNOWN)
    job.run(Given(lambda text: "Gain de 50% dessus"), report)
    assert "Gain de 50% dessus" in (tmp_path / "b.xml").read_text() and "directives" not in report.getvalue()


def test_variables_of_plural_forms_are_numbered_too(tmp_path):
    value = "<key>NSStringLocalizedFormatKey</key><string>%#@files@ of %#@folders@</string>"
    text = f'<plist version="1.0"><dict><key>a</key><dict>{value}</dict></dict></plist>'
    found = shouted(tmp_path, "a.stringsdict", text, function=lambda text: "%#@folders@ with %#@files@")
    assert "<string>%2$#@folders@ with %1$#@files@</string>" in found
