"""Second part: the tests marked `gpu`."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from .record import Options, Record

ROOT = Path(__file__).parents[2]


def measure(record: Record, options: Options) -> None:
    """Run the tests marked `gpu`; a row for each, with the reason of those that fail or are skipped."""
    found = options.folder / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["--junitxml", str(found), "tests/gpu"]
    environment = os.environ | {"GLOSSA_TEST_DEVICE": options.device}
    done = subprocess.run(command, cwd=ROOT, env=environment)
    for case in ElementTree.parse(found).iter("testcase"):
        record.add("tests", **outcome(case))
    if done.returncode:
        raise RuntimeError(f"pytest ended with status {done.returncode}; its output is in tests.log")


def outcome(case: ElementTree.Element) -> dict:
    """Name, result and seconds of a test, and the first line of what pytest says about it."""
    result, message = "passed", ""
    for kind in ("failure", "error", "skipped"):
        said = case.find(kind)
        if said is not None:
            result, message = kind, (said.get("message") or "").split("\n")[0]
    name = f"{case.get('classname', '').split('.')[-1]}: {case.get('name')}"
    return {"test": name, "result": result, "seconds": float(case.get("time", 0)), "message": message}
