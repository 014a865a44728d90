"""Everything that is to be known about a GPU, in one command of at most eight minutes.

The parts, in this order: what is installed and a short training (first); the tests marked `gpu` (tests); the speed of
training (training) and of translation (decoding); and quality against minutes, in the time that is left (quality).
Each part has a process and a time limit of its own. One that fails or is stopped keeps what it has found, and the next
ones run.

Results are in FOLDER: results.json, results.md, and the output of each part. `--device cpu` is a rehearsal with tiny
models, of less than five minutes on two cores; its figures mean nothing.
"""

import argparse
import json
import sys
import time
from importlib import import_module
from pathlib import Path

import torch

from glossa.base.errors import GlossaError

from ..corpus import data_arguments
from ..processes import FINISHED, run_limited
from ..timing import machine, table
from .record import Options, Record

MINUTES = {"cuda": 8.0, "cpu": 5.0}
# Seconds of each part at most; the last has what is left of all. In a rehearsal, whose machine may be busy, all have.
LIMITS = {"first": 110, "tests": 90, "training": 150, "decoding": 70, "quality": 480}
LEAST = 20  # seconds that a part needs to find anything


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="default: cuda")
    parser.add_argument("--data", metavar="FOLDER", help="of Multi30k or Anki (default: the embedded corpus)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", default=Path("runs/gpu"), help="default: runs/gpu")
    parser.add_argument("--parts", nargs="+", choices=LIMITS, default=list(LIMITS), help="default: all")
    parser.add_argument("--minutes", type=float, help="of all parts together (default: 8, or 5 with --device cpu)")
    parser.add_argument("--part", choices=LIMITS, help=argparse.SUPPRESS)  # this process measures one
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> None:
    if arguments.part:
        return measure(arguments)
    data_arguments(arguments.data)  # raises before anything starts
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise GlossaError("torch sees no GPU. Give --device cpu for a rehearsal, or install torch with CUDA.")
    arguments.output.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60 * (arguments.minutes or MINUTES[arguments.device])
    parts = {}
    for name in arguments.parts:
        left = ends - time.monotonic()
        limit = left if arguments.device == "cpu" else min(LIMITS[name], left)
        parts[name] = start(arguments, name, limit)
        report(arguments, parts)
    print(f"\n{arguments.output / 'results.md'}")


def measure(arguments: argparse.Namespace) -> None:
    """Measure one part in this process."""
    options = Options(arguments.device, arguments.data, arguments.output, arguments.seconds)
    record = Record(arguments.output / f"{arguments.part}.json")
    with record.attempt(arguments.part):
        import_module(f"benchmarks.gpu.{arguments.part}").measure(record, options)


def start(arguments: argparse.Namespace, name: str, limit: float) -> dict:
    """Measure a part in a new process; what it found, its `status`, `seconds` and `errors`."""
    found = arguments.output / f"{name}.json"
    found.unlink(missing_ok=True)
    if limit < LEAST:
        return {"status": "no time was left", "seconds": 0, "tables": {}, "errors": ["no time was left"]}
    print(f"\n== {name}, at most {limit:.0f} seconds", flush=True)
    started = time.monotonic()
    environment = {"OMP_NUM_THREADS": "1"} if arguments.device == "cpu" else {}  # for models so small, one is fastest
    status = run_limited(part_command(arguments, name, limit), arguments.output / f"{name}.log", limit, environment)
    kept = {"tables": {}, "errors": []} | (json.loads(found.read_text(encoding="utf-8")) if found.exists() else {})
    errors = kept["errors"] if status == FINISHED else [*kept["errors"], status]
    print(f"{name}: {status}, {time.monotonic() - started:.0f} seconds, {len(errors)} errors", flush=True)
    return kept | {"status": status, "seconds": round(time.monotonic() - started, 1), "errors": errors}


def part_command(arguments: argparse.Namespace, name: str, limit: float) -> list[str]:
    """The command that measures one part."""
    command = [sys.executable, "-m", "benchmarks", "gpu", "--part", name, "--seconds", str(limit)]
    command += ["--device", arguments.device, "--output", str(arguments.output.resolve())]
    return command + (["--data", str(Path(arguments.data).resolve())] if arguments.data else [])


def report(arguments: argparse.Namespace, parts: dict[str, dict]) -> None:
    """Write what is known so far to results.json and results.md."""
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else "rehearsal on a CPU"
    whole = {"device": device, "machine": machine(), "data": arguments.data or "embedded corpus", "parts": parts}
    (arguments.output / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    lines = [f"# {device}", "", f"{whole['machine']['cpu']}, {whole['data']}."]
    for name, part in parts.items():
        lines += ["", f"## {name}: {part['status']}, {part['seconds']:.0f} seconds"]
        for title, rows in part["tables"].items():
            lines += ["", f"### {title}", "", table(cells(rows))]
        for error in part["errors"]:
            lines += ["", "```", *error.splitlines(), "```"]
    (arguments.output / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def cells(rows: list[dict]) -> list[dict[str, str]]:
    """Rows with the columns of all of them, as text."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: _cell(row.get(name)) for name in names} for row in rows]


def _cell(value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).replace("|", "/")
