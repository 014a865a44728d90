"""What must stay in a translation, and whether it does: `python -m benchmarks fidelity MODEL ... --data FOLDER`.

A seed puts one thing that has the same form in both languages in the place of a number or of a name in a real
sentence: numbers, versions, dates, prices and measures for a number; addresses, paths, placeholders of fifteen kinds,
emoji, code, identifiers, account numbers, hashtags and handles for a name. It is "in place" if a translation has it
exactly once. It is "moved" if it is there as the first or last thing, though the source has words on that side, and
the number or name is not in this place when the system translates the sentence as it was. Otherwise it was dropped,
changed (a part of it is there) or doubled. Numbers may have the marks of the language, or be its words. A translation
with a problem in the report is "reported". Other programs report nothing.

Systems: runs and published models with Glossa's rules; with --plain, the same with `generate` alone; --program, a
program that translates lines; --system, a LibreTranslate server.
"""

import argparse
import json
import random
import re
import string
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from glossa.base.numbers import find_numbers
from glossa.translate.build import build_translator
from glossa.translate.corpora.command import CommandTranslator
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer

from .numbers import PAIRS, SETS
from .timing import table

FIGURE = re.compile(r"(?<![\w.,])\d+(?![\w'-]|[.,]\d)")  # which another number may replace
NAME = re.compile(r"(?<=[a-z] )(?!I\b)[A-Z][a-z]{2,}(?![\w'-])")  # which a name of another kind may replace
LONGEST = 150  # characters of a sentence
BATCH = 64  # sentences for `generate`, and for a request
FIXED = {
    "placeholder": (
        *("{name}", "{0}", "{{ user }}", "%s", "%d", "%1$s", "%(count)d", "${HOME}", "%{title}", "%@"),
        *("<b/>", "<%= name %>", "&nbsp;", "%n", "%NAME%"),
    ),
    "emoji": ("😀", "👍🏽", "🇫🇷", "❤️", "👨‍👩‍👧"),
    "code": ("`x += 1`", "`print(name)`", "`a[0]`"),
    "identifier": ("snake_case_name", "camelCaseName", "dotted.module.name", "utf-8", "d41d8cd98f00b204"),
    "account": ("DE89 3704 0044 0532 0130 00", "978-3-16-148410-0", "+49 30 901820"),
    "hashtag": ("#glossa", "#Été2024"),
    "handle": ("@octocat", "@jean_d"),
    "path": ("/etc/hosts", "~/notes/", "C:\\Users\\me", "report.pdf", "src/main.py", "./run.sh"),
    "e-mail": ("jane.doe@example.com", "info+news@mail.example.org"),
    "address": (
        *("https://example.org/a_(b)", "https://example.org:8080/x/?q=1&r=2#top", "www.example.com"),
        *("http://[2001:db8::1]/", "https://例え.jp/"),
    ),
}


class Item(NamedTuple):
    """What was put into a sentence, how many words are before and after it, and what was there before."""

    kind: str
    text: str
    sentence: str
    before: int
    after: int
    old: str
    original: str


Translate = Callable[[Sequence[str]], list[tuple[str, bool]]]  # translations, and whether each has a reported problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="*", metavar="MODEL", help="runs, or folders of published models")
    parser.add_argument("--plain", action="store_true", help="the models also without Glossa's rules")
    parser.add_argument("--program", metavar="COMMAND", help="a program that translates lines")
    parser.add_argument("--system", metavar="URL", help="of a LibreTranslate server")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="of the sets")
    parser.add_argument(
        "--set", default="Anki fr", choices=SETS, help="whose sources are translated (default: Anki fr)"
    )
    parser.add_argument("--sentences", type=int, default=10_000, help="default: 10000")
    parser.add_argument("--num_beams", type=int, default=1, help="default: 1")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write what was altered, to be read")


