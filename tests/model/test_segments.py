"""Text to segments and back: list marks, what is copied, and the white space that a target's script needs."""

import time

import pytest

from glossa.model.facts_glossa import TextFacts
from glossa.model.profile_glossa import TextProfile
from glossa.model.segments_glossa import Segment, is_copied, join_segments, model_texts, segment_text
from glossa.model.spans_glossa import ITEM, MARK, Span, find_spans


def upper(text):
    """`text` with its segments translated to upper case."""
    segments = segment_text(text)
    return join_segments(segments, [part.text if part.copied else part.text.upper() for part in segments])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. We go home.", "1. WE GO HOME."), ("2) we", "2) WE"), ("- we\n* go\n  • home", "- WE\n* GO\n  • HOME"),
        ("(a) we", "(a) WE"), ("a) we", "a) WE"), ("2.1. We go.", "2.1. WE GO."), ("iv. we go", "iv. WE GO"),
        ("1. Open it. 2. Close it.", "1. OPEN IT. 2. CLOSE IT."), ("3.5 kg of it", "3.5 KG OF IT"),
        ("J. Smith came.", "J. SMITH CAME."), ("Nice! 😀 We go. 👍🏽", "NICE! 😀 WE GO. 👍🏽"),
        ("We go.\tWe stay.", "WE GO.\tWE STAY."), ("We go.\u2028We stay.", "WE GO.\u2028WE STAY."), ("a-b c", "A-B C"),
    ],
)  # fmt: skip
def test_marks_are_copied_and_the_rest_translated(text, expected):
    assert upper(text) == expected


def test_a_list_mark_is_no_part_of_a_date():
    assert segment_text("3. Mai") == [Segment("3. Mai", "")]
    assert segment_text("3. Mayonnaise") == [Segment("3.", " ", True), Segment("Mayonnaise", "")]


@pytest.mark.parametrize(
    "text",
    ["42", "...", "😀", "👩‍👩‍👧", "https://example.org/a?b=c", "www.example.org.", "12:30", "+49 (0)30 123-456", "99%",
     "© 2024", "a@b.example", "1.", "-", "•", "a)", "(c)", "{name}", "{{ x }}: %d", "<br/>", "&nbsp;", "１２"],
)  # fmt: skip
def test_text_without_words_is_copied(text):
    assert all(part.copied for part in segment_text(text))
    assert "".join(part.text + part.space for part in segment_text(text)) == text


@pytest.mark.parametrize("text", ["42 a", "12:30 Uhr", "好", "a@b", "% d", "x < y > z", "I"])
def test_text_with_words_is_not(text):
    assert not is_copied(text)


def test_blank_text_is_one_blank_segment():
    assert segment_text("") == segment_text(" \n") == [Segment("", "")]


@pytest.mark.parametrize(
    ("text", "translations", "expected"),
    [
        ("我看见。他走了。", ["Je vois.", "Il part."], "Je vois. Il part."),
        ("I see。We go。", ["Je vois.", "Nous allons."], "Je vois. Nous allons."),
        ("我看见。他走了。", ["見ます。", "行きます。"], "見ます。行きます。"),
        ("I see. He goes.", ["我看见。", "他走了。"], "我看见。他走了。"),
        ("I see.\nHe goes.", ["我看见。", "他走了。"], "我看见。\n他走了。"),
        ("I see. He goes.", ["Je vois.", "Il part."], "Je vois. Il part."),
        ("I see. He goes.", ["", "Il part."], " Il part."),
    ],
)  # fmt: skip
def test_the_space_between_sentences_is_that_of_the_target(text, translations, expected):
    assert join_segments(segment_text(text), translations) == expected


@pytest.mark.parametrize(
    ("text", "translations", "expected"),
    [
        ("one two three, four five", ["Un.", "Deux."], "Un, Deux."),
        ("one two three four five", ["Un.", "Deux."], "Un Deux."),
        ("one two three, four five", ["Un...", "Deux."], "Un... Deux."),
        ("one two three, four five", ["一。", "二。"], "一，二。"),
        ("一二三四五六七八，一二三四五六七八", ["Un.", "Deux."], "Un, Deux."),
        ("one two.\nfour", ["Un.", "Deux."], "Un.\nDeux."), ("one two\nfour", ["Un.", "Deux."], "Un.\nDeux."),
        ("one two! Four", ["Un.", "Deux."], "Un. Deux."),
    ],
)  # fmt: skip
def test_a_cut_sentence_has_no_period_inside(text, translations, expected):
    segments = segment_text(text, fits=lambda piece: len(piece) <= 15)
    assert join_segments(segments, translations) == expected


def test_a_word_that_is_cut_is_joined_without_a_space():
    segments = segment_text("x" * 30, fits=lambda piece: len(piece) <= 20)
    assert join_segments(segments, ["yy", "zz"]) == "yyzz"


def test_without_splitting_only_marks_are_taken_off():
    assert segment_text("1. We go. We stay.", split=False) == [
        Segment("1.", " ", True),
        Segment("We go. We stay.", ""),
    ]


