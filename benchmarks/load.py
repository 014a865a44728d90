"""Training speed next to other busy programs that come and go: `python -m benchmarks load`.

`glossa train` trains the quickstart recipe with the model of each size: with one thread, with a thread for each core,
and as it chooses by itself. In the middle of each run programs come that compute without pause, on as many cores as
they get, and go again. A row has the target tokens per second while they are there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glossa.base.errors import GlossaError
from glossa.cli.train import main
from glossa.train.plan.devices import available_cores
from glossa.train.trainer import GlossaTrainer

from .sizes import SIZES
from .timing import NO_EVALUATION, machine, table

NICE = {"normal": 0, "lowest": 19}  # priorities
SETTLING_SECONDS = 1.0  # until the scheduler has spread the busy programs
START_SECONDS, WARM_STEPS = 180.0, 20  # of a training: at most until it begins, and steps that do not count
CHOSEN = "by itself"

Phase = tuple[int, str]  # number and priority of the busy programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", nargs="+", choices=["quickstart", *SIZES], default=["quickstart", "tiny", "small"])
    parser.add_argument("--neighbors", type=int, nargs="+", default=[1, 2, 4], help="busy programs (default: 1 2 4)")
    parser.add_argument("--priorities", nargs="+", choices=NICE, default=list(NICE), help="of the busy programs")
    parser.add_argument("--seconds", type=float, default=60, help="of each measurement (default: 60)")


def run(arguments: argparse.Namespace) -> None:
    state = machine()
    phases = [(0, ""), *((count, name) for count in arguments.neighbors for name in arguments.priorities), (0, "")]
    rows = []
    for size in arguments.sizes:
        speeds = {name: train(size_settings(size) + own, phases, arguments.seconds) for name, own in ways().items()}
        rows += load_rows(size, phases, speeds)
    print(table(rows))
    print(f"\n{state['cpu']}, {state['cores']} cores, load average {state['load_average']:.1f} before; ", end="")
    print(f"{arguments.seconds:g} seconds a measurement")


def ways() -> dict[str, list[str]]:
    """The settings of `glossa train` that are compared, by name."""
    threads = {f"{count} thread{'s' * (count > 1)}": count for count in sorted({1, available_cores()})}
    return {name: ["--cpu_threads", str(count)] for name, count in threads.items()} | {CHOSEN: []}


def size_settings(size: str) -> list[str]:
    """The settings of a model size; none for the quickstart's own."""
    if size == "quickstart":
        return []
    width, inner, layers, heads = SIZES[size]
    values = {"d_model": width} | {f"{side}_ffn_dim": inner for side in ("encoder", "decoder")}
    values |= {f"{side}_layers": layers for side in ("encoder", "decoder")}
    values |= {f"{side}_attention_heads": heads for side in ("encoder", "decoder")}
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


@contextmanager
def busy_neighbors(count: int, nice: int = 0) -> Iterator[None]:
    """`count` processes that compute without pause."""
    # They end with this process, however it ends.
    program = f"import os\nos.nice({nice})\nwhile os.getppid() == {os.getpid()}: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        time.sleep(SETTLING_SECONDS if count else 0)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def train(settings: Sequence[str], phases: Sequence[Phase], seconds: float) -> list[float]:
    """Target tokens per second of one training in each of the phases, which follow each other."""
    with tempfile.TemporaryDirectory() as folder:
        log, steps = Path(folder, "log"), Path(folder, "steps")
        steps.touch()
        endless = ["--bf16", "false", "--num_train_epochs", "100000", "--output_dir", f"{folder}/run"]
        command = [sys.executable, "-m", "benchmarks.load", steps, "quickstart", *settings, *NO_EVALUATION, *endless]
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        with log.open("w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        try:
            limit = time.monotonic() + START_SECONDS
            while len(read_steps(steps)) < WARM_STEPS:
                if process.poll() is not None or time.monotonic() > limit:
                    raise GlossaError(f"The training did not begin:\n{log.read_text()}")
                time.sleep(0.5)
            times = []
            for count, priority in phases:
                with busy_neighbors(count, NICE.get(priority, 0)):
                    started = time.time()
                    time.sleep(seconds)
                    times.append((started, time.time()))
        finally:
            process.terminate()
            process.wait()
        done = read_steps(steps)
    return [sum(tokens for at, tokens in done if start <= at < end) / (end - start) for start, end in times]


def read_steps(file: Path) -> list[tuple[float, int]]:
    """When each step began, and its target tokens, as far as whole lines are there."""
    lines = file.read_text().split("\n")[:-1]
    return [(float(at), int(tokens)) for at, tokens in map(str.split, lines)]


def load_rows(size: str, phases: Sequence[Phase], speeds: dict[str, list[float]]) -> list[dict[str, str]]:
    """A row for each phase: the speed of each way to train, and of its own choice the share of the best."""
    rows = []
    for number, (count, priority) in enumerate(phases):
        own = {name: found[number] for name, found in speeds.items()}
        row = {"size": size, "busy programs": str(count), "priority": priority}
        row |= {name: f"{speed:,.0f}" for name, speed in own.items()}
        rows.append(row | {"share of the best": f"{own[CHOSEN] / max(own.values()):.0%}"})
    return rows


def log_steps(file: Path) -> None:
    """Make trainers in this process, and in copies of it, write a line for each step into `file`."""
    get = GlossaTrainer.get_batch_samples

    def get_batch_samples(self, *args, **kwargs) -> Any:
        batches, items = get(self, *args, **kwargs)
        if self.is_world_process_zero() and items is not None:  # the tokens of all processes
            with file.open("a") as log:
                log.write(f"{time.time()} {int(items)}\n")
        return batches, items

    GlossaTrainer.get_batch_samples = get_batch_samples  # type: ignore[method-assign]


if __name__ == "__main__":
    log_steps(Path(sys.argv[1]))
    main(sys.argv[2:])
