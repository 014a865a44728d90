"""What chat models answer when they are asked for a translation, and a teacher that asks them."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...base.identification import in_other_language
from ...base.jobs.whole_files import write_whole
from ..interface import Translation
from ..plausibility import find_problem
from .servers import ServerTranslator

REFUSED, COMMENTED, FOREIGN = "refused", "not only a translation", "in another language"  # problems of answers
logger = logging.getLogger(__name__)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
# "Here is the translation:", "Sure! Translation:", "French translation:", alone in a line or before the text.
_INTRODUCTION = re.compile(
    r"\W{0,3}(?:(?:sure|certainly|of course|okay)[!,.:]? *)?(?:(?:here(?:'s| is| are)|the|below is)\b[^\n:]{0,60}:"
    r"|[^\n:]{0,30}\btranslat(?:ion|ed text)\b[^\n:]{0,40}:)(?:\*\*)?\s*",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\n[^\S\n]*(?:[(*_]*(?:note|explanation|literally|alternatively)\b.*)", re.IGNORECASE | re.DOTALL)
_REFUSAL = re.compile(
    r"(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:can't|cannot|can not|won't)|as an ai\b|sorry, )", re.IGNORECASE
)
_MARKUP = re.compile(r"<!doctype html|<html\b", re.IGNORECASE)
SHOWN = 100  # characters of a text and an answer in the log
QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "‘": "’"}


class Answer(NamedTuple):
    """What an answer says: the translation, its problem (`REFUSED`, `COMMENTED` or ""), and what was taken off."""

    text: str
    problem: str
    removed: tuple[str, ...] = ()


def read_answer(answer: str, source: str) -> Answer:
    """The translation in an answer, on one line, with what was taken off and what is wrong.

    Thoughts, an introduction, a note after the translation, a fence of code and quotation marks are taken off, unless
    the source has them.
    """
    text, removed = answer.strip(), []

    def shorten(shorter: str, kind: str) -> None:
        nonlocal text
        if shorter.strip() != text:
            removed.append(kind)
        text = shorter.strip()

    shorten(_THOUGHT.sub("", text), "thoughts")
    if _MARKUP.match(text) and not _MARKUP.match(source):
        return Answer("", COMMENTED)
    if _REFUSAL.match(text.replace("’", "'")) and not _REFUSAL.match(source.replace("’", "'")):
        return Answer("", REFUSED)
    if "```" not in source and (fence := _FENCE.search(text)):
        shorten(fence[1], "a fence")
    if (introduction := _INTRODUCTION.match(text)) and not _INTRODUCTION.match(source):
        shorten(text[introduction.end() :], "an introduction")
    if not _NOTE.search(f"\n{source}"):
        shorten(_NOTE.sub("", text), "a note")
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and source.strip()[:1] not in QUOTES:
        shorten(text[1:-1], "quotation marks")
    problem = COMMENTED if len(text.splitlines()) > len(source.splitlines() or [""]) else ""
    return Answer(" ".join(text.split()), problem, tuple(removed))


class ServerTeacher:
    """A server as a teacher: the translations of each text, with their problems.

    Args:
        server: The server.

    Attributes:
        removed: How often each kind of addition was taken off answers.
        journal: A file for the answers to the texts of the next call, so that none is asked twice after a stop.
    """

    def __init__(self, server: ServerTranslator):
        self.server = server
        self.removed: Counter[str] = Counter()
        self.journal: Path | None = None
        self._shown: set[str] = set()  # problems of which an example was logged

    def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """The translations of each text; raises as [`ServerTranslator.translate`]."""
        lines = [" ".join(text.split()) for text in texts]
        return [self._read(line, found) for line, found in zip(lines, self._answers(lines), strict=True)]

    def _answers(self, texts: Sequence[str]) -> Iterator[list[str]]:
        if self.journal is None:
            yield from self.server.answers(texts)
            return
        known = _finished(self.journal)
        yield from known
        write_whole(self.journal, "".join(map(_as_line, known)))
        with open(self.journal, "a", encoding="utf-8") as file:
            for found in self.server.answers(texts[len(known) :]):
                file.write(_as_line(found))
                file.flush()
                yield found

    def _read(self, text: str, answers: Sequence[str]) -> list[Translation]:
        read = [read_answer(answer, text) for answer in answers]
        self.removed.update(kind for answer in read for kind in answer.removed)
        languages = self.server.languages
        foreign = in_other_language([answer.text for answer in read], languages[1])
        found = []
        for number, answer in enumerate(read):
            problem = answer.problem or find_problem(text, answer.text, languages=languages)
            problem = problem or (FOREIGN if number in foreign else "")
            if problem and problem not in self._shown:
                self._shown.add(problem)
                logger.warning(
                    "%r is answered with %r, which is dropped: %s.", text[:SHOWN], answers[number][:SHOWN], problem
                )
            found.append(Translation(answer.text, problem=problem))
        return found


def _as_line(answers: Sequence[str]) -> str:
    return json.dumps(answers, ensure_ascii=False) + "\n"


def _finished(journal: Path) -> list[list[str]]:
    """The answers in a journal, without a line that was not written to its end."""
    if not journal.is_file():
        return []
    return [json.loads(line) for line in journal.read_bytes().split(b"\n")[:-1]]
