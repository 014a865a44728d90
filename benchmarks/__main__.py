"""Benchmarks and studies of Glossa: `python -m benchmarks NAME [--option value ...]`."""

import argparse
import sys
from importlib import import_module

# The name of each benchmark, its module in this folder, and what it measures.
BENCHMARKS = {
    "train": ("training", "training speed and share of the peak, compared with MarianMT and torch.nn.Transformer"),
    "memory": ("memory", "peak memory of training, each contender in its own process"),
    "decode": ("decoding", "translation speed, also of MarianMT, a loop without a cache, and the exported engine"),
    "pipeline": ("pipeline", "speed from raw text to batches, first and cached, and the time to the first step"),
    "growth": ("growth", "time and memory against sentence length, vocabulary, batch size and corpus size"),
    "load": ("load", "training speed next to busy programs, by number of threads and as a run chooses it"),
    "engine": ("engine", "CTranslate2 and transformers on a run's test sentences: equality, BLEU, seconds, size"),
    "serving": ("serving", "throughput and latency of `glossa serve` with many clients, and of its engine alone"),
    "start": ("start", "seconds and CPU-seconds of `glossa translate` from a cold start, by engine"),
    "shards": ("shards", "files of many lines with several processes and killed jobs: time, and equal output"),
    "sentences": ("sentences", "paragraphs in eight languages split right, compared with sentencex and pysbd"),
    "alignment": (
        "alignment",
        "alignment error rates on hand-aligned sentences: FastAlign, and attention of runs",
    ),
    "confidence": ("confidence", "calibration of the confidence of runs, and how well it finds bad translations"),
    "placement": ("placement", "tags of a hundred sentences put where a person put them, by the attention of runs"),
    "placeholders": ("placeholders", "placeholders that runs keep, in sentences of their test sets, and BLEU"),
    "long_text": ("long_text", "BLEU of long sentences, whole and cut at clauses, by the length that is kept whole"),
    "abbreviations": ("abbreviations", "writes the word lists of sentence splitting from CLDR and a list of ours"),
    "steps": ("steps", "quality and time with random batches and with batches of similar lengths"),
    "devices": ("devices", "speed, memory and balance of training with several processes"),
    "cost": ("cost", "a model of time and price of the runs of Vaswani et al. 2017 on one GPU, 8 and 32"),
    "defects": ("defects", "what the defects of a published tutorial system cost in BLEU"),
    "reproduce": ("reproduce", "the tables of docs/results.md, from recipes; finished runs are not repeated"),
    "errors": ("errors", "where a run's translations go wrong: by length, rare words, tu and vous, and the worst"),
    "seeds": ("seeds", "runs of several seeds: each alone, their ensemble, and the average of their weights"),
    "race": ("race", "time to a given BLEU on Multi30k, compared with MarianMT under Seq2SeqTrainer, and JoeyNMT"),
    "pieces": ("pieces", "how vocabularies write a language: pieces a character, and pieces that are no characters"),
    "preparation": ("preparation", "CPU time and memory of reading, cleaning, filtering and splitting pairs"),
    "prepare": ("prepare", "glossa prepare by processes, on Ray, and killed: time, memory, and equal files"),
    "token_ids": (
        "token_ids",
        "what the token ids of a prepared folder save a run before its first step, and a stream",
    ),
    "same": ("same", "whether glossa prepare keeps, counts and holds out what training does"),
    "large": ("large", "a model of time and price of preparing and translating corpora of a billion pairs"),
    "streams": ("streams", "CPU time, memory and padding of training rows that are read as a stream"),
    "noise": ("noise", "precision and recall of the filters on noise put into Multi30k, and what it costs in BLEU"),
    "gpu": ("gpu.command", "everything that is to be known about a GPU, in eight minutes; --device cpu rehearses it"),
    "queue": ("trainings", "the trainings that a table still lacks, as many side by side as cores and memory allow"),
    "corrections": ("corrections", "what a run learns from corrections of one kind, tu to vous, and what it forgets"),
    "terms": ("terms", "what a glossary does to a run's translations: terms used, BLEU, terms that do not fit, time"),
    "pretraining": ("pretraining", "what pretraining on texts is worth where pairs are few"),
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
    arguments, rest = parser.parse_known_args(argv[1:])
    if "settings" in arguments:  # this benchmark trains from a recipe and takes the settings of `glossa train`
        arguments.settings = rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    module.run(arguments)


if __name__ == "__main__":
    choose(sys.argv[1:])  # before the libraries are imported, so that `--help` answers at once
    from glossa_command import limit_waiting

    limit_waiting()  # as the command does, before torch is imported
    from glossa.cli import run

    run(main)
