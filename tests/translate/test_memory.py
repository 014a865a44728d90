"""Translations of a memory in place of the model's, in lines."""

from dataclasses import replace

import pytest
from small_models import knows
from translating import Answers, Characters, Function

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.glossary import Glossary
from glossa.base.errors import GlossaError
from glossa.cli.translate import main
from glossa.model.spans_glossa import MEMORY
from glossa.translate.interface import Checks, Search
from glossa.translate.memory.store import Memory
from glossa.translate.search.terms import MISSING, NOT_AS_ASKED, USED, Terms
from glossa.translate.texts.recall import Recall
from glossa.translate.translator import Translator

UNITS = {
    "One. Two.": "Un, deux.", "Café.": "Un café.", "Three.": "Trois.", "Go to {place}.": "Va.",
    "See {this}.": "Vois {this}.",
}  # fmt: skip
RECALL = Recall([Memory.temporary(UNITS.items())])


@pytest.mark.parametrize(
    ("text", "expected", "asked"),
    [
        ("One. Two.", "Un, deux.", []),  # all of it
        ("Four. Three.", "FOUR. Trois.", ["Four."]),  # a sentence
        ("  Three.  ", "  Trois.  ", []),
        (" One.  Two.", " Un, deux.", []),  # the same text with other white space
        ("Cafe\u0301.", "Un café.", []),  # and in another Unicode form
        ("See {this}.", "Vois {this}.", []),
        ("One.\nTwo.", "ONE.\nTWO.", ["One.", "Two."]),  # the memory's translation has no lines
        ("Four.\n\nOne. Two.", "FOUR.\n\nUn, deux.", ["Four."]),
        (
            "Go to {place}.",
            "GO TO {place}.",
            ["Go to {place}.", "Go to.", "Go to Tom.", "Go to Mary.", "Go to Max.", "Go to X."],
        ),  # the memory lacks the placeholder
    ],
)
def test_a_memory_is_used_for_texts_and_sentences(text, expected, asked):
    engine = Function(str.upper)
    ((found,),) = Translator(engine, Characters()).with_recall(RECALL).translate([text])
    assert found.text == expected and engine.asked == asked


def test_a_memory_has_one_translation_of_a_text():
    translator = Translator(Answers("EINS.", "ZWEI."), Characters(), Search(2, 2)).with_recall(RECALL)
    assert [each.text for each in translator.translate(["Three."])[0]] == ["Trois.", ""]
    assert [each.text for each in translator.translate(["Four. Three."])[0]] == ["EINS. Trois.", "ZWEI. Trois."]


def test_a_memory_is_for_the_chosen_language_only():
    class Several(Characters):
        target_languages, tgt_lang = ["fr", "de"], "fr"

        def into(self, language):
            return self

    translator = Translator(Function(str.upper), Several()).with_recall(RECALL)
    assert translator.best(["Three.", "<2fr> Three.", "<2de> Three."]) == ["Trois.", "Trois.", "THREE."]


@pytest.mark.slow
def test_the_command_uses_a_memory_for_lines(tiny_run, tmp_path):
    memory, source = tmp_path / "memory.tsv", tmp_path / "a.txt"
    memory.write_text("en\tfr\na k.\tquite another text\n")
    source.write_text("a k.\nb m.\n")
    command = [str(tiny_run), "--input", str(source), "--engine", "torch", "--memory", str(memory)]
    for workers in ([], ["--workers", "1"]):
        output = tmp_path / f"b{len(workers)}.txt"
        main([*command, *workers, "--output", str(output)])
        first, second = output.read_text().splitlines()
        assert first == "quite another text" != second


def reading(units, **options):
    engine = Function(str.upper, reads_memory=True)
    recall = Recall([Memory.temporary(units)], **options)
    return engine, Translator(engine, Characters(), checks=Checks("copy"), languages=(None, "de")).with_recall(recall)


NEAR = ("Open the box now.", "Öffnen Sie die Kiste.")
NEARBY = Recall([Memory.temporary([NEAR])])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Open the bag now.", f"Open the bag now.{MEMORY} Öffnen Sie die Kiste.{MEMORY} box"),
        ("Nothing is alike.", "Nothing is alike."),
        # Spans of the sentence are spans of the match, and marks of the user's own text are none of the model's.
        (f"Open the bag{MEMORY} now.", f"Open the bag now.{MEMORY} Öffnen Sie die Kiste.{MEMORY} box"),
    ],
)
def test_what_a_model_reads_of_a_match(text, read):
    engine, translator = reading([NEAR])
    translator.translate([text])
    assert engine.asked[0] == read


