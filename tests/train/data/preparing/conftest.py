"""Small blocks, parts and files, so that a small corpus has several of each."""

import pytest

from glossa.train.data.preparing import blocks, duplicates, writing


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(blocks, "ROWS", 170)
    monkeypatch.setattr(duplicates, "PAIRS", 400)
    monkeypatch.setattr(writing, "PAIRS", 300)
