"""Where the translations of a run go wrong: `python -m benchmarks errors RUN SCORES.json`.

SCORES.json is what `glossa score RUN --output SCORES.json` writes; its last way of decoding counts. Prints chrF,
which unlike chrF++ counts no words; then BLEU and chrF++ by the length of the source and by how often its rarest word
occurs among the training sources, in five groups and in two; the numbers and names of the sources that the
translations keep; the translations that cannot be right, and the worst ones. For French also: the sentences that
address somebody as tu or as vous, and pronouns with a verb or participle that does not agree.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

from glossa.data.arguments import DataArguments
from glossa.data.pairs import prepare_pairs
from glossa.evaluation.metrics import bleu_metric, bleu_tokenizer
from glossa.run_folder import RunFolder, table_cell

from .timing import table

LENGTHS = (4, 6, 8, 12, 20)  # most words of a source in each group but the last
FREQUENCIES = (0, 9, 99, 999)  # most occurrences in training of a source's rarest word, in each group but the last
FEW = (9,)  # the same, with two groups
COPIED = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
# Words that show how a French sentence addresses somebody.
ADDRESS = {
    "tu": re.compile(r"\b(tu|te|toi|ton|ta|tes|t['’]\w+)\b", re.IGNORECASE),
    "vous": re.compile(r"\b(vous|votre|vos|vôtres?)\b", re.IGNORECASE),
}
# French subjects with their verb; the pronoun of a question comes after its verb and a hyphen.
CLITICS = r"(?:(?:ne|me|te|se|le|la|les|lui|leur|nous|vous|y|en) |[nmtsl]['’])*"
VERB = re.compile(rf"(?<!-)\b(je|j|tu|ils|elles)(?: |['’]){CLITICS}(\w+)")
ENDINGS = {"je": ("e", "s", "x", "ai"), "tu": ("s", "x"), "ils": ("nt",), "elles": ("nt",)}
# Participles in é after être; participles of reflexive verbs do not always agree.
PARTICIPLE = re.compile(
    r"(?<!-)\b(ils?|elles?) (?:ne |n['’])?(?:est|sont|était|étaient|sera|seront|serait|seraient) "
    r"(?:pas |plus |jamais |déjà |toujours |très )?\w+?(ée?s?)\b"
)
PARTICIPLES = {"il": "é", "elle": "ée", "ils": "és", "elles": "ées"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="folder of a run")
    parser.add_argument("scores", metavar="SCORES.json", type=Path, help="output of `glossa score RUN`")
    parser.add_argument("--worst", type=int, default=10, help="translations to show (default: 10)")


def run(arguments: argparse.Namespace) -> None:
    recipe = RunFolder(arguments.model).recipe
    settings = DataArguments.of_run(recipe)
    counts = Counter(
        word for source in prepare_pairs(settings)[0]["train"]["source"][:] for word in set(words(source))
    )
    name, result = list(json.loads(arguments.scores.read_text(encoding="utf-8"))["results"].items())[-1]
    rows = list(zip(result["sources"], result["references"], result["translations"], strict=True))
    bleu = bleu_metric(bleu_tokenizer(settings.target_language, recipe.get("bleu_tokenizer", "auto")))
    chrf = CHRF().corpus_score([row[2] for row in rows], [[row[1][0] for row in rows]])
    print(f"{len(rows):,} sources, {name}, against the first reference, chrF {chrf.score:.2f}\n")
    print(by_group("words in the source", rows, lambda source: len(words(source)), LENGTHS, bleu))
    for limits in (FREQUENCIES, FEW):
        title = "training sentences with the rarest word"
        print(by_group(title, rows, lambda source: rarest(source, counts), limits, bleu))
    print(by_copy(rows))
    print(f"cannot be right: {result['implausible'] or 'none'}\n")
    if settings.target_language == "fr":
        print(by_address(rows))
        print(by_pronoun(rows))
    print(worst(rows, arguments.worst))


Rows = Sequence[tuple[str, list[str], str]]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def rarest(source: str, counts: Counter) -> int:
    """In how many training sentences the rarest word of `source` occurs; very many if it has no word."""
    return min((counts[word] for word in words(source)), default=10**9)


def by_group(title: str, rows: Rows, measure: Callable[[str], int], limits: Sequence[int], bleu: BLEU) -> str:
    """A table of scores by the group of `limits` that the measure of the source falls into."""
    groups: dict[int, list] = {group: [] for group in range(len(limits) + 1)}
    for row in rows:
        value = measure(row[0])
        groups[sum(value > limit for limit in limits)].append(row)
    lines = []
    for group, found in groups.items():
        if not found:
            continue
        lowest = limits[group - 1] + 1 if group else 0
        label = f"{lowest:,} or more" if group == len(limits) else f"{lowest:,} to {limits[group]:,}"
        translations, references = [row[2] for row in found], [[row[1][0] for row in found]]
        lines.append(
            {
                title: label,
                "sources": f"{len(found):,}",
                "BLEU": f"{bleu.corpus_score(translations, references).score:.2f}",
                "chrF++": f"{CHRF(word_order=2).corpus_score(translations, references).score:.2f}",
            }
        )
    return f"{table(lines)}\n"


def by_copy(rows: Rows) -> str:
    """A table of the numbers and names that sources share with their first reference, and how many translations keep.

    Names are words with a capital after the first word.
    """
    kept: dict[str, list[bool]] = {"numbers": [], "names": []}
    for source, references, translation in rows:
        for place, word in enumerate(COPIED.findall(source)):
            kind = "numbers" if word[0].isdigit() else "names" if place and word[0].isupper() else None
            if kind and word in COPIED.findall(references[0]):
                kept[kind].append(word in COPIED.findall(translation))
    lines = [
        {"shared with the reference": kind, "times": f"{len(found):,}", "kept": f"{sum(found) / len(found):.1%}"}
        for kind, found in kept.items()
        if found
    ]
    return f"{table(lines)}\n" if lines else ""


def address(texts: Sequence[str]) -> str:
    """How French sentences address somebody: `tu`, `vous`, `both` or `nobody`."""
    found = [form for form, pattern in ADDRESS.items() if any(map(pattern.search, texts))]
    return {0: "nobody", 1: "".join(found), 2: "both"}[len(found)]


def by_address(rows: Rows) -> str:
    """A table of the forms in the translations (columns) by the forms in all references of the source (rows)."""
    forms = ("tu", "vous", "both", "nobody")
    counts = Counter((address(references), address([translation])) for _, references, translation in rows)
    lines = [
        {"address in the references": wanted} | {form: f"{counts[wanted, form]:,}" for form in forms}
        for wanted in forms
    ]
    return f"{table(lines)}\n"


def agreements(text: str) -> list[tuple[str, bool]]:
    """The pronouns of a French text whose verb or participle can be checked, and whether it agrees."""
    text = text.lower()
    verbs = [("je" if pronoun == "j" else pronoun, word) for pronoun, word in VERB.findall(text)]
    found = [(f"{pronoun} + verb", word.endswith(ENDINGS[pronoun])) for pronoun, word in verbs]
    participles = PARTICIPLE.findall(text)
    return found + [(f"{pronoun} + participle", ending == PARTICIPLES[pronoun]) for pronoun, ending in participles]


def by_pronoun(rows: Rows) -> str:
    """A table of the pronouns that agree and do not agree, in the translations and in the first references.

    The rules look at endings only. They miss some errors, such as "je es", and the references show how often they
    count a right form as wrong.
    """
    texts = {"translations": [row[2] for row in rows], "references": [row[1][0] for row in rows]}
    counts = {side: Counter(found for text in given for found in agreements(text)) for side, given in texts.items()}
    lines = []
    for kind in sorted({kind for count in counts.values() for kind, _ in count}):
        line = {"agreement": kind}
        for side, count in counts.items():
            line |= {
                side: f"{count[kind, True] + count[kind, False]:,}",
                f"{side}, wrong": f"{count[kind, False]:,}",
            }
        lines.append(line)
    return f"{table(lines)}\n" if lines else ""


def worst(rows: Rows, number: int) -> str:
    """The translations with the lowest chrF++ against the nearest of their references."""
    metric = CHRF(word_order=2)
    scored = [(metric.sentence_score(translation, references).score, source, references[0], translation)
              for source, references, translation in rows]  # fmt: skip
    lines = [
        {"source": table_cell(source), "reference": table_cell(reference), "translation": table_cell(translation)}
        | {"chrF++": f"{score:.1f}"}
        for score, source, reference, translation in sorted(scored)[:number]
    ]
    return table(lines)
