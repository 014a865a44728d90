"""`glossa check` and translate-toolkit's `pofilter` on faults of known kinds that are put into a catalog of people.

Each kind of fault is put into equally many translations of a PO file, drawn by the seed. A fault is found if the tool
says something of its translation that it does not say without the fault. What it says of the catalog as people made it
are its alarms: most are no faults, but not all, since people make some too.
"""

import argparse
import html
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from glossa.apps.documents.checks import Checks, length_ratio
from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import open_pairs
from glossa.apps.documents.places import line_numbers
from glossa.readers.formats import read_catalog
from glossa.readers.po import Entry, entries, field_text, flags_of

_DIRECTIVE = r"%(?:\d\$)?[sdfi](?!\w)|\{\w+\}"
Said = dict[int, set[str]]  # what a tool says, by the number of the entry


def _replaced(pattern: str, new: str) -> Callable[[str, str], str]:
    """A fault: the first match in the translation is replaced."""
    return lambda source, target: re.sub(pattern, new, target, count=1)


def _end(source: str, target: str) -> str:
    return target[:-1] + {".": "", ":": "", "?": "."}[target[-1]] if target[-1:] in (".", ":", "?") else target + "."


FAULTS: dict[str, Callable[[str, str], str]] = {
    "address changed": _replaced(r"(?<=://)\w", "x-"),
    "tag lost": _replaced(r"</?[a-zA-Z][^<>]*>", ""),
    "placeholder lost": _replaced(rf" ?(?:{_DIRECTIVE})", ""),
    "placeholder changed": _replaced(r"%(\d\$)?[sd](?!\w)|\{\w+\}", "%x"),
    "number changed": _replaced(r"(?<![\w%.$])[2-9]\d*(?![\w.])", "71"),
    "double space": _replaced(r"(?<=\w) (?=\w)", "  "),
    "space lost after a mark": _replaced(r"(?<=[^\W\d_]{3})([.,:!?]) (?=[^\W\d_]{3})", r"\1"),
    "space at the end": lambda source, target: target + " ",
    "another end": _end,
    "copied": lambda source, target: source if len(re.findall(r"[^\W\d_]", source)) > 24 else target,
    "cut off": lambda source, target: target[: len(target) // 5] if len(source) > 59 else target,
    "repeated": lambda source, target: f"{target} {' '.join([target.split()[-1]] * 6)}",
    "empty": lambda source, target: "",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("catalog", type=Path, metavar="FILE.po")
    parser.add_argument("--pofilter", default="pofilter", help="the command of translate-toolkit")
    parser.add_argument("--faults", type=int, default=200, help="in all (default: 200)")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace) -> None:
    text = read_catalog(arguments.catalog)
    found = _own(text, arguments.catalog)
    placed, faulty = _with_faults(text, found, arguments.faults, random.Random(arguments.seed))
    clean = {number for number, each in enumerate(found) if _is_finished(text, each)}
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("clean.po", "faulty.po")]
        for path, content in zip(files, (text, faulty), strict=True):
            path.write_text(content, encoding="utf-8")
        tools = {"glossa check": _check, "pofilter": lambda path: _pofilter(path, arguments.pofilter)}
        said = {name: [tool(path) for path in files] for name, tool in tools.items()}
    print(f"{len(placed):,} faults in {len(clean):,} finished translations of {arguments.catalog.name}\n")
    print(f"| fault | number | {' | '.join(said)} |\n| --- | ---: |{' ---: |' * len(said)}")
    for kind in [*FAULTS, "all"]:
        own = [number for number, each in placed.items() if kind in (each, "all")]
        counts = (
            sum(bool(after.get(n, set()) - before.get(n, set())) for n in own) for before, after in said.values()
        )
        print(f"| {kind} | {len(own)} | {' | '.join(map(str, counts))} |")
    alarms = {
        name: {n: each for n, each in before.items() if n in clean and each} for name, (before, _) in said.items()
    }
    sizes = " | ".join(f"{len(each):,}" for each in alarms.values())
    print(f"| alarms without a fault | {len(clean):,} | {sizes} |")
    for name, each in alarms.items():
        kinds = Counter(rule for rules in each.values() for rule in rules)
        print(f"\n{name}: {', '.join(f'{count} {rule}' for rule, count in kinds.most_common())}")


def _is_finished(text: str, entry: Entry) -> bool:
    fuzzy = any("fuzzy" in flags_of(text[slice(*line)]) for line in entry.flags)
    return not fuzzy and all(not each.is_empty for each in entry.translations.values())


def _with_faults(text: str, found: list[Entry], total: int, draw: random.Random) -> tuple[dict[int, str], str]:
    """The kind of the fault in each entry, by number, and the catalog with the faults."""
    plain = [n for n, each in enumerate(found) if _is_finished(text, each) and set(each.translations) == {-1}]
    draw.shuffle(plain)
    placed: dict[int, str] = {}
    edits = []
    for index, (kind, fault) in enumerate(FAULTS.items()):
        wanted = (total - len(placed)) // (len(FAULTS) - index)  # more of the others if there are not enough of a kind
        for number in plain:
            own = found[number].translations[-1]
            source, target = field_text(text, found[number].fields["msgid"]), field_text(text, own)
            new = fault(source, target)
            if number in placed or new == target or not wanted or target != target.strip():
                continue
            placed[number], wanted = kind, wanted - 1
            escaped = new.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            edits.append((*own.span, f'"{escaped}"'))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return placed, text


def _check(path: Path) -> Said:
    """The rules that translations break, by the entry's number."""
    languages, pairs, _ = open_pairs(path)
    codes = LanguagePair("en", (languages.target or "").partition("_")[0])
    checks = Checks(codes, length_ratio=length_ratio(pairs))
    text, said = path.read_text(encoding="utf-8"), Said()
    number = line_numbers(text)
    own = {number(each.start): n for n, entry in enumerate(_own(text, path)) for each in entry.translations.values()}
    for pair in pairs:
        said.setdefault(own[pair.line], set()).update(each.rule for each in checks.find(pair))
    return said


def _own(text: str, path: Path) -> list[Entry]:
    return [each for each in entries(text, str(path)) if not each.is_header and not each.is_obsolete]


def _pofilter(path: Path, command: str) -> Said:
    """The tests that translations fail, by the entry's number; pofilter writes them into comments."""
    output = path.with_suffix(".out.po")
    language = open_pairs(path).languages.target or ""
    subprocess.run([command, "--progress=none", f"--language={language}", path, output], check=True)
    text = path.read_text(encoding="utf-8")
    keys = {_key(text, each): number for number, each in enumerate(_own(text, path))}
    said = Said()
    content = output.read_text(encoding="utf-8") if output.exists() else ""
    for block in re.split(r"\n\s*\n", content):
        tests = re.findall(r"^# \(pofilter\) (\w+):", block, re.M)
        for entry in entries(block, "pofilter") if tests else ():
            if (key := _key(block, entry)) in keys:
                said.setdefault(keys[key], set()).update(tests)
    return said


def _key(text: str, entry: Entry) -> tuple[str, str]:
    context, source = (field_text(text, entry.fields.get(name)) for name in ("msgctxt", "msgid"))
    return context, html.unescape(source)
