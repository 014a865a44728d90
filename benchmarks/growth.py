"""How time and memory grow: for a training step and for preparing a corpus, each size in its own process.

A training step is measured against sentence length, vocabulary and batch size, preparing a corpus against its rows.
Memory is the peak during the work less what the process held before.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path

import datasets
import numpy
import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from glossa.data.arguments import DataArguments, TokenizerArguments
from glossa.data.embedded.patterns import Patterns
from glossa.data.encoding.encoding import tokenize_pairs
from glossa.data.encoding.vocabulary import SPECIAL_TOKENS, train_tokenizer
from glossa.data.pairs import prepare_pairs
from glossa.errors import GlossaError
from glossa.modeling_glossa import GlossaForConditionalGeneration
from glossa.plots import draw_growth

from .contenders import BareLoop
from .corpus import EMBEDDED_VOCABULARY
from .processes import in_process
from .report import add_common_arguments, finish, prepare
from .sizes import POSITIONS, glossa_config
from .timing import alternate, peak_memory, reset_peak, table

CURVES = {
    "length": (16, 32, 64, 128, 256, 512),
    "vocabulary": (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000),
    "batch": (4, 8, 16, 32, 64, 128),
    "corpus": (10_000, 30_000, 100_000, 300_000, 1_000_000),
}
UNITS = {
    "length": "tokens of each side of a sentence",
    "vocabulary": "tokens in the vocabulary",
    "batch": "sentences in a batch",
    "corpus": "rows of a corpus",
}
DEFAULTS = {"length": 64, "vocabulary": 8000, "batch": 4}  # of a step, for the sizes that do not grow
MINIMUM = {"length": 1, "vocabulary": 16, "batch": 1, "corpus": 100}
WARM_UP = 2  # steps; the optimizer allocates its memory in the first
TOKENIZER_ROWS = 5000
MEASURES = ("seconds", "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser, rounds=1)
    parser.add_argument("--curves", nargs="*", choices=CURVES, default=list(CURVES), help="default: all")
    for curve, sizes in CURVES.items():
        meaning = f"{UNITS[curve]} (default: {' '.join(map(str, sizes))})"
        parser.add_argument(f"--{curve}", type=int, nargs="+", default=sizes, metavar="N", help=meaning)
    parser.add_argument("--earlier", metavar="FILE.json", nargs="+", default=[],
                        help="reports that --output wrote, to show their curves too")  # fmt: skip
    parser.add_argument("--picture", metavar="FILE.png", help="draw the curves to this file (.png, .svg or .pdf)")


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    options = {name: getattr(arguments, name) for name in ("size", "architecture", "bf16", "threads", "steps")}
    curves = load_growth(arguments.earlier, options)
    if not arguments.curves and not curves:
        raise GlossaError(f"--curves is empty, and so is --earlier. Give one of {', '.join(CURVES)}, or a report.")
    ranges = {curve: getattr(arguments, curve) for curve in arguments.curves}
    curves |= measure_growth(ranges, arguments.rounds, options)
    curves = {curve: curves[curve] for curve in CURVES if curve in curves}
    print(table(growth_rows(curves)))
    finish(arguments, before, curves, data="generated data")
    if arguments.picture:
        draw_growth(curves, UNITS, Path(arguments.picture))


def measure_growth(ranges: Mapping[str, Sequence[int]], rounds: int, options: dict) -> dict[str, dict]:
    """Returns for each curve its `sizes`, and for each size the median of `seconds` and of `memory` (bytes).

    Also `exponents`: for "seconds" and "memory" the one that fits `all` sizes best, and the one of the `last` two.

    Args:
        ranges: For names of [`CURVES`], two or more increasing sizes.
        rounds: How many processes measure each size.
        options: Options of [`measure_size`]: `size`, `architecture`, `bf16`, `threads` and `steps`.
    """
    for curve, sizes in ranges.items():
        check_sizes(curve, sizes)
    with tempfile.TemporaryDirectory(prefix="glossa-benchmark-") as folder:
        if "corpus" in ranges:
            write_corpus(Path(folder), max(ranges["corpus"]))
        options = options | {"folder": folder}
        return {curve: _measure_curve(curve, sizes, rounds, options) for curve, sizes in ranges.items()}


def check_sizes(curve: str, sizes: Sequence[int]) -> None:
    """Raises `GlossaError` if `sizes` cannot make a curve."""
    if len(sizes) < 2 or any(first >= second for first, second in pairwise(sizes)) or sizes[0] < MINIMUM[curve]:
        raise GlossaError(
            f"--{curve} is {' '.join(map(str, sizes))}; give two or more increasing numbers, each at least "
            f"{MINIMUM[curve]}."
        )
    if curve == "length" and sizes[-1] > POSITIONS:
        raise GlossaError(f"--length is {sizes[-1]} at most; the models measured have {POSITIONS} positions.")


def _measure_curve(curve: str, sizes: Sequence[int], rounds: int, options: dict) -> dict:
    def turn(number: int):
        name = f"{curve} of {number:,}"
        return partial(in_process, measure_size, name, {"curve": curve, "number": number, "options": options})

    measured = alternate({str(number): turn(number) for number in sizes}, rounds, warm_up=False)
    results: dict = {"sizes": list(sizes)}
    for measure in MEASURES:
        results[measure] = [statistics.median(found[measure] for found in turns) for turns in measured.values()]
    results["exponents"] = {
        measure: {"all": exponent(sizes, results[measure]), "last": exponent(sizes[-2:], results[measure][-2:])}
        for measure in MEASURES
    }
    return results


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of the best-fitting power law `values` ~ `sizes` ** p, by least squares between the logarithms."""
    if min(values) <= 0:
        raise GlossaError(f"A value is {min(values)}, too small to be measured; measure larger sizes.")
    return float(numpy.polyfit(numpy.log(sizes), numpy.log(values), 1)[0])


