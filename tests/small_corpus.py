"""A small corpus with all that cleaning finds, for tests of `glossa prepare`."""

import json
import random

from datasets import Dataset

WORDS = [first + second for first in "bcdfgklm" for second in ("a", "e", "i", "o", "u")]


def here(load, items):
    """Runs the stages in this process."""
    work = load()
    yield from map(work, items)


def sentence(generator):
    words = ["".join(generator.choices(WORDS, k=2)) for _ in range(generator.randint(1, 4))]
    return " ".join(words).capitalize() + "."


def corpus(seed, size=1500):
    """Pairs of which some are equal, share a side, differ in numbers only, are several sentences, or are broken."""
    generator = random.Random(seed)
    sources = [sentence(generator) for _ in range(size)]
    rows = [(source, " ".join(word[::-1] for word in source.split())) for source in sources]
    rows += generator.sample(rows, 150)
    rows += [(source, generator.choice(rows)[1]) for source, _ in generator.sample(rows, 100)]
    rows += [(f"{source} 12", f"{target} 12") for source, target in rows[:60]]
    rows += [(f"{a} {b}", f"{c} {d}") for (a, c), (b, d) in zip(rows[:80], rows[80:160], strict=True)]
    rows += [("nothing", ""), ("<b>bold</b>", "gras"), ("same", "same"), ("Ã©tÃ©", "summer")]
    generator.shuffle(rows)
    return rows


def dataset_of(*pairs):
    """A data set of these pairs."""
    sources, targets = zip(*pairs, strict=True)
    return Dataset.from_dict({"source": list(sources), "target": list(targets)})


def pairs_of(dataset):
    """The pairs of a data set."""
    return list(zip(dataset["source"], dataset["target"], strict=True))


def write(path, rows):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return str(path)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def records(path):
    """The records of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
