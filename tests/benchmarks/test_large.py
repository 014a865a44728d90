"""The model of time and price of large corpora."""

import argparse

import pytest

from benchmarks import large

ASSUMED = {"rows": 1_000_000, "core_price": 0.1, "gpu_price": 2.0, "gpu_tokens": 1000.0, "tokens": 1.2, "disk": 2.0}


def test_hours_and_price_by_hand(monkeypatch, capsys):
    monkeypatch.setattr(large, "measure", lambda rows: ({"cleaning": 288.0}, 36.0, 0.0, 72 * 10**8))
    large.run(argparse.Namespace(**ASSUMED))
    printed = capsys.readouterr().out
    # 100 times 288 seconds on 8 cores are an hour, 100 times 36 another one; 720 GB at 2 GB a second take 360 s.
    assert "| 100 million | 8 | 2.10 | 1.00 | 0.00 | 1.00 | 0.10 | $2 |" in printed
    assert "| 1,000 million | 64 | 12.25 | 1.25 | 0.00 | 10.00 | 1.00 | $78 |" in printed
    # Ten billion words are 12 million seconds of a GPU.
    assert "| 8 | 417 | $6,667 |" in printed


@pytest.mark.slow
def test_stages_are_measured():
    stages, alone, opening, size = large.measure(2_000)
    assert list(stages) == ["reading", "cleaning and filters", "duplicates", "what remains", "writing", "encoding"]
    assert max(stages, key=stages.get) == "cleaning and filters"
    assert alone > 0 and 0 < opening < 0.1 and size > 2_000 * 20
