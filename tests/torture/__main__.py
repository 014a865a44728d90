"""Long tests of what must never fail: `make long`, or `python -m torture [PART ...]` with `tests` on the path.

Each part is a module beside this one with `torture(count, seed)`. It returns its figures, and raises `AssertionError`
with the first faults. Short runs of the parts are ordinary tests (`test_*.py`).
"""

import argparse
import importlib
import json
import time

PARTS = {
    "kills": 100, "readers": 10_000, "batching": 1_000, "folders": 10_000, "tags": 10_000, "documents": 5_000,
    "placeholders": 5_000,
}  # and how many times  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--count", type=int, help=f"default: {PARTS}")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - PARTS.keys():
        parser.error(f"there is no part {sorted(unknown)[0]}; the parts are {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        started = time.perf_counter()
        figures = importlib.import_module(f"torture.{part}").torture(arguments.count or PARTS[part], arguments.seed)
        print(json.dumps({"part": part, "seconds": round(time.perf_counter() - started), **figures}), flush=True)


if __name__ == "__main__":
    main()
