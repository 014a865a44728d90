"""What chat models answer when they are asked for a translation, and a teacher that asks them."""

import re
from collections.abc import Sequence

from ..interface import Translation
from ..plausibility import find_problem
from .servers import ServerTranslator

REFUSED, COMMENTED = "refused", "not only a translation"  # problems of answers
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
QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "‘": "’"}


def read_answer(answer: str, source: str) -> tuple[str, str]:
    """The translation in an answer, on one line, and its problem: `REFUSED`, `COMMENTED` or "".

    Thoughts, an introduction, a note after the translation, a fence of code and quotation marks are taken off, unless
    the source has them.
    """
    text = _THOUGHT.sub("", answer).strip()
    if _MARKUP.match(text) and not _MARKUP.match(source):
        return "", COMMENTED
    if _REFUSAL.match(text.replace("’", "'")) and not _REFUSAL.match(source.replace("’", "'")):
        return "", REFUSED
    if "```" not in source and (fence := _FENCE.search(text)):
        text = fence[1].strip()
    if (introduction := _INTRODUCTION.match(text)) and not _INTRODUCTION.match(source):
        text = text[introduction.end() :].strip()
    if not _NOTE.search(f"\n{source}"):
        text = _NOTE.sub("", text).strip()
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and source.strip()[:1] not in QUOTES:
        text = text[1:-1].strip()
    if len(text.splitlines()) > len(source.splitlines() or [""]):
        return " ".join(text.split()), COMMENTED
    return " ".join(text.split()), ""


class ServerTeacher:
    """A server as a teacher: one translation of each text, with its problem.

    Args:
        server: The server.
    """

    def __init__(self, server: ServerTranslator):
        self.server = server

    def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """The translation of each text; raises as [`ServerTranslator.translate`]."""
        translations = []
        for text, answer in zip(texts, self.server.answers([" ".join(text.split()) for text in texts]), strict=True):
            found, problem = read_answer(answer, " ".join(text.split()))
            problem = problem or find_problem(text, found, languages=self.server.languages)
            translations.append([Translation(found, problem=problem)])
        return translations
