"""Spans and numbers that a model does not keep, by models that know few words."""

import re

import pytest
from translating import Characters, Function, align_by_form

from glossa.translate.confidence import UNCERTAIN
from glossa.translate.interface import Checks, Execution, Search, Translation
from glossa.translate.second_try import SecondTry
from glossa.translate.sentences import DIFFERENT_NUMBERS, SentenceTranslator
from glossa.translate.texts.spans import MOVED
from glossa.translate.translator import Translator

KNOWN = {
    "I": "J'ai", "have": "", "dogs": "chiens", "met": "vu", "here": "ici", "in": "en", "12": "12", "30": "30",
    "Tom": "Tom", "Mary": "Mary", "paid": "paye",
}  # fmt: skip


def french(text, words=KNOWN):
    """Each known word, others left out."""
    found = [words.get(word, "") for word in re.findall(r"[^\W\d]+|\d+", text)]
    return " ".join(filter(None, found)) + "."


def best(text, function=french):
    ((translation, *_),) = Translator(Function(function), Characters()).translate([text])
    return translation.text, translation.problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have 517 dogs.", "J'ai 517 chiens."),
        ("I have 517 dogs in 2024-05-10.", "J'ai 517 chiens en 2024-05-10."),
        ("I paid €471 here.", "J'ai paye €471 ici."),
        ("I met @octocat here.", "J'ai vu @octocat ici."),
        ("I met https://a.org/x and @octocat here.", "J'ai vu https://a.org/x @octocat ici."),
        ("I have 12 dogs.", "J'ai 12 chiens."),
    ],
)
def test_what_a_model_does_not_know_comes_back_in_its_place(text, expected):
    assert best(text) == (expected, "")


def test_another_stand_in_is_tried_and_one_that_is_in_the_text_is_not_used():
    without_tom = {word: target for word, target in KNOWN.items() if word != "Tom"} | {"X": "X"}
    assert best("I met @octocat here.", lambda text: french(text, without_tom)) == ("J'ai vu @octocat ici.", "")
    assert best("I have 517 dogs, 12 here.") == ("J'ai 517 chiens 12 ici.", "")


def test_numbers_are_written_as_words_if_digits_are_not_known():
    words = {word: target for word, target in KNOWN.items() if not word.isdecimal()} | {"three": "trois", "on": "le"}
    model = Function(lambda text: french(text, words))
    translator = Translator(model, Characters(), languages=("en", "fr"))
    assert translator.best(["517 have I here dogs.", "I met three dogs on 2024-05-10 here."]) == [
        "517 J'ai ici chiens.", "J'ai vu trois chiens le 2024-05-10 ici.",
    ]  # fmt: skip


def test_a_number_that_no_stand_in_brings_back_is_put_where_it_was():
    words = {word: target for word, target in KNOWN.items() if not word.isdecimal()}
    assert best("I have 517 dogs.", lambda text: french(text, words)) == ("J'ai 517 chiens.", "")


def test_a_model_that_invents_numbers_is_reported():
    text, problem = best("I have 517 dogs.", lambda text: "J'ai 99 chiens.")
    assert (text, problem) == ("J'ai 99 chiens.", DIFFERENT_NUMBERS)


def test_words_are_not_lost_with_a_stand_in():
    """With a name the rest of the sentence would be gone."""
    text, problem = best("I met dogs here @octocat in dogs.", lambda text: "Tom." if "Tom" in text else french(text))
    assert "chiens" in text and text.count("@octocat") == 1 and problem in ("", MOVED)


def test_blank_translations_of_a_list_stay_blank():
    """The search finds one translation, and the second one is blank."""

    class One(Function):
        def translate(self, sources, search):
            return [each for one in super().translate(sources, search) for each in (one, Translation(""))]

    search = Search(2, num_return_sequences=2)
    ((first, second),) = Translator(One(french), Characters(), search).translate(["I have 517 dogs."])
    assert (first.text, second.text) == ("J'ai 517 chiens.", "")


def test_what_may_be_right_is_not_tried_again():
    """A doubt about a translation is no reason to replace its numbers."""
    engine = Function(french)
    (text,) = Translator(engine, Characters()).plan(["I have 517 dogs."])
    text.sentences[0].translations = [Translation("J'ai 517 chiens.", problem=UNCERTAIN)]
    translator = SentenceTranslator(engine, Characters(), Search(1), Checks(), Execution())
    SecondTry(translator, align_by_form).translate(text.sentences, [])
    assert engine.asked == [] and text.sentences[0].best.problem == UNCERTAIN
