"""What a glossary does to the translations of a run: `python -m benchmarks terms RUN ...`

The glossary comes from the validation and test pairs of the run, by IBM model 1 in both directions: a word of the
source and the one or two words that translate it most often. The test sentences are translated without it and with
the second search for what is missing, in turns. A term is used if the translation has one of its targets, perhaps
inflected. It does not fit a sentence whose reference has none of them; it is forced there if the translation has one
with the glossary only.
"""

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy
from sacrebleu.metrics import BLEU

from glossa.data.cleaning.alignment import Lexicon, Side
from glossa.documents.formats.opening import Languages
from glossa.documents.glossary import Glossary, Stem, stemmer
from glossa.evaluation.metrics import bleu_metric, bleu_tokenizer
from glossa.inference.engines.engine import Search
from glossa.inference.languages import Languages as ModelLanguages
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.search.constrained import ConstrainedEngine
from glossa.inference.search.terms import Terms, count, summary
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder

from .timing import table

OFTEN = 3  # pairs in which a term occurs, at least
BEST, FURTHER = 0.3, 0.15  # probabilities of a target given its term, and the other way around, at least
SHORTEST = 3  # letters of a term
CONSISTENT = 0.9  # of the pairs with a term have one of its targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--num_beams", type=int, default=5, help="beams (default: 5)")
    parser.add_argument("--rounds", type=int, default=3, help="translations with and without, in turns (default: 3)")
    parser.add_argument("--write", type=Path, metavar="FILE.tsv", help="write the glossary of the last run")


def run(arguments: argparse.Namespace) -> None:
    for name in arguments.models:
        pairs = [pair for split in ("validation", "test") for pair in _pairs(name, split)]
        languages = Languages(*ModelLanguages.of(name).pair)
        rows = learn_terms(pairs, languages)
        print(f"{name}: {len({source for source, _ in rows}):,} terms with {len(rows):,} targets\n")
        glossary = Glossary(rows, languages)
        print(table(measure(name, glossary, _pairs(name, "test"), arguments.num_beams, arguments.rounds)))
        if arguments.write:
            arguments.write.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")


def _pairs(name: str, split: str) -> list[tuple[str, str]]:
    held_out = RunFolder(name).load_held_out(split)
    references = held_out["references" if "references" in held_out.column_names else "target"]
    return [
        (source, target if isinstance(target, str) else target[0])
        for source, target in zip(held_out["source"], references, strict=True)
    ]


class Translated(NamedTuple):
    """The translations of the test sentences, and the seconds that they took."""

    texts: list[str]
    seconds: float


