"""How well changed numbers are found: `python -m benchmarks numbers --data FOLDER`.

True references that are accused, and corrupted references that are missed, by kind. --data is a folder with
`libreoffice-help/en-LANGUAGE.tsv.gz` (page, source and target), `tico19/all.en-LANGUAGE.tmx.zip` and
`anki/fra-eng.zip`. References that were read and that say other numbers than their source are in
`benchmarks/wrong_numbers.tsv`, with the reason; they are left out of the second count of accused ones.

A corrupted reference has one number changed: left out, with another digit, with a decimal mark more or less, written
twice, in the place of the number next to it with a slash, a colon or a dash between them, joined with it, in the place
of another number further on, or another number's word in its place. Digits of names (F5, COVID-19) are not changed. A
number is left out, or gets another word, only where the source says it with digits or with a number word, not where it
says "a", "second" or the name Data2; and two numbers are swapped only where the source has the same two so.
"""

import argparse
import csv
import gzip
import hashlib
import html
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from glossa.base.number_words import number_words
from glossa.base.numbers import BEFORE, FIGURE, JOINT, NAME, find_numbers
from glossa.translate.plausibility import DIFFERENCES, find_difference

from .timing import table

WRONG = Path(__file__).with_name("wrong_numbers.tsv")
SETS = {
    "LibreOffice help de": ("libreoffice-help", "de"), "LibreOffice help fr": ("libreoffice-help", "fr"),
    "LibreOffice help ja": ("libreoffice-help", "ja"), "TICO-19 pt-BR": ("tico19", "pt-BR"),
    "TICO-19 hi": ("tico19", "hi"), "TICO-19 sw": ("tico19", "sw"), "TICO-19 zh": ("tico19", "zh"),
    "Anki fr": ("anki", "fr"),
}  # fmt: skip
APART = "swapped apart"
KINDS = ("dropped", "digit", "mark", "doubled", "swapped", "joined", "word", APART)
HAN_DIGITS = "〇一二三四五六七八九"
Pair = tuple[str, str]
Change = tuple[str, str]  # the kind, and the reference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="of the sets")
    parser.add_argument("--sets", nargs="+", default=[*SETS], choices=SETS, metavar="SET", help="default: all")
    parser.add_argument("--corrupted", type=int, default=10_000, help="references of each set (default: 10000)")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write accused and missed references, to be read")


def run(arguments: argparse.Namespace) -> None:
    wrong = read_wrong(WRONG)
    rows, listed = [], []
    for name in arguments.sets:
        folder, language = SETS[name]
        languages = ("en", language)
        pairs = with_numbers(PAIRS[folder](arguments.data / folder, language), languages)
        found = {pair: find_difference(*pair, languages) for pair in pairs}
        accused = [pair for pair in pairs if found[pair] == DIFFERENCES[0]]
        left = [pair for pair in accused if (name, digest(pair)) not in wrong]
        good = sorted(pair for pair in pairs if not found[pair])
        missed, made = corrupt(good, languages, arguments.corrupted, random.Random(arguments.seed))
        rows.append(row_of(name, len(pairs), len(accused), len(left), missed, made))
        listed += [(name, "accused", *pair) for pair in left]
        listed += [(name, kind, *pair) for kind, found in missed.items() for pair in found]
    print(table(rows))
    if arguments.list:
        with arguments.list.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows(listed)


def row_of(
    name: str, pairs: int, accused: int, left: int, missed: dict[str, list[Pair]], made: Counter[str]
) -> dict[str, str]:
    """A row of the table: counts, and shares in percent."""
    row = {"set": name, "pairs with a number": f"{pairs:,}"}
    row |= {"accused": f"{accused:,} ({accused / pairs:.2%})"}
    row["without wrong references"] = f"{left:,} ({left / (pairs - accused + left):.2%})"
    return row | {
        f"missed: {kind}": f"{len(missed[kind])} of {made[kind]:,} ({len(missed[kind]) / max(made[kind], 1):.2%})"
        for kind in KINDS
    }


def digest(pair: Pair) -> str:
    """What `wrong_numbers.tsv` has of a pair, since the sets are no part of the repository."""
    return hashlib.sha256("\n".join(pair).encode()).hexdigest()[:16]


