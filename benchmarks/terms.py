"""What a glossary does to translations: `python -m benchmarks terms RUN ...`.

The terms are drawn from the references of a run's test pairs: a word of a source is linked to one word of the
reference and to another word of the model's own translation, which the reference does not have. Eflomal links the
words, with all held-out pairs of the run and those of --pairs. Each sentence has its own glossary of up to --terms
terms. A term is in place if the translation has it once, perhaps inflected, and not the model's own word. The rows:
no glossary; a search for the terms anywhere in the translation (Post and Vilar 2018); and the terms in the place of
the model's own words, as `glossa translate --glossary` does.
"""

import argparse
import random
import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.glossary import Glossary, Stem, stemmer
from glossa.base.metrics import bleu_tokenizer, score
from glossa.base.run_folder import RunFolder
from glossa.base.word_links import find_words, link_words
from glossa.model.abbreviations_glossa import STARTERS
from glossa.model.batches_glossa import encode_texts
from glossa.translate.interface import Execution, Search
from glossa.translate.languages import Languages
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.search.constrained import ConstrainedEngine
from glossa.translate.search.terms import Term, Terms
from glossa.translate.translator import Translator

from .timing import machine, table

SHARE = 6  # about one sentence in so many has a term
SHORTEST = 4  # letters of a term; shorter words are mostly no nouns, verbs or adjectives


class Drawn(NamedTuple):
    """A term of a sentence, its translation in the reference, and the model's own word for it."""

    source: str
    target: str
    own: str
    place: tuple[int, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="source, tab, target: more pairs to link words")
    parser.add_argument("--sentences", type=int, default=400, help="sentences with terms, at most (default: 400)")
    parser.add_argument("--terms", type=int, default=3, help="terms in a sentence, at most (default: 3)")
    parser.add_argument("--num_beams", type=int, default=5, help="beams (default: 5)")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many sentences")


def run(arguments: argparse.Namespace) -> None:
    print(machine())
    for name in arguments.models:
        pairs = _held_out(name, "test")
        further = _held_out(name, "validation") + (_read(arguments.pairs) if arguments.pairs else [])
        print(f"\n{name}\n\n{table(measure(name, pairs, further, arguments))}")


def _held_out(name: str, split: str) -> list[tuple[str, str]]:
    held_out = RunFolder(name).load_held_out(split)
    references = held_out["references" if "references" in held_out.column_names else "target"]
    return [
        (source, target if isinstance(target, str) else target[0])
        for source, target in zip(held_out["source"], references, strict=True)
    ]


def _read(path: Path) -> list[tuple[str, str]]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(row[0], row[1]) for row in rows]


class OwnGlossary:
    """A glossary of its own for each sentence."""

    def __init__(self, drawn: dict[str, list[Drawn]], languages: LanguagePair):
        self.drawn = drawn
        self.glossary = Glossary([(each.source, each.target) for own in drawn.values() for each in own], languages)
        self.target_language = self.glossary.target_language

    def find(self, text: str) -> list[Term]:
        capital = text[:1].isupper()
        return [
            Term(
                each.source,
                (each.target,),
                (each.target[:1].upper() + each.target[1:] if capital else each.target,),
                (each.place,),
            )
            for each in self.drawn.get(text, ())
        ]

    def has(self, term: Term, translation: str) -> bool:
        return self.glossary.has(term, translation)


