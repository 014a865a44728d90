"""Whether preparing and training keep the same pairs."""

import argparse

import pytest

from benchmarks import same
from glossa.errors import GlossaError
from glossa.jobs.pool import in_this_process

SETTINGS = "--data_path a.tsv --dataset files --trust_data language --validation_size 2 --test_size 3"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(same, "in_processes", lambda load, items, **_: in_this_process(load, items))
    rows = [f"{a} {b}.\t{b} {a}!\n" for a in "abcdef" for b in "klmno"]
    (tmp_path / "a.tsv").write_text("".join([*rows, *rows[:7]]))


def test_equal_pairs_are_counted(here, capsys):
    same.run(argparse.Namespace(recipes=[f"anki-en-fr {SETTINGS}"], processes=1))
    assert "| anki-en-fr | 25 | 2 | 3 | 37 |" in capsys.readouterr().out


def test_a_difference_is_named(here, monkeypatch):
    prepared = same.prepare

    def one_less(data, *arguments):
        data.keep_out = ["a k."]
        return prepared(data, *arguments)

    monkeypatch.setattr(same, "prepare", one_less)
    with pytest.raises(GlossaError, match=r"anki-en-fr .*: .*train, .*splits differ"):
        same.run(argparse.Namespace(recipes=[f"anki-en-fr {SETTINGS}"], processes=1))
