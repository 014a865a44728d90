"""Make training pairs with trained models: `glossa distill TEACHER [TEACHER ...] --output pairs.jsonl`.

Each teacher translates the training pairs of the first teacher's run, or the pairs of --data_path, which is files or
the folder of another run. A teacher of the same direction makes new targets: knowledge distillation, or data
diversification with several teachers. A teacher of the opposite direction makes new sources: back-translation.
Held-out pairs of a run are never translated.

With --text, the teachers translate monolingual text: sources, or targets for teachers of the opposite direction. Give
the direction of the model that you will train as --source_language and --target_language.

--teacher_command "PROGRAM ARGUMENTS" uses a program instead of a trained model, for --text or the files of
--data_path. It is started without a shell for each 2,000 texts. It reads one text per line from standard input and
writes one translation per line, from the source to the target language.

--teacher_url ADDRESS uses a server: of LibreTranslate, or with --teacher_model ID any with OpenAI's interface of chats
(vLLM, llama.cpp, Ollama, `transformers serve`), whose address ends with /v1. --prompt FILE has the request of the
model, with {source}, {target} and {text}. --teacher_license names its license, without which a run that learns from it
cannot be pushed. What such a model adds to a translation is taken off, or the answer is dropped and counted. A key is
read from the environment variable GLOSSA_SERVER_KEY.

Implausible translations (empty, copied, repetitive, much too short or too long) are dropped and counted. An
interrupted job continues with the same command. --workers N translates with N processes, and --ray ADDRESS on a Ray
cluster. The pairs do not depend on the number of processes and machines.
"""

import logging
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import GlossaError
from ..base.paths import file_groups, is_remote, is_table
from ..translate.languages import Languages
from ..translate.loading import check_name
from .options import argument, changed, flag, option, read
from .places import place_of
from .shared_options import BackTranslationOptions, BatchOptions, DataOptions, LanguageOptions, SearchOptions

if TYPE_CHECKING:
    from datasets import DatasetDict

    from ..base.jobs.stage import Work
    from ..base.run_folder import RunFolder
    from ..translate.corpora.servers import ServerTranslator

logger = logging.getLogger(__name__)

COLUMNS = ("source_column", "target_column")
# Options of teachers that change no translation.
WITHOUT_EFFECT = ("teacher_seconds", "teacher_requests", "teacher_license")
FOR_MODELS = ("engine", "ensemble", "num_beams", "num_return_sequences", "sample", "closest", "batch_tokens")
Rows = list[tuple[str, str | None]]


@dataclass(frozen=True)
class DistillOptions(LanguageOptions, DataOptions, BatchOptions, SearchOptions, BackTranslationOptions):
    """The options of `glossa distill`."""

    teachers: list[str] = argument("folder of a run, or Hub name", default=[], nargs="*", metavar="TEACHER")
    output: str = option("file to write", required=True, metavar="FILE.jsonl")
    teacher_command: str | None = option("a program that translates lines, instead of teachers", metavar="PROGRAM")
    teacher_seconds: float = option("time limit of the program for 2,000 texts (default: 3600)", default=3600.0)
    teacher_url: str | None = option("address of a server that translates, instead of teachers", metavar="URL")
    teacher_model: str | None = option("model of a server with OpenAI's interface", metavar="ID")
    prompt: str | None = option("file with the request of this model", metavar="FILE")
    teacher_license: str | None = option(
        "license of the teacher; runs that learn from it can only be pushed with it", metavar="LICENSE"
    )
    teacher_requests: int = option("requests at once (default: 4)", default=4)
    text: list[str] | None = option("monolingual text to translate instead", metavar="FILE")
    text_column: str | None = option("column of the texts, if --text is a table")
    ensemble: bool = flag("the teachers translate together, not one by one")
    closest: bool = flag("keep the translation most similar to the reference, or for --text to the others")
    with_original: bool = flag("also write the original pairs")