def test_other_models_read_no_match():
    found = Translator(Function(str.upper), Characters()).with_recall(NEARBY).best(["Open the bag now."])
    assert found == ["OPEN THE BAG NOW."]


def test_a_match_is_told_with_its_score_and_use():
    _, translator = reading([NEAR, ("Take 30 of 40 boxes.", "Nehmen Sie 30 von 40 Kisten."), ("OK", "OK")])
    found = translator.translate(["Open the bag now.", "Take 30 of 50 boxes.", "OK", "Other. OK"])
    uses = [[match[:2] for match in one.matches] for one, *_ in found]
    assert uses == [[(88, "read")], [(99, "repaired")], [(100, "copied")], [(100, "copied")]]
    assert [one.text for one, *_ in found][1:] == ["Nehmen Sie 30 von 50 Kisten.", "OK", "OTHER. OK"]


def test_one_wrong_pair_changes_similar_sentences_only():
    texts = ["Open the bag now.", "Open a door now.", "Close the box.", "It rains.", "Open the big box now."]
    wrong = ("Open the box now.", "Something else.")
    with Memory.temporary([wrong]) as memory:
        scores = [next((each.score for each in memory.matches(text, 1)), 0) for text in texts]
    engine, translator = reading([wrong])
    translator.translate(texts)
    for text, score in zip(texts, scores, strict=True):
        assert any(asked.startswith(f"{text}{MEMORY}") for asked in engine.asked) == (score >= 70)
    assert [score >= 70 for score in scores] == [True, True, False, False, True]


def test_a_translation_of_a_memory_that_lacks_a_term_or_has_a_forbidden_word_is_reported():
    glossary = Glossary((("three", "trois"), ("café", "kaffee")), LanguagePair("en", "fr"))
    terms = Terms(lambda: pytest.fail("what is approved is not searched for"), glossary, ("deux",))
    translator = Translator(Function(str.upper), Characters(), terms=terms).with_recall(RECALL)
    found = [own for (own,) in translator.translate(["One. Two.", "Three.", "Café."])]
    assert [each.problem for each in found] == [NOT_AS_ASKED, "", NOT_AS_ASKED]
    assert [each.text for each in found] == ["Un, deux.", "Trois.", "Un café."]
    assert [term[0::2] for each in found for term in each.terms] == [("Three", USED), ("Café", MISSING)]


def test_the_threshold():
    engine, translator = reading([NEAR], threshold=89)
    translator.translate(["Open the bag now."])
    assert engine.asked == ["Open the bag now."]


def test_a_match_that_is_too_long_with_its_sentence_is_not_read():
    engine, translator = reading([NEAR])
    translator.tokenizer.model_max_length = 30
    ((found,),) = translator.translate(["Open the bag now."])
    assert engine.asked == ["Open the bag now."]
    assert [match[:2] for match in found.matches] == [(88, "unused")]


@pytest.mark.parametrize(("known", "expected"), [(-3.0, ("Gut.", "read")), (-12.0, ("Allein.", "unused"))])
def test_the_more_probable_translation_for_each_token_counts(known, expected):
    """Alone it is of 7 characters with -8 in all, so -1.14 each; with the match of 4, with -0.75 or -3."""

    class Scored(Function):
        def translate(self, sources, search):
            assert search.scores
            found = super().translate(sources, search)
            return [replace(each, score=known if each.text == "Gut." else -8.0) for each in found]

    engine = Scored(lambda text: "Gut." if MEMORY in text else "Allein.", reads_memory=True)
    ((found,),) = Translator(engine, Characters()).with_recall(NEARBY).translate(["Open the bag now."])
    assert (found.text, found.matches[0].use) == expected


def test_a_prefix_and_a_memory():
    """A translation that does not begin as asked is not taken; the other sentences of the text are as without one."""
    terms = Terms(lambda: pytest.fail("nothing is searched for when texts are cut"))
    translator = Translator(Function(str.upper), Characters(), terms=terms).with_recall(RECALL)
    texts = ["One. Two.", "One. Two.", "Four. Three."]
    planned = translator.plan(texts, ["Un", "Une", "FO"])
    assert [[each.best.text if each.translations else None for each in text.sentences] for text in planned] == [
        ["Un, deux."], [None, None], [None, "Trois."]
    ]  # fmt: skip


