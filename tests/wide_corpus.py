"""A folder of the form of Multi30k whose few pairs have enough words for the benchmarks' vocabulary of 8,000 tokens.

Preparing them takes a second, and the corpus in the package ten.
"""

import gzip
from pathlib import Path
from random import Random

WORDS = 2500
FRAMES = {
    "en": "The man {} sees the house of {}, and the woman {} will find a book for {}.",
    "fr": "L'homme {} voit la maison de {}, et la femme {} trouvera un livre pour {}.",
}
SPLITS = {"train": 2000, "val": 20, "test_2016_flickr": 20}


def write_wide_corpus(folder: Path) -> Path:
    """English and French sentences with names of random letters in `folder`, which is returned."""
    generator = Random(1)
    names = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=10)) for _ in range(WORDS)]
    folder.mkdir(exist_ok=True)
    for name, rows in SPLITS.items():
        chosen = [generator.sample(names, 4) for _ in range(rows)]
        for language, frame in FRAMES.items():
            lines = "".join(f"{frame.format(*four)}\n" for four in chosen)
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(lines.encode()))
    return folder
