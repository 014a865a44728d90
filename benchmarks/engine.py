"""CTranslate2 compared with transformers on the same sentences: `python -m benchmarks engine RUN`.

For the run's own test sentences, in greedy and beam search, with and without quantization: the share of equal
translations, BLEU, seconds, and the size of the weights.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from glossa.data.pairs import group_references
from glossa.evaluation.metrics import score
from glossa.export.ctranslate2_model import export_ctranslate2
from glossa.inference.engines.ctranslate2 import CTranslate2Engine, load_engine
from glossa.inference.engines.engine import Engine, Search, Translation
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.jobs.pool import process_context
from glossa.run_folder import RunFolder

from .processes import end_with_parent
from .timing import table

WARM_UP = 8  # sentences that are translated before the timing starts

_loaded: CTranslate2Engine  # in the engine's process


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="folder of a run, with its held-out test pairs")
    parser.add_argument("--sentences", type=int, default=1000, help="distinct test sources (default: 1000)")
    parser.add_argument("--num_beams", type=int, nargs="+", default=[1, 5], help="default: 1 5")
    parser.add_argument("--quantizations", nargs="+", default=["float32", "int8"], help="default: float32 int8")


def run(arguments: argparse.Namespace) -> None:
    grouped = group_references(RunFolder(arguments.model).load_held_out("test"))[: arguments.sentences]
    sources, references = [source for source, _ in grouped], [targets for _, targets in grouped]
    rows = measure_engine(arguments.model, sources, references, arguments.num_beams, arguments.quantizations)
    threads = os.environ.get("OMP_NUM_THREADS", f"{torch.get_num_threads()} in torch")
    print(f"{len(sources):,} sentences of {arguments.model}, threads: {threads}\n\n{table(engine_rows(rows))}")


class EngineProcess(Engine):
    """CTranslate2 in its own process, since its threads and torch's slow each other down in a shared one.

    Args:
        folder: The folder of an exported model.
        files: Closing this stack ends the process.
        device: "cpu" or "cuda".
        max_length: Most tokens of a translation; by default what the model allows.
    """

    num_beams = 1

    def __init__(self, folder: Path, files: ExitStack, device: str = "cpu", max_length: int | None = None):
        start = process_context("glossa.training.run")
        self.pool = files.enter_context(ProcessPoolExecutor(1, start, _load, (str(folder), device, max_length)))

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        return self.pool.submit(_translate_in_process, sources, search).result()

    def translate_to_length(self, sources: list[list[int]], num_beams: int, length: int) -> list[str]:
        """Translations of exactly `length` tokens each."""
        return self.pool.submit(_translate_to_length_in_process, sources, num_beams, length).result()


def _load(folder: str, device: str, max_length: int | None) -> None:
    end_with_parent()
    global _loaded
    _loaded = load_engine(folder, device)[0]
    _loaded.longest = max_length or _loaded.longest


def _translate_in_process(*args) -> list[Translation]:
    return _loaded.translate(*args)


def _translate_to_length_in_process(sources: list[list[int]], beams: int, length: int) -> list[str]:
    tokenizer: Any = _loaded.tokenizer
    tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in sources]
    options = {"min_decoding_length": length, "max_decoding_length": length, "max_input_length": 0}
    options["max_batch_size"] = _loaded.sentences_per_worker(len(tokens))
    found = _loaded.translator.translate_batch(tokens, beam_size=beams, **options)
    ids = [[_loaded.target.token_to_id(token) for token in result.hypotheses[0]] for result in found]
    return tokenizer.batch_decode(ids, skip_special_tokens=True)


def measure_engine(
    name: str,
    sources: list[str],
    references: list[list[str]],
    num_beams: Sequence[int] = (1, 5),
    quantizations: Sequence[str] = ("float32", "int8"),
) -> list[dict]:
    """A row for transformers and one for each quantization of CTranslate2, for each number of beams.

    Args:
        name: Folder of a run, or Hub name.
        sources: Sentences.
        references: The reference translations of each.
        num_beams: 1 is greedy.
        quantizations: The types that [`export_ctranslate2`] takes.

    Returns dictionaries of `engine`, `num_beams`, `identical` (share of translations equal to transformers'), `bleu`
    (against the first reference), `seconds` and `mebibytes` of weights.
    """
    model: Any = load_model(name)
    tokenizer = load_tokenizer(name)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    rows: list[dict] = []
    expected: dict[int, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as files:
        engines: list[tuple] = [("transformers", weights, model)]
        for quantization in quantizations:
            path = Path(folder) / quantization
            export_ctranslate2(model, tokenizer, path, quantization)
            size = (path / "model.bin").stat().st_size
            engines.append((f"ctranslate2 {quantization}", size, EngineProcess(path, files, device.type)))
        model.to(device)
        for engine, size, model_or_engine in engines:
            for beams in num_beams:
                found, seconds = _translate(model_or_engine, tokenizer, sources, beams)
                same = [one == other for one, other in zip(found, expected.setdefault(beams, found), strict=True)]
                rows.append(
                    {
                        "engine": engine,
                        "num_beams": beams,
                        "identical": sum(same) / len(same),
                        "bleu": score(found, [first[:1] for first in references])["bleu"]["score"],
                        "seconds": seconds,
                        "mebibytes": size / 2**20,
                    }
                )
    return rows


def _translate(model: torch.nn.Module | Engine, tokenizer, sources: list[str], beams: int) -> tuple[list[str], float]:
    translator = Translator(model, tokenizer, Search(beams))  # type: ignore[arg-type]
    translator.best(sources[:WARM_UP])
    started = time.perf_counter()
    return translator.best(sources), time.perf_counter() - started


def engine_rows(rows: list[dict]) -> list[dict[str, str]]:
    """What [`measure_engine`] returned, as rows of a table."""
    return [
        {
            "engine": row["engine"],
            "beams": str(row["num_beams"]),
            "identical": f"{row['identical']:.1%}",
            "BLEU": f"{row['bleu']:.2f}",
            "seconds": f"{row['seconds']:.1f}",
            "MiB": f"{row['mebibytes']:.1f}",
        }
        for row in rows
    ]
