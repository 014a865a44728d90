"""Benchmarks and studies of Glossa: `python -m benchmarks NAME [--option value ...]`."""

import argparse
import sys
from importlib import import_module

# The name of each benchmark, its module in this folder, and what it measures.
BENCHMARKS = {
    "train": ("training", "speed, memory and share of the peak of training, with MarianMT"),
    "decode": ("decoding", "translation speed and latency, also of MarianMT"),
    "load": ("load", "training speed next to busy programs, by number of threads and as a run chooses it"),
    "engine": ("engine", "CTranslate2 and transformers on a run's test sentences: equality, BLEU, seconds, size"),
    "serving": ("serving", "throughput and latency of `glossa serve` with many clients, and of its engine alone"),
    "web": ("web", "an exported page in Chromium: files, start, speed, typing"),
    "numbers": ("numbers", "changed numbers in references: those that are missed, and true ones that are accused"),
    "fidelity": (
        "fidelity",
        "numbers, addresses and placeholders in translations: kept, moved, changed",
    ),
    "start": ("start", "seconds and CPU-seconds of `glossa translate` from a cold start, by engine"),
    "documents": ("documents", "seconds that documents take without the model, and how they grow with their size"),
    "updates": ("updates", "the history of a repository's texts, followed by `glossa translate --update`"),
    "checks": ("checks", "`glossa check` and pofilter on faults of known kinds in a catalog: found, and false alarms"),
    "memory": (
        "memory",
        "a translation memory: time to build and to search it, size, share of the best matches found",
    ),
    "prepare": ("prepare", "glossa prepare by processes, and on Ray: time, memory, and equal files"),
    "reproduce": ("reproduce", "the tables of docs/results.md, from recipes; finished runs are not repeated"),
    "tuning": ("tuning", "what fine-tuning gives: with all weights, with LoRA, alone, and MarianMT by hand"),
    "verdict": ("verdict", "what a short run can become, by the number of pairs and passes"),
    "curves": ("curves", "how well the end of a training is forecast from its beginning"),
    "stages": ("stages", "what trainings in stages give in the same hours as plain training"),
    "repair": ("repair", "what a translation memory gives a model that reads it, by the score of the match"),
    "terms": ("terms", "what a glossary does: terms in place, or with the model's own word, BLEU, time"),
    "day": ("day", "a day of a translator whose corrections enter the memory, or are trained"),
    "student": ("student", "a student of a published translator, made by `glossa distill --teacher_command`"),
    "queue": ("trainings", "the trainings that a table still lacks, as many side by side as cores and memory allow"),
    "race": ("race", "time to a given BLEU on Multi30k, compared with MarianMT under Seq2SeqTrainer"),
    "gpu": ("gpu.command", "everything that is to be known about a GPU, in eight minutes; --device cpu rehearses it"),
}


def choose(argv: list[str]) -> str:
    """The name of the benchmark on the command line. `--help` and an unknown name end the program here."""
    names = "\n".join(f"  {name:12} {meaning}" for name, (_, meaning) in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="%(prog)s NAME [--option value ...]",
        description=__doc__,
        epilog=f"benchmarks:\n{names}\n\n`python -m benchmarks NAME --help` lists the options of one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", choices=BENCHMARKS, help="one of the benchmarks below")
    return parser.parse_args(argv[:1]).name


def main(argv: list[str]) -> None:
    name = choose(argv)
    module = import_module(f"benchmarks.{BENCHMARKS[name][0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name)
    module.add_arguments(parser)
    module.run(parser.parse_args(argv[1:]))


if __name__ == "__main__":
    choose(sys.argv[1:])  # before the libraries are imported, so that `--help` answers at once
    from glossa_command import set_environment

    set_environment()  # as the command does, before torch is imported
    from glossa.cli import run

    run(main)