def measure(
    name: str, pairs: list[tuple[str, str]], further: list[tuple[str, str]], arguments: argparse.Namespace
) -> list[dict[str, str]]:
    """A row for each way."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    languages = Languages.of(name)
    search = Search(arguments.num_beams)
    pairs = list(dict(pairs).items())
    random.Random(1).shuffle(pairs)
    sources, references = map(list, zip(*pairs[: SHARE * arguments.sentences], strict=True))
    plain = Translator(model, tokenizer, search, execution=Execution(split_sentences=False)).best(sources)
    stem = stemmer(languages.target)
    drawn = draw(sources, references, plain, further, stem, arguments.terms)
    chosen = [row for row, own in enumerate(drawn) if own][: arguments.sentences]
    sources, references, plain, drawn = ([each[row] for row in chosen] for each in (sources, references, plain, drawn))  # type: ignore[assignment]
    glossary = OwnGlossary(dict(zip(sources, drawn, strict=True)), LanguagePair(languages.source, languages.target))
    engine = ConstrainedEngine(model, tokenizer)
    placed = Translator(
        model, tokenizer, search, execution=Execution(split_sentences=False), terms=Terms(lambda: engine, glossary)
    )
    ways = {
        "no glossary": Translator(model, tokenizer, search, execution=Execution(split_sentences=False)).best,
        "anywhere": partial(anywhere, engine, glossary, search, plain),
        "in place": placed.best,
    }
    rows = []
    for way, translate in ways.items():
        started = time.perf_counter()
        texts = translate(sources)
        seconds = time.perf_counter() - started
        rows.append({"terms": way} | judge(texts, references, drawn, stem, languages.target or ""))
        rows[-1]["ms a sentence"] = f"{1000 * seconds / len(sources):.0f}"
        if way == "in place":
            show(sources, plain, texts, drawn, arguments.show)
    return rows


def show(sources: list[str], plain: list[str], texts: list[str], drawn: list[list[Drawn]], number: int) -> None:
    for source, before, text, own in list(zip(sources, plain, texts, drawn, strict=True))[:number]:
        wanted = ", ".join(f"{each.source} = {each.target} (not {each.own})" for each in own)
        print(f"{source}\n  {before}\n  {text}\n  {wanted}")


def anywhere(
    engine: ConstrainedEngine, glossary: OwnGlossary, search: Search, plain: list[str], sources: Sequence[str]
) -> list[str]:
    """Translations that have their terms at any place."""
    helper = Terms(lambda: engine, glossary)
    asked = [
        helper.constraints(engine, glossary.find(text), "", before)
        for text, before in zip(sources, plain, strict=True)
    ]
    found = engine.translate(encode_texts(engine.tokenizer, list(sources)), asked, search)
    return [each[0].text if each else "" for each in found]


def draw(
    sources: list[str],
    references: list[str],
    translations: list[str],
    further: list[tuple[str, str]],
    stem: Stem,
    most: int,
) -> list[list[Drawn]]:
    """The terms of each sentence."""
    first, second = [pair[0] for pair in further], [pair[1] for pair in further]
    links = link_words(sources + sources + first, references + translations + second)
    found = []
    for row, (source, reference, translation) in enumerate(zip(sources, references, translations, strict=True)):
        sides = [_words(text) for text in (source, reference, translation)]
        stems = [{stem(word) for word in side} for side in sides]
        theirs, own = _linked(links[row]), _linked(links[len(sources) + row])
        terms = []
        for index in sorted(theirs.keys() & own.keys()):
            one = Drawn(sides[0][index], sides[1][theirs[index]], sides[2][own[index]], find_words(source)[index])
            if all(map(_fits, one[:3])) and stem(one.target) not in stems[2] and stem(one.own) not in stems[1]:
                terms.append(one)
        found.append(terms[:most])
    return found


def _linked(links: list[tuple[int, int]]) -> dict[int, int]:
    """The target word of each source word, of pairs of words that are linked only to each other."""
    first, second = ([link[side] for link in links] for side in (0, 1))
    return {a: b for a, b in links if first.count(a) == second.count(b) == 1}


def _fits(word: str) -> bool:
    return word.isalpha() and len(word) >= SHORTEST and word.casefold() not in STARTERS


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


def judge(
    texts: list[str], references: list[str], drawn: list[list[Drawn]], stem: Stem, language: str
) -> dict[str, str]:
    """The figures of the translations of one way."""
    there = placed = both = total = 0
    for text, own in zip(texts, drawn, strict=True):
        stems = [stem(word.rstrip("'’")) for word in _words(text)]
        for each in own:
            total += 1
            has, other = stems.count(stem(each.target)), stem(each.own) in stems
            there += has > 0
            placed += has == 1 and not other
            both += has > 0 and other
    doubled = sum(any(a == b and a.isalpha() for a, b in pairwise(w)) for w in map(_words, texts))
    found = score(texts, [[each] for each in references], tokenize=bleu_tokenizer(language))
    return {
        "sentences": f"{len(texts):,}",
        "number": f"{total:,}",
        "there": f"{there / total:.1%}",
        "in place": f"{placed / total:.1%}",
        "own word too": f"{both / total:.1%}",
        "doubled words": f"{doubled:,}",
        "BLEU": f"{found['bleu']['score']:.1f}",
        "chrF++": f"{found['chrf']['score']:.1f}",
    }
