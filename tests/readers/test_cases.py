"""Files as translators and spreadsheets write them: each gives the pairs that it means."""

import zipfile
from pathlib import Path

import openpyxl
import pytest
from reading import BY_LANGUAGE, read, written

from glossa.base.errors import GlossaError
from glossa.readers.columns import Columns
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import prepare_pairs

SETSWANA = Columns((("en", "tn"), ("source", "target")))


def pairs(path, columns=BY_LANGUAGE):
    rows = [row for row in read(path, columns) if not row[3] and row[0]]
    return [(" ".join(source.split()), " ".join(target.split())) for source, target, *_ in rows]


def reasons(path, columns=BY_LANGUAGE):
    """The reasons of rows that are no pairs, without details."""
    return [row[3].partition(":")[0] for row in read(path, columns) if row[3]]


def tmx(path, *units):
    body = "".join(
        "<tu>" + "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in unit) + "</tu>"
        for unit in units
    )
    return written(path, f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>')


# Cases that once went wrong, by their names


def xliff(*units, languages='source-language="en" target-language="fr"'):
    return f'<xliff version="1.2"><file {languages}><body>{"".join(units)}</body></file></xliff>'


def unit(source, target, of_unit="", of_target=""):
    return f"<trans-unit {of_unit}><source>{source}</source><target {of_target}>{target}</target></trans-unit>"


FILES = Path(__file__).parent / "files"
AMERICAN = 'source-language="en-US"'
COUNTED = [(f"The cat sees {n} birds.", f"Le chat voit {n} oiseaux.") for n in range(30)]
SEEN = [("See you soon", "À bientôt"), ("Thanks", "Merci")]
RIGHT = {
    "xliff-no-target-language": (
        "a.xliff",
        xliff(unit(*SEEN[0]), unit(*SEEN[1], 'approved="yes"', 'state="translated"'), languages=AMERICAN), SEEN,
    ),
    "xliff-target-xml-lang": (
        "a.xliff", xliff(unit(*SEEN[0], of_target='xml:lang="fr-FR"'), languages='source-language="en"'), SEEN[:1],
    ),
    "xliff-target-xml-lang, in conflict": ("a.xliff", xliff(unit("Thanks", "Danke", of_target='xml:lang="de"')), []),
    "xliff-states": (
        "a.xliff",
        (FILES / "states.xliff").read_text("utf-8"),
        [("A pear", "Une poire"), ("Ten pears", "Dix poires"), ("A fig", "Une figue"),
         ("Bye {{who}}!", "Salut {{who}} !"), ("One line and one", "Une ligne et une")],
    ),
    "xliff2-segments": (
        "a.xlf", (FILES / "segments.xlf").read_text("utf-8"),
        [("Thanks.", "Merci."), ("A big pear here", "Une grosse poire ici")],
    ),
    "csv-sep-line": ("a.csv", "sep=;\r\nid;fr;en\r\n1;À bientôt;See you soon\r\n2;Merci;Thanks\r\n", SEEN),
    "csv-sep-line, with commas": ("a.csv", "sep=,\nfr,en\nÀ bientôt,See you soon\nMerci,Thanks\n", SEEN),
    "csv-preamble": ("a.csv", "UTF-8\nen,fr\nSee you soon,À bientôt\nThanks,Merci\n", SEEN),
    "csv-header-text": (
        "a.csv",
        "id,source_text,target_text\n" + "".join(f"{n},{one},{other}\n" for n, (one, other) in enumerate(COUNTED)),
        COUNTED,
    ),
    "tsv-excel-quoted": (
        "a.tsv",
        'en\tfr\n"She wrote ""yes""."\t"Elle a écrit ""oui""."\nThanks\tMerci\n"In short, no"\t"Bref, non"\n',
        [('She wrote "yes".', 'Elle a écrit "oui".'), SEEN[1], ("In short, no", "Bref, non")],
    ),
    "tsv-excel-quoted, over two lines": (
        "a.tsv", 'en\tfr\n"See you\nsoon"\t"À\nbientôt"\nThanks\tMerci\n', SEEN
    ),
    "po-latin1": (
        "a.po", (FILES / "latin1.po").read_text("utf-8").encode("latin-1"),
        [("Thanks", "Merci"), ("%d pears", "%d poires"), ("Edit", "Édition"), ('Go on and "run"', "Va et « cours »")],
    ),
}  # fmt: skip
NO_FAULTS = {"header", "continues the row above", "untranslated", "other language"}


@pytest.mark.parametrize("case", RIGHT)
def test_the_pairs_of_a_case(tmp_path, case):
    name, content, wanted = RIGHT[case]
    path = written(tmp_path / name, content)
    assert pairs(path) == wanted and not {*reasons(path)} - NO_FAULTS


def counts(path):
    """What the report of a file counts."""
    return prepare_pairs(DataArguments(data_path=[str(path)], validation_size=0, test_size=0))[1].splits["train"]


def test_texts_without_translation_are_no_fault(tmp_path):
    """The case `po-half-translated`."""
    catalog = "".join(f'msgid "{one}"\nmsgstr "{other * (n % 2)}"\n\n' for n, (one, other) in enumerate(COUNTED))
    found = counts(written(tmp_path / "a.po", f'msgid ""\nmsgstr "Language: fr\\n"\n\n{catalog}'))
    assert (found["malformed"], found["kept"], found["untranslated"]) == (0, 15, 15)


def test_units_of_other_languages_are_no_fault(tmp_path):
    """The case `tmx-many-pairs`."""
    units = [[("en", one), ("fr" if n % 3 else "de", other)] for n, (one, other) in enumerate(COUNTED)]
    found = counts(tmx(tmp_path / "a.tmx", *units))
    assert (found["malformed"], found["kept"], found["other_language"]) == (0, 20, 10)


# Their kinds: spreadsheets


@pytest.mark.parametrize(
    ("stored", "text"),
    [("Go_x000D_on", "Go on"), ("Go_x000D_\non", "Go on"),
     ("a_x005F_x000D_b", "a_x000D_b"), ("_x0041_BC", "ABC"), ("_xD83D__xDE00_", "😀"),
     ("snake_x_y", "snake_x_y"), ("_x12_", "_x12_")],
)  # fmt: skip
def test_escaped_characters_of_a_spreadsheet(tmp_path, stored, text):
    """The case `xlsx-escape`."""
    book = openpyxl.Workbook()
    book.active.append((stored, "Va"))
    book.save(tmp_path / "a.xlsx")
    assert pairs(tmp_path / "a.xlsx") == [(text, "Va")]


@pytest.mark.parametrize("dimension", ["A1", "A1:B2", "A1:B11", "B2:B2", "A1:ZZ9999", None])
def test_a_spreadsheet_is_as_large_as_its_rows(tmp_path, dimension):
    """The case `xlsx-wrong-dimension`; `None` is a sheet that does not say its size."""
    book = openpyxl.Workbook()
    for row in [("Greetings",), ("en", "fr"), *[(f"one {n}", f"un {n}") for n in range(20)]]:
        book.active.append(row)
    book.save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as old, zipfile.ZipFile(tmp_path / "a.xlsx", "w") as new:
        for name in old.namelist():
            size = b'<dimension ref="A1:B22"/>'
            new.writestr(
                name,
                old.read(name).replace(
                    size, size.replace(b"A1:B22", (dimension or "").encode()) if dimension else b""
                ),
            )
    assert pairs(tmp_path / "a.xlsx") == [(f"one {n}", f"un {n}") for n in range(20)]
    assert reasons(tmp_path / "a.xlsx") == ["header", "header"]


# CSV and tabs


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "sep=|\nid|French|English\n1|Va|Go\n2|a|b, c; d\n"),
        ("a.csv", '\ufeff"sep=;"\r\nfr;en\r\nVa;Go\r\na;"b, c; d"\r\n'),
        ("a.csv", "SEP=\t\nfr\ten\nVa\tGo\na\tb, c; d\n"),
        ("a.csv", 'Export of 2024, all rows\n\nfr,en\nVa,Go\na,"b, c; d"\n'),
        ("a.csv", 'fr_text,en_text,id\nVa,Go,1\na,"b, c; d",2\n'),
        ("a.csv", 'sentence_fr,sentence_en\nVa,Go\na,"b, c; d"\n'),
        ("a.csv", 'Target text;Source text\nVa;Go\na;"b, c; d"\n'),
        # The case `csv-language-header`, and the names of FLORES.
        ("a.csv", 'French words/sentences,English words/sentences\nVa,Go\na,"b, c; d"\n'),
        ("a.csv", 'sentence_fra_Latn,id,sentence_eng_Latn\nVa,1,Go\na,2,"b, c; d"\n'),
        ("a.tsv", "Title\nDate\t2024\nfr-FR\ten-US\nVa\tGo\na\tb, c; d\n"),
    ],
)
def test_what_stands_before_a_header_is_no_row(tmp_path, name, text):
    path = written(tmp_path / name, text)
    assert pairs(path) == [("Go", "Va"), ("b, c; d", "a")]
    assert set(reasons(path)) == {"header"}


