import csv
import gzip
import json
import random
import zipfile

import pyarrow
import pyarrow.parquet
import pytest
from reading import read, written
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.readers.reading import Columns


def test_only_line_feeds_end_lines_and_line_numbers_are_kept(tmp_path):
    path = written(tmp_path / "a.tsv", "\ufeffGo.\tVa\u2028 !\r\n\nRun!\tCours\u202f!\tCC-BY 2.0")
    assert read(path) == [("Go.", "Va\u2028 !", 1, ""), ("", "", 2, ""), ("Run!", "Cours\u202f!", 3, "")]


def test_malformed_lines_have_a_reason(tmp_path):
    path = written(tmp_path / "a.txt", b"Go.\tVa !\nHello\na\tb\tc\td\n" + b"caf\xc3\xa9 \xe9t\tx\n")
    assert read(path)[1:] == [
        ("Hello", "", 2, "no tab: 1 column, where 2 or 3 are expected"),
        ("a\tb\tc\td", "", 3, "4 columns, where 2 or 3 are expected"),
        ("café \\xe9t\tx", "", 4, "not UTF-8: byte 0xe9 at column 6"),
    ]


def test_a_header_selects_the_columns(tmp_path):
    path = written(tmp_path / "a.tsv", "id\tfr\ten\n7\tVa !\tGo.\n8\tCours !\n")
    assert read(path) == [
        ("id\tfr\ten", "", 1, "header"), ("Go.", "Va !", 2, ""),
        ("8\tCours !", "", 3, "2 columns, where 3 are expected"),
    ]  # fmt: skip
    with pytest.raises(GlossaError, match=r"line 1: no columns \('x', 'fr'\); the file has \['id', 'fr', 'en'\]"):
        read(path, Columns((("x", "fr"),), required=True))


def test_a_header_may_be_capitalized(tmp_path):
    assert read(written(tmp_path / "A.CSV", "Target,Source\nVa,Go\n"))[1:] == [("Go", "Va", 2, "")]


def test_swapped_reads_the_second_column_as_source(tmp_path):
    path = written(tmp_path / "a.txt", "Go.\tVa !\tattribution\n")
    assert read(path, Columns((("fr", "en"),), swapped=True)) == [("Va !", "Go.", 1, "")]


def test_csv_quoting_and_physical_lines(tmp_path):
    with open(tmp_path / "a.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["en", "fr"], ['Yes, "go"', "Oui,\nva"], ["Run", "Cours"]])
    with open(tmp_path / "a.csv", "ab") as file:
        file.write(b'"a"b",c\nx\nok,bien\nbad \xff,y\n"open,never closed')
    assert read(tmp_path / "a.csv") == [
        ("en,fr", "", 1, "header"), ('Yes, "go"', "Oui,\nva", 2, ""), ('va"', "", 3, "continues the row above"),
        ("Run", "Cours", 4, ""), ('"a"b",c', "", 5, "not CSV: ',' expected after '\"'"),
        ("x", "", 6, "1 column, where 2 are expected"), ("ok", "bien", 7, ""),
        ("bad \\xff,y", "", 8, "not UTF-8: byte 0xff at column 5"),
        ('"open,never closed', "", 9, "not CSV: a quote is opened and not closed"),
    ]  # fmt: skip


def test_json_lines_by_language_by_name_and_by_translation(tmp_path):
    records = [
        {"en": "Go", "fr": "Va"}, {"source": "Run", "target": "Cours"},
        {"translation": {"fr": "Oui", "en": "Yes"}},
    ]  # fmt: skip
    lines = [json.dumps(record) for record in records]
    lines += [
        "{broken", '["a", "b"]', '{"en": "Go", "de": "Los"}', '{"en": 3, "fr": "trois"}', '{"en": "x", "fr": null}',
    ]  # fmt: skip
    lines += [r'{"en": "\ud800", "fr": "y"}', ""]
    rows = read(written(tmp_path / "a.jsonl", "\n".join(lines) + "\n"))
    assert [row[:2] for row in rows[:3]] == [("Go", "Va"), ("Run", "Cours"), ("Yes", "Oui")]
    assert [row[2:] for row in rows[3:]] == [
        (4, "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (5, "not a JSON object but list; one object per line is expected"),
        (6, "no key 'fr'; the keys are ['en', 'de']"), (7, "value of 'en' is int, not text"),
        (8, "value of 'fr' is null"), (9, "value of 'en' has half a surrogate pair"), (10, ""),
    ]  # fmt: skip
    assert rows[3][:2] == ("{broken", "") and rows[9][:2] == ("", "")


def test_parquet_by_column_and_by_translation(tmp_path):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"en": ["Go", None], "id": [1, 2], "fr": ["Va", "x"]}), path)
    assert read(path)[0] == ("Go", "Va", 1, "")
    assert read(path)[1][2:] == (2, "value of 'en' is null")
    pyarrow.parquet.write_table(pyarrow.table({"translation": [{"en": "Go", "fr": "Va"}, None]}), path)
    assert [row[2:] for row in read(path)] == [(1, ""), (2, "value of 'en' is null")]
    refused(r"no columns \('en', 'de'\); the file has \['en', 'fr'\]", read, path, Columns((("en", "de"),)))


