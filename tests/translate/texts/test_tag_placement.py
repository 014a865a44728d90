"""Tags around words: taken off, and put back on a translation by its alignment."""

import re

import numpy
import pytest
from translating import Function, Given

from glossa.apps.documents.formats.icu import with_messages
from glossa.apps.documents.places import Edit, Place, compose
from glossa.base.word_links import find_words
from glossa.translate.texts.alignment import Pair, align_by_form, normalized
from glossa.translate.texts.links import harden
from glossa.translate.texts.tags import Part, take_tags

TAG = re.compile(r"</?(\w+)/?>")


def parts_of(source):
    """The parts of a text with tags: <b>...</b> around words, <x/> alone, <code/> a word of its own, <br/> a break."""
    position = 0
    for tag in TAG.finditer(source):
        if tag.start() > position:
            yield Part("text", position, tag.start(), source[position : tag.start()])
        kind = "close" if tag[0][1] == "/" else "alone" if tag[0].endswith("/>") else "open"
        words = "code" if tag[1] == "code" else ""
        yield Part("break" if tag[1] == "br" else kind, *tag.span(), words, tag[1])
        position = tag.end()
    if position < len(source):
        yield Part("text", position, len(source), source[position:])


def put(source, target, links=None):
    """A source with tags after its words became `target`, whose words have these links (default: by their form)."""

    def align(pairs):
        if links is None:
            return align_by_form(pairs)
        found = numpy.zeros((len(pairs[0].source_words), len(pairs[0].target_words)))
        for row, column in links:
            found[row, column] = 1
        return [found]

    tagged = take_tags(list(parts_of(source)))
    return written(Given(lambda text: target, align), tagged, source)


def written(translator, tagged, source):
    """The translation of a text with its tags as they are in the source."""
    (pieces,) = translator.join_tagged(translator.translated(tagged))
    return "".join(piece if isinstance(piece, str) else source[piece.start : piece.end] for piece in pieces)


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("a <b>red</b> car", "une voiture rouge", [(0, 0), (1, 2), (2, 1)], "une voiture <b>rouge</b>"),
        ("a <i>red</i> <b>car</b>", "voiture rouge", [(1, 1), (2, 0)], "<b>voiture</b> <i>rouge</i>"),
        ("the <b>big <i>red</i></b> car", "la auto rossa grande", [(0, 0), (1, 3), (2, 2), (3, 1)],
         "la auto <b><i>rossa</i> grande</b>"),
        ("<b>all of it</b>", "tout", [(0, 0)], "<b>tout</b>"),
        ("<b>one</b> two", "deux", [(1, 0)], "<b>deux</b>"),
        ("<b>one</b> <i>two</i>", "deux", [(1, 0)], "<b></b><i>deux</i>"),
        ("say<b> it </b>now", "dis le vite", [(0, 0), (1, 1), (2, 2)], "dis<b> le </b>vite"),
        ("one <x/> two", "eins zwei", [(0, 0), (1, 1)], "eins <x/> zwei"),
        ("one<x/> two", "eins zwei", [(0, 0), (1, 1)], "eins<x/> zwei"),
        ("one <x/>two", "eins zwei", [(0, 0), (1, 1)], "eins <x/>zwei"),
        ("one <b></b>two", "zwei eins", [(0, 1), (1, 0)], "<b></b>zwei eins"),
        ("one <b>two<x/></b>", "zwei eins", [(0, 1), (1, 0)], "<b>zwei<x/></b> eins"),
        ("go, <br/>then stop", "geh und halte dann", [(0, 0), (2, 3), (3, 2)], "geh<br/>und halte dann"),
        ("un<b>believ</b>able", "unglaublich", [(0, 0)], "<b>unglaublich</b>"),
        ("2<b>24</b> bits", "Bits: 224", [(0, 2), (1, 0)], "Bits: 2<b>24</b>"),
        ("2<b>24</b> bits, 3<b>24</b> bytes", "324 Bytes, 224 Bits", [(0, 3), (1, 4), (2, 2), (3, 0), (4, 1)],
         "3<b>24</b> Bytes, 2<b>24</b> Bits"),
        ("<b>one <i>two</b> three</i>", "eins zwei drei", [(0, 0), (1, 1), (2, 2)], "<b>eins <i>zwei</b> drei</i>"),
        ("<b>Note:</b> stop", "Hinweis: halt", [(0, 0), (1, 1), (2, 2)], "<b>Hinweis:</b> halt"),
    ],
)  # fmt: skip
def test_tags_go_where_their_words_went(source, target, links, expected):
    assert put(source, target, links) == expected


def test_a_tag_over_two_sentences():
    source = "One <b>two. Three</b> four."
    tagged = take_tags(list(parts_of(source)))
    assert written(Given(str.upper), tagged, source) == "ONE <b>TWO. THREE</b> FOUR."


def test_an_inline_word_stays_in_its_element():
    assert (
        put("<b>run <code/></b> now", "jetzt code laufen", [(0, 2), (1, 1), (2, 0)]) == "jetzt <b><code/> laufen</b>"
    )


def test_white_space_on_both_sides_of_a_tag_is_one_space_for_the_model():
    asked = Function(str.upper)
    Given(asked).translated(take_tags(list(parts_of("one <b> two </b> three <x/> four"))))
    assert asked.asked == ["one two three four"]
    assert put("one <b> two </b> three <x/> four", "ONE TWO THREE FOUR") == "ONE <b> TWO </b> THREE <x/> FOUR"


def test_words():
    text = "L'eau, 3.5 km; 猫です x_y"
    words = [text[a:b] for a, b in find_words(text)]
    assert words == ["L'", "eau", ",", "3.5", "km", ";", "猫", "で", "す", "x", "_", "y"]
    assert find_words("a {b} c", [(2, 5)]) == [(0, 1), (2, 5), (6, 7)]
    assert find_words("") == []


def test_links_by_form():
    source, target = "In Boston we saw 42 cats.", "Wir sahen in Boston 42 Katzen."
    (links,) = align_by_form([Pair(source, find_words(source), target, find_words(target))])
    best = harden(links)
    assert best[1, 3] == best[4, 4] == best[6, 6] == 1
    assert links.sum(0).max() == pytest.approx(1) and harden(numpy.zeros((0, 3))).shape == (0, 3)
    assert normalized(numpy.array([[0.0, 2.0], [0.0, 2.0]])).tolist() == [[0, 0.5], [0, 0.5]]


def test_edits_inside_of_what_another_one_copies():
    text = "a [b c] d"
    edits = [Edit(0, 9, ["D ", (2, 7), " A"]), Edit(3, 4, ["B"]), Edit(8, 9, ["not copied"])]
    assert compose(text, edits) == "D [B c] A"
    assert compose(text, []) == text and compose("ab", [Edit(2, 2, ["c"]), Edit(1, 1, ["-"])]) == "a-bc"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You have {n, plural, =0 {no files} one {# file} other {# files}} here.",
         ["You have  here.", "no files", "# file", "# files"]),
        ("{g, select, a {She has {n, plural, one {a cat} other {# cats}}.} other {They.}}",
         ["She has .", "a cat", "# cats", "They."]),
        ("{n, selectordinal, one {the #st cat} other {#th}}", ["the #st cat"]),
        ("{n, plural, one {broken", []),
        ("{n, number} files", ["{n, number} files"]),
    ],
)  # fmt: skip
def test_messages_with_forms(text, expected):
    places = with_messages(Place([Part("text", 0, len(text), text)]), text)
    assert ["".join(part.text for part in place.parts) for place in places] == expected
