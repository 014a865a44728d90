"""The glossary that is learned from held-out pairs, and the counts of terms, by hand."""

from itertools import product

from benchmarks.terms import _row, learn_terms
from glossa.documents.formats.opening import Languages
from glossa.documents.glossary import Glossary
from glossa.evaluation.metrics import bleu_metric

PAIR = Languages("en", "de")
NOUNS = {"dog": "Hund", "cat": "Katze", "house": "Haus", "boy": "Junge"}
VERBS = {"sees": "sieht", "likes": "mag"}


def pairs():
    for one, verb, other in product(NOUNS, VERBS, NOUNS):
        yield f"The {one} {verb} a {other}.", f"Der {NOUNS[one]} {VERBS[verb]} ein {NOUNS[other]}."


def test_nouns_and_their_translations_are_learned():
    rows = dict(learn_terms(list(pairs()), PAIR))
    assert {word: rows.get(word) for word in NOUNS} == NOUNS and not set(VERBS) & set(rows)


def test_words_without_one_translation_are_left_out():
    mixed = [
        (source, target.replace("Hund", "Rüde") if number % 2 else target)
        for number, (source, target) in enumerate(pairs())
        for _ in range(2)
    ]
    thirds = [(source, target.replace("Katze", f"Tier{number % 3}")) for number, (source, target) in enumerate(mixed)]
    assert "cat" not in dict(learn_terms(thirds, PAIR))


def test_counts_of_terms():
    glossary = Glossary([("dog", "Hund"), ("cat", "Katze")], PAIR)
    given = [("A dog.", "Ein Hund."), ("A cat.", "Ein Tier."), ("A dog.", "Zwei Hunde."), ("Rain.", "Regen.")]
    plain = ["Ein Hund.", "Ein Tier.", "Ein Tier.", "Regen."]
    texts = ["Ein Hund.", "Eine Katze.", "Ein Tier.", "Regen."]
    row = _row("glossary", texts, plain, given, glossary, bleu_metric("13a"))
    assert {name: row[name] for name in list(row)[1:5]} == {
        "terms": "3",
        "used": "66.7%",  # of dog, cat, dog the first two
        "of those in the reference": "50.0%",  # one of the two dogs
        "forced, not in the reference": "33.3%",  # the cat
    }
    assert row["changed"] == "1"
