"""First part: what is installed, a short training in bf16, resuming, and the searches against the CPU's."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load_file

from glossa import generation_glossa
from glossa.inference.loading import load_model, load_tokenizer
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.run import train

from ..timing import synchronize
from .record import Options, Record, empty

LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "datasets", "peft", "ctranslate2", "pytest")
STEPS = {"cuda": 300, "cpu": 8}
SENTENCES = {"cuda": 64, "cpu": 8}  # to translate
LENGTH = {"cuda": 64, "cpu": 12}  # tokens of a translation at most
BEAMS = (1, 4)
REHEARSAL = ["--max_train_samples", "1000", "--vocab_size", "300", "--d_model", "32", "--encoder_layers", "1"]
REHEARSAL += ["--decoder_layers", "1", "--cpu_threads", "1", "--use_cpu", "true"]


def measure(record: Record, options: Options) -> None:
    with record.attempt("versions"):
        for name, value in versions():
            record.add("versions", name=name, version=value)
    runs = options.folder / "first"
    with record.attempt("quickstart"):
        show_run(record, quickstart(options, empty(runs) / "whole"))
    with record.attempt("resume"):
        compare_weights(record, options, runs)
    with record.attempt("search"):
        compare_searches(record, options, runs / "whole")


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


def quickstart(options: Options, folder: Path, **changes) -> RunFolder:
    """A run of the recipe `quickstart`, in bf16 on a GPU, of `STEPS` steps, with a checkpoint in the middle."""
    steps = STEPS[options.device]
    settings = {
        "max_steps": steps, "bf16": options.bf16, "warmup_steps": 0.1, "logging_steps": max(steps // 6, 1),
        "save_strategy": "steps", "save_steps": steps // 2, "eval_strategy": "no", "load_best_model_at_end": "false",
        "max_new_tokens": LENGTH[options.device], "max_validation_samples": SENTENCES[options.device],
        "max_test_samples": SENTENCES[options.device], "report_to": "none", "output_dir": folder,
    } | changes  # fmt: skip
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


def compare_weights(record: Record, options: Options, runs: Path) -> None:
    """Whether the same training, and one from its middle, end with the same weights.

    The first says what the second can be expected to do: on a GPU, sums may depend on the order of its threads.
    """
    middle = runs / "whole" / f"checkpoint-{STEPS[options.device] // 2}"
    expected = load_file(runs / "whole" / "model.safetensors")
    for name, changes in {"again": {}, "resumed": {"resume_from_checkpoint": middle}}.items():
        found = load_file(quickstart(options, runs / name, **changes).path / "model.safetensors")
        differences = [(found[key] - weight).abs().max().item() for key, weight in expected.items()]
        equal = all(found[key].equal(weight) for key, weight in expected.items())
        record.add("weights after the last step", run=name, exact=equal, **{"largest difference": max(differences)})


@contextmanager
def searched_on(*devices: str) -> Iterator[None]:
    """Inside, Glossa's own search is used on these types of devices, and transformers' on others."""
    before = generation_glossa.SEARCHED
    generation_glossa.SEARCHED = devices
    try:
        yield
    finally:
        generation_glossa.SEARCHED = before


def compare_searches(record: Record, options: Options, run: Path) -> None:
    """Translations in float32 by both searches on the device, against transformers' search on the CPU."""
    tokenizer, model = load_tokenizer(str(run)), load_model(str(run))
    sources = RunFolder(run).load_held_out("test")["source"][: SENTENCES[options.device]]
    batch = tokenizer(sources, padding=True, return_tensors="pt")
    for beams in BEAMS:
        expected: list[str] = []
        for device, searched in (("cpu", ()), (options.device, ()), (options.device, (options.device,))):
            inputs, model = batch.to(device), model.to(device)
            settings = {"num_beams": beams, "do_sample": False, "max_new_tokens": LENGTH[options.device]}
            with searched_on(*searched):
                model.generate(**inputs, **settings)  # a first call loads kernels
                started = time.perf_counter()
                found = model.generate(**inputs, **settings)
                synchronize(device)
                seconds = time.perf_counter() - started
            texts = tokenizer.batch_decode(found, skip_special_tokens=True)
            expected = expected or texts
            record.add(
                "searches, float32",
                search="greedy" if beams == 1 else f"beam {beams}",
                device=device,
                by="Glossa" if searched else "transformers",
                seconds=seconds,
                identical=sum(map(str.__eq__, texts, expected)) / len(texts),
            )
