"""Seconds that documents take without the model, and how they grow with the number of texts.

Each format is written with 1,000, 4,000 and 16,000 texts, and as one text of 125, 500 and 2,000 sentences. An engine
that returns its source in capitals stands for the model. The exponent of growth is between the last two sizes: 1 for
time like the size, 2 for time like its square.

With `--real FOLDER --pseudo`, each file in a folder is translated as by `glossa translate --pseudo`, and compared by
other readers of its format: texts that stayed, code that changed, and words that were moved, glued, doubled or lost.
"""

import argparse
import asyncio
import gc
import io
import json
import math
import statistics
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import format_of, open_document
from glossa.apps.documents.job import Work
from glossa.apps.server.models import Step
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.translate.build import pseudo_translator
from glossa.translate.engines.pseudo import CharacterTokenizer, FunctionEngine
from glossa.translate.interface import Checks
from glossa.translate.review import Problems
from glossa.translate.texts.alignment import Aligner
from glossa.translate.translator import Translator

from . import real
from .timing import machine

TEXTS, SENTENCES = (1_000, 4_000, 16_000), (125, 500, 2_000)
SECONDS, EXPONENT = 2.0, 1.1  # goals: for 10,000 texts, and of the growth
SERVED = ("docx", "po", "md", "html")
TEXT, TAGGED = "We find book {}.", "We <b>find</b> book {}."


def _packed(members: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _around(before: str, each: str, after: str) -> Callable[[int], str]:
    return lambda count: before + "".join(each.replace("{}", str(number)) for number in range(count)) + after


def _paragraphs_of_word(each: str, paragraphs: bool) -> Callable[[int], bytes]:
    between = f"<w:p>{each}</w:p>" if paragraphs else each
    body = _around("", between, "")
    opened, closed = ("", "") if paragraphs else ("<w:p>", "</w:p>")
    start = '<w:document xmlns:w="w"><w:body>'
    return lambda count: _packed({"word/document.xml": f"{start}{opened}{body(count)}{closed}</w:body></w:document>"})


# A file of so many texts.
MANY: dict[str, Callable[[int], str | bytes]] = {
    "xliff": _around(
        '<xliff version="1.2"><file><body>',
        f'\n<trans-unit id="{{}}"><source>{TEXT}</source></trans-unit>',
        "</body></file></xliff>",
    ),
    "tmx": _around(
        '<tmx version="1.4"><header srclang="en"/><body>',
        f'\n<tu><tuv xml:lang="en"><seg>{TEXT}</seg></tuv></tu>',
        "</body></tmx>",
    ),
    "json": lambda count: json.dumps({f"k{number}": TEXT.format(number) for number in range(count)}, indent=1),
    "po": _around('msgid ""\nmsgstr "Language: fr\\n"\n', f'\nmsgid "{TEXT}"\nmsgstr ""\n', ""),
    "html": _around("<html><body>", f"\n<p>{TAGGED}</p>", "</body></html>"),
    "yaml": _around("", f"k{{}}: {TEXT}\n", ""),
    "md": _around("", f"{TEXT.replace('find', '*find*')}\n\n", ""),
    "properties": _around("", f"k{{}}={TEXT}\n", ""),
    "srt": _around("", f"{{}}\n00:00:01,000 --> 00:00:02,000\n{TEXT}\n\n", ""),
    "docx": _paragraphs_of_word(f"<w:r><w:t>{TEXT}</w:t></w:r>", paragraphs=True),
}
# One text of so many sentences.
ONE: dict[str, Callable[[int], str | bytes]] = {
    "html, a paragraph": _around("<p>", f"{TAGGED} ", "</p>"),
    "md, a quote": lambda count: "> We find *it* again and\n" * count,
    "md, a cell": _around("| 1 |\n|---|\n| ", f"{TEXT.replace('find', '*find*')} ", "|\n"),
    "json, a value": lambda count: json.dumps({"a": " ".join(TAGGED.format(number) for number in range(count))}),
    "xliff, a unit": _around(
        '<xliff version="1.2"><file><body><trans-unit id="a"><source>',
        'We <g id="{}">find</g> book {}. ',
        "</source></trans-unit></body></file></xliff>",
    ),
    "srt, a cue": _around("1\n00:00:01,000 --> 00:00:02,000\n", f"{TAGGED} ", "\n"),
    "docx, a paragraph": _paragraphs_of_word("<w:r><w:t>We do not find it</w:t><w:br/></w:r>", paragraphs=False),
}


class InOrder(Translator):
    """Links the first word with the first one, and so on: the links of a model are part of its own time."""

    def aligner(self, translator: Any = None) -> Aligner:
        return lambda pairs: [numpy.eye(len(pair.source_words), len(pair.target_words)) for pair in pairs]


def translate(path: Path) -> tuple[bytes, Work]:
    """The bytes of a translated file, and what was counted."""
    translator = InOrder(FunctionEngine(str.upper), CharacterTokenizer(), checks=Checks("copy"))
    work = Work(translator, translator.translate_segments, Problems(None))
    opened = open_document(path, format_of(path.name), LanguagePair("en", "fr"))
    return opened.pack([work.translate(document, path, lambda count: None) for document in opened.documents]), work


def _seconds(path: Path) -> float:
    started = time.process_time()
    translate(path)
    return time.process_time() - started


def measure(name: str, written: Callable[[int], str | bytes], sizes: Sequence[int], folder: Path) -> dict[str, Any]:
    """CPU-seconds of a kind of file at each size, for 10,000 of its texts or sentences, and the exponent of growth."""
    seconds = []
    for size in sizes:
        content = written(size)
        path = folder / f"a.{name.split(',')[0]}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        seconds.append(_seconds(path))
    exponent = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
    return {"name": name, "seconds": seconds, "per_10000": seconds[-1] / sizes[-1] * 10_000, "exponent": exponent}


async def serve(counts: Sequence[int] = (10, 1000)) -> None:
    """Print the milliseconds of documents in a server whose model is `--pseudo`: the first one, and the median."""
    translator, step = pseudo_translator(), Step("", "en", "fr")

    async def find(step: Step, options: Any = None) -> Translator:
        return translator

    models: Any = SimpleNamespace(translator=find, memories=SimpleNamespace(hides=lambda match: False))
    with TemporaryDirectory() as folder:
        service = Service(models, folder=Path(folder))
        for name in SERVED:
            for count in counts:
                content, times = MANY[name](count), []
                content = content.encode() if isinstance(content, str) else content
                for _ in range(2_000 // count + 10):
                    started = time.perf_counter()
                    await service.files.translate_file(content, f"a.{name}", step)
                    times.append(1000 * (time.perf_counter() - started))
                print(f"{name:5} {count:5} texts: first {times[0]:7.1f} ms, median {statistics.median(times):7.1f}")
        service.queue.close()
        service.readers.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=[*MANY, *ONE], metavar="NAME", help=f"of {', '.join(MANY)}, ...")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="translate and compare the files of a folder")
    parser.add_argument("--pseudo", action="store_true", help="with --real: without a model")
    parser.add_argument("--server", action="store_true", help="milliseconds of documents in a server, without a model")
    parser.add_argument("--shown", type=int, default=3, help="with --real: faults of a file that are printed (3)")


