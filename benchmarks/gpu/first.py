"""First part: what is installed, and a short training in bf16."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from glossa.base.run_folder import RunFolder
from glossa.model import generation_glossa
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

from .record import Options, Record, empty

LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "datasets", "peft", "ctranslate2", "pytest")
STEPS = {"cuda": 300, "cpu": 8}
SENTENCES = {"cuda": 64, "cpu": 8}  # to translate
LENGTH = {"cuda": 64, "cpu": 12}  # tokens of a translation at most
REHEARSAL = ["--max_train_samples", "1000", "--vocab_size", "300", "--d_model", "32", "--encoder_layers", "1"]
REHEARSAL += ["--decoder_layers", "1", "--cpu_threads", "1", "--use_cpu", "true"]


def measure(record: Record, options: Options) -> None:
    with record.attempt("versions"):
        for name, value in versions():
            record.add("versions", name=name, version=value)
    with record.attempt("quickstart"):
        show_run(record, quickstart(options, empty(options.folder / "first")))


def versions() -> Iterator[tuple[str, str]]:
    """What decides the figures, by name."""
    yield "python", platform.python_version()
    for name in LIBRARIES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, "not installed"
    yield "CPU cores", str(len(os.sched_getaffinity(0)))
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        yield "GPU", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
        yield "compute capability", f"{properties.major}.{properties.minor}"
        yield "CUDA of torch", str(torch.version.cuda)
        yield "cuDNN", str(torch.backends.cudnn.version())
    if shutil.which("nvidia-smi"):
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        yield "driver", subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()


def quickstart(options: Options, folder: Path) -> RunFolder:
    """A run of the recipe `quickstart`, in bf16 on a GPU, of `STEPS` steps."""
    steps = STEPS[options.device]
    settings = {
        "max_steps": steps, "bf16": options.bf16, "warmup_steps": 0.1, "logging_steps": max(steps // 6, 1),
        "save_strategy": "no", "eval_strategy": "no", "load_best_model_at_end": "false",
        "max_new_tokens": LENGTH[options.device], "max_validation_samples": SENTENCES[options.device],
        "max_test_samples": SENTENCES[options.device], "report_to": "none", "output_dir": folder,
    }  # fmt: skip
    argv = ["quickstart", *(REHEARSAL if options.rehearsal else [])]
    argv += [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return RunFolder(train(parse_settings(argv)))


def show_run(record: Record, run: RunFolder) -> None:
    for entry in run.history:
        if "loss" in entry:
            speed = entry.get("target_tokens_per_second")
            record.add("quickstart", step=entry["step"], loss=entry["loss"], **{"target tokens/s": speed})
    metrics = run.metrics
    scores = {name: found["scores"]["single"]["bleu"]["score"] for name, found in metrics["test"].items()}
    record.add("quickstart, scores", seconds=metrics["training_seconds"], device=metrics["device"], **scores)


@contextmanager
def searched_on(*devices: str) -> Iterator[None]:
    """Inside, Glossa's own search is used on these types of devices, and transformers' on others."""
    before = generation_glossa.SEARCHED
    generation_glossa.SEARCHED = devices
    try:
        yield
    finally:
        generation_glossa.SEARCHED = before
