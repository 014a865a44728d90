"""The benchmark of documents: its files have as many texts as it says, and real files are counted."""

import subprocess

import pytest

from benchmarks import documents, real_documents
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


def test_real_files(tmp_path, monkeypatch, capsys):
    clone = tmp_path / "ann+texts"
    clone.mkdir()
    files = {"a.json": '{"a": "Hello {name}:", "b": "Good day"}', "b.json": "{bad", "c.md": "A `word` here.\n"}
    for name, text in files.items():
        (clone / name).write_text(text)
    git = ["git", "-C", str(clone), "-c", "user.name=Ann", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Texts"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "list.tsv").write_text("".join(f"ann/texts\t{commit}\t{name}\n" for name in files))
    monkeypatch.setattr(real_documents, "LIST", tmp_path / "list.tsv")
    found = real_documents.run_real(tmp_path)
    wanted = {"files": 2, "refused": 1, "equal": 1, "valid": 1, "valid after": 1, "texts": 2, "placeholders": 1}
    assert wanted.items() <= found["json"].items()
    assert found["json"]["kept"] == 1 and found["json"]["labels"] == 2 and not found["json"]["changed"]
    assert found["markdown"]["equal"] == 1 and "markdown" in capsys.readouterr().out
    (tmp_path / "list.tsv").write_text(f"ann/texts\t{commit}\tnone.md\n")
    with pytest.raises(GlossaError, match=r"has no none\.md"):
        real_documents.run_real(tmp_path)


def test_the_list_has_documents():
    rows = [line.split("\t") for line in real_documents.LIST.read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 300 and all(len(row) == 3 and len(row[1]) == 40 for row in rows)
    assert all(name.endswith("/") or format_of(name) for _, _, name in rows)