def test_marks_inside_of_spans_are_not_taken_off():
    text = "# a format [b] c 🙂"
    for spans in ([Span(0, 10)], [Span(15, 18)], [Span(0, 10), Span(15, 18)]):
        found = segment_text(text, spans=spans)
        kept = [text[slice(*span)] for span in spans]
        assert [each.text[slice(*span)] for each in found for span in each.spans] == kept
    assert [each.text for each in segment_text("🙂 a b", spans=[Span(0, 1)])] == ["🙂", "a b"]


def test_parts_of_a_sentence_end_like_sentences_for_the_model():
    segments = segment_text("We see a red car, they buy a house; you go.", fits=lambda text: len(text) < 20)
    assert model_texts(segments) == ["We see a red car.", "they buy a house.", "you go."]
    assert join_segments(segments, ["Wir sehen.", "sie kaufen.", "du gehst."]) == "Wir sehen, sie kaufen; du gehst."
    assert join_segments(segments, ["Wir sehen", "sie kaufen!", "du gehst."]) == "Wir sehen sie kaufen! du gehst."
    short = segment_text("We see red cars, e.g., they buy a house", fits=lambda text: len(text) < 20)
    assert model_texts(short) == ["We see red cars.", "e.g.", "they buy a house"]
    for given, written in (("e.g.", "e.g.,"), ("z. B.", "z. B.,"), ("zum Beispiel.", "zum Beispiel,")):
        assert join_segments(short, ["Wir sehen.", given, "sie kaufen"]) == f"Wir sehen, {written} sie kaufen"
    wide = segment_text("我们看见一辆红色的车，他们买一座房子。", fits=lambda text: len(text) < 14)
    assert model_texts(wide) == ["我们看见一辆红色的车。", "他们买一座房子。"]
    for text in ("वे एक घर खरीदते हैं, तुम जाते हो।", "هم يشترون بيتا، أنت تذهب."):
        first, last = segment_text(text, fits=lambda text: len(text) < 24)
        assert model_texts([first, last]) == [first.text, last.text], "the period of the script is not known"


def test_whole_sentences_are_read_as_they_are():
    for text in ("Hello, world", "Note:\nWe go.", "We go. You stay:", "1. We go, ❤"):
        segments = segment_text(text)
        assert model_texts(segments) == [part.text for part in segments if not part.copied]


@pytest.mark.parametrize(
    ("text", "capitals"),
    [
        ("A MAN IS SLEEPING.", "upper"), ("GO NOW!", "upper"), ("NATO", ""), ("I.B.M.", ""), ("A man sleeps.", ""),
        ("A Man Is Sleeping.", "title"), ("New York", ""), ("Ein Mann Schläft", "title"), ("Ein Mann schläft", ""),
        ("ПРИВЕТ МИР", "upper"), ("我 喜欢 你", ""), ("2 3 4", ""), ("3 BIG DOGS", "upper"),
        ("\"Stop It Now\"", "title"), ("ÉTÉ À LA MER", "upper"), ("", ""),
        # Of the case `upper-one-small-letter`.
        ("WHICH DOGS SLEEP IN THE 2nd STREET?", "upper"), ("THE PRICE OF THE BOOK IS 5 km.", "upper"),
        ("BUY A BOOK WITH YOUR iPhone TODAY.", "upper"), ("NASA and ESA", ""), ("DOGS AND cats", ""),
    ],
)  # fmt: skip
def test_sentences_in_capitals(text, capitals):
    assert TextFacts(text).capitals == capitals


@pytest.mark.parametrize(
    ("text", "read", "translations", "expected"),
    [
        ("A MAN SLEEPS.", ["a man sleeps."], ["Ein Mann schläft, groß."], "EIN MANN SCHLÄFT, GROSS."),
        ("A Man Sleeps.", ["a man sleeps."], ["ein Mann schläft."], "Ein Mann Schläft."),
        ("A Dog Is Here. It sleeps.", ["a dog is here.", "It sleeps."], ["ein Hund ist da.", "Er schläft."],
         "Ein Hund Ist Da. Er schläft."),
        ("1. GO HOME NOW. NATO", ["go home now.", "NATO"], ["geh heim.", "Die Nato"], "1. GEH HEIM. Die Nato"),
        ("It is NATO.", ["It is NATO."], ["Es ist die NATO."], "Es ist die NATO."),
    ],
)  # fmt: skip
def test_capitals_are_translated_in_lower_case_and_given_back(text, read, translations, expected):
    segments = segment_text(text, TextProfile(lower_capitals=True))
    assert model_texts(segments) == read
    found = iter(translations)
    texts = [segment.text if segment.copied else next(found) for segment in segments]
    assert join_segments(segments, texts) == expected
    assert model_texts(segment_text(text)) == [segment.text for segment in segments if not segment.copied]


def test_a_sentence_in_capitals_fits_as_the_model_reads_it():
    fits = lambda text: len(text) <= 12 or text.islower()  # noqa: E731
    text = "THE DOG SLEEPS, THE CAT DOES NOT."
    assert len(segment_text(text, TextProfile(lower_capitals=True), fits)) == 1 < len(segment_text(text, fits=fits))


