"""A short run of each part that takes seconds: what is counted is also reached."""

import pytest

from torture import batching, documents, placeholders, readers, tags


@pytest.mark.parametrize(
    ("part", "count", "seed", "all_of", "least"),
    [
        (batching, 4, 3, ("mixtures",), {"texts": 21, "blank": 1, "several_sentences": 1, "alone": 11}),
        (documents, 150, 1, ("same", "refused"), {"same": 71}),
        (placeholders, 300, 1, ("sentences",), {"put_back": 101}),
        (readers, 300, 1, ("read", "refused"), {"read": 101, "refused": 51}),
        (tags, 400, 1, ("texts",), {"tags": 1001}),
    ],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2],
)
def test_a_short_run_finds_no_fault(part, count, seed, all_of, least):
    figures = part.torture(count, seed)
    assert sum(figures[name] for name in all_of) == count
    assert all(figures[name] >= number for name, number in least.items()), figures
