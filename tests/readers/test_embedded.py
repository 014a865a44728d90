"""The corpus of the quickstart: its rows, its splits, and its cache."""

import hashlib
from pathlib import Path

from datasets import Translation

from glossa.readers.embedded import embedded_corpus


def test_the_rows_and_their_order_are_those_that_results_were_measured_with():
    """Another order gives other weights from the same seed."""
    dataset = embedded_corpus()
    assert {split: len(rows) for split, rows in dataset.items()} == {
        "train": 40_000, "validation": 1_000, "test": 1_000,
    }  # fmt: skip
    for rows in dataset.values():
        assert rows.column_names == ["translation"]
        assert rows.features["translation"] == Translation(languages=["en", "fr"])
    pairs = [row for rows in dataset.values() for row in rows["translation"]]
    digest = hashlib.sha256("".join(f"{row['en']}\t{row['fr']}\n" for row in pairs).encode()).hexdigest()
    assert digest == "1f006dc969bf55fb482088784775e1ba81f1bc6643f1cad6924e3500abcc59aa"


def test_the_corpus_is_read_once():
    first, second = (
        [(path := Path(file["filename"]), path.stat().st_mtime_ns) for file in embedded_corpus()["train"].cache_files]
        for _ in range(2)
    )
    assert first and first == second
