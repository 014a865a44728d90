"""Sentences with placeholders: each is there exactly, and where it is not sure of its place, the sentence says so."""

import random
import re
from collections import Counter
from pathlib import Path

from translating import Given, rot13

from glossa.model.spans_glossa import find_spans
from glossa.translate.texts.spans import MOVED
from torture.tags import FAULTS, sentences

HELD = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()


def torture(count: int, seed: int) -> dict:
    """Translate `count` sentences; see `python -m torture`."""
    lines = [line for line in sentences() if line.isascii() and 4 < len(line.split()) < 40 and not find_spans(line)]
    figures = {"sentences": 0, "placeholders": 0, "kept": 0, "put_back": 0, "reported": 0, "wrong_unreported": 0}
    faults = []
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        source, held = _with_placeholders(chance, chance.choice(lines))
        engine = chance.choice((_keeps, _loses, _loses, _changes, _repeats, _shortens))
        ((result,),) = Given(engine).translate([source])
        reported = result.problem == MOVED
        wanted = Counter(held)
        found = Counter({text: result.text.count(text) for text in wanted})
        right = "".join(_keeps(source).split()) == "".join(result.text.split())
        figures["sentences"] += 1
        figures["placeholders"] += len(held)
        figures["kept" if engine is _keeps else "reported" if reported else "put_back"] += 1
        if found != wanted or (not right and not reported and engine is not _shortens):
            figures["wrong_unreported"] += 1
            faults.append(f"seed {seed}, sentence {number}, {engine.__name__}: {source!r} became {result.text!r}")
    assert not faults, "\n".join([f"{len(faults)} faults: {figures}", *faults[:FAULTS]])
    return figures


def _with_placeholders(chance: random.Random, text: str) -> tuple[str, list[str]]:
    words = text.split()
    held = chance.sample(HELD, chance.choice((1, 1, 2, 3)))
    for each in held:
        words.insert(chance.randrange(len(words) + 1), each)
    return " ".join(words), held


def _parts(text: str, change) -> str:
    """`text` with its words rotated, and `change` of its placeholders."""
    done, position = "", 0
    for start, end in find_spans(text):
        done += rot13(text[position:start]) + change(text[start:end])
        position = end
    return done + rot13(text[position:])


def _keeps(text: str) -> str:
    return _parts(text, lambda held: held)


def _loses(text: str) -> str:
    return re.sub(r"  +", " ", _parts(text, lambda held: "")).strip()


def _shortens(text: str) -> str:
    return " ".join(_loses(text).split()[:3])


def _changes(text: str) -> str:
    return _parts(text, rot13)


def _repeats(text: str) -> str:
    return _parts(text, lambda held: f"{held} {held}")