def run(arguments: argparse.Namespace) -> None:
    folder, language = SETS[arguments.set]
    sources = sorted({source for source, _ in PAIRS[folder](arguments.data / folder, language)})
    items = draw(sources, arguments.sentences, random.Random(arguments.seed))
    listed = []
    for name, translate in systems(arguments, language).items():
        found = translate([item.sentence for item in items])
        outcomes = [judge(item, text, language) for item, (text, _) in zip(items, found, strict=True)]
        moved = [row for row, outcome in enumerate(outcomes) if outcome == "moved"]
        for row, (text, _) in zip(moved, translate([items[row].original for row in moved]), strict=True):
            old = items[row]._replace(kind="", text=items[row].old, sentence=items[row].original)
            if judge(old, text, language) == "moved":
                outcomes[row] = "in place"
        reported = [problem for _, problem in found]
        print(f"\n{name}\n\n{table(rows(items, outcomes, reported))}", flush=True)
        listed += [
            [name, item.kind, outcome, str(problem), item.text, item.sentence, text]
            for item, outcome, (text, problem) in zip(items, outcomes, found, strict=True)
            if outcome != "in place"
        ]
    if arguments.list:
        arguments.list.write_text("".join("\t".join(row) + "\n" for row in listed), encoding="utf-8")


def systems(arguments: argparse.Namespace, language: str) -> dict[str, Translate]:
    """What translates, by its name."""
    found: dict[str, Translate] = {}
    for name in arguments.models:
        found[name] = partial(with_rules, name, arguments.num_beams)
        if arguments.plain:
            found[f"{name}, generate alone"] = partial(alone, name, arguments.num_beams)
    if arguments.program:
        program = CommandTranslator(arguments.program, seconds=3600)
        found[arguments.program] = lambda texts: [(each[0].text, False) for each in program.translate(texts)]
    if arguments.system:
        found[arguments.system] = partial(from_server, arguments.system, language)
    return found


def with_rules(name: str, beams: int, texts: Sequence[str]) -> list[tuple[str, bool]]:
    translator = build_translator([name], search=Search(beams))
    return [(each[0].text, bool(each[0].problem)) for each in translator.translate(texts)]