def generated_pairs() -> Iterator[tuple[str, str]]:
    """An endless series of English and French sentences from the embedded corpus's grammar, with some repetition."""
    patterns = Patterns(random.Random(1))
    while True:
        pair, _ = patterns.draw()
        yield pair.en, pair.fr


def write_corpus(folder: Path, rows: int) -> None:
    """Write `pairs.tsv` with this many generated pairs, and a tokenizer learned from the first of them."""
    with (folder / "pairs.tsv").open("w", encoding="utf-8") as file:
        file.writelines(f"{english}\t{french}\n" for english, french in islice(generated_pairs(), rows))
    sentences = chain.from_iterable(islice(generated_pairs(), TOKENIZER_ROWS))
    train_tokenizer(sentences, EMBEDDED_VOCABULARY).save_pretrained(folder)


def measure_size(curve: str, number: int, options: dict) -> dict[str, float]:
    """Measure one size of a curve in this process: its `seconds`, and its peak `memory` in bytes.

    The time of a training step is the median of `steps` after a warm-up; a corpus is prepared once.
    """
    torch.set_num_threads(options["threads"])
    if curve == "corpus":
        return _measure_corpus(Path(options["folder"]), number)
    return _measure_step(DEFAULTS | {curve: number}, options)


def _measure_step(shape: dict[str, int], options: dict) -> dict[str, float]:
    tokenizer = word_tokenizer(shape["vocabulary"])
    config = glossa_config(options["size"], tokenizer, options["architecture"])
    torch.manual_seed(1)
    loader = DataLoader(random_rows(**shape), batch_size=shape["batch"])
    before = reset_peak()
    model = GlossaForConditionalGeneration(config)
    model.set_attn_implementation("eager")  # as a run sets it on a CPU
    loop = BareLoop(model, config, loader, options["bf16"])
    loop.train(WARM_UP)
    seconds = statistics.median(loop.train(1).seconds for _ in range(options["steps"]))
    return {"seconds": seconds, "memory": peak_memory() - before}


def word_tokenizer(vocabulary: int) -> PreTrainedTokenizerBase:
    """A tokenizer with exactly this many tokens: made-up words and the special tokens."""
    words = " ".join(f"word{number}" for number in range(vocabulary))
    options = TokenizerArguments(tokenizer_model="word", min_frequency=1)
    return train_tokenizer([words], vocabulary, options=options)


def random_rows(length: int, vocabulary: int, batch: int) -> Dataset:
    """A batch of rows without padding: `input_ids`, `attention_mask` and `labels`, each [batch, length] int64."""
    source, target = torch.randint(len(SPECIAL_TOKENS), vocabulary, (2, batch, length)).tolist()
    columns = {"input_ids": source, "attention_mask": [[1] * length] * batch, "labels": target}
    return Dataset.from_dict(columns).with_format("torch")


def _measure_corpus(folder: Path, rows: int) -> dict[str, float]:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    arguments = DataArguments(dataset="files", data_path=[str(folder / "pairs.tsv")], max_train_samples=rows)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        before = reset_peak()
        started = time.perf_counter()
        pairs, report = prepare_pairs(arguments)
        tokenize_pairs(pairs, tokenizer, arguments, report)
        return {"seconds": time.perf_counter() - started, "memory": peak_memory() - before}


def load_growth(files: Sequence[str], options: dict) -> dict[str, dict]:
    """The curves in earlier reports, as [`measure_growth`] returned them.

    Raises `GlossaError` if a file is not such a report, or was measured with other `options`.
    """
    options = options | {"command": "growth"}
    curves: dict[str, dict] = {}
    for file in files:
        try:
            report = json.loads(Path(file).read_text(encoding="utf-8"))
            measured = {name: report["options"][name] for name in options}
            curves |= report["results"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GlossaError(
                f"--earlier {file} is not a report of growth ({error!r}). Give a file that --output wrote."
            ) from error
        other = [f"{name} {measured[name]}, not {value}" for name, value in options.items() if measured[name] != value]
        if other:
            raise GlossaError(
                f"--earlier {file} was measured with {'; '.join(other)}. Give reports of the same settings."
            )
    return curves


def growth_rows(curves: Mapping[str, dict]) -> list[dict[str, str]]:
    """What [`measure_growth`] returned, a row for each curve."""
    rows = []
    for curve, found in curves.items():
        row = {"what grows": UNITS[curve], "from": f"{found['sizes'][0]:,}", "to": f"{found['sizes'][-1]:,}"}
        for measure, name in zip(MEASURES, ("time", "memory"), strict=True):
            row[f"exponent of {name}"] = f"{found['exponents'][measure]['all']:.2f}"
            row[f"{name}, last two"] = f"{found['exponents'][measure]['last']:.2f}"
        rows.append(row)
    return rows