M = MARK


@pytest.mark.parametrize(
    ("text", "read", "translations", "expected"),
    [
        ("See https://a.org/x now.", f"See {M} now.", f"Siehe {M} jetzt.", "Siehe https://a.org/x jetzt."),
        ("I 😀 you, {name}.", f"I {M} you, {M}.", f"Ich {M} dich, {M}.", "Ich 😀 dich, {name}."),
        ("Write to me@a.org now.", f"Write to {M} now.", "Schreib jetzt.", "Schreib jetzt me@a.org."),  # it was lost
        ("<b>Go</b> now.", f"{M}Go{M} now.", f"{M}Geh jetzt!", "<b>Geh jetzt </b>!"),
        ("See {a} now.", f"See {M} now.", f"Sieh {M} und {M}.", "Sieh {a} und ."),  # one too many
        ("SEE HTTPS://A.ORG NOW OR WWW.A.ORG", "see HTTPS://A.ORG now or WWW.A.ORG".lower(), "sieh nach", "SIEH NACH"),
        ("PLEASE SEE https://A.org", f"please see {M}", f"sieh {M}", "SIEH https://A.org"),
        (f"A {M} b.", f"A {M} b.", f"Ein {M}.", f"Ein {M}."),
        ("Go home.", "Go home.", "Geh heim.", "Geh heim."),
    ],
)
def test_items_are_read_as_marks_and_put_back(text, read, translations, expected):
    segments = segment_text(text, TextProfile(lower_capitals=True, mask_items=True))
    assert model_texts(segments) == [read]
    assert join_segments(segments, [translations]) == expected


def test_items_stay_for_a_model_that_has_not_learned_the_mark():
    assert model_texts(segment_text("See https://a.org/x now.")) == ["See https://a.org/x now."]


def test_a_sentence_with_an_address_fits_as_the_model_reads_it():
    fits = lambda text: len(text) <= 15  # noqa: E731
    text = "Go on, see https://example.org/a/long/path."
    assert len(segment_text(text, TextProfile(mask_items=True), fits)) == 1 < len(segment_text(text, fits=fits))


@pytest.mark.parametrize("part", ["a", "a.", "漢", "a@", "{", "<a ", "%", "&a", "www.", "😀"])
def test_items_are_found_in_linear_time(part):
    seconds = []
    for size in (20_000, 80_000):
        started = time.process_time()
        ITEM.findall(part * (size // len(part)))
        seconds.append(time.process_time() - started)
    assert seconds[1] < 1 + 8 * seconds[0]


@pytest.mark.parametrize(
    ("text", "read", "translated", "joined"),
    [
        ("The old station", ["The old station."], ["La vieille gare."], "La vieille gare"),
        ("The old station", ["The old station."], ["La vieille gare"], "La vieille gare"),
        ("The old station", ["The old station."], ["La vieille gare..."], "La vieille gare..."),
        ("Room 12", ["Room 12."], ["Salle 12."], "Salle 12"),
        ("Is it old?", ["Is it old?"], ["Est-elle vieille."], "Est-elle vieille."),
        ("One. Two", ["One.", "Two."], ["Un.", "Deux."], "Un. Deux"),
        ("Title\nIt is old.", ["Title.", "It is old."], ["Titre.", "Elle est vieille."], "Titre\nElle est vieille."),
        ("- apples", ["apples."], ["pommes."], "- pommes"),
        ("古い駅", ["古い駅。"], ["The old station."], "The old station"),
        ("पुराना स्टेशन", ["पुराना स्टेशन"], ["The old station."], "The old station."),  # its stop is no period
        ("", [""], [""], ""),
    ],
)
def test_a_sentence_without_a_period_is_translated_with_one(text, read, translated, joined):
    segments = segment_text(text, TextProfile(add_stops=True))
    assert model_texts(segments) == read
    given = iter(translated)
    texts = [segment.text if segment.copied else next(given) for segment in segments]
    assert join_segments(segments, texts) == joined
    assert not any(segment.stop for segment in segment_text(text))


def test_a_part_of_a_longer_sentence_gets_no_period():
    text = "one two three four five six"
    segments = segment_text(text, TextProfile(add_stops=True), lambda part: len(part.split()) <= 3)
    assert [segment.stop for segment in segments] == ["", "."]
    assert join_segments(segments, ["un deux trois.", "quatre cinq six."]) == "un deux trois quatre cinq six"


def test_an_address_does_not_count_among_capitals():
    text = "TOM SLEEPS IN THE STREET (see https://example.org)."
    (segment,) = segment_text(text, TextProfile(lower_capitals=True), spans=find_spans(text))
    assert segment.capitals == "upper" and join_segments([segment], ["tom dort (voir https://example.org)."])


def test_a_translation_does_not_end_with_a_space():
    """The case `trailing-space`."""
    assert join_segments(segment_text("Name: "), ["Nom :\u00a0"]) == "Nom :"
