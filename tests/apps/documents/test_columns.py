"""`--columns`: which columns of tables and workbooks are translated."""

import re
import zipfile

import openpyxl
import pytest
from refusals import refused
from translating import KNOWN, Given

from glossa.apps.documents.formats.format import Chosen
from glossa.apps.documents.formats.keys import COLUMNS, Keys
from glossa.apps.documents.job import DocumentJob
from glossa.cli.check import main as check


def run(source, columns):
    target = source.with_name(f"out{source.suffix}")
    job = DocumentJob(source, target, None, KNOWN, chosen=Chosen(columns=Keys.of(columns, COLUMNS)))
    job.run(Given(str.upper))
    return target


@pytest.mark.parametrize("columns", ["title", "2", "t*", "id, title"])
def test_columns_of_a_table_by_name_and_number(tmp_path, columns):
    (tmp_path / "a.csv").write_text("id,title,1\n7,A cat,a dog\n")
    assert run(tmp_path / "a.csv", columns).read_text() == "id,title,1\n7,A CAT,a dog\n"


def test_a_name_is_found_before_a_number(tmp_path):
    (tmp_path / "a.tsv").write_text("2\ttext\nA cat\ta dog\n")
    assert run(tmp_path / "a.tsv", "2").read_text() == "2\ttext\nA CAT\ta dog\n"


def workbook(path):
    book = openpyxl.Workbook()
    for row in (["text", "note"], ["A cat", "A cat"], ["A dog", "A bird"], ["text", None]):
        book.active.append(row)
    book.active["A2"].comment = openpyxl.comments.Comment("A comment", "me")
    other = book.create_sheet("Other")
    for row in (["number", "text"], [5, "A bird"], [6, "A cat"]):
        other.append(row)
    book.save(path)


def rows(path):
    return [[*sheet.values] for sheet in openpyxl.load_workbook(path).worksheets]


@pytest.mark.parametrize(("columns", "second"), [("text", ["A BIRD", "A CAT"]), ("1", ["A bird", "A cat"])])
def test_columns_of_each_sheet_though_cells_share_their_texts(tmp_path, columns, second):
    workbook(tmp_path / "a.xlsx")
    first = [("text", "note"), ("A CAT", "A cat"), ("A DOG", "A bird"), ("TEXT", None)]
    done = run(tmp_path / "a.xlsx", columns)
    assert rows(done) == [first, [("number", "text"), (5, second[0]), (6, second[1])]]
    assert openpyxl.load_workbook(done).active["A2"].comment.text == "A comment"


def test_texts_inside_of_cells(tmp_path):
    workbook(tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    for cell in (cell for row in book.active.iter_rows() for cell in row if cell.value):
        cell.data_type = "inlineStr"
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for name in old.namelist():  # openpyxl writes such texts as values, which Excel does not
            text = re.sub(rb'(t="inlineStr">)<v>(.*?)</v>', rb"\1<is><t>\2</t></is>", old.read(name))
            new.writestr(name, text)
    assert rows(run(tmp_path / "b.xlsx", "note"))[0] == [
        ("text", "note"), ("A cat", "A CAT"), ("A dog", "A BIRD"), ("text", None),
    ]  # fmt: skip


def test_columns_that_are_not_there_are_refused_by_name(tmp_path):
    workbook(tmp_path / "a.xlsx")
    refused(
        r"--columns: no text has the columns title\. Others are note, number", run, tmp_path / "a.xlsx", "text,title"
    )
    (tmp_path / "a.md").write_text("A cat\n")
    refused("Only CSV, TSV and XLSX have columns", run, tmp_path / "a.md", "text")


def test_columns_of_texts_and_translations_are_checked(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("id,fr,text\n1,Bonjour %s,Hello %s\n2,Salut,Hi %s\n")
    with pytest.raises(SystemExit):
        check([str(tmp_path / "a.csv"), "--columns", "text,fr"])
    said = capsys.readouterr()
    assert said.out.splitlines() == [f"{tmp_path / 'a.csv'}:3: placeholders: missing: %s"]
    refused("Nothing was checked", check, [str(tmp_path / "a.csv"), "--columns", "text"])
    assert "--columns has 1 columns. Give two" in capsys.readouterr().err
    refused("Nothing was checked", check, [str(tmp_path / "a.csv"), "--columns", "text,de"])
    assert "no text has the columns de. Others are id, fr" in capsys.readouterr().err