def parse(argv: list[str]) -> DistillOptions:
    return read(DistillOptions, "distill", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    languages = make_pairs(arguments)
    record_teachers(arguments)
    if not Path(arguments.output).stat().st_size:
        return
    command = ["glossa", "train", "--data_path", arguments.output, *held_out(arguments, languages)]
    print(f"Train on them: {shlex.join(command)}")
    if arguments.text:
        print("Held-out pairs would be its translations too. Give human ones with --validation_path and --test_path.")


def record_teachers(arguments: DistillOptions) -> None:
    """Write what translated the pairs, and warn of a license that limits students."""
    from urllib.parse import urlsplit

    from ..base.run_folder import RunFolder
    from ..readers.teachers import Teacher, limit_of, write_teachers

    license = arguments.teacher_license
    teachers = [Teacher(name, license, bool(RunFolder(name).recipe)) for name in arguments.teachers]
    if arguments.teacher_command:
        teachers = [Teacher(shlex.split(arguments.teacher_command)[0], license)]
    if arguments.teacher_url:
        host = urlsplit(arguments.teacher_url).netloc
        teachers = [Teacher(f"{arguments.teacher_model} at {host}" if arguments.teacher_model else host, license)]
    write_teachers(Path(arguments.output), teachers)
    if limit := limit_of(license):
        logger.warning("The teacher's license is %s: %s. Check that it allows your model.", license, limit)
    if not license and not all(teacher.own for teacher in teachers):
        logger.warning("Without --teacher_license, a run that learns from these pairs cannot be pushed.")


def make_pairs(arguments: DistillOptions) -> tuple[str, str]:
    """Write the pairs, and return their languages."""
    check_teachers(arguments)
    for name in arguments.teachers:
        check_name(name)
    check(arguments)

    from ..base.jobs.records import hash_texts, refuse_existing
    from ..translate.corpora.distillation import SERVER_CHUNK, Job, chunks_of
    from ..translate.loading import stamp_models

    refuse_existing(Path(arguments.output))
    rows, languages = load_rows(arguments)
    groups = groups_of(arguments, languages)
    texts = (text for row in rows for text in row)
    stamps = {"data": hash_texts(texts)} | stamp_models(arguments.teachers)
    job = Job(Path(arguments.output), settings(arguments) | stamps)
    several = arguments.workers is not None or arguments.ray is not None
    if several:
        settle_engines(arguments, groups, languages, rows)
    local = [Path(name) for name in arguments.teachers if Path(name).exists()]
    with place_of(arguments.ray, arguments.workers, job.folder, ("glossa",), local) as place:
        size = SERVER_CHUNK if arguments.teacher_url else None
        chunks = chunks_of(rows, len(groups), arguments.with_original, size)
        counts = job.run(partial(writer, arguments, groups, languages), chunks, place)
    dropped = ", ".join(f"{number:,} {problem}" for problem, number in sorted(counts.dropped.items())) or "none"
    print(f"{counts.texts:,} texts gave {counts.pairs:,} new pairs. Translations dropped: {dropped}.")
    if counts.removed:
        removed = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(counts.removed.items()))
        print(f"Taken off answers: {removed}.")
    return languages


def check(arguments: DistillOptions) -> None:
    """Raise `GlossaError` for options that contradict each other."""
    if arguments.text and arguments.data_path:
        raise GlossaError("--text and --data_path are both given; give one of them.")
    if arguments.text and None in (arguments.source_language, arguments.target_language):
        raise GlossaError("--text needs --source_language and --target_language of the model that will be trained.")
    local = [path for path in arguments.text or () if not is_remote(path)]
    tables = [path for group in file_groups(local) for path in group if is_table(path)]
    if tables and not arguments.text_column:
        raise GlossaError(
            f"--text is text in one language, but {tables[0]} is a table. Give the column of its texts with "
            "--text_column, or a file with a text on each line."
        )
    if arguments.text_column and not arguments.text:
        raise GlossaError("--text_column is for a table in --text. Leave it out.")
    if any(getattr(arguments, name) for name in COLUMNS) and (not arguments.data_path or find_run(arguments)):
        raise GlossaError("--source_column and --target_column are for files of --data_path. Leave them out.")
    if arguments.text and arguments.with_original:
        raise GlossaError("--with_original needs pairs, but --text is text in one language.")
    if arguments.sample and (arguments.num_beams or arguments.engine == "ctranslate2"):
        raise GlossaError("--sample takes neither --num_beams nor --engine ctranslate2.")