def read_wrong(path: Path) -> set[tuple[str, str]]:
    """The references that were read and found wrong, as set and [`digest`]."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["set"], row["pair"]) for row in csv.DictReader(file, delimiter="\t")}


def help_pairs(folder: Path, language: str) -> Iterator[Pair]:
    with gzip.open(folder / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            _, source, target = line.rstrip("\n").split("\t")
            yield source, target


def medical_pairs(folder: Path, language: str) -> Iterator[Pair]:
    with zipfile.ZipFile(folder / f"all.en-{language}.tmx.zip") as archive:
        text = archive.read(archive.namelist()[0]).decode()
    segments = [html.unescape(" ".join(one.split())) for one in re.findall(r"<seg>(.*?)</seg>", text, re.DOTALL)]
    yield from zip(segments[::2], segments[1::2], strict=True)


def anki_pairs(folder: Path, language: str) -> Iterator[Pair]:
    with zipfile.ZipFile(folder / "fra-eng.zip") as archive:
        for line in archive.read("fra.txt").decode().splitlines():
            source, target, *_ = line.split("\t")
            yield source, target


PAIRS: dict[str, Callable[[Path, str], Iterator[Pair]]] = {
    "libreoffice-help": help_pairs,
    "tico19": medical_pairs,
    "anki": anki_pairs,
}


def with_numbers(pairs: Iterator[Pair], languages: Pair) -> list[Pair]:
    """The different pairs with a figure on either side."""
    return [pair for pair in dict.fromkeys(pairs) if any(map(FIGURE.search, pair))]


def corrupt(
    pairs: list[Pair], languages: Pair, count: int, generator: random.Random
) -> tuple[dict[str, list[Pair]], Counter[str]]:
    """The corrupted references that are not found, by kind, and the numbers of all, about `count` together."""
    spell = speller(languages[1])
    missed: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    made: Counter[str] = Counter()
    usable = [pair for pair in pairs if changeable(pair[1])]
    while made.total() < count:
        for source, target in generator.sample(usable, len(usable)):
            for kind, changed in changes(source, target, languages[0], spell, generator):
                made[kind] += 1
                if not find_difference(source, changed, languages):
                    missed[kind].append((source, changed))
            if made.total() >= count:
                break
    return missed, made


def changeable(text: str) -> list[re.Match]:
    """The figures of a text that belong to no name."""
    found = FIGURE.finditer(text)
    return [one for one in found if not NAME.search(text[max(one.start() - BEFORE, 0) : one.start()])]


def changes(
    source: str, target: str, language: str, spell: Callable[[int], str], generator: random.Random
) -> Iterator[Change]:
    """A reference with one of its numbers changed in each way that there is."""
    figures = changeable(target)
    one = generator.choice(figures)
    before, figure, after = target[: one.start()], one[0], target[one.end() :]
    if says(source, figure, language):
        yield "dropped", before + after
        number = generator.choice([number for number in range(2, 100) if str(number) != plain(figure)])
        yield "word", f"{before}{spell(number)}{after}"
    yield "digit", before + other_digit(figure, generator) + after
    if marked := other_mark(figure):
        yield "mark", before + marked + after
    yield "doubled", f"{before}{figure} {figure}{after}"
    for kind, pairs in neighbors(target, figures).items():
        if pairs:
            first, second = generator.choice(pairs)
            start, middle, end = target[: first.start()], target[first.end() : second.start()], target[second.end() :]
            if kind == "swapped":
                yield "joined", start + first[0] + second[0] + end
                kind = kind if find_numbers(target).pairs & find_numbers(source, language).pairs else APART
            yield kind, start + second[0] + middle + first[0] + end


def says(source: str, figure: str, language: str) -> bool:
    """Whether a text has a number as a figure, or as a clear number word, also as the hour of another clock."""
    numbers = find_numbers(source, language)
    figures = [one for one in numbers.figures if not one.name]
    values = {value for one in figures for value in (*one.wholes, *one.parts)} | {*numbers.clear}
    own = [value for one in find_numbers(figure).figures for value in (*one.wholes, *one.parts)]
    hours = {str(int(value) + shift) for value in own if value.isdecimal() for shift in (-12, 12)}
    return not values.isdisjoint({*own, *hours})


def plain(figure: str) -> str:
    return "".join(str(int(digit)) for digit in figure if digit.isdecimal())


def other_digit(figure: str, generator: random.Random) -> str:
    """A figure with another digit, but no zero at its start."""
    place = generator.choice([place for place, one in enumerate(figure) if one.isdecimal()])
    own = int(figure[place])
    digit = generator.choice([digit for digit in range(10) if digit != own and (place or digit)])
    return figure[:place] + chr(ord(figure[place]) - own + digit) + figure[place + 1 :]


def other_mark(figure: str) -> str:
    """A decimal without its mark, or a whole number with one; "" for others, and for zero."""
    decimal = re.fullmatch(r"(\d+)[.,](\d{1,2}|\d{4,})", figure)
    if decimal and int(plain(figure)):
        return decimal[1] + decimal[2]
    return f"{figure[:-1]}.{figure[-1]}" if figure.isdecimal() and len(figure) > 1 and int(figure) % 10 else ""


def neighbors(text: str, figures: list[re.Match]) -> dict[str, list[tuple[re.Match, re.Match]]]:
    """Pairs of different figures: two with a joint between them and none around them, and others."""
    found: dict[str, list[tuple[re.Match, re.Match]]] = {"swapped": [], APART: []}
    for place, first in enumerate(figures[:10]):
        for second in figures[place + 1 : 10]:
            around = text[first.start() - 1 : first.start()] + text[second.end() : second.end() + 1]
            joined = JOINT.fullmatch(text[first.end() : second.start()])
            if plain(first[0]) != plain(second[0]) and (joined is None or not JOINT.search(around)):
                found["swapped" if joined else APART].append((first, second))
    return found


def speller(language: str) -> Callable[[int], str]:
    """The function that writes a number below 100 in words of a language."""
    if language in ("ja", "zh"):
        tens = ("", "十", *(f"{digit}十" for digit in HAN_DIGITS[2:]))
        return lambda number: tens[number // 10] + (HAN_DIGITS[number % 10] if number % 10 else "")
    words = number_words(language)
    phrases = {value: phrase for phrase, values in sorted(words.values.items()) for value in values}
    return lambda number: phrases.get(str(number)) or phrases[f"={number}"]
