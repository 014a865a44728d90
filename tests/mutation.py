"""Mutation testing: do the tests notice a fault in the code? `make mutation`, or `python tests/mutation.py`.

A mutant is the code with one small fault: another number, word or operator, a negated condition, a missing keyword
argument, a call that is left out. Each is written into a copy of the repository, and the tests that run its line, the
quickest first, run there until one fails: the mutant is killed. No fault is put into annotations, docstrings, log
lines and the lines that raise errors.

`make mutation FILES="modeling/glossa/layers_glossa.py" SAMPLE=50 SEED=1` draws 50 mutants of that file; without FILES
they are drawn from all files whose tests are listed here (TESTS), from each in proportion to its mutants. A mutant's
name, such as `layers_glossa.py#12`, is printed with it: `ONLY="layers_glossa.py#12"` runs it alone. A survivor is a
missing test or a fault that changes nothing that anyone can see; read it to know. A killed mutant is one for which a
test fails, the tests cannot be collected or the process ends; one whose test takes ten times its time is a timeout.
"""

import argparse
import ast
import contextlib
import copy
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "modeling" / "glossa"
FILES = [
    *sorted(PACKAGE.glob("*_glossa.py")),
    *(PACKAGE / name for name in ("data/encoding/batching.py", "data/cleaning/splitting.py")),
    *(PACKAGE / name for name in ("training/averaging.py", "evaluation/metrics.py")),
]
TESTS = [
    "tests/model",
    "tests/inference/test_pipeline.py",
    "tests/inference/test_n_best.py",
    "tests/data/encoding/test_batching.py",
    "tests/data/cleaning/test_splitting.py",
    "tests/data/cleaning/test_cleaning.py",
    "tests/benchmarks/test_sentences.py",
    "tests/evaluation/test_metrics.py",
    "tests/hub/test_remote_code.py::test_folder_has_its_code_and_auto_map",
    "tests/training/test_run.py::test_average_of_the_last_and_of_the_best_checkpoints",
    "tests/training/test_run.py::test_the_best_checkpoints_by_a_loss_are_the_lowest",
    "tests/training/test_run.py::test_averages_are_summed_in_double_precision",
]
NOT_COPIED = shutil.ignore_patterns(".*", "runs", "site", "build", "dist", "__pycache__")
MEMORY = 24 * 2**30  # bytes of addresses for a mutant that asks for too much
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    name: str
    path: Path
    lines: range  # from the first line of its statement
    before: str
    after: str
    source: bytes  # of the whole file


def changed(node: ast.AST, **fields: Any) -> ast.AST:
    node = copy.copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def faults(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Pairs of a node, which is `node` or its condition, and what replaces it."""
    match node:
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield node, ast.Constant(2 * value or 1.0)
        case ast.Constant(value=str() as value):
            yield node, ast.Constant(value + "X")
        case ast.UnaryOp(operand=operand):
            yield node, operand
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            yield node, changed(node, op=SWAPS[type(op)]())
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                yield node, changed(node, ops=[*ops[:index], SWAPS[type(op)](), *ops[index + 1 :]])
        case ast.IfExp(body=body, orelse=orelse):
            yield node, changed(node, body=orelse, orelse=body)
        case ast.If(test=test) | ast.comprehension(ifs=[test, *_]):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Call(keywords=keywords):
            for index, keyword in enumerate(keywords):
                if keyword.arg:
                    yield node, changed(node, keywords=keywords[:index] + keywords[index + 1 :])
        case ast.Expr(value=ast.Call()):
            yield node, ast.Pass()


def mutated_nodes(node: ast.AST, line: int = 1) -> Iterator[tuple[int, ast.AST, ast.AST]]:
    """(line of the statement, node, its replacement) of every fault that `node` and what it contains can have."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id="logger")))
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))))
        ):
            return
        case ast.BinOp(op=ast.BitOr(), right=ast.Constant(value=None)) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return
    line = node.lineno if isinstance(node, ast.stmt) else line
    yield from ((line, old, new) for old, new in faults(node))
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and field == "args":
            value = value[:1]
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from mutated_nodes(child, line)


def mutants(path: Path) -> list[Mutant]:
    source, found = path.read_bytes(), []
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    for line, old, new in mutated_nodes(ast.parse(source)):
        first, last = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
        before, after = ast.unparse(old), ast.unparse(ast.fix_missing_locations(new))
        text = after if isinstance(old, ast.stmt) else f"({after})"
        mutant = source[:first] + text.encode() + source[last:]
        compile(mutant, path, "exec")
        lines = range(line, old.end_lineno + 1)
        found.append(Mutant(f"{path.name}#{len(found)}", path.relative_to(ROOT), lines, before, after, mutant))
    return found


