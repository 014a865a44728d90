"""Fresh virtual environments for tests: one with the built wheel, and one without Glossa.

They are built once for all processes of a test run, since an installation takes a minute.
"""

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[1]
EXTRAS = "adapters,documents,engine,formats,metrics,ray,serve"
# What a reader of the documentation has who does not have Glossa.
BARE = ["torch", "transformers", "ctranslate2", "onnxruntime", "libretranslatepy"]


def build_wheel(folder):
    """The wheel of this checkout, in `folder`."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def once(tmp_path_factory, name, build):
    """The folder `name` that `build` fills, the same for all processes of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            build(folder)
            (folder / "done").touch()
    return folder


def _environment(folder, *packages):
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    # Byte code of what is never imported would take a minute.
    pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--no-compile", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, *packages], check=True, capture_output=True)


def with_wheel(tmp_path_factory):
    """The `bin` folder of an environment with the built wheel and its extras; the wheel is in `../..`."""
    folder = once(tmp_path_factory, "glossa", lambda folder: _environment(folder, f"{build_wheel(folder)}[{EXTRAS}]"))
    return folder / "venv/bin"


def without_glossa(tmp_path_factory):
    """The `bin` folder of an environment with transformers, but without Glossa."""
    return once(tmp_path_factory, "bare", lambda folder: _environment(folder, *BARE)) / "venv/bin"
