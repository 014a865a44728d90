"""The benchmark of documents: its files have as many texts as it says."""

import pytest

from benchmarks import documents


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
