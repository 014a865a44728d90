"""Patterns that read texts take a time that is linear in the length of the text, however hostile it is."""

import collections
import inspect
import re
import signal
import time
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import walk_packages

import pytest

import glossa
from glossa.model.sentences_glossa import split_text
from glossa.model.spans_glossa import find_spans
from glossa.translate.plausibility import find_problem

PIECES = [
    "-", "0", "1", "a", "A", "a.", "1.", "(", "[", "<", "&", "{", "%", "/", "\\", "@", "#", ":", "=", "_", "*", "|",
    "`", "'", '"', " ", "\t", "\n", "\r\n", " \n", "a-", "a/", "a@", "a ", "a\n", "{a", "<a", "http://", "\u200b",
    "\u5b57",
]  # fmt: skip
READ = ("glossa.model", "glossa.base", "glossa.translate", "glossa.readers", "glossa.apps")
MATCHED = ("LIST_MARK", "listMark")  # which a loop uses by `match`
# What reads 1,000 characters of a text at most.
SHORT = ("._CONTAINER", "._ALERT", "._ADMONITION", "TRAILING_EMOJI", "trailing")
STARTS = ("", "a")
ENDS = ("!", "\n")
SEARCHES = {"search": "finditer", "sub": "finditer", "subn": "finditer", "split": "finditer", "findall": "finditer"}
LIMIT = 1.0  # seconds for a text
HARMLESS = 0.001  # seconds for 2,000 characters; a time that grows with the square takes more
_parser = import_module("re._parser")


def beginnings(items):
    """The literal characters that a pattern may begin with, for each of its alternatives."""
    literal = ""
    for kind, value in items:
        if str(kind) == "LITERAL":
            literal += chr(value)
        elif str(kind) == "BRANCH":
            return {literal + more for branch in value[1] for more in beginnings(branch)}
        elif str(kind) == "SUBPATTERN":
            return {literal + more for more in beginnings(value[3])}
        elif not str(kind).startswith(("ASSERT", "AT")):
            break
    return {literal}


def patterns():
    """The patterns of all modules, also in dictionaries, with the methods by which they are used."""
    sources = "".join(path.read_text() for path in Path(glossa.__file__).parent.rglob("*.py"))
    found = {}
    for module in walk_packages(glossa.__path__, "glossa."):
        if not module.name.startswith(READ):
            continue
        try:
            imported = import_module(module.name)
        except ImportError:  # of an extra that is not installed
            continue
        for name, value in vars(imported).items():
            for key, each in value.items() if isinstance(value, dict) else [("", value)]:
                if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                    source = inspect.getsource(imported) if name.startswith("_") else sources
                    used = set(re.findall(rf"\b{name}\.(\w+)", source))
                    methods = {SEARCHES.get(method, method) for method in used} & {"finditer", "match", "fullmatch"}
                    found.setdefault(each, (f"{module.name}.{name}{key}", set()))[1].update(methods)
    return [
        pytest.param(each, methods or {"match" if name.endswith(MATCHED) else "finditer"}, id=name)
        for each, (name, methods) in found.items()
        if not name.endswith(SHORT)
    ]


def expired(*_):
    raise TimeoutError


def seconds(pattern, method, text, times=1):
    """The shortest time of the processor that reading a text takes, and infinity for more than `LIMIT`."""
    taken = []
    previous = signal.signal(signal.SIGVTALRM, expired)
    try:
        for _ in range(times):
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
            started = time.thread_time()  # the timer makes that of the process coarse
            if method == "finditer":
                collections.deque(pattern.finditer(text), 0)
            else:
                getattr(pattern, method)(text)
            taken.append(time.thread_time() - started)
        return min(taken)
    except TimeoutError:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def grows(pattern, method, start, piece, end):
    """Whether twice the length takes about four times the time."""

    def taken(length, times=1):
        return seconds(pattern, method, start + piece * (length // len(piece)) + end, times)

    if (short := taken(2000)) <= HARMLESS:
        return False
    if short > LIMIT or (long := taken(10_000)) > LIMIT:
        return True
    # Two of three times: the processor may be slower for a moment.
    return long > 0.03 and sum(taken(10_000, 5) > 2.8 * taken(5000, 5) for _ in range(3)) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "methods"), patterns())
def test_twice_the_length_takes_twice_the_time(pattern, methods):
    literal = beginnings(_parser.parse(pattern.pattern, pattern.flags)) - {""}
    pieces = (*PIECES, *literal, *(f"{each}a" for each in literal), *(f"{each} " for each in literal))
    texts = [*product(STARTS, pieces, ENDS[:1]), *product(STARTS[:1], pieces, ENDS[1:])]
    # Every fourth piece after each beginning: there are thousands of these pairs.
    texts += [(each, piece, "!") for row, each in enumerate(sorted(literal)) for piece in PIECES[row % 4 :: 4]]
    assert [(method, *text) for method in sorted(methods) for text in texts if grows(pattern, method, *text)] == []


@pytest.mark.parametrize("piece", PIECES)
def test_texts_are_read_in_a_second(piece):
    """The case `hostile2/hyphens`."""
    text = piece * (20_000 // len(piece))
    started = time.process_time()
    find_spans(text)
    split_text(text)
    find_problem(text, f"Hi {text}")
    assert time.process_time() - started < 1