def check_teachers(arguments: DistillOptions) -> None:
    """Raise `GlossaError` without a teacher, program or server, and for options that do not apply to it."""
    others = [name for name in ("teacher_command", "teacher_url") if getattr(arguments, name) is not None]
    if len(others) + bool(arguments.teachers) > 1:
        raise GlossaError("Of a teacher, --teacher_command and --teacher_url, several are given; give one of them.")
    for name, needed in (("teacher_model", "teacher_url"), ("prompt", "teacher_model")):
        if getattr(arguments, name) and not getattr(arguments, needed):
            raise GlossaError(f"--{name} needs --{needed}. Give both.")
    if not arguments.teachers and not others:
        raise GlossaError(
            "No teacher is given. Give the folder of a run, a Hub name, --teacher_command or --teacher_url."
        )
    if arguments.teacher_url:
        server_of(arguments, ("", ""))
    if not others:
        return
    if not arguments.text and (not arguments.data_path or find_run(arguments)):
        raise GlossaError(f"--{others[0]} has no training pairs. Give texts with --text, or files of --data_path.")
    several = ("num_return_sequences", "closest") if arguments.teacher_model else ()
    if refused := [name for name in FOR_MODELS if name in changed(arguments) and name not in several]:
        raise GlossaError(f"--{refused[0]} is for trained models; --{others[0]} gives one translation of a text.")


def settings(arguments: DistillOptions) -> dict:
    """The options that determine the pairs of a job."""
    ignored = ("output", "workers", "ray", *WITHOUT_EFFECT)
    found = {name: value for name, value in vars(arguments).items() if name not in ignored}
    return found | {"prompt": prompt_of(arguments)}


def server_of(arguments: DistillOptions, languages: tuple[str, str]) -> "ServerTranslator":
    from ..translate.corpora.servers import ServerTranslator

    model, requests, samples = arguments.teacher_model, arguments.teacher_requests, arguments.num_return_sequences
    url, prompt = arguments.teacher_url or "", prompt_of(arguments)
    return ServerTranslator(url, languages, model, prompt, requests, samples, "--teacher_url")


def prompt_of(arguments: DistillOptions) -> str | None:
    """The text of --prompt, if it is given."""
    if arguments.prompt is None:
        return None
    try:
        return Path(arguments.prompt).read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise GlossaError(f"{arguments.prompt} cannot be read as text: {error}.") from error


def find_run(arguments: DistillOptions) -> str | None:
    """The run whose training pairs are translated: --data_path or the first teacher. None for files and texts."""
    from ..base.run_folder import RunFolder

    if arguments.data_path:
        first, *others = arguments.data_path
        return first if not others and RunFolder(first).recipe else None
    return None if arguments.text else next(iter(arguments.teachers), None)


def load_rows(arguments: DistillOptions) -> tuple[Rows, tuple[str, str]]:
    """The rows to translate, and their languages."""
    from ..base.languages import normalized_code
    from ..base.run_folder import RunFolder
    from ..train.data.arguments import CHECKS, DataArguments
    from ..train.data.pairs import load_pairs, prepare_pairs
    from ..train.data.streaming.streams import is_stream

    run = find_run(arguments)
    first = run or next(iter(arguments.teachers), None)
    own = Languages.of(first).pair if first else (None, None)
    given = (arguments.source_language, arguments.target_language)
    source, target = (normalized_code(name) if name else code for name, code in zip(given, own, strict=True))
    if source is None or target is None:
        raise GlossaError(
            f"The languages of {first or 'the program'} are unknown. Give --source_language and --target_language."
        )
    common: dict = {"dataset": "files", "source_language": source, "target_language": target, "trust_data": CHECKS}
    if arguments.text:
        from ..train.data.texts import prepare_texts

        column = arguments.text_column
        data: dict = {"data_path": arguments.text, "source_column": column, "target_column": column}
        texts, _ = prepare_texts(DataArguments(**common, **data, validation_size=0, test_size=0))
        # The direction of the teachers decides which side a text is.
        return [(text, text) for text in texts["train"]["text"][:]], (source, target)
    recipe = RunFolder(first).recipe if first else {}
    if run is None:
        columns = {name: getattr(arguments, name) or recipe.get(name) for name in COLUMNS}
        pairs = load_pairs(DataArguments(**common, data_path=arguments.data_path, **columns))
    else:
        if not recipe:
            raise GlossaError(f"{first} has no record of its training pairs. Give --data_path.")
        if None not in own and (source, target) != own:
            raise GlossaError(
                f"{first} was trained on pairs from {own[0]} to {own[1]}, not from {source} to {target}. Name a "
                "teacher of that direction first, or give --data_path."
            )
        settings = DataArguments.of_run(recipe)
        if is_stream(settings):
            raise GlossaError(f"{first} was trained on a stream. Give --data_path.")
        prepared = prepare_pairs(settings)[0]
        check_record(RunFolder(first), prepared)
        pairs = prepared["train"]
        if "language" in pairs.column_names:
            raise GlossaError(f"{first} was trained on pairs of several target languages. Give --data_path.")
    return list(zip(pairs["source"][:], pairs["target"][:], strict=True)), (source, target)


