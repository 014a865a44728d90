"""The one command of the benchmarks: names, help, options and settings."""

import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import psutil
import pytest

from benchmarks import load
from benchmarks.__main__ import BENCHMARKS, choose, main
from benchmarks.load import busy_neighbors

ROOT = Path(__file__).parents[2]


def test_help_lists_every_benchmark_without_the_libraries():
    program = (
        "import runpy, sys\nsys.argv = ['benchmarks', '--help']\n"
        "try: runpy.run_module('benchmarks', run_name='__main__')\n"
        "except SystemExit: print('torch' in sys.modules, 'glossa' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert all(f"\n  {name} " in done.stdout for name in BENCHMARKS)
    assert done.stdout.endswith("False False\n")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_help_of_its_own(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    module = import_module(f"benchmarks.{BENCHMARKS[name][0]}")
    assert ended.value.code == 0 and module.__doc__.splitlines()[0] in capsys.readouterr().out


def test_an_unknown_benchmark_or_option_is_refused(capsys):
    with pytest.raises(SystemExit):
        choose(["trains"])
    assert "invalid choice: 'trains'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "--round", "1"])  # not an abbreviation of --rounds
    assert "unrecognized arguments: --round 1" in capsys.readouterr().err


def test_the_engine_benchmark_compares_both(tiny_run, capsys):
    pytest.importorskip("ctranslate2")
    options = ["--sentences", "6", "--num_beams", "1", "2", "--quantizations", "float32", "int8"]
    main(["engine", str(tiny_run), *options])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][2:]
    assert [row[0].strip("| ") for row in rows] == [
        name for name in ("transformers", "ctranslate2 float32", "ctranslate2 int8") for _ in range(2)
    ]
    assert [row[2] for row in rows[:4]] == ["100.0%"] * 4
    assert [row[1] for row in rows] == ["1", "2"] * 3


@pytest.mark.slow
def test_load_measures_a_training_while_others_come_and_go(tmp_path, tiny_settings, monkeypatch):
    """Times and tokens come from the steps of the training; the neighbors are busy in their phase only."""
    seen = []
    monkeypatch.setattr(load, "busy_neighbors", lambda count, nice: seen.append((count, nice)) or nullcontext())
    own = tiny_settings(tmp_path, gradient_accumulation_steps=2)
    speeds = load.train(own, [(0, ""), (2, "lowest")], seconds=2)
    assert seen == [(0, 0), (2, 19)] and all(speed > 0 for speed in speeds)


def test_neighbors_live_as_long_as_the_measurement():
    children = psutil.Process().children
    with busy_neighbors(2):
        assert sum("os.getppid" in " ".join(child.cmdline()) for child in children()) == 2
    assert not any("os.getppid" in " ".join(child.cmdline()) for child in children())
