"""Translate lines of text: `glossa translate MODEL < source.txt > target.txt`.

Each line is translated to one line, in order, and a blank line to a blank line. A line of several sentences is
translated sentence by sentence. With --num_return_sequences N, every line gives N lines, best first. With --scores,
each begins with its log-probability and a tab. Several models translate as an ensemble: each token is chosen by the
mean of their log-probabilities.

For a model of several target languages, a line may begin with the tag of another language than --target_language, such
as <2fr>.

If CTranslate2 is installed and supports the model, it translates. The model is exported once, into the cache of
Hugging Face. --engine torch translates with transformers' `generate`. For --engine ctranslate2, MODEL is a folder from
`glossa export --to ctranslate2`.

--pseudo translates without a model: it puts accents on the letters, which shows the text of a program that is not
translated. Placeholders and addresses stay. --pseudo long also makes words a third longer and marks both ends of
sentences, which shows what is cut off.

With --alignments, each translation is followed by a tab and the links of its words in Pharaoh format: `0-0 1-2` links
the first words of both, and the second word of the source to the third word of the translation. Words are separated by
white space.

With --confidence, each translation begins with the probability that it needs no correction, as the model has learned
on its validation pairs, and a tab. --min_confidence X reports lines below X as uncertain. --report then also has the
probability of each word.

--rerank OTHER sorts the translations of each sentence (give --num_return_sequences, such as 10) by the sum of the
log-probabilities of MODEL and OTHER, and prints the best one. OTHER may be a model of the opposite direction.

--workers N translates a large file (--input, --output) with N processes, and --ray ADDRESS on a Ray cluster. Finished
parts stay in OUTPUT.parts until all are done. An interrupted job continues with the same command. The output does not
depend on the number of processes and machines.

A line that cannot be translated (not UTF-8, or too long) gives a blank line, and the command ends with status 1.
Implausible translations are counted: empty, copied, repetitive, much too short or too long, or with other numbers,
addresses or placeholders such as {name} than the source. --report writes all these lines, worst first, and also
improbable translations. Lines without words, such as 42, and list markers are copied.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..apps.documents.formats.opening import format_of
from ..base.errors import GlossaError
from ..base.values import kept_patterns
from ..base.word_links import pharaoh
from ..translate.loading import check_name
from ..translate.review import Problems, find_problems
from ..translate.search.terms import count
from . import INTERRUPTED
from .inputs import START, check_input
from .options import changed, read
from .places import place_of
from .translate_options import TranslateOptions

if TYPE_CHECKING:
    from ..translate.corpora.shards import Translate
    from ..translate.interface import Translation
    from ..translate.translator import Translator

logger = logging.getLogger(__name__)

# Options that --pseudo uses too.
PSEUDO = frozenset(
    ["pseudo", "input", "output", "format", "keys", "columns", "keep", "update", "previous", "only", "state",
     "no_split_sentences", "on_error", "report", "report_all", "source_language", "target_language"]
)  # fmt: skip
# Modules for processes that translate with CTranslate2. The first keeps `glossa` from importing torch.
WITHOUT_TORCH = ("glossa_command", "glossa.translate.engines.ctranslate2")
CHUNK = 4096  # lines that are translated together, unless they are typed
UNDECODABLE = "surrogateescape"  # keeps bytes that are not UTF-8


def parse(argv: list[str]) -> TranslateOptions:
    return read(TranslateOptions, "translate", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_pseudo(arguments)
    kept_patterns(arguments.keep)
    for name in arguments.all_models:
        check_name(name)
    check_files(arguments)
    if arguments.length_penalty is not None and (arguments.num_beams or 1) == 1:
        raise GlossaError("--length_penalty is for a search with beams. Give --num_beams too, such as 5.")
    if arguments.rerank and arguments.num_return_sequences < 2:
        raise GlossaError(
            f"--rerank chooses among several translations, but --num_return_sequences is "
            f"{arguments.num_return_sequences}. Give 10, say, and at least as many --num_beams."
        )
    if (arguments.confidence or arguments.min_confidence) and (len(arguments.models) > 1 or arguments.rerank):
        raise GlossaError(
            "--confidence and --min_confidence are for one model, which has learned them for its own translations. "
            "Leave them out, or give one model without --rerank."
        )
    if arguments.report_all and not arguments.report:
        raise GlossaError("--report_all needs a file for the report. Give --report FILE.")
    if is_document(arguments):
        translate_documents(arguments)
        return
    if arguments.keys is not None or arguments.columns is not None:
        raise GlossaError("--keys is for documents in JSON and YAML, --columns for tables. Leave them out.")
    if arguments.update is not None or arguments.previous is not None:
        raise GlossaError("--update and --previous are for documents with keys, such as JSON. Leave them out.")
    if arguments.only != ["untranslated"] or arguments.state != "translated":
        raise GlossaError("--only and --state are for PO, XLIFF, TS and string catalogs. Leave them out.")
    check_start(arguments)
    if arguments.workers is not None or arguments.ray is not None:
        translate_file(arguments)
    else:
        translate_lines(arguments)


def check_pseudo(arguments: TranslateOptions) -> None:
    """Raise `GlossaError` if there is no model, or if there is something for a model with --pseudo."""
    if not arguments.pseudo:
        if not arguments.models:
            raise GlossaError("Give a MODEL, the folder of a run or a Hub name, or --pseudo, which needs none.")
        return
    unused = [f"--{name}" for name in changed(arguments) if name not in (*PSEUDO, "models")]
    unused = [*arguments.models, *([] if arguments.pseudo in ("accents", "long") else [arguments.pseudo]), *unused]
    if unused:
        given = unused[0]
        raise GlossaError(f"--pseudo translates without a model, and does not use {given}. Leave one of them out.")


def check_files(arguments: TranslateOptions) -> None:
    """Raise `GlossaError` if an output file is also an input file or another output file."""
    given = [(name, Path(path)) for name in ("input", "output", "report") if (path := getattr(arguments, name))]
    for (first, path), (second, other) in combinations(given, 2):
        same = path.samefile(other) if path.exists() and other.exists() else path.resolve() == other.resolve()
        if same and not (path.exists() and not path.is_file()):  # devices such as /dev/null may be both
            raise GlossaError(f"--{second} is the file of --{first}, {path}. Give another one.")


def is_document(arguments: TranslateOptions) -> bool:
    """Whether the input is a document of a known format, or a folder."""
    if arguments.input:
        return Path(arguments.input).is_dir() or format_of(arguments.input, arguments.format) is not None
    if arguments.format not in (None, "lines"):
        raise GlossaError("--format is for documents, which must be files. Give --input and --output.")
    return False


def translate_documents(arguments: TranslateOptions) -> None:
    """Translate a document, or a folder of documents."""
    from .documents import run

    with open_report(arguments.report) if arguments.report else contextlib.nullcontext() as report:
        run(arguments, build, report)


def check_start(arguments: TranslateOptions) -> None:
    """Raise `GlossaError` for input in UTF-16 or a document. A document in standard input gives a warning."""
    if arguments.input:
        with open_file(arguments.input, "rb") as file:
            check_input(
                arguments.input, file.read(START) if Path(arguments.input).is_file() else b"", bool(arguments.format)
            )
        return
    peek = getattr(sys.stdin.buffer, "peek", None)
    start = b"" if peek is None or sys.stdin.isatty() else peek(START)
    if (kind := check_input("", start, False)) and not arguments.format:
        logger.warning(
            "Standard input looks like a %s file. Its lines are translated as text, and its structure is lost.", kind
        )


@contextlib.contextmanager
def ended_by_interrupt(target: TextIO) -> Iterator[None]:
    """On Ctrl-C, flush `target` and end the process: an exception could be raised inside the model."""

    def end(number: int, frame: object) -> None:
        with contextlib.suppress(RuntimeError, OSError):  # `target` may be in use
            target.flush()
        os.write(2, f"{INTERRUPTED}\n".encode())  # `sys.stderr` may be in use
        os._exit(130)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def translate_lines(arguments: TranslateOptions) -> None:
    """Translate line by line in this process."""
    with contextlib.ExitStack() as files:
        source = files.enter_context(open_file(arguments.input, "rb")) if arguments.input else sys.stdin.buffer
        target = files.enter_context(open_file(arguments.output, "w")) if arguments.output else sys.stdout
        report = files.enter_context(open_report(arguments.report)) if arguments.report else None
        if not arguments.output:
            sys.stdout.reconfigure(encoding="utf-8", errors=UNDECODABLE)  # type: ignore[union-attr]

        from tqdm.auto import tqdm

        files.enter_context(ended_by_interrupt(target))
        translator = build(arguments)
        # Typed lines are translated at once. Otherwise, many lines fill the batches.
        typed = sys.stdin.isatty() and not arguments.input
        # A progress bar is shown if the terminal shows neither lines nor translations.
        shown = sys.stderr.isatty() and not typed and not target.isatty()
        chunk = 1 if typed else CHUNK
        around: deque[tuple[str, str]] = deque()
        stream = translator.stream(read_lines(source, around), chunk, prefix=arguments.prefix)
        progress = tqdm(stream, unit=" lines", disable=not shown)
        problems = Problems(report, arguments.report_all)
        for number, (text, translations) in enumerate(progress, 1):
            write(target, translations, arguments, around.popleft(), flush=typed)
            problems.add(
                1, find_problems(number, text, translations[0], arguments.report_all), count(translations[:1])
            )
        problems.finish()


def translate_file(arguments: TranslateOptions) -> None:
    """Translate a file in shards, in several processes."""
    from ..translate.build import engine_for, settle_engine
    from ..translate.corpora.shards import ShardJob
    from .documents import glossary_of, recall_of, settings_of

    if not arguments.input or not arguments.output:
        raise GlossaError(f"{'--ray' if arguments.ray else '--workers'} needs files. Give --input and --output.")
    glossary_of(arguments), recall_of(arguments)  # errors in them appear before processes start
    with open_file(arguments.input, "rb") as file:
        engine = engine_for(arguments.engine, [arguments.length_penalty])
        engine = settle_engine(arguments.models, engine, arguments.wanted, read_lines(file))
        arguments = replace(arguments, engine=engine)
    ignored = ("input", "output", "report", "workers", "ray")  # options that do not change the translations
    settings = settings_of(arguments, ignored)
    settings["reported"] = arguments.report is not None
    job = ShardJob(Path(arguments.input), Path(arguments.output), settings, arguments.all_models)
    started = time.perf_counter()
    with open_report(arguments.report) if arguments.report else contextlib.nullcontext() as report:
        modules = ("glossa",) if arguments.engine == "torch" else WITHOUT_TORCH
        local = [Path(name) for name in (arguments.input, *arguments.all_models) if Path(name).exists()]
        with place_of(arguments.ray, arguments.workers or 1, job.folder, modules, local) as place:
            done = job.run(partial(shard_translator, arguments), place)
        seconds = time.perf_counter() - started
        cost = done.cpu_seconds / max(done.words, 1) * 1e6 / 3600
        print(
            f"{done.lines:,} lines, {done.words:,} words: {done.cpu_seconds:,.0f} CPU-seconds in all, {cost:.2f} "
            f"CPU-hours a million words; {seconds:,.0f} seconds since this start.",
            file=sys.stderr,
        )
        problems = Problems(report, arguments.report_all)
        problems.add(done.lines, done.problems, done.terms)
        problems.finish()


def build(arguments: TranslateOptions) -> "Translator":
    from ..translate.build import build_translator, pseudo_translator
    from ..translate.interface import Checks, Execution, Search
    from ..translate.search.terms import Wording
    from .documents import glossary_of, recall_of

    split = False if arguments.no_split_sentences else None
    execution = Execution(arguments.batch_tokens, split_sentences=split, kept=kept_patterns(arguments.keep))
    if arguments.pseudo:
        return pseudo_translator(arguments.pseudo == "long", Checks(arguments.on_error), execution)
    return build_translator(
        arguments.models,
        arguments.engine,
        arguments.wanted,
        arguments.rerank,
        Wording(glossary_of(arguments), arguments.forbid if arguments.forbid or arguments.prefix else None),
        search=Search(
            arguments.num_beams,
            arguments.num_return_sequences,
            scores=arguments.scores or arguments.report is not None,
            length_penalty=arguments.length_penalty,
        ),
        checks=Checks(
            arguments.on_error,
            arguments.retry_implausible,
            confident=arguments.confidence,
            min_confidence=arguments.min_confidence,
            words=arguments.confidence and arguments.report is not None,
            links=arguments.alignments,
        ),
        execution=execution,
    ).with_recall(recall_of(arguments))


def shard_translator(arguments: TranslateOptions) -> "Translate":
    """The function with which a process of a [`ShardJob`] translates a shard."""
    from ..translate.corpora.shards import Done

    translator = build(arguments)

    def translate(lines: list[bytes], first: int, path: Path) -> Done:
        done = Done()
        with open_file(str(path), "w") as target:
            around: deque[tuple[str, str]] = deque()
            stream = translator.stream(read_lines(lines, around), CHUNK, first, arguments.prefix)
            for number, (text, translations) in enumerate(stream, first):
                write(target, translations, arguments, around.popleft())
                done.lines += 1
                done.words += len(text.split())
                done.problems += find_problems(number, text, translations[0], arguments.report_all)
                done.add_terms(count(translations[:1]))
        return done

    return translate


def write(
    target: TextIO,
    translations: list["Translation"],
    arguments: TranslateOptions,
    around: tuple[str, str],
    flush: bool = False,
) -> None:
    """Write the translations of one line, with the characters before and after it."""
    for translation in translations[:1] if arguments.rerank else translations:
        line = format_line(translation, arguments.scores, arguments.confidence)
        print(f"{around[0]}{line}{around[1]}", file=target, flush=flush)


def open_file(name: str, mode: str, errors: str = UNDECODABLE):
    try:
        return open(name, mode) if "b" in mode else open(name, mode, encoding="utf-8", errors=errors)
    except OSError as error:
        raise GlossaError(f"{name}: {error.strerror}.") from error


def open_report(name: str):
    return open_file(name, "w", "backslashreplace")


def read_lines(stream: Iterable[bytes], around: deque[tuple[str, str]] | None = None) -> Iterator[str]:
    """The lines of a file. The byte order mark before each line, and a carriage return after it, go to `around`."""
    for line in stream:
        text = line.decode("utf-8", UNDECODABLE).rstrip("\n")
        body = text.rstrip("\r").removeprefix("\ufeff")
        if around is not None:
            around.append(("\ufeff" * text.startswith("\ufeff"), "\r" * text.endswith("\r")))
        yield body


def format_line(translation: "Translation", scores: bool, confidence: bool = False) -> str:
    numbers = [translation.score] if scores else []
    fields = [f"{number or 0.0:.4f}" for number in [*numbers, *([translation.confidence] if confidence else [])]]
    fields.append(translation.text.replace("\n", " "))
    return "\t".join([*fields, *([] if translation.links is None else [pharaoh(translation.links)])])
