import csv
import gzip
import json
import zipfile

import pyarrow
import pyarrow.parquet
import pytest

from glossa.data.readers import Columns, read_rows
from glossa.errors import GlossaError

LANGUAGES = Columns((("en", "fr"), ("source", "target")))


def read(path, columns=LANGUAGES, limit=None):
    return list(read_rows(path if isinstance(path, tuple) else (path,), columns, limit))


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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
        ("id\tfr\ten", "", 1, "header"),
        ("Go.", "Va !", 2, ""),
        ("8\tCours !", "", 3, "2 columns, where 3 are expected"),
    ]
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
        ("en,fr", "", 1, "header"),
        ('Yes, "go"', "Oui,\nva", 2, ""),
        ('va"', "", 3, "continues the row above"),
        ("Run", "Cours", 4, ""),
        ('"a"b",c', "", 5, "not CSV: ',' expected after '\"'"),
        ("x", "", 6, "1 column, where 2 are expected"),
        ("ok", "bien", 7, ""),
        ("bad \\xff,y", "", 8, "not UTF-8: byte 0xff at column 5"),
        ('"open,never closed', "", 9, "not CSV: a quote is opened and not closed"),
    ]


def test_json_lines_by_language_by_name_and_by_translation(tmp_path):
    records = [
        {"en": "Go", "fr": "Va"},
        {"source": "Run", "target": "Cours"},
        {"translation": {"fr": "Oui", "en": "Yes"}},
    ]
    lines = [json.dumps(record) for record in records]
    lines += [
        "{broken",
        '["a", "b"]',
        '{"en": "Go", "de": "Los"}',
        '{"en": 3, "fr": "trois"}',
        '{"en": "x", "fr": null}',
    ]
    lines += [r'{"en": "\ud800", "fr": "y"}', ""]
    rows = read(written(tmp_path / "a.jsonl", "\n".join(lines) + "\n"))
    assert [row[:2] for row in rows[:3]] == [("Go", "Va"), ("Run", "Cours"), ("Yes", "Oui")]
    assert [row[2:] for row in rows[3:]] == [
        (4, "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (5, "not a JSON object but list; one object per line is expected"),
        (6, "no key 'fr'; the keys are ['en', 'de']"),
        (7, "value of 'en' is int, not text"),
        (8, "value of 'fr' is null"),
        (9, "value of 'en' holds half a surrogate pair"),
        (10, ""),
    ]
    assert rows[3][:2] == ("{broken", "") and rows[9][:2] == ("", "")


def test_parquet_by_column_and_by_translation(tmp_path):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"en": ["Go", None], "id": [1, 2], "fr": ["Va", "x"]}), path)
    assert read(path)[0] == ("Go", "Va", 1, "")
    assert read(path)[1][2:] == (2, "value of 'en' is null")
    pyarrow.parquet.write_table(pyarrow.table({"translation": [{"en": "Go", "fr": "Va"}, None]}), path)
    assert [row[2:] for row in read(path)] == [(1, ""), (2, "value of 'en' is null")]
    with pytest.raises(GlossaError, match=r"no columns \('en', 'de'\); the file has \['en', 'fr'\]"):
        read(path, Columns((("en", "de"),)))


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
        ("Go", "Va", 1, ""),
        ("", "x", 2, ""),
        ("Run", "\\xff", 3, "not UTF-8: byte 0xff at column 1 of the target file"),
    ]
    written(french, "Va\nx\ny\nz\nw\n")
    with pytest.raises(GlossaError, match=r"a\.en has 3 lines and .*a\.fr has 5: they cannot be aligned"):
        read((english, french))
    with pytest.raises(GlossaError, match=r"a\.fr has 5 lines and .*a\.en has 3"):
        read((french, english))


def test_limit_reads_no_further(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\n" * 3 + "broken\n")
    assert [row[2] for row in read(path, limit=2)] == [1, 2]


@pytest.mark.parametrize("mark", ["utf-16", "utf-16-le"])
def test_utf16_is_refused_with_the_command_that_converts_it(tmp_path, mark):
    path = written(tmp_path / "a.tsv", "Go.\tVa !\n".encode(mark))
    with pytest.raises(GlossaError, match=r"a\.tsv, line 1: wrong encoding.*iconv -f UTF-16 -t UTF-8 a\.tsv"):
        read(path)


def test_a_latin1_file_is_refused_but_a_few_bad_lines_are_counted(tmp_path):
    good, bad = b"Go\tVa\n", "Go\tété\n".encode("latin-1")
    assert sum(bool(row[3]) for row in read(written(tmp_path / "a.tsv", good * 20 + bad * 9))) == 9
    assert sum(bool(row[3]) for row in read(written(tmp_path / "a.tsv", good * 990 + bad * 10))) == 10
    with pytest.raises(GlossaError, match=r"a\.tsv, line 990: .*10 of 999 lines.*iconv -f ISO-8859-1"):
        read(written(tmp_path / "a.tsv", good * 989 + bad * 10))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", b"PK not a zip", "a.zip cannot be read: File is not a zip file"),
        ("a.tsv.gz", b"plain", "a.tsv.gz cannot be read: Not a gzipped file"),
        ("a.tsv.gz", gzip.compress(b"Go\tVa\n" * 999, mtime=0)[:-20], "cannot be read: Compressed file ended"),
        ("a.parquet", b"plain", "a.parquet cannot be read"),
        ("a.docx", b"x", "no format is known for '.docx'; allowed are .tsv"),
    ],
    ids=["zip", "gzip", "cut gzip", "parquet", "docx"],
)
def test_damaged_and_unknown_files(tmp_path, name, content, message):
    with pytest.raises(GlossaError, match=message):
        read(written(tmp_path / name, content))


def test_a_zip_needs_exactly_one_text_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("_about.txt", "x")
    with pytest.raises(GlossaError, match=r"holds 0 text files among \['_about.txt'\]; exactly one"):
        read(tmp_path / "a.zip")


def test_a_long_line_is_unchanged(tmp_path):
    text = "word " * 5000
    assert read(written(tmp_path / "a.tsv", f"{text}\t{text}\n")) == [(text, text, 1, "")]
    assert read(written(tmp_path / "a.csv", f"{text},{text}\n")) == [(text, text, 1, "")]
