"""Damaged run folders and strange recipes end in one line that says what is wrong, never in an exception class.

Each is tried in a process that is forked from this one, which has imported everything.
"""

import contextlib
import io
import json
import os
import random
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import yaml
from safetensors.torch import load_file
from small_models import RUN, command_line, write_pairs

from glossa.base.errors import GlossaError
from glossa.base.plots import draw_curves
from glossa.base.run_folder import RunFolder
from glossa.cli.train import check
from glossa.train.hub.push import stage
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.preflight import check_before_data
from glossa.train.run import train
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

SETTINGS = RUN | {"validation_size": 4, "test_size": 4, "save_steps": 2, "eval_steps": 2, "logging_steps": 1}
SETTINGS |= {"use_cpu": True, "eval_samples": 0, "learning_rate": 1e-3, "dropout": 0.1}
STRANGE = [
    "", "null", "nan", "inf", "-inf", "-1", "0", "1e308", "1e-400", "99999999999999999999", "true", "no", "abc", "[]",
    "{}", "[1, [2]]", "{a: b}", "\x00", "é" * 300, "../..", "/dev/null", "http://[::1", "http://host:abc/x.tsv",
    "https://user:secret@host/x.tsv", "1,5", "0x10", "one two", "'", '"', "*", "?", "-", "--seed",
]  # fmt: skip
RECIPES = 0.7  # share of the trials; the others are folders
PATIENCE = 120  # seconds


def torture(count: int, seed: int) -> dict:
    """`count` trials; returns their numbers, and raises `AssertionError` with the first faults."""
    torch.set_num_threads(1)
    order, figures, faults = random.Random(seed), {"recipes": 0, "folders": 0, "refused": 0, "went on": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run = _run(place)
        with contextlib.redirect_stdout(io.StringIO()):
            end = load_file(_resumed(run, place / "reference") / "model.safetensors")
        for number in range(count):
            own = random.Random(order.random())
            own_place = place / "trial"
            own_place.mkdir()
            if own.random() < RECIPES:
                figures["recipes"] += 1
                name, trial = _recipe(own_place, own)
            else:
                figures["folders"] += 1
                name, trial = _damaged(run, own_place, own, end)
            outcome = _forked(trial)
            if outcome in ("refused", "went on"):
                figures[outcome] += 1
            else:
                faults.append(f"{number}, {name}: {outcome}")
            shutil.rmtree(own_place, ignore_errors=True)
    if faults:
        raise AssertionError(f"{len(faults)} of {count}:\n" + "\n".join(faults[:40]))
    return figures | {"uncaught": 0, "silent": 0}


def _arguments(**changes) -> list[str]:
    return command_line(SETTINGS | changes)


def _run(place: Path) -> Path:
    pairs = write_pairs(place / "pairs.tsv")
    with contextlib.redirect_stdout(io.StringIO()):
        return train(parse_settings(_arguments(data_path=pairs, max_steps=6, output_dir=place / "run")))


def _resumed(run: Path, copy: Path) -> Path:
    """The folder of a copy of `run` that is trained two steps further."""
    if not copy.exists():
        shutil.copytree(run, copy)
    pairs = run.parent / "pairs.tsv"
    more = {"max_steps": 8, "resume_from_checkpoint": "true", "load_best_model_at_end": False}
    return train(parse_settings(_arguments(data_path=pairs, output_dir=copy, **more)))


def _recipe(place: Path, order: random.Random) -> tuple[str, Callable[[], None]]:
    """A recipe with one or two strange values, as YAML or as flags."""
    names = order.sample(sorted(catalog.settings()), order.choice([1, 1, 2]))
    values = {name: order.choice(STRANGE) for name in names}
    file = place / "recipe.yaml"
    base = SETTINGS | {"data_path": str(place.parent / "pairs.tsv"), "output_dir": str(place / "run")}
    as_flags = order.random() < 0.5
    written = base if as_flags else base | values
    file.write_text(yaml.safe_dump(written, allow_unicode=True), encoding="utf-8")
    flags = command_line(values) if as_flags else []

    def trial() -> None:
        given = catalog.parse([str(file), *flags])
        check(given)
        check_before_data(parse_settings(given))

    return f"{'flags' if as_flags else 'recipe'} {values}", trial


def _damaged(run: Path, place: Path, order: random.Random, end: dict) -> tuple[str, Callable[[], None]]:
    """A copy of `run` with one file damaged, and something that reads it."""
    copy = place / "run"
    shutil.copytree(run, copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    file = order.choice(files)
    kind, damage = order.choice(list(_damages(order)))
    damage(file)

    def resume() -> None:
        again = load_file(_resumed(run, copy) / "model.safetensors")
        if any(not torch.equal(again[name], weight) for name, weight in end.items()):
            raise ValueError("silent: other weights than without the damage")

    def translate() -> None:
        folder = file.parent if (file.parent / "config.json").exists() else copy
        Translator(load_model(str(folder)), load_tokenizer(str(folder))).translate(["a k.", "b l. c m."])

    def read() -> None:
        own = RunFolder(copy)
        own.load_held_out("test")
        draw_curves({"": own.history}, place / "curves.png")
        stage(copy, "someone/name", place / "staged")

    action = order.choice([resume, translate, read])
    return f"{action.__name__} with {file.relative_to(copy)} {kind}", action


def _damages(order: random.Random) -> Iterator[tuple[str, Callable[[Path], object]]]:
    def flip(file: Path) -> None:
        content = bytearray(file.read_bytes() or b"\0")
        content[order.randrange(len(content))] ^= 1 << order.randrange(8)
        file.write_bytes(content)

    def folder(file: Path) -> None:
        file.unlink()
        file.mkdir()

    def value(file: Path) -> None:
        try:
            content = json.loads(file.read_text())
        except ValueError:
            return flip(file)
        inner = content
        while isinstance(inner, dict | list) and inner:
            keys = list(inner) if isinstance(inner, dict) else range(len(inner))
            key = order.choice(keys)
            if not isinstance(inner[key], dict | list) or order.random() < 0.5:
                inner[key] = order.choice([None, -1, 10**12, "x", [], {}, 0.5, True, [None], {"a": 1}])
                break
            inner = inner[key]
        file.write_text(json.dumps(content))

    yield "removed", Path.unlink
    yield "emptied", lambda file: file.write_bytes(b"")
    yield "cut", lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    yield "of random bytes", lambda file: file.write_bytes(order.randbytes(200))
    yield "of another kind", lambda file: file.write_text(order.choice(["[]", "3", "null", '"x"', "{}", "[1]"]))
    yield "with a flipped bit", flip
    yield "made a folder", folder
    yield "with a strange value", value
    yield "with a strange value", value


def _forked(trial: Callable[[], None]) -> str:
    """How `trial` ends in a forked process: "refused", "went on", or the fault."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.write(writing, _outcome(trial).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return text or f"ended with status {status}"


def _outcome(trial: Callable[[], None]) -> str:
    import signal

    signal.alarm(PATIENCE)
    try:
        trial()
    except GlossaError as error:
        return "refused" if "\n" not in str(error).strip() else f"several lines: {error}"
    except OSError as error:  # the command names the file
        return "refused" if error.filename else f"{type(error).__name__}: {error}"
    except SystemExit as end:
        return "refused" if isinstance(end.code, str) else f"exit {end.code}"
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}:{last.lineno})"
    return "went on"
