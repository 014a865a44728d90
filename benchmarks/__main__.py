"""How fast Glossa is beside others of equal size: `scripts/benchmark.py train|decode|pipeline|memory|growth`.

    train     real target tokens a second, padding, share of the machine's peak, memory: Glossa, transformers' MarianMT
              under the stock Seq2SeqTrainer, torch.nn.Transformer, and Glossa without its Trainer
    decode    sentences a second: generate, MarianMT's, a loop that recomputes its prefix, the exported engine
    pipeline  from raw text to batches, first and cached, beside what training takes; and how soon training begins
    memory    peak memory of training, each contender in a process of its own
    growth    time and peak memory of Glossa's training step against sentence length, vocabulary and batch, and of
              preparing a corpus against its rows; each size in a process of its own

Contenders take turns, in several rounds. A figure is the median of the rounds, a ratio the median of the ratios within
each round, with the lowest and the highest.
"""

import argparse
import json
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import datasets
import torch

from glossa import GlossaForConditionalGeneration
from glossa.cli import run
from glossa.errors import GlossaError
from glossa.inference.loading import load_model, load_tokenizer
from glossa.plots import draw_growth

from .contenders import NAMES, Field
from .corpus import load_corpus
from .decoding import (
    LENGTH,
    build_decoders,
    decoding_rows,
    measure_decoding,
    measure_test_set,
    profile_decoding,
)
from .growth import CURVES, UNITS, growth_rows, load_growth, measure_growth
from .memory import measure_memory, memory_rows
from .pipeline import measure_pipeline, measure_start, pipeline_rows
from .profile import MATRICES, profile_rows, time_by_kind
from .sizes import SIZES, glossa_config
from .timing import machine, matmul_peak, peak_memory, table
from .training import measure_training, training_rows


def parse(argv: list[str]) -> argparse.Namespace:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--size", choices=SIZES, default="tiny", help="default: tiny")
    common.add_argument("--architecture", choices=("published", "modern"), default="published",
                        help="of Glossa: that of the others, of 2017 (default), or its own")  # fmt: skip
    common.add_argument("--bf16", action="store_true", help="train in mixed precision")
    common.add_argument("--steps", type=int, default=8, help="training steps in a turn (default: 8)")
    common.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    common.add_argument("--output", metavar="FILE.json", help="write all figures here too")
    contest = argparse.ArgumentParser(add_help=False, parents=[common])
    contest.add_argument("--data", metavar="FOLDER", help="of Multi30K or Anki (default: the embedded corpus)")
    contest.add_argument("--language", default="fr", help="to translate into, from English (default: fr)")
    contest.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    profiled = argparse.ArgumentParser(add_help=False)
    profiled.add_argument("--profile", action="store_true", help="where Glossa's time goes, instead of a comparison")
    for name, parents in (("train", [contest, profiled]), ("memory", [contest])):
        command = commands.add_parser(name, parents=parents)
        command.add_argument("--contenders", nargs="+", choices=NAMES, default=list(NAMES), help="default: all")
    commands.choices["train"].add_argument(
        "--memory_rounds", type=int, default=1, help="of the column on memory; 0 leaves it out (default: 1)"
    )
    command = commands.add_parser("decode", parents=[contest, profiled])
    command.add_argument("--model", metavar="RUN", help="a trained model (default: an untrained one of --size)")
    command.add_argument("--length", type=int, help=f"of every translation (default: {LENGTH} if untrained)")
    command.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="default: 1 5")
    command.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="sentences (default: 1 64)")
    command.add_argument("--sentences", type=int, default=1000, help="of the test set, at most (default: 1000)")
    commands.add_parser("pipeline", parents=[contest])
    command = commands.add_parser("growth", parents=[common])
    command.add_argument("--rounds", type=int, default=1, help="processes for each size (default: 1)")
    command.add_argument("--curves", nargs="*", choices=CURVES, default=list(CURVES), help="default: all")
    for curve, sizes in CURVES.items():
        meaning = f"{UNITS[curve]} (default: {' '.join(map(str, sizes))})"
        command.add_argument(f"--{curve}", type=int, nargs="+", default=sizes, metavar="N", help=meaning)
    command.add_argument("--earlier", metavar="FILE.json", nargs="+", default=[],
                         help="reports by --output, of curves to show too")  # fmt: skip
    command.add_argument("--picture", metavar="FILE.png", help="draw the curves here (.png, .svg or .pdf)")
    command.set_defaults(data="made for the purpose")
    return parser.parse_args(argv)


def build_field(arguments: argparse.Namespace) -> Field:
    corpus = load_corpus(arguments.data, arguments.language)
    return Field(corpus.tokenised["train"], corpus.tokenizer, arguments.size, arguments.architecture, arguments.bf16)


def alone(arguments: argparse.Namespace) -> dict:
    """What a contender in a process of its own must know."""
    return {name: getattr(arguments, name) for name in ("data", "language", "size", "architecture", "bf16", "threads")}


def memory(arguments: argparse.Namespace, rounds: int) -> dict:
    return measure_memory(arguments.contenders, rounds, alone(arguments) | {"steps": arguments.steps})


