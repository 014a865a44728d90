"""Second part: the tests marked `gpu`, and time and memory of the loss by the size of its chunks."""

import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import torch

from glossa import loss_glossa
from glossa.loss_glossa import chunked_cross_entropy

from ..timing import spread, synchronize
from .record import Options, Record

ROOT = Path(__file__).parents[2]
CHUNKS = {"cuda": (1024, 2048, 4096, 8192, 16384, 32768, 65536), "cpu": (64, 256)}
LABELS = {"cuda": 65536, "cpu": 256}
WIDTH = {"cuda": 512, "cpu": 32}
VOCABULARIES = {"cuda": (8000, 32000), "cpu": (300,)}
ROUNDS = {"cuda": 5, "cpu": 1}


def measure(record: Record, options: Options) -> None:
    with record.attempt("chunks"):
        for vocabulary in VOCABULARIES[options.device]:
            measure_chunks(record, options, vocabulary)
    with record.attempt("tests"):
        run_tests(record, options)


def measure_chunks(record: Record, options: Options, vocabulary: int) -> None:
    """Forward and backward pass of the loss in bf16, for each size of the chunks."""
    device, kept = options.device, dict(loss_glossa.CHUNKS)
    states = torch.randn(LABELS[device], WIDTH[device], device=device, requires_grad=True)
    weight = torch.randn(vocabulary, WIDTH[device], device=device, requires_grad=True)
    labels = torch.randint(vocabulary, (LABELS[device],), device=device)
    try:
        for size in CHUNKS[device]:
            loss_glossa.CHUNKS[device] = size
            seconds = []
            if device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            for _ in range(ROUNDS[device] + 1):  # the first loads kernels
                synchronize(device)
                started = time.perf_counter()
                with torch.autocast(device, torch.bfloat16):
                    loss = chunked_cross_entropy(states, weight, labels, 0.1)
                loss.backward()
                states.grad = weight.grad = None
                synchronize(device)
                seconds.append(time.perf_counter() - started)
            record.add(
                f"chunks of the loss, {LABELS[device]:,} labels, width {WIDTH[device]}",
                vocabulary=vocabulary,
                chunk=size,
                milliseconds=1000 * spread(seconds[1:])["median"],
                **{"peak MiB": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None},
            )
    finally:
        loss_glossa.CHUNKS.update(kept)


def run_tests(record: Record, options: Options) -> None:
    """Run the tests marked `gpu`; a row for each, with the reason of those that fail or are skipped."""
    found = options.folder / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["--junitxml", str(found), "tests/gpu"]
    environment = os.environ | {"GLOSSA_TEST_DEVICE": options.device}
    done = subprocess.run(command, cwd=ROOT, env=environment)
    for case in ElementTree.parse(found).iter("testcase"):
        record.add("tests", **outcome(case))
    if done.returncode:
        raise RuntimeError(f"pytest ended with status {done.returncode}; its output is in tests.log")


def outcome(case: ElementTree.Element) -> dict:
    """Name, result and seconds of a test, and the first line of what pytest says about it."""
    result, message = "passed", ""
    for kind in ("failure", "error", "skipped"):
        said = case.find(kind)
        if said is not None:
            result, message = kind, (said.get("message") or "").split("\n")[0]
    name = f"{case.get('classname', '').split('.')[-1]}: {case.get('name')}"
    return {"test": name, "result": result, "seconds": float(case.get("time", 0)), "message": message}