def check_record(run: "RunFolder", prepared: "DatasetDict") -> None:
    """Raise `GlossaError` if the data of a run have changed since it was trained.

    With other data, other pairs are held out, and pairs of its test set could be translated.
    """
    from ..readers.hub import SPLITS
    from ..train.data.pairs import fingerprints

    changed = run.changed_data(fingerprints(prepared))
    if changed is None:
        raise GlossaError(f"{run.path} has no record of which pairs were held out. Give its pairs with --data_path.")
    found = []
    for split in (name for name in changed if name in SPLITS):  # replayed and watched pairs are not translated
        found.append(f"{split} has {len(prepared[split]) if split in prepared else 0:,} pairs")
        if run.held_out_file(split).is_file():
            found[-1] += f", and had {len(run.load_held_out(split)):,}"
    if not found:
        return
    raise GlossaError(
        f"The data of {run.path} have changed since training ({'; '.join(found)}; or texts or order differ). "
        "Its held-out pairs could be translated. Restore the data, or give training pairs with --data_path."
    )


def groups_of(arguments: DistillOptions, languages: tuple[str, str]) -> list[list[str]]:
    """The models of each teacher. Raises `GlossaError` if a teacher has other languages than the pairs."""
    from ..translate.corpora.distillation import is_reverse

    if other := arguments.teacher_command or arguments.teacher_url:
        return [[other]]
    groups = [arguments.teachers] if arguments.ensemble else [[name] for name in arguments.teachers]
    if len({is_reverse(group, languages) for group in groups}) > 1 and arguments.text:
        raise GlossaError("--text needs teachers of one direction: they translate the same text.")
    return groups


def settle_engines(arguments: DistillOptions, groups: list[list[str]], languages: tuple[str, str], rows: Rows) -> None:
    """Export the teachers once, before several processes load them, and compare their first translations."""
    from ..translate.build import settle_engine
    from ..translate.corpora.distillation import is_reverse
    from ..translate.languages import Wanted

    trained = arguments.teachers and arguments.engine == "auto" and not arguments.sample
    for group in groups if trained else ():
        side = is_reverse(group, languages)
        wanted = Wanted(*(languages if side else languages[::-1]))
        settle_engine(group, "auto", wanted, (str(row[side]) for row in rows))


def writer(arguments: DistillOptions, groups: list[list[str]], languages: tuple[str, str]) -> "Work":
    """The function with which a process writes the pairs of a chunk."""
    from ..translate.corpora.distillation import chunk_writer, command_teacher, load_teacher, server_teacher

    if command := arguments.teacher_command:
        teacher = command_teacher(command, arguments.teacher_seconds, languages)
        return chunk_writer(lambda _: teacher, closest=False, tag="")
    if arguments.teacher_url:
        teacher = server_teacher(server_of(arguments, languages))
        return chunk_writer(lambda _: teacher, arguments.closest, tag="")
    names = ("engine", "num_beams", "num_return_sequences", "sample", "batch_tokens")
    options = {name: getattr(arguments, name) for name in names}
    return chunk_writer(
        lambda number: load_teacher(groups[number], languages, **options), arguments.closest, arguments.tag
    )


def held_out(arguments: DistillOptions, languages: tuple[str, str]) -> list[str]:
    """The options of `glossa train` for the held-out pairs of the run whose training pairs were translated.

    A translation may equal a held-out sentence, so pairs with held-out sentences are excluded from training.
    """
    from ..base.run_folder import RunFolder

    run = find_run(arguments)
    files = {split: RunFolder(run).held_out_file(split) for split in ("validation", "test")} if run else {}
    kept = {split: str(file) for split, file in files.items() if file.is_file()}
    found = ["--source_language", languages[0], "--target_language", languages[1]]
    found += [word for split, file in kept.items() for word in (f"--{split}_path", file)]
    return [*found, "--filters.exclude", *kept.values()] if kept else found
