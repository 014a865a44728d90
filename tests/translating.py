"""Engines for tests of documents: functions of text instead of models."""

import codecs
from collections.abc import Callable
from pathlib import Path

from glossa.documents.formats.opening import Languages, format_of, open_document
from glossa.documents.places import Edit, compose
from glossa.inference.engines.engine import Translation
from glossa.inference.texts.alignment import align_by_form
from glossa.inference.texts.tags import take_tags
from glossa.inference.texts.segment import Texts
from glossa.segments_glossa import segment_text

KNOWN = Languages("en", "fr")


class Function:
    """A translator that applies a function to each sentence."""

    def __init__(self, function: Callable[[str], str]):
        self.function = function
        self.asked = []

    def segments(self, text):
        return segment_text(text)

    def translate(self, texts):
        self.asked += texts
        return [[Translation(self.function(text))] for text in texts]


def same(text):
    return text


def rot13(text):
    """Latin letters exchanged; twice gives the text again."""
    return codecs.encode(text, "rot13")


def translated(path: Path, function=same, kind=None, languages=KNOWN, kept=True, aligner=align_by_form):
    """The bytes of a document whose sentences are `function` of themselves; with `kept`, equal texts stay."""
    opened = open_document(path, kind or format_of(path.name), languages)
    texts = Texts(Function(function), aligner)
    done = []
    for document in opened.documents:
        marked = [take_tags(place.parts) for place in document.places]
        edits = list(document.edits)
        for place, source, result in zip(document.places, marked, texts.translate(marked), strict=True):
            if not kept or not place.keep or result.text != source.text:
                edits.append(Edit(place.start, place.end, place.write(result.pieces)))
        done.append(compose(document.text, edits))
    return opened.pack(done)
