"""Instance adaptation: `python -m benchmarks adaptation RUN --runs runs/repair --language de`.

Before each test sentence of `python -m benchmarks repair` that has matches, the model of RUN, which does not read a
memory, is trained for a few steps on them, and has its weights again afterwards. Printed are BLEU and TER with and
without this, and the CPU-milliseconds that it takes, on a random sample of the sentences.
"""

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import DataCollatorForSeq2Seq

from glossa.evaluation.metrics import bleu_tokenizer, score
from glossa.inference.engines.engine import Search
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.memory.store import Match, Memory

from .repair import BEAMS, USED, read_pairs
from .timing import machine, table

MATCHES = 3  # that are learned at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="of a model without memory")
    parser.add_argument("--runs", type=Path, default=Path("runs/repair"), help="the folder of `repair`")
    parser.add_argument("--language", default="de", metavar="CODE", help="default: de")
    parser.add_argument("--sentences", type=int, default=200, help="default: 200")
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 3, 9], help="default: 1 3 9")
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-4, 5e-4, 2e-3], help="of Adam (default: 3)")


def run(arguments: argparse.Namespace) -> None:
    folder = arguments.runs / arguments.language
    with Memory.temporary(read_pairs(folder / "train.tsv")) as memory:
        found = [(pair, memory.matches(pair.source, USED, MATCHES)) for pair in read_pairs(folder / "test.tsv")]
    near = [one for one in found if one[1]]
    chosen = random.Random(1).sample(near, min(arguments.sentences, len(near)))
    translator = Translator(
        load_model(arguments.run), load_tokenizer(arguments.run), Search(BEAMS), split_sentences=False
    )
    rows = [row(translator, chosen, arguments.language, 0, 0.0)]
    for steps in arguments.steps:
        rows += [row(translator, chosen, arguments.language, steps, rate) for rate in arguments.rates]
    print(f"{table(rows)}\n\n{len(chosen)} sentences, {machine()}")


def row(translator: Translator, chosen: Sequence, language: str, steps: int, rate: float) -> dict[str, str]:
    """The scores with a number of steps at a rate, and the time of a sentence for all but its translation."""
    model = translator.engine.pipeline.model  # type: ignore[attr-defined]
    own = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    texts, seconds = [], 0.0
    for pair, matches in chosen:
        started = time.process_time()
        adapt(model, translator.tokenizer, matches, steps, rate)
        seconds += time.process_time() - started
        texts.append(translator.best([pair.source])[0])
        started = time.process_time()
        with torch.no_grad():
            for name, weights in model.named_parameters():
                weights.copy_(own[name])
        seconds += time.process_time() - started
    found = score(texts, [[pair.target] for pair, _ in chosen], 0, bleu_tokenizer(language))
    return {
        "steps": str(steps), "rate": f"{rate:g}", "BLEU": f"{found['bleu']['score']:.1f}",
        "TER": f"{found['ter']['score']:.1f}", "CPU-ms a sentence": f"{1000 * seconds / len(chosen):.0f}",
    }  # fmt: skip


def adapt(model, tokenizer, matches: Sequence[Match], steps: int, rate: float) -> None:
    """Train on the matches."""
    features = [tokenizer(match.source, text_target=match.target) for match in matches]
    batch = DataCollatorForSeq2Seq(tokenizer, model)([dict(one) for one in features])
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.eval()
