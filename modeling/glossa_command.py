"""The entry point of the command `glossa`. `glossa/__init__.py` explains why it is a separate module."""

import gc
import os
import sys
from importlib.metadata import PackageNotFoundError, distribution

DISTRIBUTION = "glossa-mt"
SPIN_COUNT = "2000"  # tens of microseconds
KERNELS = "64"


def main(*arguments: str) -> None:
    """Run `glossa` with `arguments`, followed by the command line's. `main("train")` is the script `train.py`."""
    try:
        warn_of_namesake()
        set_environment()
        from glossa.cli import main as run

        run(*arguments)
    except KeyboardInterrupt:  # before the command starts, which handles later ones
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)


def set_environment() -> None:
    """Set what libraries read when they are imported, before torch is, and the thresholds of garbage collection."""
    # Imports create millions of permanent objects. With Python's thresholds, a fifth of the startup is collection.
    gc.set_threshold(100_000, 20, 20)
    limit_waiting()
    limit_kernels()


def limit_kernels() -> None:
    """Limit the kernel caches of torch and oneDNN, unless the environment sets them.

    In bf16 on a CPU, each caches kernels for the last 1,024 matrix shapes. Training batches have more shapes than
    that, so memory would grow for hours. Both limits are needed.
    """
    os.environ.setdefault("LRU_CACHE_CAPACITY", KERNELS)  # torch
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KERNELS)


def limit_waiting() -> None:
    """Make waiting threads sleep early, unless the environment sets otherwise.

    The threads of an operation wait for each other at its end. By default they spin for 300,000 rounds, some
    milliseconds. If other programs are busy, this keeps the slowest thread off the core. libgomp, the thread library
    of torch and CTranslate2 on Linux, reads the variable when it is loaded.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT


def warn_of_namesake() -> None:
    """Print a warning if the unrelated package `glossa` is installed too, since both install a folder `glossa/`."""
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
    import glossa_command  # under the name that `glossa` checks

    glossa_command.main()