def run(arguments: argparse.Namespace) -> None:
    if arguments.server:
        asyncio.run(serve())
        return
    if arguments.real:
        if not arguments.pseudo:
            raise GlossaError("--real compares files with their pseudo-translations. Give --pseudo too.")
        real.run(arguments.real, arguments.shown)
        return
    kinds = [(name, each, TEXTS) for name, each in MANY.items()]
    kinds += [(name, each, SENTENCES) for name, each in ONE.items()]
    before, rows = machine(), []
    print(f"{'':20} {'seconds at each size':>28} {'per 10,000':>11} {'exponent':>9}")
    with TemporaryDirectory() as folder:
        warm = Path(folder, "warm.md")
        warm.write_text("We *find* it.\n", encoding="utf-8")
        _seconds(warm)  # loads the libraries
        gc.collect()
        gc.freeze()  # so that their objects are not looked through again and again
        for name, written, sizes in kinds:
            if arguments.only and name not in arguments.only:
                continue
            rows.append(row := measure(name, written, sizes, Path(folder)))
            shown = " ".join(f"{seconds:9.2f}" for seconds in row["seconds"])
            print(f"{name:20} {shown} {row['per_10000']:11.2f} {row['exponent']:9.2f}", flush=True)
    missed = [row["name"] for row in rows if row["per_10000"] > SECONDS or row["exponent"] > EXPONENT]
    print(f"goals: {SECONDS} seconds and {EXPONENT}; missed by: {', '.join(missed) or 'none'}")
    print(f"{before['cpu']}, {before['threads']} threads, load average {before['load_average']:.1f} before")
