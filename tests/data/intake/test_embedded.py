"""The corpus of the quickstart: its rows, its French and its splits."""

import hashlib
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from datasets import Translation

from glossa.data.intake.embedded import embedded_corpus

NBSP = "\u00a0"
# A vowel or a mute h, which changes the preceding word.
VOWEL = r"(?!onze|huit|yaourt|hibou|héros|homard|haricot|hache)[aeiouyàâéèêëîïôœuûh]"
HIATUS = re.compile(rf"\b(le|la|je|me|se|ne|de|que|si(?= ils?\b)) {VOWEL}", re.IGNORECASE)
UNCONTRACTED = re.compile(r"\b(à les?|de les?)\b(?! [aeiouéèêhœ])", re.IGNORECASE)
UNLINKED = re.compile(rf"\b(ce|ma|sa|beau|nouveau|(le|un|ce|mon|son|leur|notre|votre) vieux) {VOWEL}", re.IGNORECASE)


@pytest.fixture(scope="module")
def corpus():
    dataset = embedded_corpus()
    for rows in dataset.values():
        assert rows.column_names == ["translation"]
        assert rows.features["translation"] == Translation(languages=["en", "fr"])
    return {split: list(rows["translation"]) for split, rows in dataset.items()}


def pairs(corpus):
    return [row for rows in corpus.values() for row in rows]


def words(text):
    return re.findall(r"[\w-]+'?", text.lower())


def test_the_rows_and_their_order_are_those_that_results_were_measured_with(corpus):
    """Another order gives other weights from the same seed."""
    digest = hashlib.sha256("".join(f"{row['en']}\t{row['fr']}\n" for row in pairs(corpus)).encode()).hexdigest()
    assert digest == "1f006dc969bf55fb482088784775e1ba81f1bc6643f1cad6924e3500abcc59aa"


def test_sizes_and_distinct_sides(corpus):
    assert {split: len(rows) for split, rows in corpus.items()} == {
        "train": 40_000,
        "validation": 1_000,
        "test": 1_000,
    }
    for language in ("en", "fr"):
        # Sides are distinct over all splits: translation is a function in both directions, and splits share nothing.
        assert len({" ".join(words(row[language])) for row in pairs(corpus)}) == 42_000


@pytest.mark.parametrize(
    "error",
    [HIATUS, UNCONTRACTED, UNLINKED, re.compile(r"\s\s|_"), re.compile(rf"(?<!{NBSP})\?| \?|\n")],
    ids=["hiatus", "uncontracted", "before vowel", "spaces", "question mark"],
)
def test_french_never_has(error, corpus):
    assert [row["fr"] for row in pairs(corpus) if error.search(row["fr"])] == []


def test_sentences_are_well_formed(corpus):
    for row in pairs(corpus):
        for text in row.values():
            assert re.fullmatch(r"[A-ZÀÉÊ][^.?’]*[.?]", text), text
            assert "  " not in text
        assert not re.search(r"\ba [aeio]|\ban [^aeiouh]", row["en"]), row["en"]
        assert (row["en"][-1] == "?") == (row["fr"][-1] == "?")


def test_every_construct_is_in_train(corpus):
    english = " ".join(row["en"] for row in corpus["train"])
    constructs = ["because", "when", "If", "that", "who", "than", "no longer", "never", "cannot", "must", "want to"]
    constructs += ["How many", "Which", "What", "Where", "Why", "Who", "There is", "There are", "years old", "o'clock"]
    assert {construct: english.count(construct) for construct in constructs if english.count(construct) < 50} == {}


def test_every_tested_word_is_in_train(corpus):
    for language, least in (("en", 10), ("fr", 4)):
        train = Counter(word for row in corpus["train"] for word in words(row[language]))
        for split in ("validation", "test"):
            tested = {word for row in corpus[split] for word in words(row[language])}
            assert {word: train[word] for word in tested if train[word] < least} == {}


def test_held_out_sentences_combine_words_as_train_does_not(corpus):
    """Half of any sentences have two words that no training sentence has together, and most held-out ones."""

    def together(row):
        return set(combinations(sorted(set(words(row["en"]))), 2))

    train, rest = corpus["train"][:39_000], corpus["train"][39_000:]
    known = set().union(*map(together, train))
    new = {name: sum(not together(row) <= known for row in rows) for name, rows in {**corpus, "train": rest}.items()}
    assert new["train"] < 560 and new["validation"] > 680 and new["test"] > 680


def test_the_corpus_is_read_once():
    first, second = (
        [(path := Path(file["filename"]), path.stat().st_mtime_ns) for file in embedded_corpus()["train"].cache_files]
        for _ in range(2)
    )
    assert first and first == second
