"""What augmentation makes of a pair, by hand, and that it depends on seed, epoch and row number alone."""

import re
from itertools import pairwise
from random import Random

import pytest

from glossa.base.errors import GlossaError
from glossa.base.pair import Pair
from glossa.model.spans_glossa import MARK, SENTINELS
from glossa.train.data.arguments import DataArguments
from glossa.train.data.augmentation import typography
from glossa.train.data.augmentation.augmentation import Augmentation
from glossa.train.data.augmentation.items import insert_item, make_item, only_shared, with_item
from glossa.train.data.augmentation.joining import as_clauses, as_sentences, join_pairs, ordinary_words
from glossa.train.data.augmentation.placeholders import shared_spans, with_sentinels
from glossa.train.data.augmentation.shares import KINDS, PLACEHOLDERS, STANDARD
from glossa.train.data.augmentation.typing_errors import NEIGHBORS, mistyped, typing_errors
from glossa.train.data.augmentation.typography import (
    changed_ending,
    lower_case,
    title_case,
    upper_case,
    without_ending,
)

PAIR = Pair("Don't wait, Anna's well-known dog is big.", "Warte nicht, Annas bekannter Hund ist groß.")


def test_upper_and_title_case_change_both_sides_and_lower_case_the_source():
    assert lower_case(PAIR, Random(1)) == ("don't wait, anna's well-known dog is big.", PAIR.target)
    source, target = upper_case(PAIR, Random(1))
    assert (source, target[-6:]) == ("DON'T WAIT, ANNA'S WELL-KNOWN DOG IS BIG.", "GROSS.")
    assert title_case(PAIR, Random(1)) == (
        "Don't Wait, Anna's Well-known Dog Is Big.",
        "Warte Nicht, Annas Bekannter Hund Ist Groß.",
    )


@pytest.mark.parametrize("change", [upper_case, title_case, lower_case])
def test_a_script_without_case_stays(change):
    assert change(Pair("我喜欢音乐。", "I like music."), Random(1)) is None


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("He sings.", "Er singt."), ("He sings", "Er singt")),
        (("Who?", "Qui\u202f?"), ("Who", "Qui")),  # with the space before it
        (("私は歩く。", "I walk."), ("私は歩く", "I walk")),
        (("वह गाता है।", "He sings."), ("वह गाता है", "He sings")),
        (("He sings", "Er singt."), None),  # only one side has a mark
        (("Well...", "Nun..."), None),  # not one mark
    ],
)
def test_final_marks_are_lost_on_both_sides(pair, expected):
    assert without_ending(Pair(*pair)) == expected


def test_final_marks_are_lost_or_repeated_on_both_sides():
    found = {changed_ending(Pair("Who?", "Qui\u202f?"), Random(seed)) for seed in range(50)}
    assert found == {("Who", "Qui"), ("Who??", "Qui\u202f??"), ("Who???", "Qui\u202f???")}


def test_keys_have_the_neighbors_of_their_layout():
    assert set(NEIGHBORS["qwerty"]["g"]) == set("fhtyvb")
    assert set(NEIGHBORS["qwertz"]["z"]) == set("tugh")
    assert set(NEIGHBORS["azerty"]["a"]) == set("zq")


def test_a_typing_error_is_a_neighbor_a_swap_or_a_loss():
    text = "big dog"
    found = {mistyped(text, 0.01, Random(seed)) for seed in range(300)}  # one error
    allowed = {text[:place] + text[place + 1 :] for place in (0, 1, 2, 4, 5, 6)}
    allowed |= {"ibg dog", "bgi dog", "big odg", "big dgo"}
    allowed |= {
        text[:place] + key + text[place + 1 :]
        for place in (0, 1, 2, 4, 5, 6)
        for key in NEIGHBORS["qwerty"][text[place]]
    }
    assert found <= allowed and len(found) > 20 and text not in found


def test_the_share_of_typing_errors_is_kept():
    changed = mistyped("o" * 1000, 0.05, Random(1))  # a swap of equal letters is a loss
    assert sum(letter != "o" for letter in changed) + 1000 - len(changed) == 50


