"""Fresh virtual environments for tests: one with the built wheel, and one without Glossa.

They are built once for all processes of a test run. Their packages are links to those that run the tests, which takes
seconds instead of minutes; only what is asked for and what that requires is there.
"""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from importlib.metadata import PathDistribution, distribution, distributions
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
EXTRAS = ["adapters", "documents", "engine", "formats", "metrics", "ray", "serve"]
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


def closure(requirements):
    """The installed distributions that `requirements` ask for, directly or not, by name."""
    found, asked, todo = {}, set(), [Requirement(text) for text in requirements]
    while todo:
        wanted = todo.pop()
        installed = distribution(wanted.name)
        assert wanted.specifier.contains(installed.version, prereleases=True), f"{wanted}, not {installed.version}"
        found[wanted.name] = installed
        for extra in {"", *wanted.extras} - {extra for name, extra in asked if name == wanted.name}:
            asked.add((wanted.name, extra))
            todo += required(installed, extra)
    return found.values()


def required(installed, extra=""):
    """What a distribution requires for one of its extras, or for itself."""
    wanted = [Requirement(text) for text in installed.requires or ()]
    return [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": extra})]


def link(wanted, venv):
    """Put distributions into an environment: links to their files, and commands that run there.

    A folder that is one distribution's alone is one link.
    """
    here, there = (Path(sysconfig.get_path("purelib", vars={"base": str(base)})) for base in (sys.prefix, venv))
    commands = Path(sys.executable).parent
    files = {installed: [file.parts for file in installed.files or ()] for installed in distributions()}
    owners = Counter(top for parts in files.values() for top in {part[0] for part in parts})
    names = {installed.name for installed in wanted}
    for installed in files:
        if installed.name not in names:
            continue
        for parts in dict.fromkeys(part[:1] if owners[part[0]] == 1 else part for part in files[installed]):
            source, target = here.joinpath(*parts), there.joinpath(*parts)
            if target.exists() or not source.exists():  # byte code of another Python
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_file() and source.parent.resolve() == commands:
                target.write_bytes(source.read_bytes().replace(sys.prefix.encode(), str(venv).encode()))
                target.chmod(0o755)
            else:
                target.symlink_to(source)


def _environment(folder, requirements):
    """An environment with `requirements`; its Python."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    link(closure(["pip", *map(str, requirements)]), venv)
    return venv / "bin/python"


def _glossa(folder):
    wheel = build_wheel(folder)
    name = "-".join(wheel.name.split("-")[:2])
    own = PathDistribution(zipfile.Path(wheel, f"{name}.dist-info/"))
    python = _environment(folder, [one for extra in ("", *EXTRAS) for one in required(own, extra)])
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([python, *install], check=True, capture_output=True)


def with_wheel(tmp_path_factory):
    """The `bin` folder of an environment with the built wheel and its extras; the wheel is in `../..`."""
    return once(tmp_path_factory, "glossa", _glossa) / "venv/bin"


def without_glossa(tmp_path_factory):
    """The `bin` folder of an environment with transformers, but without Glossa."""
    return once(tmp_path_factory, "bare", lambda folder: _environment(folder, BARE)) / "venv/bin"
