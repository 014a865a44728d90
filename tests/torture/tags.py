"""Random trees of tags over sentences: each tag comes back once, and nested as it was, whatever the engine does."""

import random
from collections import Counter
from pathlib import Path

from translating import Given

from glossa.translate.texts.tags import Part, take_tags

FAULTS = 5  # that are shown


def torture(count: int, seed: int) -> dict:
    """Translate `count` texts with random tags; see `python -m torture`."""
    lines = sentences()
    figures = {"texts": 0, "tags": 0, "ill_formed": 0, "incomplete": 0, "changed": 0, "uncaught": 0}
    faults = []
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        source, parts = tagged(chance, chance.choice(lines))
        figures["texts"] += 1
        figures["tags"] += sum(part.kind in ("open", "alone") for part in parts)
        garble = chance.choice(ENGINES)
        try:
            translator = Given(lambda text, c=chance, g=garble: g(c, text))
            texts = translator.translated(take_tags(parts))
            (pieces,) = translator.join_tagged(texts)
            whole = "".join(text + space for text, space in texts[0].parts())
        except Exception as error:
            figures["uncaught"] += 1
            faults.append(f"seed {seed}, text {number}: {type(error).__name__}: {error}: {source}")
            continue
        if wrong := fault(parts, pieces, whole):
            figures[wrong] += 1
            found = "".join(piece if isinstance(piece, str) else source[piece.start : piece.end] for piece in pieces)
            faults.append(f"seed {seed}, text {number}: {wrong}: {source!r} became {found!r}")
    assert not faults, "\n".join([f"{len(faults)} faults: {figures}", *faults[:FAULTS]])
    return figures


def sentences() -> list[str]:
    """Texts of one or several sentences in many languages."""
    path = Path(__file__).parents[1] / "model" / "sentences.tsv"
    return [line.rstrip("\n").split("\t")[-1] for line in path.read_text("utf-8").splitlines() if "\t" in line]


def tagged(chance: random.Random, text: str) -> tuple[str, list[Part]]:
    """A text with random tags, inside and around its words, and its parts."""
    source = ""
    parts: list[Part] = []
    open_names: list[str] = []

    def add(kind: str, raw: str, words: str = "", name: str = "") -> None:
        nonlocal source
        parts.append(Part(kind, len(source), len(source) + len(raw), words, name))
        source += raw

    for number, piece in enumerate(_pieces(chance, text)):
        for _ in range(chance.choice((0, 0, 1, 2))):
            chosen = chance.random()
            if chosen < 0.45:
                open_names.append(f"t{number}{len(open_names)}")
                add("open", f"<{open_names[-1]}>", name=open_names[-1])
            elif chosen < 0.85 and open_names:
                add("close", f"</{open_names[-1]}>", name=open_names.pop())
            elif chosen < 0.95:
                add("alone", f"<p{number}/>")
            else:
                add("alone", f"<c>code{number}</c>", f"code{number}")
        add("text", piece, piece)
    while open_names:
        add("close", f"</{open_names[-1]}>", name=open_names.pop())
    return source, parts


def _pieces(chance: random.Random, text: str) -> list[str]:
    cuts = sorted(chance.sample(range(1, len(text)), min(chance.randrange(7), len(text) - 1))) if len(text) > 1 else []
    return [text[first:last] for first, last in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _reversed(chance: random.Random, text: str) -> str:
    return " ".join(reversed(text.split()))


def _shuffled(chance: random.Random, text: str) -> str:
    words = text.split()
    return " ".join(chance.sample(words, len(words)))


def _shortened(chance: random.Random, text: str) -> str:
    return " ".join(text.split()[: chance.randrange(4)])


def _other(chance: random.Random, text: str) -> str:
    return " ".join(
        chance.choices(["eins", "zwei", "l'eau", ",", "«", ".", "猫", "drei-vier", "5"], k=chance.randrange(1, 30))
    )


ENGINES = (lambda chance, text: text, lambda chance, text: text.upper(), _reversed, _shuffled, _shortened, _other)


def fault(parts: list[Part], pieces: list, whole: str) -> str:
    """What is wrong with a translation's tags, or ""."""
    marks = [piece for piece in pieces if isinstance(piece, Part)]
    if Counter(marks) != Counter(part for part in parts if part.kind != "text"):
        return "incomplete"
    if parents(marks) is None or parents(marks) != parents([part for part in parts if part.kind != "text"]):
        return "ill_formed"
    words = "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)
    return "" if "".join(words.split()) == "".join(whole.split()) else "changed"


def parents(marks: list[Part]) -> dict[Part, str] | None:
    """The name of the element around each mark; None if they are not well-formed."""
    around: dict[Part, str] = {}
    stack = [""]
    for mark in marks:
        if mark.kind == "close" and stack.pop() != mark.name:
            return None
        around[mark] = stack[-1]
        if mark.kind == "open":
            stack.append(mark.name)
    return around if stack == [""] else None
