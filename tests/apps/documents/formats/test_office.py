"""Slides and sheets: what is translated, what stays, and that other readers read the result."""

import io

import pytest
from apps.documents.packed import members, pack
from translating import translated

from glossa.apps.documents.formats.format import UNKNOWN

SLIDE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<p:sld xmlns:p="p" xmlns:a="a"><p:txBody><a:p><a:pPr lvl="1"/>'
    '<a:r><a:rPr lang="en-US" b="1"/><a:t>Hello </a:t></a:r><a:r><a:rPr lang="en-US"/><a:t>big &amp; old</a:t></a:r>'
    '<a:br/><a:r><a:rPr lang="en-US"/><a:t>world</a:t></a:r><a:endParaRPr lang="en-US"/></a:p>'
    '<a:p><a:fld type="slidenum"><a:t>1</a:t></a:fld></a:p></p:txBody><a:tbl><a:tc><a:p><a:r><a:t>A cell</a:t></a:r>'
    "</a:p></a:tc></a:tbl></p:sld>"
)
NOTES = '<p:notes xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>A note</a:t></a:r></a:p></p:notes>'
CHART = (
    '<c:chartSpace xmlns:c="c" xmlns:a="a"><c:title><a:p><a:r><a:t>A title</a:t></a:r></a:p></c:title><c:v>7</c:v>'
    "</c:chartSpace>"
)
SHEET = (
    '<?xml version="1.0"?>\n<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b"><table:table '
    'table:name="Sheet one"><table:table-cell office:value-type="string"><text:p>Good day</text:p></table:table-cell>'
    '<table:table-cell office:value-type="date"><text:p>May 5</text:p></table:table-cell><table:table-cell '
    'table:formula="of:=A1" office:value-type="string"><text:p>Good day</text:p></table:table-cell>'
    "</table:table></office:document-content>"
)
FILES = {
    "a.pptx": {
        "[Content_Types].xml": "<Types/>", "ppt/slides/slide1.xml": SLIDE, "ppt/notesSlides/notesSlide1.xml": NOTES,
        "ppt/charts/chart1.xml": CHART, "ppt/theme/theme1.xml": "<a:t>stay here</a:t>",
    },
    "a.ods": {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": SHEET},
    "a.odp": {
        "mimetype": "application/vnd.oasis.opendocument.presentation",
        "content.xml": '<o:d xmlns:o="o" xmlns:text="t" xmlns:draw="d"><draw:frame><draw:text-box>'
        "<text:p>A slide</text:p></draw:text-box></draw:frame></o:d>",
    },
}  # fmt: skip


def written(folder, name):
    return pack(folder / name, FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_an_engine_that_returns_its_source_changes_no_member(tmp_path, name):
    path = written(tmp_path, name)
    assert translated(path, languages=UNKNOWN) == path.read_bytes()


def test_slides(tmp_path):
    found = members(translated(written(tmp_path, "a.pptx"), str.upper))
    slide = found["ppt/slides/slide1.xml"]
    assert '<a:r><a:rPr lang="fr" b="1"/><a:t>HELLO </a:t></a:r>' in slide
    assert '<a:r><a:rPr lang="fr"/><a:t>BIG &amp; OLD</a:t></a:r><a:br/>' in slide
    assert "<a:t>WORLD</a:t></a:r><a:endParaRPr" in slide and "<a:t>A CELL</a:t>" in slide
    assert '<a:fld type="slidenum"><a:t>1</a:t></a:fld>' in slide
    assert "<a:t>A NOTE</a:t>" in found["ppt/notesSlides/notesSlide1.xml"]
    assert "<a:t>A TITLE</a:t>" in found["ppt/charts/chart1.xml"] and "<c:v>7</c:v>" in found["ppt/charts/chart1.xml"]
    assert found["ppt/theme/theme1.xml"] == "<a:t>stay here</a:t>"


def test_slides_that_another_program_wrote(tmp_path):
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "The house", "A man sleeps.\nA dog runs."
    slide.notes_slide.notes_text_frame.text = "A note."
    deck.save(tmp_path / "a.pptx")
    found = pptx.Presentation(io.BytesIO(translated(tmp_path / "a.pptx", str.upper)))
    (slide,) = found.slides
    assert [shape.text_frame.text for shape in slide.shapes] == ["THE HOUSE", "A MAN SLEEPS.\nA DOG RUNS."]
    assert slide.notes_slide.notes_text_frame.text == "A NOTE."


def test_sheets_of_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.comments import Comment
    from openpyxl.worksheet.table import Table

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sheet one"
    for row in (
        ["Name", "Price"],
        ["A green book", 7.5],
        ["A red book", '=IF(B2>5,"big one","small one")'],
        ["Name", 1],
    ):
        sheet.append(row)
    sheet["A2"].comment = Comment("A comment", "Ann")
    sheet.add_table(Table(displayName="Books", ref="A1:B4"))
    book.save(tmp_path / "a.xlsx")
    assert translated(tmp_path / "a.xlsx", languages=UNKNOWN) == (tmp_path / "a.xlsx").read_bytes()
    found = openpyxl.load_workbook(io.BytesIO(translated(tmp_path / "a.xlsx", str.upper)))
    rows = [list(row) for row in found["Sheet one"].values]
    assert rows == [
        ["Name", "Price"], ["A GREEN BOOK", 7.5], ["A RED BOOK", '=IF(B2>5,"big one","small one")'], ["Name", 1]
    ]  # fmt: skip
    assert found["Sheet one"].tables["Books"].column_names == ["Name", "Price"]


def test_runs_in_a_cell(tmp_path):
    shared = (
        '<sst xmlns="s"><si><t xml:space="preserve"> Good day </t></si><si><r><rPr><b/></rPr><t>Good</t></r>'
        "<r><t> night</t></r><rPh><t>x y</t></rPh></si></sst>"
    )
    path = pack(tmp_path / "a.xlsx", {"xl/sharedStrings.xml": shared})
    found = members(translated(path, str.upper))["xl/sharedStrings.xml"]
    assert '<si><t xml:space="preserve"> GOOD DAY </t></si>' in found
    night = '<r><t xml:space="preserve"> NIGHT</t></r><rPh>'
    assert f'<r><rPr><b/></rPr><t xml:space="preserve">GOOD</t></r>{night}' in found


def test_sheets_and_slides_of_opendocument(tmp_path):
    found = members(translated(written(tmp_path, "a.ods"), str.upper))["content.xml"]
    assert found == SHEET.replace("<text:p>Good day", "<text:p>GOOD DAY", 1)
    found = members(translated(written(tmp_path, "a.odp"), str.upper))["content.xml"]
    assert "<text:p>A SLIDE</text:p>" in found
