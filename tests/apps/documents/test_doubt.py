"""Documents mark translations that people should look at."""

import io
import json
from pathlib import Path

import pytest
from apps.documents.packed import members, pack
from lxml import etree
from translating import KNOWN, Given

from glossa.apps.documents.job import DocumentJob
from glossa.translate.confidence import UNCERTAIN

SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

# A remark.
#, python-format
msgctxt "menu"
msgid "Sure"
msgstr ""

#: a.c:3
msgid "Doubtful"
msgstr ""

msgctxt "menu"
msgid "Doubtful file"
msgid_plural "Doubtful files"
msgstr[0] ""
msgstr[1] ""
"""
XLIFF = """<xliff version="1.2"><file source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>Sure</source></trans-unit>
<trans-unit id="2"><source>Doubtful</source></trans-unit>
<trans-unit id="3"><source>Doubtful too</source><target state="new"/></trans-unit>
</body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="fr"><file id="f">
<unit id="1"><segment><source>Sure</source></segment></unit>
<unit id="2"><segment state="initial"><source>Doubtful</source></segment></unit>
<unit id="3"><segment id="s"><source>Doubtful too</source></segment></unit>
</file></xliff>"""


class Doubting(Given):
    """Translates to upper case, and is certain of what does not begin with "Doubtful"."""

    def __init__(self, measured=True):
        super().__init__(str.upper)
        self.measured = measured

    def translate_segments(self, sentences, progress=False):
        super().translate_segments(sentences, progress)
        for sentence in sentences:
            doubtful = sentence.source.startswith("Doubtful")
            sentence.best.problem = UNCERTAIN if doubtful else ""
            sentence.best.confidence = (0.1 if doubtful else 0.9) if self.measured else None


def translated(tmp_path, name, content, translator):
    (tmp_path / name).write_text(content)
    report = io.StringIO()
    job = DocumentJob(tmp_path / name, tmp_path / f"new.{name}", languages=KNOWN)
    job.run(translator, report)
    return (tmp_path / f"new.{name}").read_text(), [json.loads(line) for line in report.getvalue().splitlines()]


def test_entries_of_a_catalog_become_fuzzy(tmp_path):
    found, report = translated(tmp_path, "a.po", PO, Doubting())
    assert found == (
        PO.replace('"Sure"\nmsgstr ""', '"Sure"\nmsgstr "SURE"')
        .replace('msgid "Doubtful"\nmsgstr ""', '#, fuzzy\nmsgid "Doubtful"\nmsgstr "DOUBTFUL"')
        .replace('msgctxt "menu"\nmsgid "Doubtful file"', '#, fuzzy\nmsgctxt "menu"\nmsgid "Doubtful file"')
        .replace('msgstr[0] ""', 'msgstr[0] "DOUBTFUL FILE"')
        .replace('msgstr[1] ""', 'msgstr[1] "DOUBTFUL FILES"')
    )
    assert [row["problem"] for row in report] == [UNCERTAIN] * 3


def test_a_fuzzy_mark_ends_as_other_lines_do(tmp_path):
    (tmp_path / "a.po").write_bytes(b'msgid "Doubtful"\r\nmsgstr ""\r\n')
    DocumentJob(tmp_path / "a.po", tmp_path / "b.po", languages=KNOWN).run(Doubting())
    assert (tmp_path / "b.po").read_bytes() == b'#, fuzzy\r\nmsgid "Doubtful"\r\nmsgstr "DOUBTFUL"\r\n'


def test_units_get_another_state(tmp_path):
    found, _ = translated(tmp_path, "a.xliff", XLIFF, Doubting())
    good = '<target state="translated" state-qualifier="mt-suggestion">'
    doubtful = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
    assert f"{good}SURE</target>" in found
    assert f"{doubtful}DOUBTFUL</target>" in found and f"{doubtful}DOUBTFUL TOO</target>" in found
    found, _ = translated(tmp_path, "b.xliff", XLIFF_2, Doubting())
    assert '<segment state="translated"><source>Sure</source><target>SURE</target>' in found
    for start, text in (("<segment", "Doubtful"), ('<segment id="s"', "Doubtful too")):
        state = 'state="initial" subState="glossa:review"'
        assert f"{start} {state}><source>{text}</source><target>{text.upper()}</target>" in found


@pytest.mark.parametrize(("name", "content"), [("a.po", PO), ("a.xliff", XLIFF), ("b.xliff", XLIFF_2)])
def test_without_a_limit_nothing_is_marked(tmp_path, name, content):
    found, _ = translated(tmp_path, name, content, Doubting(measured=False))
    Path(tmp_path / f"new.{name}").unlink()
    assert found == translated(tmp_path, name, content, Given(str.upper))[0]
    assert "fuzzy" not in found and "needs-review" not in found


def word(tmp_path, name, others):
    """A Word document with three paragraphs, translated; its members."""
    texts = ("Sure", "Doubtful", "Doubtful too")
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    given = {
        "[Content_Types].xml": '<Types><Default Extension="xml" ContentType="application/xml"/></Types>',
        "word/_rels/document.xml.rels": "<Relationships/>",
        "word/document.xml": f'<w:document xmlns:w="{SPACE}"><w:body>{body}</w:body></w:document>',
        "word/header1.xml": f'<w:hdr xmlns:w="{SPACE}"><w:p><w:r><w:t>Doubtful</w:t></w:r></w:p></w:hdr>',
    } | others
    DocumentJob(pack(tmp_path / name, given), tmp_path / f"new.{name}", languages=KNOWN).run(Doubting())
    return members(tmp_path / f"new.{name}")


def commented(found):
    """The commented texts of a document, and the numbers of the comments in their member."""
    root = etree.fromstring(found["word/document.xml"].encode())
    numbers = [each.get(f"{{{SPACE}}}id") for each in root.iter(f"{{{SPACE}}}commentReference")]
    texts = []
    for paragraph in root.iter(f"{{{SPACE}}}p"):
        marks = [child.tag.split("}")[1] for child in paragraph]
        if len(marks) > 1:
            assert marks == ["commentRangeStart", "r", "commentRangeEnd", "r"]
            texts.append("".join(paragraph.itertext()))
    comments = etree.fromstring(found["word/comments.xml"].encode())
    return texts, numbers, [each.get(f"{{{SPACE}}}id") for each in comments]


def test_paragraphs_get_a_comment(tmp_path):
    found = word(tmp_path, "a.docx", {})
    texts, numbers, known = commented(found)
    assert texts == ["DOUBTFUL", "DOUBTFUL TOO"] and numbers == known and len(set(known)) == 2
    assert "DOUBTFUL" in found["word/header1.xml"] and "comment" not in found["word/header1.xml"]
    types = etree.fromstring(found["[Content_Types].xml"].encode())
    assert [each.get("PartName") for each in types if "PartName" in each.attrib] == ["/word/comments.xml"]
    (relation,) = etree.fromstring(found["word/_rels/document.xml.rels"].encode())
    assert relation.get("Target") == "comments.xml" and relation.get("Type").endswith("/comments")


def test_comments_join_those_of_the_document(tmp_path):
    own = f'<w:comments xmlns:w="{SPACE}"><w:comment w:id="3"><w:p/></w:comment></w:comments>'
    relations = '<Relationships><Relationship Id="r1" Type="x/comments" Target="comments.xml"/></Relationships>'
    found = word(tmp_path, "a.docx", {"word/comments.xml": own, "word/_rels/document.xml.rels": relations})
    _, numbers, known = commented(found)
    assert known == ["3", *numbers] and len(numbers) == 2
    assert found["word/_rels/document.xml.rels"] == relations


def test_without_doubt_there_is_no_comment(tmp_path, monkeypatch):
    monkeypatch.setattr(Doubting, "translate_segments", Given.translate_segments)
    found = word(tmp_path, "a.docx", {})
    assert "word/comments.xml" not in found and "comment" not in found["word/document.xml"]
