"""The quickstart corpus: English and French sentence pairs in the package, available offline.

The pairs in `embedded.tsv.xz` are Glossa's own, under its license. A small grammar generated them with seed 1 (commit
51e4de5, `modeling/glossa/data/embedded`). Their French is a function of the English: "you" is always "vous", the
simple past a passé composé (an imparfait for verbs of state), "will" a futur simple, "they" always "ils", and
adjectives whose spelling would depend on the speaker's gender are avoided. A model that has learned the grammar can
therefore translate every sentence exactly.

Validation and test measure generalization: each of their sentences has at least one combination that never occurs in
train, of a noun and an adjective, of a verb and its object, or of the tense, adverb and person of a main clause. No
English or French side occurs twice in the corpus.
"""

import lzma
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from datasets import DatasetDict, Features, Translation

from ..base.caching import cached_rows

SIZES = {"train": 40_000, "validation": 1_000, "test": 1_000}
FILE = Path(__file__).with_name("embedded.tsv.xz")


def embedded_corpus() -> DatasetDict:
    """The corpus: "train", "validation" and "test" of `SIZES` rows, each with one `translation` of en and fr."""
    features = Features({"translation": Translation(languages=["en", "fr"])})
    rows = cached_rows(read_embedded, {}, features, FILE.read_bytes())
    ends = accumulate(SIZES.values())
    return DatasetDict(
        {split: rows.select(range(end - SIZES[split], end)) for split, end in zip(SIZES, ends, strict=True)}
    )


def read_embedded() -> Iterator[dict]:
    """Yield the rows of all splits, one split after another."""
    with lzma.open(FILE, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            en, fr = line.rstrip("\n").split("\t")
            yield {"translation": {"en": en, "fr": fr}}
