"""Facts about a text, and the tables of characters that they need. It is saved with the model."""

import re
import unicodedata
from functools import cached_property

EMOJI_FIRST = "\u203c\u2049\u2139\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
EMOJI_CHARACTERS = rf"{EMOJI_FIRST}\u200d\ufe0f\u20e3"
EMOJI = rf"[{EMOJI_FIRST}][{EMOJI_CHARACTERS}]*"
# Han and kana: each character is a word, or a part of one, without spaces between words.
IDEOGRAPHS = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# The same with the marks and forms of these scripts, which write no spaces between sentences either.
WIDE = f"{IDEOGRAPHS}\ufe30-\ufe4f\uff00-\uffef"
NO_SPACES = re.compile(f"[{WIDE}]")
# A bullet, or a number or letter with a period or parenthesis, at the start of a sentence.
LIST_MARK = re.compile(
    r"(?:[-–—−*•·▪▫◦‣⁃●○■□◆◇★☆✓✔✗✘→➤►>+]|#{1,6}|[([]?(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivxIVX]{2,5})[)\]]"
    r"|(?:\d{1,3}(?:\.\d{1,3})*|[a-z가-힣]|[ivx]{2,5}|[IVX]{2,5})\.)(?:\s+|$)|[①-⑳⑴-⒇⒈-⒛]\s*|[（]\d{1,3}[）]\s*|\d{1,3}[、．](?!\d)\s*"
)
PERIOD_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "HANGUL")  # that end sentences with "."
UPPER_WORDS, TITLE_WORDS = 2, 3  # fewer are names and abbreviations
MOST = 0.75  # of the words, in a text in capitals: `2nd`, `km` and `iPhone` stay as they are in it


class TextFacts:
    """Facts about a text, each computed once, when it is asked for."""

    def __init__(self, text: str):
        self.text = text

    @property
    def has_letters(self) -> bool:
        return any(map(str.isalpha, self.text))

    @cached_property
    def letters(self) -> str:
        """All letters, in order."""
        return "".join(filter(str.isalpha, self.text))

    @cached_property
    def words(self) -> list[str]:
        """The words, between white space, that have a letter."""
        return [word for word in self.text.split() if any(map(str.isalpha, word))]

    @property
    def starts_upper(self) -> bool:
        """Whether the first letter is a capital."""
        return next(filter(str.isalpha, self.text), "").isupper()

    @cached_property
    def period(self) -> str:
        """What ends a sentence in the script of the last letter, or "" for scripts of which it is not known."""
        letter = next(filter(str.isalpha, reversed(self.text)), "")
        if NO_SPACES.match(letter):
            return "。"
        return "." if letter and unicodedata.name(letter, "").split(" ")[0] in PERIOD_SCRIPTS else ""

    @cached_property
    def capitals(self) -> str:
        """ "upper" for several words in capitals and few others, "title" for a capital at each of several, or ""."""
        upper = sum(word.upper() == word != word.lower() for word in self.words)
        if upper >= UPPER_WORDS and upper >= MOST * len(self.words):
            return "upper"
        firsts = (next(filter(str.isalpha, word)) for word in self.words)
        return "title" if len(self.words) >= TITLE_WORDS and all(map(str.isupper, firsts)) else ""


__all__ = ["EMOJI", "EMOJI_CHARACTERS", "EMOJI_FIRST", "IDEOGRAPHS", "LIST_MARK", "NO_SPACES", "WIDE", "TextFacts"]