def measure(
    name: str, glossary: Glossary, pairs: list[tuple[str, str]], beams: int, rounds: int
) -> list[dict[str, str]]:
    """A row without the glossary and one with it."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    constrained = ConstrainedEngine(model, tokenizer)
    ways = {"no glossary": None, "second search": Terms(lambda: constrained, glossary)}
    sources = [source for source, _ in pairs]
    found: dict[str, list[Translated]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, terms in ways.items():
            started = time.perf_counter()
            results = Translator(model, tokenizer, Search(beams), terms=terms).translate(sources)
            seconds = time.perf_counter() - started
            found[way].append(Translated([each[0].text for each in results], seconds))
            if terms is not None and len(found[way]) == 1:
                print(f"{way}: {summary(count([each[0] for each in results]))}\n")
    plain = found["no glossary"][0].texts
    bleu = bleu_metric(bleu_tokenizer(glossary.target_language or "en", "auto"))
    return [
        _row(way, each[0].texts, plain, pairs, glossary, bleu)
        | {"seconds": " ".join(f"{one.seconds:.1f}" for one in each)}
        for way, each in found.items()
    ]


def _row(
    way: str, texts: list[str], plain: list[str], pairs: list[tuple[str, str]], glossary: Glossary, bleu: BLEU
) -> dict[str, str]:
    terms = [glossary.find(source) for source, _ in pairs]
    counts: Counter[str] = Counter()
    for own, text, before, (_, reference) in zip(terms, texts, plain, pairs, strict=True):
        for term in own:
            has, had, fits = (glossary.has(term, each) for each in (text, before, reference))
            counts["found"] += 1
            counts["used"] += has
            counts["fitting"] += fits
            counts["used fitting"] += has and fits
            counts["forced"] += has and not had and not fits

    def score(rows: list[int]) -> str:
        if not rows:
            return "-"
        return f"{bleu.corpus_score([texts[row] for row in rows], [[pairs[row][1] for row in rows]]).score:.1f}"

    with_terms = [row for row, own in enumerate(terms) if own]
    changed = [row for row, (text, before) in enumerate(zip(texts, plain, strict=True)) if text != before]
    return {
        "with": way,
        "terms": f"{counts['found']:,}",
        "used": f"{counts['used'] / max(counts['found'], 1):.1%}",
        "of those in the reference": f"{counts['used fitting'] / max(counts['fitting'], 1):.1%}",
        "forced, not in the reference": f"{counts['forced'] / max(counts['found'], 1):.1%}",
        "BLEU": score(list(range(len(pairs)))),
        "with terms": score(with_terms),
        "without terms": score([row for row, own in enumerate(terms) if not own]),
        "changed": f"{len(changed):,}",
    }


def learn_terms(pairs: list[tuple[str, str]], languages: Languages) -> list[tuple[str, str]]:
    """Words and their most frequent translations, by IBM model 1 in both directions, of those that are consistent."""
    stems = (stemmer(code) for code in (languages.source, languages.target))
    sides = [_Words([pair[side] for pair in pairs], stem) for side, stem in enumerate(stems)]
    forward = Lexicon(sides[0].side, sides[1].side, len(sides[1].words))
    backward = Lexicon(sides[1].side, sides[0].side, len(sides[0].words))
    given_target = dict(zip(backward.keys.tolist(), backward.probabilities.tolist(), strict=True))
    rows: dict[str, list[tuple[float, str]]] = {}
    for key, probability in zip(forward.keys.tolist(), forward.probabilities.tolist(), strict=True):
        source, target = divmod(key, forward.size)
        back = given_target.get(target * backward.size + source, 0.0)
        often = min(sides[0].counts[source], sides[1].counts[target]) >= OFTEN
        word = sides[0].words[source]
        # Terms are nouns, which German writes with a capital.
        noun = languages.target != "de" or sides[1].words[target][:1].isupper()
        if often and noun and len(word) >= SHORTEST and min(probability, back) >= FURTHER:
            rows.setdefault(word, []).append((probability * back, sides[1].words[target]))
    best = {word: sorted(found, reverse=True)[:2] for word, found in rows.items()}
    learned = [(word, target) for word, found in best.items() if found[0][0] >= BEST**2 for _, target in found]
    kept = _consistent(Glossary(learned, languages), pairs)
    return [(word, target) for word, target in learned if word in kept]


def _consistent(glossary: Glossary, pairs: list[tuple[str, str]]) -> set[str]:
    """The terms that are translated with one of their targets in a share of `CONSISTENT` of the pairs."""
    found: Counter[tuple[str, ...]] = Counter()
    fitting: Counter[tuple[str, ...]] = Counter()
    for source, reference in pairs:
        for term in glossary.find(source):
            found[term.targets] += 1
            fitting[term.targets] += glossary.has(term, reference)
    return {
        source
        for source, targets in glossary.targets.items()
        if fitting[tuple(targets)] >= max(CONSISTENT * found[tuple(targets)], 1)
    }


class _Words:
    """The stems of texts: `side` for the lexicon; of each, its most frequent form and how often it occurs."""

    def __init__(self, texts: list[str], stem: Stem):
        found = [re.findall(r"\w+", text) for text in texts]
        forms: dict[str, Counter[str]] = {}
        for words in found:
            for word in words:
                forms.setdefault(stem(word), Counter())[word] += 1
        numbers = {word: number for number, word in enumerate(forms)}
        self.words = [max(own, key=own.__getitem__) for own in forms.values()]
        self.counts = [sum(own.values()) for own in forms.values()]
        ids = [numbers[stem(word)] for words in found for word in words]
        self.side = Side(numpy.array(ids, numpy.int32), numpy.array([len(words) for words in found], numpy.int64))
