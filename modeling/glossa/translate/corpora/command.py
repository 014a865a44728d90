"""A teacher that is any program: it reads a text on each line and writes the translation on a line of its own."""

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from ...base.errors import GlossaError
from ..interface import Translation
from ..plausibility import find_problem


class CommandTranslator:
    """Translates with a program, which is started without a shell for each call, and must end when its input does.

    What it writes to its standard error is shown.

    Args:
        command: The program and its arguments, with the quotes of a shell.
        seconds: The program is stopped if it has not ended after so many.
        languages: The codes of the languages of the texts and of the translations, if they are known.

    Raises:
        GlossaError: if the command is empty or its quotes do not close.
    """

    def __init__(self, command: str, seconds: float, languages: Sequence[str | None] = (None, None)):
        self.command, self.seconds, self.languages = command, seconds, languages
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise GlossaError(f"--teacher_command is {command!r}: {error}. Close its quotes.") from error
        if not self.words:
            raise GlossaError("--teacher_command is empty. Give a program that reads lines and writes lines.")

    def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """One translation of each text, with the problem that [`find_problem`] finds.

        Raises `GlossaError` if the program does not start, fails, takes too long, or writes another number of lines.
        """
        lines = self._lines([" ".join(text.splitlines()) for text in texts])
        pairs = zip(texts, lines, strict=True)
        return [
            [Translation(line, problem=find_problem(text, line, languages=self.languages))] for text, line in pairs
        ]

    def _lines(self, texts: Sequence[str]) -> list[str]:
        status, output = self._run("".join(f"{text}\n" for text in texts).encode())
        if status:
            done = output.count(b"\n")
            raise self._error(f"ended with status {status} after {done:,} of {len(texts):,} lines")
        try:
            written = output.decode()
        except UnicodeDecodeError as error:
            number = output.count(b"\n", 0, error.start) + 1
            raise self._error(f"wrote bytes that are not UTF-8 in line {number:,}") from error
        lines = written.removesuffix("\n").split("\n") if written else []
        if len(lines) != len(texts):
            raise self._error(f"was given {len(texts):,} lines and wrote {len(lines):,}; it must write one for each")
        return [line.strip() for line in lines]

    def _run(self, given: bytes) -> tuple[int, bytes]:
        """The status and the output of the program."""
        try:
            # A group of its own, so that what it has started ends with it.
            program = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise self._error(f"does not start: {error.strerror}") from error
        try:
            output, _ = program.communicate(given, timeout=self.seconds)
        except subprocess.TimeoutExpired as error:
            raise self._error(
                f"has not ended after {self.seconds:g} seconds; --teacher_seconds gives it more"
            ) from error
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
        return program.returncode, output

    def _error(self, problem: str) -> GlossaError:
        return GlossaError(
            f"The teacher {self.command!r} {problem}. What is finished stays: correct the program, and the same "
            "command continues."
        )
