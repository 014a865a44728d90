"""Words of sources with their targets: which are chosen, how they are written, and the forms of dictionaries."""

import re
from random import Random

import pytest

from glossa.data.alignments import find_words
from glossa.data.arguments import TokenizerArguments
from glossa.data.augmentation.augmentation import Augmentation
from glossa.data.augmentation.pair import Pair
from glossa.data.augmentation.shares import TERMS
from glossa.data.augmentation.terms import (
    TERM_MARKS,
    InlineTerm,
    lemmatizer,
    linked_terms,
    with_targets,
    with_terms,
)
from glossa.data.encoding.vocabulary import train_tokenizer

NAMES = str.maketrans(dict(zip(TERM_MARKS, "<|>", strict=True)))
# "The" with "Die", "old" with "alten", "dogs" with "Hunde", "are sleeping" with "schlafen", the periods.
PAIR = Pair("The old dogs are sleeping.", "Die alten Hunde schlafen.")
LINKS = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4)]


def readable(text):
    return text.translate(NAMES)


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("The dog barks.", [(4, 7, "Hund")], "The< dog| Hund> barks."),
        ("Dogs bark.", [(0, 4, "Hunde")], "< Dogs| Hunde> bark."),
        ("A (dog) barks.", [(8, 13, "bellt"), (3, 6, "Hund")], "A (<dog| Hund>)< barks| bellt>."),
        ("I see dogs", [(6, 10, "狗"), (0, 1, "我")], "< I|我> see< dogs|狗>"),
        ("我看狗。", [(0, 1, "I"), (2, 3, "dog")], "<我| I>看<狗| dog>。"),
        ("The dog barks.", [(4, 7, "Hund", False), (0, 3, "Der", False)], "<| Der><| Hund> barks."),
        ("Nothing.", [], "Nothing."),
    ],
)
def test_a_term_is_followed_by_its_target(text, terms, expected):
    assert readable(with_targets(text, [InlineTerm(*term) for term in terms])) == expected


def test_both_words_have_the_tokens_that_they_have_elsewhere():
    texts = ["The old dogs sleep.", "Dogs sleep.", "Alte Hunde schlafen.", "Die Hunde schlafen."] * 20
    tokenizer = train_tokenizer(texts, 300, options=TokenizerArguments(), exact=False, kept=TERM_MARKS)
    for text, start in (("The dogs sleep.", 4), ("dogs sleep.", 0)):
        tokens = tokenizer.tokenize(with_targets(text, [InlineTerm(start, start + 4, "Hunde")]))
        first, middle, end = map(tokens.index, TERM_MARKS)
        assert tokens[first + 1 : middle] == tokenizer.tokenize("The dogs")[-(middle - first - 1) :]
        assert tokens[middle + 1 : end] == tokenizer.tokenize("Hunde")
        assert tokens[:first] + tokens[first + 1 : middle] + tokens[end + 1 :] == tokenizer.tokenize(text)


def test_terms_are_linked_words_in_a_row_that_have_no_other_links():
    found = {length: {(PAIR.source[one.start : one.end], one.target) for one in terms} for length, terms in
             linked_terms(PAIR, LINKS).items()}  # fmt: skip
    assert found == {
        1: {("The", "Die"), ("old", "alten"), ("dogs", "Hunde")},  # "are" shares its target with "sleeping"
        2: {("The old", "Die alten"), ("old dogs", "alten Hunde"), ("are sleeping", "schlafen")},
        3: {("The old dogs", "Die alten Hunde"), ("dogs are sleeping", "Hunde schlafen")},
    }
    crossed = Pair("It is a dog, 12.", "Ein Hund ist es, 12.")
    links = [(0, 3), (1, 2), (2, 0), (3, 1), (4, 4), (5, 5), (6, 6)]
    found = [(crossed.source[one.start : one.end], one.target) for each in linked_terms(crossed, links).values()
             for one in each]  # fmt: skip
    assert ("dog", "Hund") in found and ("It is", "ist es") in found and ("is a", "Ein Hund ist") not in found
    assert not {"It", "is", "a", "12"} & {source for source, _ in found}, "short words and numbers alone are no terms"


def test_some_of_them_get_their_targets_in_the_form_of_a_dictionary():
    lemma = {"Hunde": "Hund", "schlafen": "schlafen", "Die": "der", "alten": "alt"}.__getitem__
    found = {readable(with_terms(PAIR, Random(seed), LINKS, lemma).source) for seed in range(2000)}
    assert {"The old< dogs| Hund> are sleeping.", "< The old| Die alten> dogs are sleeping."} < found
    assert {"The old< dogs| Hund>< are sleeping| schlafen>.", "The old<| Hund> are sleeping."} < found
    assert {text.count("<") for text in found} == {1, 2, 3, 4}
    for text in found:
        if "<|" not in text:
            assert re.sub(r"<([^|]*)\|[^>]*>", r"\1", text).lstrip() == PAIR.source
    assert with_terms(PAIR, Random(1), []) is None
    assert {with_terms(PAIR, Random(seed), LINKS, lemma).target for seed in range(20)} == {PAIR.target}


def test_the_kind_needs_links_and_a_tag_stays_before_them():
    tagged = Pair("<BT> " + PAIR.source, PAIR.target)
    augmentation = Augmentation({TERMS: 1.0}, 1, tags=("<BT> ",), target="de")
    skipped = len(find_words("<BT> "))
    flat = [number for source, target in LINKS for number in (source + skipped, target)]
    assert augmentation.apply([tagged], 0) == {}
    found = {readable(augmentation.apply([tagged], epoch, links=[flat])[0][1].source) for epoch in range(100)}
    assert all(text.startswith(("<BT> The", "<BT> < The", "<BT> <| ")) for text in found)
    assert "<BT> The old< dogs| Hund> are sleeping." in found
    again = Augmentation({TERMS: 1.0}, 1, tags=("<BT> ",), target="de")
    assert again.apply([tagged], 5, links=[flat]) == augmentation.apply([tagged], 5, links=[flat])
    assert again.apply([tagged], 5, links=[flat]) != again.apply([tagged], 6, links=[flat])


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [("de", "Männer", "Mann"), ("de-AT", "geht", "gehen"), ("fr", "chevaux", "cheval"), ("zh", "狗", "狗")],
)
def test_forms_of_dictionaries(language, word, expected):
    assert lemmatizer(language)(word) == expected
