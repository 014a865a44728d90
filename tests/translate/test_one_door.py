"""Lines, documents and the pipeline of a saved model translate alike, with the differences that stand here."""

import pytest
from small_models import varied
from translating import Answers, Characters, Function

from glossa import TranslationPipeline
from glossa.translate.interface import Checks, Execution, Search
from glossa.translate.texts.spans import MOVED
from glossa.translate.texts.tags import Tagged
from glossa.translate.translator import Translator

PLAIN = [
    "Where is the cat?", "", "  ", "42", "1. The cat sleeps. 2. The dog does not.", "- Yes.\n- No, it is not.",
    "THE CAT SLEEPS HERE", "A cat, a dog, " * 11 + "a cat", "Le chat dort. 🙂", "他走了。我也走了。", "...",
]  # fmt: skip


@pytest.fixture(scope="module")
def parts():
    return varied(PLAIN)


def of_document(translator, text):
    (planned,) = translator.plan([Tagged.plain(text)])
    translator.translate_segments(planned.sentences)
    (pieces,) = translator.join_tagged([planned])
    return "".join(pieces)


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_spans_is_the_same_everywhere(parts, text):
    translator = Translator(*parts, Search(2))
    ((line,),) = translator.translate([text])
    assert TranslationPipeline(*parts, num_beams=2)([text]) == [{"translation_text": line.text}]
    assert of_document(translator, text) == line.text


def loses(text):
    """A text in upper case without what stands in braces."""
    return " ".join(word.upper() for word in text.split() if word[0] != "{")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Open {file} now. Then close it.", "OPEN {file} NOW. THEN CLOSE IT."), ("{a} {b}", "{a} {b}"),
        ("Press {key}", "PRESS {key}"),
        ("See https://a.example/b and 5 km of {road}.", "SEE https://a.example/b AND 5 km OF {road}."),
    ],
)  # fmt: skip
def test_spans_survive_in_lines_as_in_documents(text, expected):
    """The pipeline has no second search for them: it travels with a model, and does without the package. Nor does it
    keep white space around a text."""
    translator = Translator(Function(loses), Characters(), checks=Checks("copy"))
    ((line,),) = translator.translate([text])
    assert line.text == expected == of_document(translator, text)


@pytest.mark.parametrize("text", ["  one two  ", "\tone.\u00a0", "  one. two {x}.\n", "one"])
def test_white_space_around_a_text_stays(text):
    """With addresses, placeholders and emoji, of the case `plain-text-placeholders`."""
    translator = Translator(Function(str.upper), Characters())
    assert translator.best([text]) == [text.upper().replace("{X}", "{x}")]
    (planned,) = translator.plan([text])
    translator.translate_segments(planned.sentences)
    parts = [part for place in range(len(planned.sentences)) for part in planned.part(place)]
    assert "".join(parts) == translator.best([text])[0]


def test_all_translations_of_a_text_have_its_spans():
    engine = Answers("EINS ZWEI", "ZWEI", "")
    ((first, second, third),) = Translator(engine, Characters(), Search(3, 3)).translate(["one {x} two"])
    assert first.text == "EINS {x} ZWEI" and second.text.count("{x}") == 1 and third.text == ""


def test_a_span_without_a_certain_place_is_reported():
    ((found,),) = Translator(Function(lambda text: "GANZ"), Characters()).translate(["one two {x} three four"])
    assert found.text == "GANZ {x}" and found.problem == MOVED


def test_only_lines_may_begin_with_the_tag_of_a_language_and_only_the_pipeline_raises_for_long_texts(parts):
    translator = Translator(*parts, Search(1), Checks("blank"), execution=Execution(split_sentences=False))
    long = "The cat sleeps " * 40
    ((failed,),) = translator.translate([long])
    assert failed.failed and failed.text == "" and "tokens; the model takes 40" in failed.problem
    with pytest.raises(ValueError, match="tokens; the model takes 40"):
        TranslationPipeline(*parts)(long, split_sentences=False)
