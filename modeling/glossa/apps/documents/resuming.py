"""Translations that a job saves, so that it can continue after an interruption."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...base.jobs.whole_files import synchronize
from ...model.spans_glossa import Span
from ...translate.interface import Translation, UsedMatch
from ...translate.texts.text import Sentence

CHUNK = 2048  # sentences that are translated before they are saved

Key = tuple[str, str, bool]  # a sentence, the model's input for it, and whether it is a label
Translate = Callable[[Sequence[Sentence]], object]  # [`Translator.translate_segments`], perhaps in a queue


class SavedTranslations:
    """Translates sentences and saves their translations. Sentences with a saved translation are not translated again.

    Args:
        translate: Translates sentences.
        path: The file of translations, with a JSON object per line.
    """

    def __init__(self, translate: Translate, path: Path):
        self.translate_new, self.path = translate, path
        self.known: dict[Key, dict[str, Any]] = dict(self._read())
        self.found = len(self.known)

    def _read(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # the process was killed while it wrote this line
                row: dict[str, Any] = json.loads(line)
                yield (row.pop("source"), row.pop("asked"), row.pop("label", False)), row
        with open(self.path, "r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    def translate(self, sentences: Sequence[Sentence]) -> None:
        """Translate sentences, equal sentences once."""
        new: dict[Key, Sentence] = {}
        waiting = [(_key(sentence), sentence) for sentence in sentences if not sentence.translations]
        for key, sentence in waiting:
            if key not in self.known:
                new.setdefault(key, sentence)
        keys = list(new)
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            self.translate_new([new[key] for key in chunk])
            rows = []
            for key in chunk:
                best, places = new[key].best, new[key].places[0]
                self.known[key] = {"translation": asdict(best), "places": list(places)}
                named = dict(zip(("source", "asked", "label"), key, strict=True))
                rows.append(json.dumps({**named, **self.known[key]}) + "\n")
            with open(self.path, "a", encoding="utf-8") as file:
                file.write("".join(rows))
                synchronize(file)
        for key, sentence in waiting:
            if not sentence.translations:
                known = self.known[key]
                translation = Translation(**known["translation"])
                read = [UsedMatch(*match) for match in translation.matches]
                translation.matches = read if sentence.match.text else sentence.match.used  # these may have changed
                sentence.translations = [translation]
                sentence.places = [[Span(*place) for place in known["places"]]]


def _key(sentence: Sentence) -> Key:
    return sentence.source, sentence.asked + sentence.match.text, sentence.reading.label is not None
