"""How many placeholders runs keep: those of `texts/placeholders.txt`, put anywhere in sentences of their test sets.

A sentence is exact if its translation has each of its placeholders as often as itself. In a document, one that is not
exact is translated once more without placeholders, and reported if these have no certain place in the translation.
"""

import argparse
import random
from pathlib import Path

from glossa.documents.job import LazyAligner
from glossa.evaluation.metrics import bleu_metric, bleu_tokenizer
from glossa.inference.build import build_translator
from glossa.inference.engines.engine import Search
from glossa.inference.languages import Languages
from glossa.inference.sentinels import find_held
from glossa.inference.texts.placeholders import locate
from glossa.inference.texts.segment import MOVED, Result, Texts
from glossa.inference.texts.tags import Part, take_tags
from glossa.run_folder import RunFolder

from .timing import table

HELD = Path(__file__).with_name("texts") / "placeholders.txt"
NUMBERS = (1, 1, 2, 3)  # of placeholders in a sentence
CHUNK = 500  # sentences that are translated together


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--sentences", type=int, default=5000, help="sentences with placeholders (default: 5,000)")
    parser.add_argument("--num_beams", type=int, default=1, help="beams (default: 1, greedy)")
    parser.add_argument("--seed", type=int, default=1, help="of the placeholders and their places (default: 1)")


def run(arguments: argparse.Namespace) -> None:
    print(table([_row(name, arguments.sentences, arguments.num_beams, arguments.seed) for name in arguments.models]))


def _row(name: str, count: int, beams: int, seed: int) -> dict[str, str]:
    held_out = RunFolder(name).load_held_out("test")
    sources, references = held_out["source"][:], held_out["target"][:]
    translator = build_translator([name], "auto", search=Search(beams))
    texts = with_placeholders([source for source in sources if not find_held(source)], count, seed)
    exact = sum(is_exact(text, best) for text, best in zip(texts, translator.best(texts), strict=True))
    documents = Texts(translator, LazyAligner([name]))
    results = [
        result
        for start in range(0, count, CHUNK)
        for result in documents.translate([_marked(text) for text in texts[start : start + CHUNK]])
    ]
    bleu = bleu_metric(bleu_tokenizer(Languages.of(name).target or "en", "auto"))
    return {
        "run": name,
        "sentences": f"{count:,}",
        "exact": f"{exact / count:.1%}",
        "in documents: put back": f"{count - exact - sum(map(_reported, results)):,}",
        "reported": f"{sum(map(_reported, results)):,}",
        "lost": f"{sum(not is_exact(text, each.text) for text, each in zip(texts, results, strict=True)):,}",
        "BLEU of the test set": f"{bleu.corpus_score(translator.best(sources), [references]).score:.1f}",
    }


def with_placeholders(texts: list[str], count: int, seed: int) -> list[str]:
    """`count` of the texts, again and again, with one to three placeholders between their words."""
    held, found = HELD.read_text(encoding="utf-8").splitlines(), []
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        words = texts[number % len(texts)].split()
        for each in chance.sample(held, chance.choice(NUMBERS)):
            words.insert(chance.randrange(len(words) + 1), each)
        found.append(" ".join(words))
    return found


def is_exact(text: str, translation: str) -> bool:
    """Whether a translation has each placeholder of `text` as often as this has it."""
    return locate(text, find_held(text), translation) is not None


def _marked(text: str):
    return take_tags([Part("text", 0, len(text), text)])


def _reported(result: Result) -> bool:
    return any(sentence.problem == MOVED for sentence in result.sentences)