def test_typing_errors_are_on_the_source_and_not_in_scripts_without_keys():
    source, target = typing_errors(PAIR, Random(3))
    assert source != PAIR.source and target == PAIR.target
    assert typing_errors(Pair("我喜欢音乐。", "I like music."), Random(1)) is None
    assert typing_errors(Pair("12", "12"), Random(1)) is None


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (typography.other_quotes, '"Yes", he said, "it\'s me".', "“Yes”, he said, “it’s me”."),
        (typography.other_quotes, "„Ja“, sagte er.", '"Ja", sagte er.'),
        (typography.no_break_space, "one two", "one\u00a0two"),
        (typography.lost_space, "one two", "onetwo"),
        (typography.without_accents, "Élève à Œuvre, ça", "Eleve a Œuvre, ca"),
        (typography.without_accents, "हिन्दी", "हिन्दी"),  # these marks are vowels
    ],
)
def test_typography_by_hand(change, text, expected):
    assert change(text, Random(1)) == expected


def test_typography_changes_the_source_alone():
    found = {typography.changed_typography(Pair("l'été", "summer"), Random(seed)) for seed in range(30)}
    assert found == {("l’été", "summer"), ("l'ete", "summer")}
    assert typography.changed_typography(Pair("yes", "oui"), Random(1)) is None


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("start", ("@ He waits, then goes.", "@ Er wartet, dann geht er.")),
        ("end", ("He waits, then goes. @", "Er wartet, dann geht er. @")),
        ("inside", ("He waits, then goes @.", "Er wartet, dann geht er @.")),
        ("comma", ("He waits, @ then goes.", "Er wartet, @ dann geht er.")),
    ],
)
def test_an_item_is_put_at_the_same_place_of_both_sides(place, expected):
    assert insert_item(Pair("He waits, then goes.", "Er wartet, dann geht er."), "@", place) == expected
    assert (
        insert_item(Pair("Now, go.", "Geh jetzt."), "@", "comma")
        is insert_item(Pair("Go", "Geh!"), "@", "inside")
        is None
    )


def test_every_item_is_the_same_on_both_sides():
    assert {make_item("mark", Random(seed)) for seed in range(20)} == {MARK}
    items = set()
    for seed in range(300):
        found = with_item(Pair("Go now.", "Geh jetzt."), Random(seed))
        if found is not None:
            added = found.source.replace("Go now", "").strip(" .")
            assert added and " " not in added and added in found.target, found
            items.add(added)
    assert MARK in items and any(map(str.isdigit, items)) and any(re.fullmatch("[A-Z]+-?[0-9]+", i) for i in items)


def test_what_both_sides_share_is_exchanged():
    assert only_shared(re.compile("[0-9]+"), Pair("42 dogs", "42 Hunde")) == "42"
    assert only_shared(re.compile("[0-9]+"), Pair("42 dogs, 3 cats", "42 Hunde, 3 Katzen")) is None
    assert only_shared(re.compile("[0-9]+"), Pair("4 dogs", "vier Hunde")) is None
    assert only_shared(re.compile("[0-9]+"), Pair("4 and 44", "4")) is None  # it is in another number too
    pairs = [Pair("42 dogs bark.", "42 Hunde bellen."), Pair("Berlin is big.", "Die Stadt Berlin ist groß.")]
    numbers, words = ({with_item(pair, Random(seed)) for seed in range(300)} for pair in pairs)
    changed = [pair for pair in numbers if pair and re.fullmatch("[0-9]{2} dogs bark.", pair.source)]
    assert len(changed) > 20 and all(pair.target == f"{pair.source[:2]} Hunde bellen." for pair in changed)
    assert Pair(f"{MARK} is big.", f"Die Stadt {MARK} ist groß.") in words


WORDS = ({"the", "she"}, {"der", "sie"})


def test_sentences_are_joined_with_the_spaces_of_their_script():
    pairs = [Pair("He sings.", "彼は歌う。"), Pair("She is here.", "彼女はここだ。")]
    assert as_sentences(pairs) == ("He sings. She is here.", "彼は歌う。彼女はここだ。")


