"""IBM model 1 against values by hand, and the filter on sentences that are not translations of each other."""

import math
import random

import numpy
import pytest
from datasets import Dataset, DatasetDict

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.alignment import Alignment, Lexicon, Side
from glossa.train.data.cleaning.cleaning import clean

# das Haus, das Buch, ein Buch: the house, the book, a book
GERMAN, ENGLISH = [(0, 1), (0, 2), (3, 2)], [(0, 1), (0, 2), (3, 2)]
DAS, HAUS, BUCH = range(3)
THE, HOUSE, BOOK = range(3)


def side(rows):
    return Side(numpy.array([word for row in rows for word in row], dtype=int), numpy.array([*map(len, rows)]))


def probability(lexicon, given, explained):
    (place,) = numpy.flatnonzero(lexicon.keys == given * lexicon.size + explained)
    return lexicon.probabilities[place]


def test_probabilities_by_hand():
    once, twice = (Lexicon(side(GERMAN), side(ENGLISH), 4, iterations) for iterations in (1, 2))
    assert probability(once, DAS, THE) == 1 / 2 and probability(once, DAS, HOUSE) == 1 / 4
    # Shares of "the": 1/2 and 2/3; of "house" 1/3, of "book" 1/3. Their sum for "das" is 11/6.
    assert probability(twice, DAS, THE) == pytest.approx(7 / 11)
    assert probability(twice, DAS, BOOK) == pytest.approx(2 / 11)
    # Shares of "the" and "house", whose sum for "Haus" is 7/6.
    assert probability(twice, HAUS, HOUSE) == pytest.approx(4 / 7)
    assert probability(twice, BUCH, BOOK) == pytest.approx(7 / 11)


def test_scores_by_hand():
    lexicon = Lexicon(side(GERMAN), side(ENGLISH), 4, 1)
    # "the" is 2 of 6 words; "das Haus" gives it (1/2 + 1/2) / 2, and "house", which is 1 of 6, (1/4 + 1/2) / 2.
    given = side([(DAS,), (BUCH,), (DAS, HAUS), (), (DAS,)])
    explained = side([(THE,), (HOUSE,), (THE, HOUSE), (THE,), ()])
    house = math.log(0.9 * 0.375 * 6 + 0.1)
    expected = [math.log(0.9 * 0.5 * 3 + 0.1), math.log(0.1), (math.log(0.9 * 0.5 * 3 + 0.1) + house) / 2, 0, 0]
    assert lexicon.scores(given, explained).tolist() == pytest.approx(expected)


def scored(sources, targets):
    pairs = Dataset.from_dict({"source": sources, "target": targets})
    return Alignment(pairs).scores(sources, targets, range(len(sources)))


def translations(count, words, spaces=True):
    """Sentences of words, each with its own translation, in another order; and every seventh with the next target."""
    generator = random.Random(1)
    sources, targets = [], []
    for _ in range(count):
        chosen = generator.choices(range(words), k=generator.randint(4, 9))
        sources.append(" ".join(f"w{number}" for number in chosen))
        if spaces:
            targets.append(" ".join(f"V{number}" for number in reversed(chosen)))
        else:
            targets.append("".join(chr(0x4E00 + number) for number in reversed(chosen)))
    wrong = range(0, count - 1, 7)
    for row in wrong:
        targets[row] = targets[row + 1]
    return sources, targets, set(wrong)


@pytest.mark.parametrize("spaces", [True, False], ids=["words", "Chinese"])
def test_unrelated_sentences_have_low_scores(spaces):
    sources, targets, wrong = translations(1200, 60, spaces)
    scores = scored(sources, targets)
    low = set(numpy.flatnonzero(scores < 0).tolist())
    assert len(low & wrong) >= 0.95 * len(wrong) and len(low - wrong) <= 3


def test_both_directions_count():
    sources, targets, _ = translations(1200, 60)
    sources = [f"{text} the the" for text in sources]
    assert scored(sources, targets) == pytest.approx(scored(targets, sources))


def test_a_pair_does_not_explain_itself():
    sources, targets, _ = translations(1200, 60)
    sources[7], targets[7] = "xx xx xx", "yy yy yy"
    assert scored(sources, targets)[7] == 0


def test_a_score_depends_on_its_own_pair_alone():
    sources, targets, _ = translations(1200, 60)
    sources[3] = "?"
    learned = Alignment(Dataset.from_dict({"source": sources, "target": targets}))
    scores = learned.scores(sources, targets, range(1200))
    assert scores[3] == 0
    for row in (3, 4, 7):
        assert learned.scores([sources[row]], [targets[row]], [row]) == pytest.approx([scores[row]])


def test_too_few_pairs_are_refused():
    with pytest.raises(GlossaError, match=r"needs 1,000, but there are 3\. Leave it out"):
        scored(["a"] * 3, ["b"] * 3)


def test_the_filter_counts_and_shows_training_pairs_only():
    sources, targets, wrong = translations(1200, 60)
    rows = {"source": sources, "target": targets, "line": list(range(1, 1201)), "problem": [""] * 1200}
    rows["file"] = ["pairs.tsv"] + [""] * 1199
    dataset = DatasetDict(train=Dataset.from_dict(rows), validation=Dataset.from_dict(rows))
    kept, report = clean(dataset, DataArguments(filters={"alignment": True}, trust_data=True, keep_overlap=True))
    dropped = report.splits["train"]["alignment"]
    assert dropped == pytest.approx(len(wrong), abs=10)
    assert len(kept["train"]) == report.splits["train"]["kept"] == 1200 - dropped
    assert len(kept["validation"]) == 1200 and "alignment" not in report.splits["validation"]
    example = report.examples["alignment"][0]
    assert example["line"] - 1 in wrong and example["excerpt"].startswith(sources[example["line"] - 1])
