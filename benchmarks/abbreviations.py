"""Write `abbreviations_glossa.py`, the word lists of sentence splitting, which travel with a model.

The abbreviations are the suppressions of Unicode's CLDR (npm package `cldr-segments-full`) and the ones from
`texts/abbreviations.txt`, of all languages together; the end marks are Unicode's characters of the property
Sentence_Terminal, from the package `regex`.

    npm pack cldr-segments-full && tar xzf cldr-segments-full-*.tgz
    python -m benchmarks abbreviations --cldr package
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import glossa

WORDS = Path(__file__).with_name("texts") / "abbreviations.txt"
SECTIONS = (
    "titles",
    "numbers",
    "others",
    "starters",
    "particles",
    "determiners",
    "months",
    "letters",
    "interjections",
)
# Of Sentence_Terminal, these are marks as in Latin text, which capital letters must follow; U+104A is a comma.
LATIN_MARKS = ".!?\u203c\u203d\u2047\u2048\u2049\u2024"
NO_END_MARKS = "\u104a"
HEADER = '''"""Word lists of sentence splitting, of all known languages together. They are saved with the model.

Written by `python -m benchmarks abbreviations`; do not edit. The lists hold data of Unicode's CLDR {version}
(suppressions) and UCD (Sentence_Terminal), copyright 2004-2024 Unicode, Inc., under the Unicode License V3:
https://www.unicode.org/license.txt. Permission is granted, free of charge, to use, copy, modify and distribute them
if this notice appears with all copies. They come as they are, without warranty.
"""
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cldr", type=Path, required=True, metavar="FOLDER", help="the unpacked npm package")
    output = Path(glossa.__file__).with_name("abbreviations_glossa.py")
    parser.add_argument("--output", type=Path, default=output, help="default: the file in the package")


def run(arguments: argparse.Namespace) -> None:
    version = json.loads((arguments.cldr / "package.json").read_text(encoding="utf-8"))["version"]
    lists = read_words()
    ordinary = {word.casefold() for word in lists.pop("words")}
    found = (word for entry in suppressions(arguments.cldr) for word in entry.split())
    cldr = {word.rstrip(".") for word in found if word.rstrip(".").casefold() not in ordinary}
    known = set().union(*(lists[name] for name in ("titles", "numbers", "others")))
    lists["others"] |= {word for word in cldr if len(word) > 1 and not {word, word.lower()} & known}
    text = HEADER.format(version=version)
    text += "\n\ndef _words(text: str) -> frozenset[str]:\n    return frozenset(text.split())\n\n"
    text += "\n# End marks of scripts without capital letters.\n"
    marks = [escape(mark) for mark in end_marks()]
    rows = ("".join(marks[first : first + 10]) for first in range(0, len(marks), 10))
    text += "END_MARKS = (\n" + "".join(f'    "{row}"\n' for row in rows) + ")\n"
    for name in SECTIONS:
        words = textwrap.fill(" ".join(sorted(lists[name])), 115, break_long_words=False, break_on_hyphens=False)
        text += f'\n{name.upper()} = _words(\n    """\n{textwrap.indent(words, "    ")}\n    """\n)\n'
    names = "".join(f'    "{name}",\n' for name in sorted(["END_MARKS", *(name.upper() for name in SECTIONS)]))
    arguments.output.write_text(f"{text}\n__all__ = [\n{names}]\n", encoding="utf-8")
    print(f"{len(cldr)} of CLDR; " + ", ".join(f"{name} {len(lists[name])}" for name in SECTIONS))


def read_words() -> dict[str, set[str]]:
    """The words of each section of `texts/abbreviations.txt`."""
    found: dict[str, set[str]] = {}
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line[1:].replace(":", " ").rstrip("]").split()[0], set())
        elif line and not line.startswith("#"):
            words.update(word.rstrip(".") for word in line.split("\t")[1].split())
    return found


def suppressions(folder: Path) -> Iterator[str]:
    """The suppressions of all languages."""
    for file in sorted(folder.glob("segments/*/suppressions.json")):
        nodes = [json.loads(file.read_text(encoding="utf-8"))]
        while nodes:
            node = nodes.pop()
            if isinstance(node, dict) and "suppression" in node:
                yield node["suppression"]
            elif isinstance(node, dict | list):
                nodes.extend(node.values() if isinstance(node, dict) else node)


def end_marks() -> list[str]:
    """The characters that end a sentence without a capital letter after them."""
    import regex

    every = (chr(code) for code in range(sys.maxunicode + 1))
    return [
        mark
        for mark in every
        if regex.match(r"\p{Sentence_Terminal}", mark) and mark not in LATIN_MARKS + NO_END_MARKS
    ]


def escape(mark: str) -> str:
    return f"\\u{ord(mark):04x}" if ord(mark) < 0x10000 else f"\\U{ord(mark):08x}"