def common(one: str, other: str) -> int:
    """Characters at their beginnings that are equal."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def difference(mutant: Mutant) -> str:
    """What the fault changes, with a little of what is around it."""
    before, after = mutant.before, mutant.after
    same = common(before, after)
    end = common(before[same:][::-1], after[same:][::-1])
    first, last = max(0, same - 30), max(0, end - 30)
    return f"{before[first : len(before) - last]} -> {after[first : len(after) - last]}"


def drawn(files: list[Path], sample: int, seed: int) -> list[Mutant]:
    """`sample` mutants, from each file in proportion to the number of its mutants, in random order."""
    everything = [mutants(path) for path in files]
    total, chooser = sum(map(len, everything)), random.Random(seed)
    chosen = []
    for found in everything:
        chosen += chooser.sample(found, min(len(found), round(sample * len(found) / total)))
    chooser.shuffle(chosen)
    return chosen


class Recorder:
    """A plugin of pytest: the seconds of every test that passes, and the lines of `files` that it runs.

    What a fixture of a module or session does counts for every test that uses it, and what is done at import for all.
    """

    def __init__(self, files: set[str]):
        self.files, self.here = files, "import"
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, list[str]] = {}
        self.failed: list[str] = []

    def _trace(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name not in self.files:
            return None
        self.lines[self.here].add((name, frame.f_lineno))
        return self._trace

    @contextlib.contextmanager
    def _at(self, here: str):
        before, self.here, started = self.here, here, time.perf_counter()
        try:
            yield
        finally:
            self.here = before
            self.seconds[here] += time.perf_counter() - started

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.fixtures[item.nodeid] = list(item.fixturenames)
        with self._at(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        with self._at(f"fixture {fixturedef.argname}"):
            return (yield)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)

    def tests(self) -> dict[str, dict]:
        found = {}
        for test, fixtures in self.fixtures.items():
            parts = [test, *(f"fixture {name}" for name in fixtures), "import"]
            lines = set().union(*(self.lines[part] for part in parts))
            whole = sum(self.seconds[part] for part in parts)
            own = self.seconds[test]
            found[test] = {"own": own, "whole": whole, "lines": sorted(lines), "passed": test not in self.failed}
        return found


class Selection:
    """A plugin of pytest: runs the tests in `seconds`, the quickest first, each for at most ten times its seconds."""

    def __init__(self, seconds: dict[str, float]):
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.seconds]
        items.sort(key=lambda item: self.seconds[item.nodeid])

    def pytest_runtest_setup(self, item):
        signal.alarm(10 + int(10 * self.seconds[item.nodeid]))


def import_libraries() -> None:
    """Import what the package and its tests import from libraries, once for all mutants, but nothing of our own."""
    own = {"glossa", "benchmarks"} | {path.stem for path in (ROOT / "tests").iterdir()}
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "tests" / "model").glob("*.py")]:
        for node in ast.parse(path.read_bytes()).body:
            names = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else names
            if names and not own & {name.split(".")[0] for name in names}:
                with contextlib.suppress(ImportError):
                    exec(ast.unparse(node), {})


def in_child(work: Callable[[], int]) -> int:
    """Run `work` in a silent fork of this process; the result, 1 if it raises, or minus the signal that ended it."""
    child = os.fork()
    if not child:
        status = 1
        try:
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            os.setpgid(0, 0)
            status = work()
        finally:
            os._exit(status)
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests have started
    return status


def run_tests(folder: Path, tests: list[str], plugin: Any, *options: str) -> int:
    options = (
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        f"{folder}.tests",
        *options,
    )
    return int(pytest.main([*options, *tests], plugins=[plugin]))


def record(folder: Path, files: set[str], tests: list[str]) -> dict[str, dict]:
    """The tests without a fault: see `Recorder.tests`."""
    result = Path(f"{folder}.json")

    def work() -> int:
        recorder = Recorder(files)
        sys.settrace(recorder._trace)
        run_tests(folder, tests, recorder)
        sys.settrace(None)
        result.write_text(json.dumps(recorder.tests()))
        return 0

    if in_child(work):
        raise SystemExit("error: the tests cannot be run without a fault.")
    return json.loads(result.read_text())


def tests_of(mutant: Mutant, path: Path, recorded: dict[str, dict], limit: float) -> dict[str, float]:
    """Tests that run a line of `mutant`, with their seconds: the quickest, of at most `limit` seconds in all."""
    lines = {(str(path), line) for line in mutant.lines}
    found, total = {}, 0.0
    for name, test in sorted(recorded.items(), key=lambda item: item[1]["whole"]):
        if test["passed"] and total <= limit and lines & {tuple(line) for line in test["lines"]}:
            found[name] = test["whole"]
            total += test["own"]
    return found


def judge(mutant: Mutant, folder: Path, recorded: dict[str, dict], tests: list[str], limit: float) -> str:
    """Run the tests with `mutant`, and restore the file."""
    path = folder / mutant.path
    seconds = tests_of(mutant, path, recorded, limit)
    if not seconds:
        return "survived (no test runs it)"
    original = path.read_bytes()

    def work() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return run_tests(folder, tests, Selection(seconds), "-x", "--no-header")

    try:
        path.write_bytes(mutant.source)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()  # its time and size may be those of another mutant
        status = in_child(work)
    finally:
        path.write_bytes(original)
    return {0: "survived", -signal.SIGALRM: "timeout"}.get(status, "killed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="default: all whose tests are listed here")
    parser.add_argument("--sample", type=int, default=200, help="mutants to draw (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="run these mutants instead of a sample")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="files, folders or names of tests")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for a mutant (default: %(default)s)")
    arguments = parser.parse_args()
    files = [path.resolve() for path in arguments.files] or FILES
    chosen = drawn(files, arguments.sample, arguments.seed)
    if arguments.only:
        chosen = [mutant for path in files for mutant in mutants(path) if mutant.name in arguments.only]
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    import_libraries()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "repository"
        shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED)
        os.chdir(folder)
        sys.path[:0] = [str(folder / "modeling")]
        os.environ["PYTHONPATH"] = str(folder / "modeling")
        recorded = record(folder, {str(folder / path.relative_to(ROOT)) for path in files}, arguments.tests)
        for name in (name for name, test in recorded.items() if not test["passed"]):
            print(f"left out, it fails without a fault: {name}")
        print(f"{len(chosen)} mutants, {len(recorded)} tests", flush=True)
        verdicts: Counter[str] = Counter()
        for mutant in chosen:
            verdict = judge(mutant, folder, recorded, arguments.tests, arguments.seconds)
            verdicts[verdict.split()[0]] += 1
            print(f"{verdict}: {mutant.name}, line {mutant.lines[-1]}: {difference(mutant)}", flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
