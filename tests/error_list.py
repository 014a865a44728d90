"""The list of error messages in docs/troubleshooting.md, which the tests of these errors check and write.

A test of an error calls the fixture `documented` with the message. The message must be in the list; `make errors`
writes the list.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
FIRST, LAST = "<!-- errors: written by `make errors` -->", "<!-- end of errors -->"
TOPICS = ("Settings", "Data", "Training", "Translating and scoring", "Sharing")
_found = pytest.StashKey[dict[str, set[str]]]()


def pytest_addoption(parser):
    parser.addoption("--write_errors", action="store_true", help="write the error messages to docs/troubleshooting.md")


def pytest_configure(config):
    config.stash[_found] = defaultdict(set)


def pytest_collection_modifyitems(config, items):
    if config.getoption("write_errors"):
        items[:] = [item for item in items if "documented" in item.fixturenames]


@pytest.fixture
def documented(request, tmp_path):
    """`documented(topic, message)`: check that the page has `message` (text or exception) under `topic`."""

    def check(topic: str, message: object) -> None:
        assert topic in TOPICS
        text = " ".join(
            str(message).removeprefix("error: ").replace(f"{tmp_path}/", "").replace(str(tmp_path), "FOLDER").split()
        )
        assert not re.search(r"/tmp|pytest-", text), f"this message depends on the place of the test: {text}"
        if request.config.getoption("write_errors"):
            request.config.stash[_found][topic].add(text)
        else:
            assert _item(text) in PAGE.read_text(encoding="utf-8").split("\n"), "not in the list; run `make errors`"

    return check


def _item(text: str) -> str:
    mark = "``" if "`" in text else "`"
    return f"- {mark}{text}{mark}"


def pytest_sessionfinish(session):
    found = session.config.stash[_found]
    if not found:
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    parts = [f"### {topic}\n\n" + "\n".join(map(_item, sorted(found[topic]))) for topic in TOPICS if found[topic]]
    page = "\n\n".join([before + FIRST, *parts, LAST]) + rest.partition(LAST)[2]
    PAGE.write_text(page, encoding="utf-8")