def test_checks_look_at_the_sentence_alone():
    """The match has other numbers, is longer, and has an address: a good translation of the sentence stays good."""
    engine = Function(lambda text: text.split(MEMORY)[0].replace("Send", "Sende"), reads_memory=True)
    units = [("Send 3 big boxes to www.a.org now.", "Sende jetzt 3 große Kisten an www.a.org.")]
    recall = Recall([Memory.temporary(units)], threshold=50)
    ((found,),) = Translator(engine, Characters()).with_recall(recall).translate(["Send 4 big boxes to Ann now."])
    assert found.text == "Sende 4 big boxes to Ann now." and not found.problem and found.matches[0].use == "read"


def test_a_sentence_that_is_cut_is_found_as_a_whole():
    engine, translator = reading([("Take this, and that, and more.", "Nimm alles.")])
    knows(translator.engine, trained_length=12)
    assert translator.best(["Take this, and that, and more. Go."]) == ["Nimm alles. GO."]
    assert engine.asked == ["Go."]


def test_the_first_of_several_memories_counts():
    own, shared = Memory.temporary([("Hello there.", "Servus.")]), Memory.temporary([("Hello there.", "Hallo.")])
    engine = Function(str.upper)
    assert Translator(engine, Characters()).with_recall(Recall([own, shared])).best(["Hello there."]) == ["Servus."]
    assert Translator(engine, Characters()).with_recall(Recall([shared, own])).best(["Hello there."]) == ["Hallo."]


def test_a_blank_translation_with_the_match_does_not_count():
    engine = Function(lambda text: "" if MEMORY in text else "Gut so jetzt.", reads_memory=True)
    translator = Translator(engine, Characters(), checks=Checks(retry_implausible=True)).with_recall(NEARBY)
    ((found,),) = translator.translate(["Open the bag now."])
    assert found.text == "Gut so jetzt." and found.matches[0].use == "unused"


def test_a_second_search_for_a_plausible_translation_does_not_say_that_the_match_was_read():
    class Narrow(Function):
        """Finds a translation only if sequences may not repeat, as in the second search."""

        def translate(self, sources, search):
            found = super().translate(sources, search)
            return found if search.no_repeat_ngram_size else [replace(each, text="") for each in found]

    engine = Narrow(lambda text: "Gut so jetzt.", reads_memory=True)
    translator = Translator(engine, Characters(), checks=Checks(retry_implausible=True)).with_recall(NEARBY)
    ((found,),) = translator.translate(["Open the bag now."])
    assert found.text == "Gut so jetzt." and [match.use for match in found.matches] == ["unused"]


def test_a_model_that_reads_no_matches_says_which_there_are():
    engine = Function(lambda text: text.upper() if "{" not in text else text.replace("{x}", "").upper())
    translator = Translator(engine, Characters(), checks=Checks("copy")).with_recall(NEARBY)
    for text in ("Open the bag now.", "Open the bag now {x}."):  # the second one is translated again
        ((found,),) = translator.translate([text])
        assert [match.use for match in found.matches] == ["unused"] and 70 <= found.matches[0].score < 90
    assert not any(MEMORY in asked for asked in engine.asked)


def test_a_match_is_taken_above_a_score():
    engine = Function(str.upper, reads_memory=True)
    for taken, expected in ((88, ("Öffnen Sie die Kiste.", "taken")), (89, ("OPEN THE BAG NOW.", "read"))):
        translator = Translator(engine, Characters()).with_recall(replace(NEARBY, taken=taken))
        ((found,),) = translator.translate(["Open the bag now."])
        assert (found.text.split(MEMORY)[0], found.matches[0].use) == expected
    ((found,),) = translator.with_recall(replace(NEARBY, taken=70)).translate(["Open the bag now {x}."])
    assert found.matches[0].use != "taken"  # the match has no {x}


def test_a_threshold_without_a_memory_is_refused(tiny_run):
    with pytest.raises(GlossaError, match="--memory_threshold needs a memory"):
        main([str(tiny_run), "--memory_threshold", "80"])
