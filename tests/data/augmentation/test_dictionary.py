"""Entries of a dictionary: which are learned, and the words that they replace."""

from collections import Counter
from random import Random

import pytest

from glossa.data.augmentation.augmentation import Augmentation
from glossa.data.augmentation.dictionary import RARE, Dictionary, Entry
from glossa.data.augmentation.pair import Pair
from glossa.data.augmentation.shares import DICTIONARY

DOG, CAT, EEL, COW = (
    Entry("dog", "chien", "n"), Entry("cat", "chat", "n"), Entry("eel", "anguille", "n"), Entry("cow", "vache", "f")
)  # fmt: skip
PAIR, LINKS = Pair("The dog barks.", "Le chien aboie."), [(0, 0), (1, 1), (2, 2), (3, 3)]
KNOWN = ["The dog barks."] * RARE


def found(entries, pair=PAIR, links=LINKS, sources=KNOWN, held_out=()):
    dictionary = Dictionary(entries, sources, lambda text: text in held_out)
    return {dictionary.change(pair, Random(seed), links) for seed in range(100)}


def sentences(changed):
    return {pair for pair in changed if pair and pair.source.endswith(".")}


def test_entries_are_learned_of_which_a_word_is_rare():
    entries = [DOG, CAT, Entry("Dog", "Chien"), Entry("the dog barks", "on aboie"), Entry("a dog", "un chien")]
    dictionary = Dictionary(entries, KNOWN, lambda text: False)
    assert dictionary.learned == [CAT, entries[4]]
    assert DOG in Dictionary(entries, KNOWN[1:], lambda text: False).learned
    assert found([DOG]) == {None}


def test_an_entry_takes_the_place_of_a_word_of_its_kind():
    assert sentences(found([DOG, CAT, COW])) == {Pair("The cat barks.", "Le chat aboie.")}


@pytest.mark.parametrize(
    "entry",
    [
        EEL,  # which has another article
        Entry("hen", "poule", "n"),
        Entry("Lassie", "Lassie", "n"),
        Entry("sea dog", "loup de mer", "n"),
        Entry("cat", "chat"),
    ],
)
def test_an_entry_that_does_not_fit_stands_alone(entry):
    changed = found([DOG, entry])
    assert not sentences(changed) and Pair(*entry[:2]) in changed


@pytest.mark.parametrize(
    ("pair", "links"),
    [
        (PAIR, [(0, 0), (1, 1), (1, 2)]),
        (PAIR, [(0, 1), (1, 1)]),
        (PAIR, [(1, 2)]),
        (PAIR, []),
        (Pair("The dog barks.", "Le toutou aboie."), LINKS),
    ],
)
def test_a_word_is_replaced_if_it_is_linked_with_its_translation_only(pair, links):
    assert not sentences(found([DOG, CAT], pair, links))


def test_entries_stand_in_lists_of_one_to_six():
    entries = [Entry(2 * letter, letter) for letter in "abcdefgh"]
    lists = [[text.split(", ") for text in pair] for pair in found(entries, links=[])]
    assert {len(sources) for sources, _ in lists} == {1, 2, 3, 4, 5, 6}
    for sources, targets in lists:
        assert sources == [2 * text for text in targets] and len(set(targets)) == len(targets)


def test_every_entry_that_fits_is_as_likely():
    entries = [DOG, Entry("barks", "aboie", "v"), CAT, Entry("pig", "porc", "n"), Entry("rat", "rat", "n")]
    dictionary = Dictionary([*entries, Entry("bites", "attaque", "v")], KNOWN, lambda text: False)
    changed = (dictionary.change(PAIR, Random(seed), LINKS) for seed in range(4000))
    counts = Counter(pair.source for pair in changed if pair.source.endswith("."))
    assert counts.keys() == {"The cat barks.", "The pig barks.", "The rat barks.", "The dog bites."}
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_held_out_sentences_are_not_learned():
    entries = [DOG, CAT, Entry("pig", "porc", "n")]
    for text in ("The cat barks.", "Le chat aboie."):
        assert sentences(found(entries, held_out={text})) == {Pair("The pig barks.", "Le porc aboie.")}
    for text in ("cat", "chat"):
        dictionary = Dictionary(entries, KNOWN, {text}.__contains__)
        assert dictionary.learned == entries[2:] and dictionary.held_out == 1


def test_rows_of_an_epoch_have_entries_after_their_tag():
    dictionary = Dictionary([DOG, CAT], KNOWN, lambda text: False)
    augmentation = Augmentation({DICTIONARY: 1.0}, 1, tags=["<2fr> "], dictionary=dictionary)
    pairs = [Pair(f"<2fr> {PAIR.source}", PAIR.target)] * 50
    links = [[number for link in LINKS for number in (link[0] + 4, link[1])]] * 50  # <, 2, fr and > are words
    changed = [pair.source for _, pair in augmentation.apply(pairs, 0, links=links).values()]
    assert len(changed) == 50 and "<2fr> The cat barks." in changed and "<2fr> cat" in changed
