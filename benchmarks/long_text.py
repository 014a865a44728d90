"""BLEU of sentences that are longer than the training sentences: whole, and cut at clauses.

Held-out sentences of a run are joined by commas, 2, 4 and 8 to a line, with small letters at the joints, and their
references likewise; and single sentences are grouped by their length. A column translates what exceeds a quantile of
the lengths of the validation pairs in pieces; the last one translates every line whole.
"""

import argparse
from collections.abc import Iterator

from glossa.data.cleaning.statistics import QUANTILE, trained_length
from glossa.data.pairs import group_references
from glossa.evaluation.metrics import score
from glossa.inference.engines.engine import GenerateEngine, Search
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.options import Execution
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder

from .timing import table

CLAUSES = (1, 2, 4, 8)
LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 60))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="folder of a run, with its held-out pairs")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="default: test")
    parser.add_argument("--lines", type=int, default=500, help="lines of joined sentences (default: 500)")
    meaning = f"kept whole up to these quantiles of the lengths (default: {QUANTILE}, that of a training run)"
    parser.add_argument("--quantiles", type=float, nargs="+", default=[QUANTILE], metavar="Q", help=meaning)
    parser.add_argument("--batch_tokens", type=int, default=4096, help="default: 4096")


def run(arguments: argparse.Namespace) -> None:
    model, tokenizer = load_model(arguments.model, "auto"), load_tokenizer(arguments.model)
    folder = RunFolder(arguments.model)
    validation = folder.load_held_out("validation")
    pairs = [(source, targets[0]) for source, targets in group_references(folder.load_held_out(arguments.split))]
    engine = GenerateEngine(model, tokenizer)
    limits = [trained_length(validation, tokenizer, quantile=quantile) for quantile in arguments.quantiles]
    columns = dict(zip(map("{:.1%}".format, arguments.quantiles), limits, strict=True)) | {"whole": None}
    rows = []
    for title, lines in [*joined_rows(pairs, arguments.lines), *length_rows(pairs, tokenizer)]:
        cells = {"": title, "lines": str(len(lines))}
        for name, limit in columns.items():
            engine.trained_length = limit
            translator = Translator(engine, tokenizer, Search(1), execution=Execution(arguments.batch_tokens))
            found = translator.best([source for source, _ in lines])
            bleu = score(found, [[target] for _, target in lines])["bleu"]["score"]
            cells[name if limit is None else f"{name}: {limit} tokens"] = f"{bleu:.2f}"
        rows.append(cells)
    print(table(rows))


def joined_rows(pairs: list[tuple[str, str]], lines: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Title and lines of sentences joined by commas; if there are few pairs, they are used again with a shift."""
    for clauses in CLAUSES:
        joined = []
        for line in range(lines if clauses > 1 else min(lines, len(pairs))):
            first, shift = line * clauses, line * clauses // len(pairs)
            chosen = [pairs[(first + shift + number) % len(pairs)] for number in range(clauses)]
            joined.append((join([source for source, _ in chosen]), join([target for _, target in chosen])))
        yield (f"{clauses} clauses" if clauses > 1 else "1 sentence"), joined


def join(sentences: list[str]) -> str:
    """The sentences as clauses of one."""
    bodies = [sentence.rstrip(" \u00a0\u202f.!?") for sentence in sentences]
    rest = [body if body.startswith(("I ", "I'")) else body[:1].lower() + body[1:] for body in bodies[1:]]
    return ", ".join([bodies[0], *rest]) + "."


def length_rows(pairs: list[tuple[str, str]], tokenizer) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Title and pairs of each range of source lengths that has ten pairs or more."""
    lengths = [len(ids) for ids in tokenizer([source for source, _ in pairs])["input_ids"]]
    for least, most in LENGTHS:
        own = [pair for pair, length in zip(pairs, lengths, strict=True) if least <= length <= most]
        if len(own) >= 10:
            yield f"{least} to {most} tokens", own