def test_clauses_are_joined_by_commas_without_capitals_that_a_sentence_begins_with():
    pairs = [
        Pair("The man sits.", "Der Mann sitzt."), Pair("She is old.", "Sie ist alt."),
        Pair("Tom left.", "Tom ging."),
    ]  # fmt: skip
    assert as_clauses(pairs, WORDS) == (
        "The man sits, she is old, Tom left.",
        "Der Mann sitzt, sie ist alt, Tom ging.",
    )
    assert as_clauses([*pairs, Pair("Why?", "Warum?")], WORDS) is None
    assert as_clauses([Pair("He sings.", "彼は歌う。")] * 2, WORDS).target == "彼は歌う、彼は歌う。"
    assert as_clauses([Pair("He sings.", "他唱歌。")] * 2, WORDS).target == "他唱歌，他唱歌。"


def test_ordinary_words_are_those_in_lower_case_inside():
    pairs = [Pair("The old Man saw the dog.", "Der alte Mann sah den Hund.")]
    assert ordinary_words(pairs) == ({"old", "saw", "the", "dog"}, {"alte", "sah", "den"})


def test_two_to_four_rows_are_joined():
    first, other = Pair("One.", "Eins."), Pair("Two!", "Zwei!")
    found = {join_pairs(first, [other], Random(seed), WORDS) for seed in range(50)}
    assert found == {
        Pair(" ".join(["One.", *["Two!"] * more]), " ".join(["Eins.", *["Zwei!"] * more])) for more in (1, 2, 3)
    }


PAIRS = [
    Pair(f"The dog number {row} sleeps, it's tired.", f"Le chien {row} dort, il est fatigué.") for row in range(400)
]


def test_rows_depend_on_seed_epoch_and_number_alone():
    shares = {kind: share for kind, share in STANDARD.items() if kind != "joined"}
    whole = Augmentation(shares, 3).apply(PAIRS, 5)
    part = Augmentation(shares, 3).apply(PAIRS[100:200], 5, first=100)
    assert {row + 100: found for row, found in part.items()} == {r: f for r, f in whole.items() if 100 <= r < 200}
    others = [Augmentation(shares, 4).apply(PAIRS, 5), Augmentation(shares, 3).apply(PAIRS, 6)]
    assert all(one != other for one, other in pairwise([whole, *others]))


def test_the_shares_are_kept():
    pairs = PAIRS * 10
    found = Augmentation(STANDARD, 1).apply(pairs, 0)
    for kind, share in STANDARD.items():
        count = sum(own == kind for own, _ in found.values())
        assert count == pytest.approx(share * len(pairs), rel=0.25), kind


def test_a_tag_stays_and_only_rows_with_the_same_tag_and_language_are_joined():
    pairs = [Pair(f"{tag}Word{row}.", f"Mot{row}.") for row in range(60) for tag in ("<bt> ", "", "")]
    groups = ["fr" if row % 2 else "de" for row in range(len(pairs))]
    found = Augmentation({"joined": 1.0}, 1, tags=("", "<bt> ")).apply(pairs, 0, groups=groups)
    assert len(found) == len(pairs)
    numbers = {pair.source.removeprefix("<bt> ").strip("."): row for row, pair in enumerate(pairs) if row % 3}
    for row, (_, pair) in found.items():
        assert pair.source.startswith("<bt> ") == (row % 3 == 0)
        assert pair.source.count("<bt>") == (row % 3 == 0)
        if row % 3:
            words = pair.source.replace(",", "").strip(".").replace(".", "").split()
            assert 2 <= len(words) <= 4 and words[0] in numbers
    lowered = Augmentation({"lower_case": 1.0}, 1, tags=("<BT> ",)).apply([Pair("<BT> Word.", "Mot.")], 0)
    assert lowered == {0: ("lower_case", Pair("<BT> word.", "Mot."))}


