"""Terms in the place of the model's own words."""

from pathlib import Path

import numpy
import pytest

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.glossary import read_glossary
from glossa.base.word_links import find_words
from glossa.translate.build import build_translator
from glossa.translate.interface import Search
from glossa.translate.search.constrained import Finished
from glossa.translate.search.constraints import Constraints, State, TermTokens, Vocabulary
from glossa.translate.search.determiners import DETERMINERS, beginnings
from glossa.translate.search.replacing import Wanted, excluded_words, has_own, own_word, rank
from glossa.translate.search.terms import Wording
from glossa.translate.texts.alignment import Pair

SHARED = Path(__file__).parents[4] / "shared"


def test_a_determiner_before_the_word_may_be_another():
    found = beginnings("Il a lavé la ", "fr")
    assert found[0] == "Il a lavé la " and len(found) == len(DETERMINERS["fr"])
    assert {"Il a lavé le ", "Il a lavé l'", "Il a lavé de la "} <= set(found)
    assert beginnings("une tasse de la ", "fr")[1] == "une tasse le "  # `de la` is one determiner
    assert "une tasse d'" in beginnings("une tasse de ", "fr")
    assert {"Le ", "L'"} <= set(beginnings("La ", "fr"))
    assert "je vois l'" in beginnings("je vois d’", "fr")
    assert beginnings("Il lave ", "fr") == ["Il lave "] and beginnings("the ", "ja") == ["the "]


def pair(source, target):
    return Pair(source, find_words(source), target, find_words(target))


def test_the_own_word_has_the_strongest_links():
    weights = numpy.zeros((4, 5))  # I like tea . / J' aime le thé .
    weights[2] = [0, 0.3, 0.4, 0.5, 0.9]
    found = pair("I like tea.", "J'aime le thé.")
    assert own_word(found, weights, (7, 10)) == 3  # and not the period
    weights[1, 1] = 0.5
    assert own_word(found, weights, (2, 10)) == 1  # of `like tea`: 0.3 + 0.5
    assert (
        own_word(found, weights, (20, 22)) is None and own_word(pair("a", "..."), numpy.ones((1, 3)), (0, 1)) is None
    )


def test_which_own_words_are_excluded():
    wanted = Wanted((0, 3), ("intersection", "Croisement"), TermTokens((), ()))
    assert excluded_words("Carrefour", wanted) == {"carrefour"}
    assert not excluded_words("interse", wanted) and not excluded_words("croisement", wanted)  # the term needs them
    assert not excluded_words("la", wanted) and not excluded_words("dans", wanted)  # sentences need them


def test_the_rank_of_a_translation():
    def of(text, worth, lacking=0):
        return rank(text, Finished(lacking, worth, 0.0, ()), "Mon chien est vieux.", {"chien"}, 5)

    assert of("Mon toutou est vieux.", -2) < of("Mon toutou est vieux.", -3)
    assert of("Mon toutou est vieux.", -2.05) < of("Toutou est vieux.", -2)  # a word is lost
    assert of("Mon toutou est vieux.", -9) < of("Mon toutou toutou vieux.", -1)  # a word twice
    assert of("Mon toutou est vieux.", -1.9) < of("Mon chien est toutou.", -1) < of("Mon toutou est vieux.", -2.1)
    assert of("Mon chien est toutou.", -9) < of("Mon toutou est vieux.", -1, lacking=2)


def test_an_own_word_with_another_ending():
    assert has_own("Les chiens y sont.", {"chien"}) and has_own("Il a commencé.", {"commence"})
    assert has_own("le thé", {"thé"}) and not has_own("le théâtre", {"thé"})
    assert not has_own("Il chante.", {"chat"}) and not has_own("la commande", {"commence"})


def test_a_term_follows_the_prefix():
    vocabulary = Vocabulary(["", "", " l", "'", " eau", "eau", " de"])
    term = TermTokens(((4, 6),), ((6,),), ((5,),))
    constraints = Constraints(vocabulary, [term], prefix=[2, 4], follows=True)
    assert constraints.due(State(), [2, 4]) == [4] and constraints.due(State(), [2, 4, 3]) == [5]
    assert Constraints(vocabulary, [term], follows=True).due(State(), []) == [6]
    assert constraints.step(State(), 4, [2]) == State()  # in the prefix, where it does not count
    begun = constraints.step(State(), 4, [2, 4])
    assert constraints.due(begun, [2, 4, 4]) == [6] and not constraints.is_complete(begun)
    met = constraints.step(begun, 6, [2, 4, 4])
    assert constraints.is_complete(met) and not constraints.due(met, [2, 4, 4, 6])


@pytest.mark.slow
def test_terms_stand_in_the_place_of_words(tmp_path):
    """The case `terms-beside`: a glossary of nouns, and one sentence in which the word is a verb."""
    case, run = SHARED / "cases" / "words" / "terms-beside", SHARED / "models" / "anki-en-fr"
    if not case.is_dir() or not run.is_dir():
        pytest.skip("needs the cases and models of ../shared")
    glossary = read_glossary(case / "glossary.tsv", LanguagePair("en", "fr"))
    translator = build_translator([str(run)], wording=Wording(glossary), search=Search(5))
    sources = [line for line in (case / "sentences.txt").read_text(encoding="utf-8").splitlines() if line]
    found = [each[0] for each in translator.translate(sources)]
    states = [state for each in found for *_, state in each.terms]
    assert len(states) == 13 and states.count("missing") == 0 and states.count("both") <= 1
    texts = " ".join(each.text.casefold() for each in found)
    assert all(part in texts for part in ("j'aime l'infusion", "cet ouvrage", "son véhicule", "le véhicule"))
    assert not {"thé", "livre", "chien", "maison", "voiture"} & set(texts.replace("'", " ").split())
    assert "le ouvrage" not in texts and "la véhicule" not in texts
