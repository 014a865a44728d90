"""Engines for tests of documents: functions of text instead of models."""

import codecs
from collections.abc import Callable
from pathlib import Path

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import format_of, open_document
from glossa.apps.documents.places import compose
from glossa.model.profile_glossa import TextProfile
from glossa.translate.interface import Checks, Engine, Translation
from glossa.translate.texts.alignment import align_by_form
from glossa.translate.texts.tags import Tagged
from glossa.translate.texts.text import Text
from glossa.translate.translator import Translator

KNOWN = LanguagePair("en", "fr")


class Characters:
    """A tokenizer whose ids are characters."""

    model_max_length = 100_000

    def __call__(self, text=None, text_target=None, **_):
        given = text if text_target is None else text_target
        return {"input_ids": [*map(ord, given)] if isinstance(given, str) else [[*map(ord, each)] for each in given]}


class Function(Engine):
    """An engine that applies a function to each sentence, and keeps the sentences; it has learned `learned`."""

    num_beams = 1

    def __init__(self, function: Callable[[str], str], **learned):
        self.function = function
        self.asked: list[str] = []
        self.profile = TextProfile(**learned)

    def translate(self, sources, search):
        texts = ["".join(map(chr, ids)) for ids in sources]
        self.asked += texts
        return [Translation(self.function(text)) for text in texts]


class Answers(Engine):
    """An engine that gives each sentence the same translations, best first."""

    def __init__(self, *texts: str):
        self.texts, self.num_beams = texts, len(texts)

    def translate(self, sources, search):
        return [Translation(text) for _ in sources for text in self.texts]


class Given(Translator):
    """A translator with a function as its model, and another one that links words."""

    def __init__(self, function: Callable[[str], str] | Engine, align=align_by_form):
        engine = function if isinstance(function, Engine) else Function(function)
        super().__init__(engine, Characters(), checks=Checks("copy"))
        self.align = align

    def aligner(self, translator=None):
        return self.align

    def translated(self, *texts: str | Tagged) -> list[Text]:
        """The texts with their sentences translated."""
        planned = self.plan(texts)
        self.translate_segments([sentence for text in planned for sentence in text.sentences])
        return planned


def same(text):
    return text


def rot13(text):
    """Latin letters exchanged; twice gives the text again."""
    return codecs.encode(text, "rot13")


def translated(path: Path, function=same, kind=None, languages=KNOWN, kept=True, aligner=align_by_form):
    """The bytes of a document whose sentences are `function` of themselves; with `kept`, equal texts stay."""
    opened = open_document(path, kind or format_of(path.name), languages)
    translator = Given(function, aligner)
    done = []
    for document in opened.documents:
        texts = translator.translated(*map(document.tagged, document.places))
        edits = list(document.edits)
        for place, text, pieces in zip(document.places, texts, translator.join_tagged(texts), strict=True):
            whole = "".join(part + space for part, space in text.parts())
            if not kept or whole != text.source:
                edits.append(place.edit(pieces))
        done.append(compose(document.text, edits))
    return opened.pack(done)


def shouted(folder: Path, name: str, text: str, function=str.upper, languages=KNOWN):
    """A document with that name and text, translated."""
    (folder / name).write_text(text, encoding="utf-8")
    return translated(folder / name, function, languages=languages).decode()
