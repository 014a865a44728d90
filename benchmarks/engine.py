"""CTranslate2 compared with transformers on the same sentences: `python -m benchmarks engine RUN`.

For the run's own test sentences, in greedy and beam search, with and without quantization: the share of equal
translations, BLEU, seconds, and the size of the weights.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from glossa.base.jobs.pool import end_with_parent, process_context
from glossa.base.metrics import score
from glossa.base.run_folder import RunFolder
from glossa.train.data.pairs import group_references
from glossa.translate.engines.ctranslate2 import CTranslate2Engine, load_engine
from glossa.translate.export.ctranslate2_model import export_ctranslate2
from glossa.translate.interface import Engine, Search, Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

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
    rows = compare(arguments.model, sources, references, arguments)
    threads = os.environ.get("OMP_NUM_THREADS", f"{torch.get_num_threads()} in torch")
    print(f"{len(sources):,} sentences of {arguments.model}, threads: {threads}\n\n{table(rows)}")


class EngineProcess(Engine):
    """CTranslate2 in its own process, since its threads and torch's slow each other down in a shared one.

    Args:
        folder: The folder of an exported model.
        files: Closing this stack ends the process.
        device: "cpu" or "cuda".
    """

    num_beams = 1

    def __init__(self, folder: Path, files: ExitStack, device: str):
        start = process_context("glossa.train.run")
        self.pool = files.enter_context(ProcessPoolExecutor(1, start, _load, (str(folder), device)))

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        return self.pool.submit(_translate_in_process, sources, search).result()


def _load(folder: str, device: str) -> None:
    end_with_parent()
    global _loaded
    _loaded = load_engine(folder, device)[0]


def _translate_in_process(*args) -> list[Translation]:
    return _loaded.translate(*args)


def compare(name: str, sources: list[str], references: list[list[str]], arguments: argparse.Namespace) -> list[dict]:
    """A row of the table for transformers and for each quantization of CTranslate2, for each number of beams.

    `identical` is the share of translations equal to transformers'. BLEU is against the first reference.
    """
    model: Any = load_model(name)
    tokenizer = load_tokenizer(name)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    rows: list[dict[str, str]] = []
    expected: dict[int, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as files:
        engines: list[tuple] = [("transformers", weights, model)]
        for quantization in arguments.quantizations:
            path = Path(folder) / quantization
            export_ctranslate2(model, tokenizer, path, quantization)
            size = (path / "model.bin").stat().st_size
            engines.append((f"ctranslate2 {quantization}", size, EngineProcess(path, files, device.type)))
        model.to(device)
        for engine, size, model_or_engine in engines:
            for beams in arguments.num_beams:
                found, seconds = _translate(model_or_engine, tokenizer, sources, beams)
                same = [one == other for one, other in zip(found, expected.setdefault(beams, found), strict=True)]
                bleu = score(found, [first[:1] for first in references])["bleu"]["score"]
                row = {"engine": engine, "beams": str(beams), "identical": f"{sum(same) / len(same):.1%}"}
                row |= {"BLEU": f"{bleu:.2f}", "seconds": f"{seconds:.1f}", "MiB": f"{size / 2**20:.1f}"}
                rows.append(row)
    return rows


def _translate(model: torch.nn.Module | Engine, tokenizer, sources: list[str], beams: int) -> tuple[list[str], float]:
    translator = Translator(model, tokenizer, Search(beams))  # type: ignore[arg-type]
    translator.best(sources[:WARM_UP])
    started = time.perf_counter()
    return translator.best(sources), time.perf_counter() - started
