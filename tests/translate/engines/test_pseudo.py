"""Pseudo-translations: accents, spans, and the way back."""

import subprocess
import sys

import pytest
from refusals import refused

from glossa.cli.translate import main
from glossa.translate.build import pseudo_translator
from glossa.translate.engines.pseudo import undo
from glossa.translate.texts.tags import Part, take_tags

TEXTS = [
    "We see {name}, 5 km/h and https://a.org/x. Wait!",
    "Name:",
    "Привет, мир. 日本語です。 हिन्दी é",
    "ḁ ː ⟦a⟧ ⸗ aaaː abcdeḁ",  # characters that pseudo-translations add
]


@pytest.mark.parametrize("lengthened", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back(text, lengthened):
    (found,) = pseudo_translator(lengthened).best([text])
    assert found != text and undo(found) == text


def test_letters_have_accents_and_spans_stay():
    found = pseudo_translator().best(TEXTS[:3])
    assert found == [
        "Ẇḛ ṩḛḛ {name}, 5 km/h ḁṉḏ https://a.org/x. Ẇḁḭṯ!", "Ṉḁḿḛ:", "Приветː, мирː. 日本語ですː。 हिन्दीː éː"
    ]  # fmt: skip
    assert pseudo_translator(lengthened=True).best(["Three {n} words."]) == ["⟦Ṯḩṟːḛḛ {n} ẇṏṟːḏṩ⟧."]


@pytest.mark.parametrize("lengthened", [False, True])
def test_tags_stay_around_their_words(lengthened):
    text = "We see the big dog, and the big cat sees us."
    start = text.index("big cat")
    parts = [
        Part("text", 0, start, text[:start]), Part("open", 0, 0, "", "b"), Part("text", start, start + 3, "big"),
        Part("close", 0, 0, "", "b"), Part("text", start + 3, len(text), text[start + 3 :]),
    ]  # fmt: skip
    translator = pseudo_translator(lengthened)
    planned = translator.plan([take_tags(parts)])
    translator.translate_segments(planned[0].sentences)
    (pieces,) = translator.join_tagged(planned)
    shown = "".join(piece if isinstance(piece, str) else f"<{piece.kind}>" for piece in pieces)
    assert undo(shown.replace("<open>", "|").replace("<close>", "|")) == f"{text[:start]}|big|{text[start + 3 :]}"


def test_what_is_for_a_model_is_refused():
    refused("--num_beams", main, ["--pseudo", "--num_beams", "2"])
    refused("does not use MODEL", main, ["MODEL", "--pseudo"])
    refused("--pseudo, which needs none", main, [])


@pytest.mark.slow  # a new process
def test_torch_is_not_imported():
    code = (
        "import sys, glossa_command; glossa_command.main('translate', '--pseudo'); "
        "assert not {'torch', 'transformers'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], input="We see.\n", capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("Ẇḛ ṩḛḛ.\n", 0), done.stderr
