"""Translations of a memory in place of the model's, in lines."""

import pytest
from translating import Characters, Function

from glossa.cli.translate import main
from glossa.inference.engines.engine import Engine, Search, Translation
from glossa.inference.texts.recall import Recall
from glossa.inference.translator import Translator
from glossa.memory.store import Memory

MEMORY = {
    "One. Two.": "Un, deux.",
    "Café.": "Un café.",
    "Three.": "Trois.",
    "Go to {place}.": "Va.",
    "See {this}.": "Vois {this}.",
}
RECALL = Recall([Memory.temporary(MEMORY.items())])


@pytest.mark.parametrize(
    ("text", "expected", "asked"),
    [
        ("One. Two.", "Un, deux.", []),  # all of it
        ("Four. Three.", "FOUR. Trois.", ["Four."]),  # a sentence
        ("  Three.  ", "  Trois.  ", []),
        (" One.  Two.", " Un, deux.", []),  # the same text with other white space
        ("Cafe\u0301.", "Un café.", []),  # and in another Unicode form
        ("See {this}.", "Vois {this}.", []),
        ("Go to {place}.", "GO TO {place}.", ["Go to {place}.", "Go to."]),  # the memory lacks the placeholder
    ],
)
def test_a_memory_is_used_for_texts_and_sentences(text, expected, asked):
    engine = Function(str.upper)
    ((found,),) = Translator(engine, Characters(), recall=RECALL).translate([text])
    assert found.text == expected and engine.asked == asked


def test_a_memory_has_one_translation_of_a_text():
    class Several(Engine):
        num_beams = 2

        def translate(self, sources, search):
            return [Translation(text) for _ in sources for text in ("EINS.", "ZWEI.")]

    translator = Translator(Several(), Characters(), Search(2, 2), recall=RECALL)
    assert [each.text for each in translator.translate(["Three."])[0]] == ["Trois.", ""]
    assert [each.text for each in translator.translate(["Four. Three."])[0]] == ["EINS. Trois.", "ZWEI. Trois."]


def test_a_memory_is_for_the_chosen_language_only():
    class Several(Characters):
        target_languages, tgt_lang = ["fr", "de"], "fr"

        def into(self, language):
            return self

    translator = Translator(Function(str.upper), Several(), recall=RECALL)
    assert translator.best(["Three.", "<2fr> Three.", "<2de> Three."]) == ["Trois.", "Trois.", "THREE."]


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