def train(arguments: argparse.Namespace) -> dict:
    if arguments.profile:
        return profile_training(arguments)
    result = measure_training(arguments.contenders, arguments.rounds, arguments.steps, alone(arguments))
    if arguments.memory_rounds:
        for name, found in memory(arguments, arguments.memory_rounds).items():
            result["contenders"][name] |= {key: found[key] for key in ("memory", "memory_ratio")}
    print(table(training_rows(result)))
    peak = {name: f"{value / 1e9:,.0f}" for name, value in result["peak"].items()}
    precision = "bfloat16" if arguments.bf16 else "float32"
    print(f"\nPeak: {peak['median']} [{peak['low']}, {peak['high']}] GFLOP/s of matrix multiplication in {precision}")
    return result


def profile_training(arguments: argparse.Namespace) -> dict:
    contender = build_field(arguments).build("Glossa, bare loop")
    contender.train(arguments.steps)
    work, found = time_by_kind(partial(contender.train, arguments.steps))
    peak = matmul_peak(torch.bfloat16 if arguments.bf16 else torch.float32)
    print(table(profile_rows(found)))
    print(f"\n{work.flops / work.seconds / peak:.1%} of the peak in all, ", end="")
    print(f"{work.flops / found[MATRICES] / peak:.1%} while matrices are multiplied")
    return found


def decode(arguments: argparse.Namespace) -> dict:
    corpus = load_corpus(arguments.data, arguments.language)
    if arguments.model:
        model, tokenizer = load_model(arguments.model), load_tokenizer(arguments.model)
        if not isinstance(model, GlossaForConditionalGeneration):
            raise GlossaError(f"{arguments.model} is a {type(model).__name__}. Give a Glossa model.")
    else:
        tokenizer = corpus.tokenizer
        torch.manual_seed(1)
        model = GlossaForConditionalGeneration(glossa_config(arguments.size, tokenizer, arguments.architecture))
        arguments.length = arguments.length or LENGTH
    sentences = list(corpus.pairs["test"]["source"])[: arguments.sentences]
    results, rows = {}, []
    with ExitStack() as files:
        decoders = build_decoders(model, tokenizer, arguments.length, files)
        sources = tokenizer(sentences)["input_ids"]
        for beams in arguments.beams:
            for batch in arguments.batches:
                name = f"{'greedy' if beams == 1 else f'beam {beams}'}, batch {batch}"
                if arguments.profile:
                    results[name] = profile_decoding(decoders, sources, beams, batch)
                    print(f"{name}\n\n{table(profile_rows(results[name]))}\n")
                    continue
                results[name] = measure_decoding(decoders, sources, beams, batch, arguments.rounds)
                rows += decoding_rows(name, results[name])
        if arguments.profile:
            return results
        name = f"greedy, {len(sentences)} sentences"
        results[name] = measure_test_set(decoders, sentences, arguments.rounds)
        rows += decoding_rows(name, results[name])
    print(table(rows))
    how = f"{decoders.forced} tokens" if decoders.forced else "as long as the model makes them"
    print(f"\n{model.num_parameters():,} parameters; translations: {how}")
    return results


def pipeline(arguments: argparse.Namespace) -> dict:
    result = measure_pipeline(
        build_field(arguments), arguments.data, arguments.language, arguments.rounds, arguments.steps
    )
    script = Path(__file__).parents[1] / "scripts/train.py"
    result["start"] = measure_start(script, arguments.data, arguments.language, arguments.rounds)
    print(table(pipeline_rows(result)))
    tokens, start = result["training"]["tokens"]["median"], result["start"]
    print(f"\nTraining takes {tokens:,.0f} target tokens/s, size {arguments.size}")
    print(f"scripts/train.py, cached data: first step after {start['median']:.1f} s ", end="")
    print(f"[{start['low']:.1f}, {start['high']:.1f}]")
    return result


def growth(arguments: argparse.Namespace) -> dict:
    options = {name: getattr(arguments, name) for name in ("size", "architecture", "bf16", "threads", "steps")}
    curves = load_growth(arguments.earlier, options)
    if not arguments.curves and not curves:
        raise GlossaError(f"--curves is empty, and so is --earlier. Give one of {', '.join(CURVES)}, or a report.")
    ranges = {curve: getattr(arguments, curve) for curve in arguments.curves}
    curves |= measure_growth(ranges, arguments.rounds, options)
    curves = {curve: curves[curve] for curve in CURVES if curve in curves}
    print(table(growth_rows(curves)))
    return curves


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    for name in ("rounds", "steps", "threads"):
        if getattr(arguments, name) < 1:
            raise GlossaError(f"--{name} is {getattr(arguments, name)}; it must be at least 1.")
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # of the engine, and of processes that are started
    datasets.disable_progress_bars()
    commands = {"train": train, "decode": decode, "pipeline": pipeline, "growth": growth}
    commands["memory"] = lambda arguments: memory(arguments, arguments.rounds)
    before = machine()
    result = commands[arguments.command](arguments)
    if arguments.command == "memory":
        print(table(memory_rows(result)))
    print(f"\n{arguments.data or 'embedded corpus'}, {arguments.size}, {arguments.rounds} rounds; ", end="")
    print(
        f"{before['processor']}, {before['threads']} threads, load average {before['load_average']:.1f} before; ",
        end="",
    )
    print(f"this process held {peak_memory() / 2**20:,.0f} MiB at most")
    if arguments.output:
        report = {"options": vars(arguments), "machine": before, "results": result}
        Path(arguments.output).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if arguments.command == "growth" and arguments.picture:
        draw_growth(result, UNITS, Path(arguments.picture))


if __name__ == "__main__":
    run(main)
