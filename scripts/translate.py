"""Translate lines of text: `scripts/translate.py MODEL < source.txt > target.txt`.

One line in, one line out, in order; a blank line gives a blank line. With --num_return_sequences N every line gives
N lines, best first; with --scores each begins with its log-probability and a tab. With --engine ctranslate2 MODEL is a
folder of `scripts/export.py --to ctranslate2`, and translating is faster.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator

import torch

from glossa.cli import run
from glossa.errors import GlossaError
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translation, Translator


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a run, or Hub name")
    parser.add_argument("--engine", choices=("torch", "ctranslate2"), default="torch", help="default: torch")
    parser.add_argument("--input", help="text file to translate (default: standard input)")
    parser.add_argument("--output", help="file to write (default: standard output)")
    parser.add_argument("--num_beams", type=int, help="beams; 1 is greedy (default: the model's own)")
    parser.add_argument("--num_return_sequences", type=int, default=1, help="translations a line (default: 1)")
    parser.add_argument("--batch_tokens", type=int, default=4096, help="source tokens a batch (default: 4096)")
    parser.add_argument("--scores", action="store_true", help="put each translation's log-probability before it")
    return parser.parse_args(argv)


def read_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise GlossaError(
                f"{name}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}). "
                "Convert the file: iconv -f LATIN1 -t UTF-8."
            ) from error


def format_line(translation: Translation, scores: bool) -> str:
    text = translation.text.replace("\n", " ")
    return f"{translation.score:.4f}\t{text}" if scores else text


def load(name: str, engine: str) -> tuple:
    if engine == "ctranslate2":
        from glossa.inference.ctranslate2_engine import load_engine  # an optional package

        return load_engine(name)
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    return load_model(name).to(device), load_tokenizer(name)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    translator = Translator(
        *load(arguments.model, arguments.engine),
        num_beams=arguments.num_beams,
        num_return_sequences=arguments.num_return_sequences,
        batch_tokens=arguments.batch_tokens,
        scores=arguments.scores,
    )
    with contextlib.ExitStack() as files:
        try:
            source = files.enter_context(open(arguments.input, "rb")) if arguments.input else sys.stdin.buffer
        except OSError as error:
            raise GlossaError(f"--input {arguments.input}: {error.strerror}.") from error
        target = files.enter_context(open(arguments.output, "w", encoding="utf-8")) if arguments.output else sys.stdout
        # At a terminal every line is answered at once; otherwise many lines make full batches.
        chunk = 1 if sys.stdin.isatty() and not arguments.input else 4096
        for translations in translator.stream(read_lines(source, arguments.input or "standard input"), chunk):
            for translation in translations:
                print(format_line(translation, arguments.scores), file=target, flush=chunk == 1)


if __name__ == "__main__":
    run(main)