def test_the_setting_is_a_word_or_shares():
    assert DataArguments(augmentation="standard").augmentation == STANDARD
    assert DataArguments(augmentation='{"items": 0.5}').augmentation == {"items": 0.5}
    assert DataArguments(augmentation={"items": 1}).augmentation == {"items": 1}
    assert DataArguments().augmentation is None and DataArguments(augmentation={}).augmentation is None
    assert {*KINDS, PLACEHOLDERS} == {"joined", *Augmentation({}, 1).changes}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("much", r"augmentation is 'much'; give standard, or shares of the kinds lower_case, endings, typing_errors"),
        ({"lower": 0.1}, r"augmentation has 'lower'\. Did you mean lower_case\? Its kinds are lower_case"),
        ({"items": 2}, r"augmentation: items is 2; it must be a share of the pairs, from 0 to 1"),
        ({"items": True}, r"augmentation: items is True; it must be a share"),
        ({"items": 0.6, "joined": 0.6}, r"the shares add up to 1\.2; a pair is changed in one way"),
    ],
)
def test_wrong_shares_are_refused(value, message):
    with pytest.raises(GlossaError, match=message):
        DataArguments(augmentation=value)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("Emma has 12 dogs.", "Emma a 12 chiens."), ["Emma", "12"]),
        (("In 2015, see https://a.org/x.", "En 2015, voir https://a.org/x."), ["2015", "https://a.org/x"]),
        (("He is in Berlin in May.", "Er ist in Berlin im Mai."), ["Berlin"]),  # in is a word of both languages
        (("Anna met Anna.", "Anna traf Anna."), []),  # twice
        (("Anna met Anna.", "Anna traf sie."), []),
        (("Press {key} and %s!", "{key} und %s drücken!"), ["{key}", "%s"]),
        (("A dog.", "Ein Hund."), []),
    ],
)
def test_numbers_and_names_that_both_sides_have_once(pair, expected):
    assert shared_spans(Pair(*pair)) == expected


def test_shared_spans_become_the_same_sentinels_and_a_pair_without_any_gets_some_at_places():
    pair = Pair("Emma has 12 dogs, or Max.", "Emma a 12 chiens, ou Max.")
    seen, counts = set(), set()
    for seed in range(300):
        source, target = with_sentinels(pair, Random(seed))
        own, theirs = (sorted(filter(SENTINELS.__contains__, side)) for side in (source, target))
        assert own == theirs and len(set(own)) == len(own)
        names = [source.partition(" has")[0].split()[-1], target.partition(" a ")[0].split()[-1]]
        assert names[0] == names[1] or {*names} & {*SENTINELS, "Emma"}
        seen.update(own)
        counts.add(len(own))
    assert seen == set(SENTINELS) and counts == {1, 2, 3, 4, 5, 6}
    other = Pair("A dog, a cat.", "Ein Hund, eine Katze.")  # shares nothing
    found = {re.sub(f"[{SENTINELS}]", "@", " / ".join(with_sentinels(other, Random(seed)))) for seed in range(300)}
    assert {"@ A dog, a cat. / @ Ein Hund, eine Katze.", "A dog, @ a cat. / Ein Hund, @ eine Katze."} < found
    assert {"A @ dog, a cat. / Ein @ Hund, eine Katze.", "A dog, a @ cat. / Ein Hund, eine @ Katze."} < found
    assert with_sentinels(Pair("a b c d", "x"), Random(2)).target[0] in f"x{SENTINELS}"  # nothing between words


def test_placeholders_have_a_setting_of_their_own():
    assert DataArguments().shares == {}
    arguments = DataArguments(augmentation={"items": 0.5}, placeholder_augmentation=0.2)
    assert arguments.shares == {"items": 0.5, PLACEHOLDERS: 0.2} and arguments.augmentation == {"items": 0.5}
    with pytest.raises(GlossaError, match=r"the shares add up to 1\.1"):
        DataArguments(augmentation={"items": 0.5}, placeholder_augmentation=0.6)
    with pytest.raises(GlossaError, match="placeholder_augmentation is 2; it must be at least 0 and at most 1"):
        DataArguments(placeholder_augmentation=2)