def alone(name: str, beams: int, texts: Sequence[str]) -> list[tuple[str, bool]]:
    """Translations by `generate` of transformers, without rules."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    found: list[tuple[str, bool]] = []
    for start in range(0, len(texts), BATCH):
        inputs = tokenizer(list(texts[start : start + BATCH]), padding=True, return_tensors="pt")
        given = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        output = model.generate(**given, num_beams=beams, max_new_tokens=100)
        found += [(text, False) for text in tokenizer.batch_decode(output, skip_special_tokens=True)]
    return found


def from_server(url: str, language: str, texts: Sequence[str]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for start in range(0, len(texts), BATCH):
        body = json.dumps({"q": texts[start : start + BATCH], "source": "en", "target": language, "format": "text"})
        request = urllib.request.Request(
            f"{url.rstrip('/')}/translate", body.encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as response:
            translated = json.load(response)["translatedText"]
        found += [(text, False) for text in translated]
    return found


def draw(sources: Sequence[str], count: int, generator: random.Random) -> list[Item]:
    """Sentences with an item each, kinds in turn."""
    usable = [text for text in sources if len(text) <= LONGEST and text.isascii()]
    numbered = [text for text in usable if len(FIGURE.findall(text)) == 1 and not re.search(r"[%$@#<{:]", text)]
    named = [text for text in usable if NAME.search(text) and not re.search(r"[\d%$@#<{]", text)]
    kinds = [*NUMBERS, *FIXED]
    items = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        sentence = generator.choice(numbered if kind in NUMBERS else named)
        found = generator.choice([*(FIGURE if kind in NUMBERS else NAME).finditer(sentence)])
        text = NUMBERS[kind](generator) if kind in NUMBERS else generator.choice(FIXED[kind])
        sides = sentence[: found.start()], sentence[found.end() :]
        words = [len(re.findall(r"\w+", side)) for side in sides]
        items.append(Item(kind, text, text.join(sides), words[0], words[1], found[0], sentence))
    return items


def _version(generator: random.Random) -> str:
    return generator.choice(["v{}.{}", "{}.{}.0", "v{}.{}.3", "{}.{}.3-rc1"]).format(*_two(generator))


def _two(generator: random.Random) -> tuple[int, int]:
    return generator.randint(2, 28), generator.randint(2, 12)


def _date(generator: random.Random) -> str:
    return generator.choice(["2024-{1:02}-{0:02}", "{0:02}/{1:02}/2024"]).format(*_two(generator))


NUMBERS: dict[str, Callable[[random.Random], str]] = {
    "small number": lambda generator: str(generator.randint(2, 20)),
    "number": lambda generator: str(generator.randint(21, 99_999)),
    "decimal": lambda generator: f"{generator.randint(2, 99)}.{generator.randint(1, 99)}",
    "thousands": lambda generator: f"{generator.randint(1000, 9_999_999):,}",
    "time or fraction": lambda generator: generator.choice(["{0}:3{1}", "{0}/{1}"]).format(
        generator.randint(2, 9), generator.randint(2, 9)
    ),
    "version": _version,
    "date": _date,
    "price": lambda generator: generator.choice(["${}.99", "€{}", "£{}"]).format(generator.randint(2, 500)),
    "measure": lambda generator: (
        f"{generator.randint(2, 400)} {generator.choice(['km/h', 'm/s', 'kg/m³', '°C', 'kg', 'MB', '‰'])}"
    ),
}


def judge(item: Item, translation: str, language: str) -> str:
    """What became of an item: "in place", "moved", "dropped", "changed" or "doubled"."""
    if item.text in translation or item.kind not in NUMBERS:
        places = [found.span() for found in re.finditer(_alone(item.text), translation)]
    else:
        places = _number_places(item.text, translation, language)
    if len(places) > 1:
        return "doubled"
    if not places:
        cores = re.findall(r"\w+", item.text)
        return "changed" if any(core in translation for core in cores) else "dropped"
    before, after = translation[: places[0][0]], translation[places[0][1] :]
    lost = (item.before and not re.search(r"\w", before)) or (item.after and not re.search(r"\w", after))
    return "moved" if lost else "in place"


def _alone(text: str) -> str:
    return rf"(?<![\w]){re.escape(text)}(?!\w)" if text[0].isalnum() or text[-1].isalnum() else re.escape(text)


def _number_places(text: str, translation: str, language: str) -> list[tuple[int, int]]:
    """Where a number is with other marks between the same runs of digits and the same unit, or as a word."""
    digits = re.sub(r"\D", "", text)
    unit = text.strip(string.digits + ".,:/ ")
    pattern = r"[.,:/ \u00a0\u202f'’-]?".join(digits)
    found = [each.span() for each in re.finditer(rf"(?<!\d){pattern}(?!\d)", translation)]
    if not found and digits == text and find_numbers(translation, language).words[text]:
        return [(len(translation) // 2, len(translation) // 2)]
    return found if unit in translation else []


def rows(items: Sequence[Item], outcomes: Sequence[str], reported: Sequence[bool]) -> list[dict[str, str]]:
    """A row for each kind, and one for all."""
    found = []
    for kind in [*dict.fromkeys(item.kind for item in items), "all"]:
        own = [
            (out, told)
            for item, out, told in zip(items, outcomes, reported, strict=True)
            if kind in (item.kind, "all")
        ]
        counts = Counter(out for out, _ in own)
        altered = [told for out, told in own if out != "in place"]
        row = {"kind": kind, "sentences": f"{len(own):,}", "in place": f"{counts['in place'] / len(own):.2%}"}
        row |= {outcome: f"{counts[outcome]:,}" for outcome in ("moved", "dropped", "changed", "doubled")}
        found.append(row | {"altered, not reported": f"{altered.count(False):,}"})
    return found
