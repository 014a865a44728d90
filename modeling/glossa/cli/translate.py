"""Translate lines of text: `glossa translate MODEL < source.txt > target.txt`.

One line in, one line out, in order; a blank line gives a blank line. A line of several sentences is translated
sentence by sentence. With --num_return_sequences N every line gives
N lines, best first; with --scores each begins with its log-probability and a tab. With --engine ctranslate2 MODEL is a
folder that `glossa export --to ctranslate2` wrote, and translation is faster.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import GlossaError
from ..inference.loading import check_name, load_model, load_tokenizer

if TYPE_CHECKING:
    from ..inference.translator import Translation


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="glossa translate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a run, or Hub name")
    parser.add_argument("--engine", choices=("torch", "ctranslate2"), default="torch", help="default: torch")
    parser.add_argument("--input", help="text file to translate (default: standard input)")
    parser.add_argument("--output", help="file to write (default: standard output)")
    parser.add_argument("--num_beams", type=int, help="beams; 1 is greedy (default: the model's own)")
    parser.add_argument("--num_return_sequences", type=int, default=1, help="translations a line (default: 1)")
    parser.add_argument("--batch_tokens", type=int, default=4096, help="source tokens a batch (default: 4096)")
    parser.add_argument("--no_split_sentences", action="store_true", help="for models that were trained on paragraphs")
    parser.add_argument("--scores", action="store_true", help="print each translation's log-probability before it")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_name(arguments.model)
    with contextlib.ExitStack() as files:
        source = files.enter_context(open_file(arguments.input, "rb")) if arguments.input else sys.stdin.buffer
        target = files.enter_context(open_file(arguments.output, "w")) if arguments.output else sys.stdout

        from tqdm.auto import tqdm

        from ..inference.translator import Translator

        model, tokenizer = load(arguments.model, arguments.engine)
        translator = Translator(
            model,
            tokenizer,
            num_beams=arguments.num_beams,
            num_return_sequences=arguments.num_return_sequences,
            batch_tokens=arguments.batch_tokens,
            scores=arguments.scores,
            split_sentences=not arguments.no_split_sentences,
        )
        # At a terminal every line is answered at once; otherwise many lines make full batches.
        typed = sys.stdin.isatty() and not arguments.input
        lines = read_lines(source, arguments.input or "standard input")
        # On a terminal that shows neither lines nor translations, a bar shows how far it is.
        shown = sys.stderr.isatty() and not typed and not target.isatty()
        progress = tqdm(translator.stream(lines, 1 if typed else 4096), unit=" lines", disable=not shown)
        for translations in progress:
            for translation in translations:
                print(format_line(translation, arguments.scores), file=target, flush=typed)


def open_file(name: str, mode: str):
    try:
        return open(name, mode, encoding=None if "b" in mode else "utf-8")
    except OSError as error:
        raise GlossaError(f"{name}: {error.strerror}.") from error


def read_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise GlossaError(
                f"{name}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}). "
                "Convert the file: iconv -f LATIN1 -t UTF-8."
            ) from error


def format_line(translation: "Translation", scores: bool) -> str:
    text = translation.text.replace("\n", " ")
    return f"{translation.score:.4f}\t{text}" if scores else text


def load(name: str, engine: str) -> tuple:
    """The model, or the engine, and its tokenizer."""
    if engine == "ctranslate2":
        from ..inference.ctranslate2_engine import load_engine

        return load_engine(name)
    return load_model(name, "auto"), load_tokenizer(name)