def test_names_of_languages_among_pairs_are_pairs(tmp_path):
    """Of a word list without header; that they stand among the first ten lines makes no header."""
    path = written(tmp_path / "a.tsv", "Go\tVa\nEnglish\tanglais\nFrench\tfrançais\nis\test\n")
    assert len(pairs(path)) == 4
    later = "".join(f"one {n}\tun {n}\n" for n in range(12)) + "en\tfr\n"
    assert len(pairs(written(tmp_path / "b.tsv", later))) == 13


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Go ""on"""\tVa\nx\t"a\nb"\n', [('Go "on"', "Va"), ("x", "a b")]),
        ('x\t"a\nb"\n"c"\td\n', [("x", "a b"), ("c", "d")]),
        # Quotation marks of the text itself.
        ('"Go!"\t"Va !"\n"On!"\tAllez\n', [('"Go!"', '"Va !"'), ('"On!"', "Allez")]),
        ('"Go!" he said.\t«Va !»\nHe said ""no""\tx\n', [('"Go!" he said.', "«Va !»"), ('He said ""no""', "x")]),
        ('"Go\tVa\non"\tallez\n', [('"Go', "Va"), ('on"', "allez")]),
        ('6"\tsix\n"a""b"\tc\n"d" e\tf\n', [('6"', "six"), ('"a""b"', "c"), ('"d" e', "f")]),
    ],
)
def test_quotes_in_lines_with_tabs(tmp_path, caplog, text, expected):
    path = written(tmp_path / "a.tsv", text)
    assert pairs(path) == expected
    literal = any(one[0] == one[-1] == '"' or other[0] == other[-1] == '"' for one, other in expected)
    assert ("quotation marks around a field are read as text" in caplog.text) == literal


def test_a_quoted_table_of_many_lines(tmp_path):
    rows = [(f'say "{n}"', f"ligne\n{n}") for n in range(400)]
    lines = ['"' + one.replace('"', '""') + f'"\t"{other}"\n' for one, other in rows]
    assert pairs(written(tmp_path / "a.tsv", "".join(lines))) == [
        (one, other.replace("\n", " ")) for one, other in rows
    ]


# Languages and their variants


@pytest.mark.parametrize("codes", [("en-ZA", "tn-ZA"), ("en", "tn_BW"), ("English", "tn"), ("en", "tn-Latn-ZA")])
def test_regions_of_a_language_that_is_not_in_the_list(tmp_path, codes):
    """The case `tmx-region-of-rare-language`."""
    table = written(tmp_path / "a.csv", f"{codes[1]},{codes[0]}\nDumela,Hello\n")
    for path in (table, tmx(tmp_path / "a.tmx", [(codes[0], "Hello"), (codes[1], "Dumela")])):
        assert pairs(path, SETSWANA) == [("Hello", "Dumela")] and not {*reasons(path, SETSWANA)} - NO_FAULTS


@pytest.mark.parametrize(("first", "second"), [("fr-CA", "fr-FR"), ("fr-FR", "fr-CA"), ("fr_BE", "fr_FR")])
def test_of_several_variants_the_most_common_one_is_read(tmp_path, caplog, first, second):
    unit = [("en-US", "Go"), (first, f"Va {first}"), (second, f"Va {second}")]
    path = tmx(tmp_path / "a.tmx", unit, unit, [("en-GB", "x"), ("fr-BE", "y")])
    chosen, other = sorted((first, second), key=lambda code: code[-2:] != "FR")
    assert pairs(path) == [("Go", f"Va {chosen}")] * 2 + [("x", "y")]
    assert reasons(path) == ["other variant of a language"] * 2
    assert "2 texts are in variants of 'fr' that" in caplog.text and f"--target_language {other}." in caplog.text
    report = counts(path)
    assert (report["other_variant"], report["malformed"], report["kept"]) == (2, 0, 2)


def test_units_of_other_languages_and_without_translation(tmp_path):
    path = tmx(tmp_path / "a.tmx", [("en", "a"), ("fr", "b")], [("en", "a"), ("de", "b")], [("de", "a"), ("es", "b")],
               [("en", "a")], [("en", "c"), ("fr", "")])  # fmt: skip
    assert reasons(path) == ["other language", "other language", "untranslated", "untranslated"]


# Codes in segments


def segments(path, source, target, version="tmx"):
    if version == "tmx":
        return tmx(path.with_suffix(".tmx"), [("en", source), ("fr", target)])
    return written(path.with_suffix(".xlf"), xliff(unit(source, target)))


@pytest.mark.parametrize(
    "code",
    ["%d", "%1$s", "%(name)s", "%.2f", "{0}", "{name}", "{{ name }}", "${name}", "%1", "%name%", "$name", "@count"],
)
@pytest.mark.parametrize("version", ["tmx", "xliff"])
def test_placeholders_are_text_on_both_sides(tmp_path, code, version):
    source = f'You have <ph id="1" x="1">{code}</ph> new messages.'
    path = segments(tmp_path / "a", source, 'Vous avez <ph id="1" x="1"/> nouveaux messages.', version)
    assert pairs(path) == [(f"You have {code} new messages.", f"Vous avez {code} nouveaux messages.")]


@pytest.mark.parametrize("code", ["&lt;b&gt;", "&lt;img src='a'/&gt;", "\\b ", "{\\b ", "&lt;/span&gt;", "&#169;", ""])
def test_markup_is_left_out(tmp_path, code):
    path = segments(tmp_path / "a", f'Red<ph x="1">{code}</ph> apple', f'Pomme<ph x="1">{code}</ph> rouge')
    assert pairs(path) == [("Red apple", "Pomme rouge")]
    path = segments(tmp_path / "a", 'Red<bpt i="1">{1}</bpt> apple<ept i="1">{2}</ept>', "Pomme")
    assert pairs(path) == [("Red apple", "Pomme")], "what opens and closes is markup, as some editors number it"


@pytest.mark.parametrize(
    "code",
    ['<ph type="lb"/>', '<ph x="1" type="lb">&lt;br/&gt;</ph>',
     '<x id="1" ctype="lb"/>', '<x id="1" ctype="x-br"/>', "<ph>&lt;br&gt;</ph>",
     "<it>&lt;BR /&gt;</it>",
     "<ph>\\n</ph>", "<ut>\\line </ut>", '<x id="1" equiv-text="&lt;br/&gt;"/>', "<ph>&lt;/p&gt;</ph>", "<ph>\n</ph>"],
)  # fmt: skip
@pytest.mark.parametrize("version", ["tmx", "xliff"])
def test_a_code_that_breaks_a_line_is_a_space(tmp_path, code, version):
    """The case `tmx-linebreak-code`."""
    path = segments(tmp_path / "a", f"Turn it off.{code}Wait.", f"Éteignez.{code}Attendez.", version)
    assert pairs(path) == [("Turn it off. Wait.", "Éteignez. Attendez.")]


def test_the_original_data_of_xliff_2(tmp_path):
    path = written(
        tmp_path / "a.xlf",
        """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="fr"><file id="f">
        <unit id="u"><originalData><data id="d">%s</data><data id="e">&lt;br/&gt;</data></originalData><segment>
        <source>Hi <ph id="1" dataRef="d"/>,<ph id="2" dataRef="e"/>go <ph id="3" equiv="X" disp="{{to}}"/></source>
        <target>Va <ph id="3" equiv="X"/>,<ph id="2" dataRef="e"/>toi <ph id="1" dataRef="d"/></target>
        </segment></unit></file></xliff>""",
    )
    assert pairs(path) == [("Hi %s, go {{to}}", "Va {{to}}, toi %s")]


# States of XLIFF


@pytest.mark.parametrize(
    ("file", "of_unit", "of_target"),
    [("", 'translate="no"', ""), ('translate="no"', "", ""), ("", 'approved="no"', ""), ("", "", 'state="needs-l10n"'),
     ("", "", 'state="final" state-qualifier="rejected-grammar"')],
)  # fmt: skip
def test_units_that_are_not_to_be_used(tmp_path, file, of_unit, of_target):
    one, other = unit("a", "b", of_unit, of_target), unit("c", "d", 'translate="yes"')
    groups = f'<group {file}>{one}</group><group translate="no">{other}</group>'
    path = written(tmp_path / "a.xlf", xliff(groups))
    assert pairs(path) == [("c", "d")] and reasons(path) == ["untranslated"]


@pytest.mark.parametrize(("given", "expected"), [("en-GB", [("a", "b")]), ("fr", [("b", "a")]), ("de", [])])
def test_the_language_that_a_file_does_not_name_is_the_other_one(tmp_path, given, expected):
    path = written(tmp_path / "a.xlf", xliff(unit("a", "b"), languages=f'source-language="{given}"'))
    assert pairs(path) == expected
    assert reasons(path) == ([] if expected else ["other language"])


# Encodings


@pytest.mark.parametrize("name", ["ISO-8859-1", "windows-1252", "koi8-r", "CHARSET"])
def test_a_po_in_the_encoding_that_it_declares(tmp_path, name):
    text = "Привет" if name == "koi8-r" else "citée"
    head = f'msgid ""\nmsgstr "Language: fr\\n"\n"Content-Type: text/plain; charset={name}\\n"\n\n'
    catalog = f'{head}msgid "Go"\nmsgstr "{text}"\n'
    (tmp_path / "a.po").write_bytes(catalog.encode("utf-8" if name == "CHARSET" else name))
    assert pairs(tmp_path / "a.po") == [("Go", text)]


def test_a_po_that_is_not_in_its_encoding_is_refused(tmp_path):
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (tmp_path / "a.po").write_bytes(f'{head}msgid "Go"\nmsgstr "citée"\n'.encode("cp1252"))
    with pytest.raises(GlossaError, match=r"a\.po, line 5: wrong encoding: it is not UTF-8.* -f WINDOWS-1252"):
        pairs(tmp_path / "a.po")


def test_a_file_without_a_pair_of_the_languages_says_which_it_has(tmp_path):
    path = tmx(tmp_path / "a.tmx", *[[("en", f"a {n}"), ("de", f"b {n}")] for n in range(3)])
    message = r"0 identical, 3 other_language.*no pair of 'en' and 'fr'; the languages are \['en', 'de'\]"
    with pytest.raises(GlossaError, match=message):
        prepare_pairs(DataArguments(data_path=[str(path)]))
