"""The benchmark of documents: its files have as many texts as it says, and real files are counted."""

import io
import json
import subprocess
import zipfile

import pytest

from benchmarks import documents, real_documents, validators
from glossa.documents.formats.opening import format_of
from glossa.errors import GlossaError


@pytest.mark.parametrize("name", [*documents.MANY, *documents.ONE])
def test_each_file_has_its_texts(tmp_path, name):
    written = {**documents.MANY, **documents.ONE}[name](12)
    path = tmp_path / f"a.{name.split(',')[0]}"
    path.write_bytes(written.encode() if isinstance(written, str) else written)
    found, work = documents.translate(path)
    assert found != path.read_bytes()
    assert work.texts == (1 if name in documents.ONE else 12)


def test_growth_is_the_exponent_of_the_last_two_sizes(tmp_path, monkeypatch):
    seconds = iter([1.0, 2.0, 32.0])
    monkeypatch.setattr(documents, "_seconds", lambda path: next(seconds))
    row = documents.measure("json", documents.MANY["json"], [10, 20, 80], tmp_path)
    assert row["exponent"] == pytest.approx(2) and row["per_10000"] == pytest.approx(4000)


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """A function that commits files, and has these paths of the commit, or others, as the list."""

    def commit(files, names=None):
        return _committed(tmp_path, monkeypatch, files, files if names is None else names)

    return commit


def _committed(folder, monkeypatch, files, names):
    clone = folder / "ann+texts"
    for name, text in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    git = ["git", "-C", str(clone), "-c", "user.name=Ann", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Texts"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (folder / "list.tsv").write_text("".join(f"ann/texts\t{commit}\t{name}\n" for name in names))
    monkeypatch.setattr(real_documents, "LIST", folder / "list.tsv")


JSON = {"a.json": '{"a": "Hello {name}:", "b": "Good day"}', "b.json": "{bad", "c.md": "A `word` here.\n"}


def test_real_files(tmp_path, monkeypatch, capsys, listed):
    monkeypatch.setitem(real_documents.CHECKS, "json", lambda name, content: list(json.loads(content)))
    listed(JSON)
    found = real_documents.run_real(tmp_path)
    wanted = {"files": 2, "refused": 1, "equal": 1, "valid": 1, "valid after": 1, "texts": 2, "placeholders": 1}
    assert wanted.items() <= found["json"].items()
    assert found["json"]["kept"] == 1 and found["json"]["labels"] == 2 and not found["json"]["changed"]
    assert found["markdown"]["equal"] == 1 and "markdown" in capsys.readouterr().out
    listed({"d.md": "A"}, ["none.md"])
    with pytest.raises(GlossaError, match=r"has no none\.md"):
        real_documents.run_real(tmp_path)


def test_a_real_file_is_valid_if_its_reader_sees_the_same_as_before(tmp_path, monkeypatch, listed):
    monkeypatch.setitem(real_documents.CHECKS, "json", lambda name, content: content)
    listed(JSON)
    found = real_documents.run_real(tmp_path)["json"]
    assert found["valid"] == 1 and not found["valid after"]


def test_a_folder_is_an_unpacked_book(tmp_path, monkeypatch, listed):
    seen = []
    monkeypatch.setitem(real_documents.CHECKS, "epub", lambda name, content: seen.append(content))
    container = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
    item = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    book = {
        "book/META-INF/container.xml": container,
        "book/a.opf": f"<package><metadata/><manifest>{item}</manifest></package>",
        "book/a.xhtml": "<html><body><p>Good day</p></body></html>",
        "book/mimetype": "application/epub+zip",
    }
    listed(book, ["book/"])
    found = real_documents.run_real(tmp_path)["epub"]
    assert found["files"] == found["equal"] == found["valid after"] == found["texts"] == 1
    with zipfile.ZipFile(io.BytesIO(seen[1])) as archive:
        assert archive.namelist()[0] == "mimetype" and b"GOOD DAY" in archive.read("a.xhtml")


@pytest.mark.parametrize(
    ("kind", "name", "content", "same", "other"),
    [
        ("toml", "a.toml", 'a = "b"\n', 'a = "c"\n', 'd = "b"\n'),
        ("yaml", "a.yaml", "a: b\n", "a: c\n", "a: [b]\n"),
        ("ini", "a.ini", "[a]\nb = c\n", "[a]\nb = d\n", "[a]\n"),
        ("html", "a.html", "<p>a</p>", "<p>b</p>", "<p>a<b>b</b></p>"),
    ],
)
def test_what_a_reader_sees(kind, name, content, same, other):
    shapes = [validators.shape_of(kind, name, each.encode()) for each in (content, same, other, "\0[<")]
    assert shapes[0] == shapes[1] != shapes[2] and shapes[0][0] and shapes[2][0]
    assert kind == "html" or shapes[3] == (False, None)


def test_the_list_has_documents():
    rows = [line.split("\t") for line in real_documents.LIST.read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 300 and all(len(row) == 3 and len(row[1]) == 40 for row in rows)
    assert all(name.endswith("/") or format_of(name) for _, _, name in rows)
