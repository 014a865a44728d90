"""How time and memory grow: of a training step with its batch and vocabulary, of preparing a corpus with its rows.

Each size is measured in a process of its own, so that no peak of memory is that of another. Memory is counted as in
`memory`: the highest while the work is done, less what the process held before.
"""

import json
import random
import statistics
import sys
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

from glossa.data.arguments import DataArguments
from glossa.data.embedded.patterns import Patterns
from glossa.data.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.data.vocabulary import SPECIAL_TOKENS, TokenizerArguments, train_tokenizer
from glossa.errors import GlossaError
from glossa.modeling_glossa import GlossaForConditionalGeneration

from .contenders import BareLoop
from .corpus import EMBEDDED_VOCABULARY
from .memory import in_process
from .sizes import POSITIONS, glossa_config
from .timing import alternate, peak_memory, reset_peak

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
FIXED = {"length": 64, "vocabulary": 8000, "batch": 4}  # a step's, where another of them grows
LEAST = {"length": 1, "vocabulary": 16, "batch": 1, "corpus": 100}
WARM_UP = 2  # steps; the optimizer gets its memory in the first
TOKENIZER_ROWS = 5000
FIGURES = ("seconds", "memory")


def measure_growth(ranges: Mapping[str, Sequence[int]], rounds: int, options: dict) -> dict[str, dict]:
    """For each curve its `sizes`, and for each size the median of `seconds` and of `memory` (bytes).

    Also `exponents`: for "seconds" and "memory" the one that fits `all` sizes best, and that of the `last` two.

    Args:
        ranges: Names of [`CURVES`], with two sizes or more that rise.
        rounds: Processes for each size.
        options: Of [`measure_size`]: `size`, `architecture`, `bf16`, `threads` and `steps`.
    """
    for curve, sizes in ranges.items():
        check_sizes(curve, sizes)
    with tempfile.TemporaryDirectory(prefix="glossa-benchmark-") as folder:
        if "corpus" in ranges:
            write_corpus(Path(folder), max(ranges["corpus"]))
        options = options | {"folder": folder}
        return {curve: _measure_curve(curve, sizes, rounds, options) for curve, sizes in ranges.items()}


def check_sizes(curve: str, sizes: Sequence[int]) -> None:
    """Raises `GlossaError` where no curve can be drawn through `sizes`."""
    if len(sizes) < 2 or any(first >= second for first, second in pairwise(sizes)) or sizes[0] < LEAST[curve]:
        raise GlossaError(
            f"--{curve} is {' '.join(map(str, sizes))}; give two numbers or more that rise, each at least "
            f"{LEAST[curve]}."
        )
    if curve == "length" and sizes[-1] > POSITIONS:
        raise GlossaError(f"--length is {sizes[-1]} at most; the models measured have {POSITIONS} positions.")


def _measure_curve(curve: str, sizes: Sequence[int], rounds: int, options: dict) -> dict:
    def turn(number: int):
        name = f"{curve} of {number:,}"
        return partial(in_process, "benchmarks.growth", name, {"curve": curve, "number": number, "options": options})

    measured = alternate({str(number): turn(number) for number in sizes}, rounds, warm_up=False)
    results: dict = {"sizes": list(sizes)}
    for figure in FIGURES:
        results[figure] = [statistics.median(found[figure] for found in turns) for turns in measured.values()]
    results["exponents"] = {
        figure: {"all": exponent(sizes, results[figure]), "last": exponent(sizes[-2:], results[figure][-2:])}
        for figure in FIGURES
    }
    return results


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of the power law `values` ~ `sizes` ** p that fits best: by least squares between the logarithms."""
    if min(values) <= 0:
        raise GlossaError(f"A figure is {min(values)}, too small to be measured; measure larger sizes.")
    return float(numpy.polyfit(numpy.log(sizes), numpy.log(values), 1)[0])


def generated_pairs() -> Iterator[tuple[str, str]]:
    """English and French sentences from the grammar of the embedded corpus, endlessly; some come up again."""
    patterns = Patterns(random.Random(1))
    while True:
        pair, _ = patterns.draw()
        yield pair.en, pair.fr


def write_corpus(folder: Path, rows: int) -> None:
    """`pairs.tsv`, so many generated pairs, and a tokenizer learned from the first ones of them."""
    with (folder / "pairs.tsv").open("w", encoding="utf-8") as file:
        file.writelines(f"{english}\t{french}\n" for english, french in islice(generated_pairs(), rows))
    sentences = chain.from_iterable(islice(generated_pairs(), TOKENIZER_ROWS))
    train_tokenizer(sentences, EMBEDDED_VOCABULARY).save_pretrained(folder)


def measure_size(curve: str, number: int, options: dict) -> dict[str, float]:
    """One size of a curve in this process: `seconds`, and the peak of its `memory` in bytes.

    Seconds of a training step are the median of `steps`, after a warm-up; a corpus is prepared once.
    """
    torch.set_num_threads(options["threads"])
    if curve == "corpus":
        return _measure_corpus(Path(options["folder"]), number)
    return _measure_step(FIXED | {curve: number}, options)


def _measure_step(shape: dict[str, int], options: dict) -> dict[str, float]:
    tokenizer = word_tokenizer(shape["vocabulary"])
    config = glossa_config(options["size"], tokenizer, options["architecture"])
    torch.manual_seed(1)
    loader = DataLoader(random_rows(**shape), batch_size=shape["batch"])
    before = reset_peak()
    model = GlossaForConditionalGeneration(config)
    model.set_attn_implementation("eager")  # as a run sets it on a processor
    loop = BareLoop(model, config, loader, options["bf16"])
    loop.train(WARM_UP)
    seconds = statistics.median(loop.train(1).seconds for _ in range(options["steps"]))
    return {"seconds": seconds, "memory": peak_memory() - before}


def word_tokenizer(vocabulary: int) -> PreTrainedTokenizerBase:
    """A tokenizer of exactly so many tokens: made-up words, and the special ones."""
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
    """The curves in reports of earlier measurements, as [`measure_growth`] returned them.

    Raises `GlossaError` where a file is no such report, or one with other `options`.
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
                f"--earlier {file} is no report of growth ({error!r}). Give a file that --output wrote."
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
        for figure, name in zip(FIGURES, ("time", "memory"), strict=True):
            row[f"exponent of {name}"] = f"{found['exponents'][figure]['all']:.2f}"
            row[f"{name}, last two"] = f"{found['exponents'][figure]['last']:.2f}"
        rows.append(row)
    return rows


if __name__ == "__main__":
    print(json.dumps(measure_size(**json.loads(sys.argv[1]))))
