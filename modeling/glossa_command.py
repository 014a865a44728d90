"""The entry point of the command `glossa`; see `glossa/__init__.py` for why it is a module of its own."""

import gc
import os
import sys
from importlib.metadata import PackageNotFoundError, distribution

DISTRIBUTION = "glossa-mt"
ROUNDS = "2000"  # tens of microseconds
KERNELS = "64"


def main(*arguments: str) -> None:
    """Run `glossa` with `arguments` put before the command line's: `main("train")` is the script `train.py`."""
    try:
        warn_of_namesake()
        set_environment()
        from glossa.cli import main as run

        run(*arguments)
    except KeyboardInterrupt:  # before the command has begun: it handles its own
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)


def set_environment() -> None:
    """Set what libraries read in the environment when they are loaded, and Python's own; before torch is imported."""
    # Imports make millions of objects that stay; with Python's thresholds, a fifth of the start is garbage collection.
    gc.set_threshold(100_000, 20, 20)
    limit_waiting()
    limit_kernels()


def limit_kernels() -> None:
    """Let torch and oneDNN keep fewer kernels, unless the environment says otherwise.

    In bf16 on a CPU, each of them keeps what it has prepared for the last 1,024 shapes of matrices. The batches of a
    training have more shapes than that, so the memory would grow for hours. Either limit alone does not help.
    """
    os.environ.setdefault("LRU_CACHE_CAPACITY", KERNELS)  # of torch
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KERNELS)


def limit_waiting() -> None:
    """Let threads that wait for others sleep early, unless the environment says otherwise.

    The threads of an operation wait for each other at its end. By default they compute in a loop while they wait, for
    300,000 rounds or some milliseconds, and keep the one that they wait for from the core if other programs are busy.
    The library for threads (libgomp, which torch and CTranslate2 use on Linux) reads the variable when it is loaded.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = ROUNDS


def warn_of_namesake() -> None:
    """Print a warning if `glossa`, another project in the package index, is installed too: both write `glossa/`."""
    try:
        distribution("glossa")
    except PackageNotFoundError:
        return
    print(
        f"warning: the package `glossa` is installed too. It is another project, and its files replace some of "
        f"{DISTRIBUTION}. Run: pip uninstall --yes glossa && pip install --force-reinstall --no-deps {DISTRIBUTION}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    import glossa_command  # under its own name, which `glossa` looks for

    glossa_command.main()
