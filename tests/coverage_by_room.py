"""The coverage of each room: `python tests/coverage_by_room.py coverage.json`, which `make coverage` runs."""

import json
import sys
from collections import Counter
from pathlib import Path


def main(report: str) -> None:
    lines, covered = Counter(), Counter()
    for name, found in json.loads(Path(report).read_text(encoding="utf-8"))["files"].items():
        inside = Path(name).parts[Path(name).parts.index("glossa") + 1 : -1]
        for room in {"/".join(inside[:depth]) or "(top)" for depth in range(1, len(inside) + 1 or 2)}:
            lines[room] += found["summary"]["num_statements"]
            covered[room] += found["summary"]["covered_lines"]
    for room in sorted(lines):
        print(f"{room:34} {lines[room]:6} statements {100 * covered[room] / max(lines[room], 1):6.1f}%")


if __name__ == "__main__":
    main(sys.argv[1])