def test_gzip_and_zip_hold_the_same_rows(tmp_path):
    with gzip.open(tmp_path / "a.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("Go.\tVa !\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("_about.txt", "About\tthis\n")
        archive.writestr("fra.txt", "Go.\tVa !\n")
    assert read(tmp_path / "a.tsv.gz") == read(tmp_path / "a.zip") == [("Go.", "Va !", 1, "")]


def test_aligned_files_keep_empty_lines_and_refuse_different_lengths(tmp_path):
    english = written(tmp_path / "a.en", "Go\n\nRun\n")
    french = written(tmp_path / "a.fr", b"Va\nx\n\xff\n")
    assert read((english, french)) == [
        ("Go", "Va", 1, ""), ("", "x", 2, ""),
        ("Run", "\\xff", 3, "not UTF-8: byte 0xff at column 1 of the target file"),
    ]  # fmt: skip
    written(french, "Va\nx\ny\nz\nw\n")
    refused(r"a\.en has 3 lines and .*a\.fr has 5, so they are not aligned", read, (english, french))
    refused(r"a\.fr has 5 lines and .*a\.en has 3", read, (french, english))


def test_limit_reads_no_further(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\n" * 3 + "broken\n")
    assert [row[2] for row in read(path, limit=2)] == [1, 2]
    path = written(tmp_path / "a.csv", 'en,fr\n"a\nb",c\nd,e\nf,g\n')
    assert [row[:3] for row in read(path, limit=2) if not row[3]] == [("a\nb", "c", 2), ("d", "e", 4)]


@pytest.mark.parametrize(
    ("codec", "name"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32"),
     ("utf-32-le", "UTF-32LE"), ("utf-32-be", "UTF-32BE")],
)  # fmt: skip
def test_utf16_is_refused_with_the_command_that_converts_it(tmp_path, codec, name):
    """The cases `encoding-utf16` and `encoding-utf16le-nobom`."""
    path = written(tmp_path / "a.tsv", "Go.\tVa !\n".encode(codec))
    refused(rf"a\.tsv, line 1: wrong encoding.*iconv -f {name} -t UTF-8 a\.tsv", read, path)


def test_a_latin1_file_is_refused_but_a_few_bad_lines_are_counted(tmp_path):
    """The case `encoding-cp1252`: of the two encodings, Windows-1252 has more characters."""
    good, bad = b"Go\tVa\n", "Go\tété\n".encode("latin-1")
    assert sum(bool(row[3]) for row in read(written(tmp_path / "a.tsv", good * 20 + bad * 9))) == 9
    assert sum(bool(row[3]) for row in read(written(tmp_path / "a.tsv", good * 990 + bad * 10))) == 10
    with pytest.raises(GlossaError, match=r"a\.tsv, line 990: .*10 of 999 lines.*iconv -f WINDOWS-1252"):
        read(written(tmp_path / "a.tsv", good * 989 + bad * 10))
    refused("3 of 4 lines are not UTF-8", read, written(tmp_path / "a.tsv", good + bad * 3))


def test_of_two_files_the_one_in_latin1_is_named(tmp_path):
    english = written(tmp_path / "a.en", "Go\n" * 20)
    french = written(tmp_path / "a.fr", b"Va\n" * 2 + "été\n".encode("latin-1") * 18)
    for pair in ((english, french), (french, english)):
        refused(r"a\.fr, line 3: .*18 of 20 lines.* UTF-8 a\.fr > utf8-a\.fr", read, pair)


def test_packed_text_in_latin1_is_to_be_unpacked_first(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("X.en-fr.en", "Go\n" * 20)
        archive.writestr("X.en-fr.fr", "été\n".encode("latin-1") * 20)
    message = r"a\.zip, line 1: .*unpack it and convert it: iconv -f WINDOWS-1252"
    refused(message, read, tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", b"PK not a zip", "a.zip cannot be read: File is not a zip file"),
        ("a.tsv.gz", b"plain", "a.tsv.gz cannot be read: Not a gzipped file"),
        ("a.tsv.gz", gzip.compress(b"Go\tVa\n" * 999, mtime=0)[:-20], "cannot be read: Compressed file ended"),
        ("a.parquet", b"plain", "a.parquet cannot be read"),
        ("a.docx", b"x", "unknown format '.docx'; allowed are .tsv"),
    ],
    ids=["zip", "gzip", "cut gzip", "parquet", "docx"],
)
def test_damaged_and_unknown_files(tmp_path, name, content, message):
    refused(message, read, written(tmp_path / name, content))


def test_a_long_line_is_unchanged(tmp_path):
    text = "word " * 5000
    assert read(written(tmp_path / "a.tsv", f"{text}\t{text}\n")) == [(text, text, 1, "")]
    assert read(written(tmp_path / "a.csv", f"{text},{text}\n")) == [(text, text, 1, "")]


def test_a_stray_quote_costs_one_line(tmp_path):
    texts = [f"s {number},t {number}" for number in range(1, 5001)]
    texts[9] = '"s 10,t 10'
    texts[2000] = 's 2001,"t 2001'
    rows = read(written(tmp_path / "a.csv", "\n".join(texts)))
    assert [row[2] for row in rows] == list(range(1, 5001))
    wrong = "not CSV: a quote is opened and not closed"
    assert [row for row in rows if row[3]] == [('"s 10,t 10', "", 10, wrong), ('s 2001,"t 2001', "", 2001, wrong)]
    assert rows[10] == ("s 11", "t 11", 11, "") and rows[4999] == ("s 5000", "t 5000", 5000, "")


def test_quotes_that_only_seem_to_belong_together_join_no_lines(tmp_path):
    far = ["a,b"] * 3 + ['c,"d'] + ["e,f"] * 10 + ['g,h"', "i,j"]
    rows = read(written(tmp_path / "a.csv", "\n".join(far)))
    assert [row[2] for row in rows if row[3]] == [4], "a quoted field has at most ten lines"
    near = ["a,b"] * 3 + ['c,"d', 'e",f,g', "h,i"]
    rows = read(written(tmp_path / "a.csv", "\n".join(near)))
    assert [row[2:] for row in rows[3:]] == [(4, "not CSV: a quote is opened and not closed"), (5, ""), (6, "")]


def test_every_line_is_one_row_whatever_is_damaged(tmp_path):
    chance = random.Random(1)
    for number in range(60):
        content = "".join(f's {n}, x{chance.choice(";,|")}"t {n}"\n' for n in range(40))
        for _ in range(chance.randrange(6)):
            place = chance.randrange(len(content))
            content = content[:place] + chance.choice(['"', '""', "\n", "\n\n", ",", ";", "\t"]) + content[place:]
        for name in ("a.csv", "a.tsv"):
            rows = read(written(tmp_path / name, content))
            assert [row[2] for row in rows] == list(range(1, content.count("\n") + 1)), (number, name)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_of_a_csv_is_the_one_by_which_lines_agree(tmp_path, separator):
    pairs = [["Yes, sir", "Oui; oui"], ["a | b", "x"], ["Go, go", "Va, va"], ['"so"', "c; d, e"]]
    with open(tmp_path / "a.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(pairs)
    assert [list(row[:2]) for row in read(tmp_path / "a.csv")] == pairs


def test_commas_in_every_sentence_do_not_hide_the_semicolon(tmp_path):
    path = written(tmp_path / "a.csv", "Yes, go;Oui, va\nNo, stay;Non, restons\n")
    assert [row[:2] for row in read(path)] == [("Yes, go", "Oui, va"), ("No, stay", "Non, restons")]


GERMAN = Columns((("de", "en"), ("source", "target")))


@pytest.mark.parametrize(
    "header",
    ["german,english", "German,English", "deu,eng", "ger,en", "DE,EN", "de_AT,en-US", "src,tgt", "Source,TARGET"],
)
def test_names_and_codes_of_languages_and_roles_are_a_header(tmp_path, header):
    rows = [("Los", "Go", 2, "")]
    assert read(written(tmp_path / "a.csv", f"{header}\nLos,Go\n"), GERMAN) == [(header, "", 1, "header"), *rows]
    first, second = header.split(",")
    turned = read(written(tmp_path / "b.csv", f"{second},{first}\nGo,Los\n"), GERMAN)
    assert turned[1:] == rows
    assert read(written(tmp_path / "a.jsonl", json.dumps({second: "Go", first: "Los"})), GERMAN)[0][:2] == (
        "Los",
        "Go",
    )


def test_blank_lines_before_a_header(tmp_path):
    rows = read(written(tmp_path / "a.csv", "\n \nenglish,german\nGo,Los\n"), GERMAN)
    assert rows == [("", "", 1, ""), ("", "", 2, ""), ("english,german", "", 3, "header"), ("Los", "Go", 4, "")]


def test_a_header_of_other_languages_is_refused_and_words_are_a_pair(tmp_path):
    with pytest.raises(GlossaError, match=r"line 1: no columns \('de', 'en'\); the file has \['french'"):
        read(written(tmp_path / "a.csv", "french,english\nVa,Go\n"), GERMAN)
    assert read(written(tmp_path / "a.csv", "is,est\nno,non\n"))[0] == ("is", "est", 1, "")
    assert read(written(tmp_path / "a.csv", "French,Français\nno,non\n"))[0][3] == ""


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_columns_of_the_same_name_are_refused(tmp_path, name):
    if name == "a.csv":
        written(tmp_path / name, "en,fr,en\nGo,Va,x\n")
    else:
        table = pyarrow.table([["Go"], ["Va"], ["x"]], names=["en", "fr", "en"])
        pyarrow.parquet.write_table(table, tmp_path / name)
    refused("2 columns are named 'en'", read, tmp_path / name)


def test_two_columns_of_one_language_are_ambiguous(tmp_path):
    path = written(tmp_path / "a.csv", "pt_BR,pt_PT,English\na,b,c\n")
    refused(r"no columns \('pt', 'en'\)", read, path, Columns((("pt", "en"),)))
    assert read(path, Columns((("pt_PT", "en"),)))[1][:2] == ("b", "c")


def test_json_that_the_parser_cannot_hold_costs_its_line(tmp_path):
    content = "[" * 100_000 + "\n" + '{"en": ' + "9" * 5000 + ', "fr": "x"}\n' + r'{"en": "a\u0000", "fr": "b"}' + "\n"
    content += r'{"\ud800": 1}' + '\n{"en": 1e999, "fr": "x"}\n{"en": "Go", "fr": "Va"}\n'
    rows = read(written(tmp_path / "a.jsonl", content))
    assert rows[0][3] == "JSON is nested too deeply"
    assert rows[1][3].startswith("JSON cannot be read: Exceeds the limit (4300 digits)")
    assert rows[2][3] == "value of 'en' has a NUL character"
    assert rows[3][3] == "no key 'en' or 'fr'; the keys are ['\\ud800']"
    assert rows[4][3] == "value of 'en' is float, not text" and rows[5] == ("Go", "Va", 6, "")


def test_a_quoted_field_over_the_limit_of_the_parser_costs_its_line(tmp_path):
    rows = read(written(tmp_path / "a.csv", 'a,b\n"' + "x" * 200_000 + '",y\nc,d\n'))
    assert [row[3] for row in rows] == ["", "not CSV: field larger than field limit (131072)", ""]


KINDS = [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parquet_of_every_kind_of_text(tmp_path, kind):
    columns = [pyarrow.array(["Go", None], kind), pyarrow.array(["Va", "x"], kind)]
    table = pyarrow.table(columns, names=["en", "fr"])
    nested = pyarrow.table({"translation": table.to_struct_array().combine_chunks()})
    for content in (table, nested):
        pyarrow.parquet.write_table(content, tmp_path / "a.parquet")
        assert [row[:2] + row[3:] for row in read(tmp_path / "a.parquet")] == [
            ("Go", "Va", ""), ("{'en': None, 'fr': 'x'}", "", "value of 'en' is null"),
        ]  # fmt: skip


def test_parquet_text_that_is_not_utf8_costs_its_row(tmp_path):
    raw = pyarrow.array([b"Go", b"\xff", b"Run"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), 3, raw.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"en": text, "fr": ["a", "b", "c"]}), tmp_path / "a.parquet")
    assert [row[3] for row in read(tmp_path / "a.parquet")] == ["", "value of 'en' is bytes, not UTF-8 text", ""]


@pytest.mark.parametrize(
    "column", [[1, 2], [b"a", b"b"], [["a"], ["b"]], [{"x": "a"}, {"x": "b"}]], ids=["int", "binary", "list", "struct"]
)
def test_parquet_columns_that_hold_no_text_are_refused(tmp_path, column):
    pyarrow.parquet.write_table(pyarrow.table({"en": column, "fr": ["a", "b"]}), tmp_path / "a.parquet")
    refused(r"a.parquet: column 'en' holds .*, not text.*\['fr'\]", read, tmp_path / "a.parquet")
