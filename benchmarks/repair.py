"""What a translation memory gives a model that reads it: `python -m benchmarks repair --data FOLDER --languages de`.

Models of the size of the recipe multi30k-en-de, with changed copies of pairs (`augmentation: standard`), are trained
on LibreOffice's help, without and with `memory: true`. Pages decide what is held out, and no sentence of a test pair
is in training. All systems translate the test pairs: the model without a memory, the other one with the training
pairs as its memory, with none, and with the translation of a random training pair as its match. Their scores stand by
the score of the best training pair, next to the scores of this match itself, taken as the translation.

--data is a folder with en-LANGUAGE.tsv.gz: a page, a source and a target in each line, with tabs between. Finished
runs in --output_dir and finished rows are kept.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from glossa.base.matches import USED, memory_suffix
from glossa.base.metrics import bleu_tokenizer, paired_bootstrap, score
from glossa.base.pair import Pair
from glossa.base.run_folder import RunFolder
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.interface import Execution, Search
from glossa.translate.loading import load_tokenizer
from glossa.translate.memory.store import Match, Memory, Origin
from glossa.translate.texts.recall import Recall

from .reproduce import DOCS, add_result, read_commit, read_results, write_table
from .timing import machine, table
from .tuning import split

BINS = {"all": (0, 101), "under 50": (0, 50), "50 to 59": (50, 60), "60 to 69": (60, 70), "70 to 79": (70, 80)}
BINS |= {"80 to 89": (80, 90), "90 and more": (90, 101), "under 70": (0, 70), "70 and more": (70, 101)}
MATCH, WITHOUT, WITH, OFF, WRONG = "the match itself", "without", "with", "memory off", "random match"
SYSTEMS = (MATCH, WITHOUT, WITH, OFF, WRONG)
CHOSEN = (MATCH, WITHOUT, WITH)
BEST = "the best of these"  # for each sentence, which only its reference can tell
THRESHOLDS = (50, 60, 70, 80, 90)  # in use; in training it is `USED`
BEAMS = 4
SALT = "lo4:"  # of the hash that decides which pages are held out
RECIPE = ["multi30k-en-de", "--dataset", "files", "--augmentation", "standard", "--num_train_epochs", "14"]
RECIPE += ["--dropout", "0.1", "--max_length", "256", "--max_new_tokens", "120", "--num_beams", "4"]
RECIPE += ["--trust_data", "true", "--keep_overlap", "true", "--filters.length_ratio", "12"]
RECIPE += ["--report_to", "none", "--save_total_limit", "2"]


class Test(NamedTuple):
    """A test pair and the training pair with the most similar source."""

    source: str
    target: str
    match: Pair
    score: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="of the pairs; to train and to score")
    parser.add_argument("--languages", nargs="+", default=["de"], metavar="CODE", help="default: de")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/repair"), help="folder of the runs")
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )
    parser.add_argument("--write", metavar="PAGE", help="write the tables into this page; train nothing")


def run(arguments: argparse.Namespace) -> None:
    for language in arguments.languages if not arguments.write else ():
        for seed in arguments.seeds:
            place = {"table": "repair", "row": language, "seed": seed}
            if any(place.items() <= result.items() for result in read_results(arguments.results)):
                continue
            result = place | {"commit": read_commit(), **machine()} | {"metrics": compare(arguments, language, seed)}
            add_result(arguments.results, result, place)
    results = read_results(arguments.results)
    tables = {"repair": score_lines(results), "repair-edits": edit_lines(results), "repair-cost": cost_lines(results)}
    print(threshold_lines(results))
    for name, lines in tables.items():
        print(f"\n{lines}")
        if arguments.write:
            write_table(Path(arguments.write), name, lines)


def trained(arguments: argparse.Namespace, language: str, seed: int, memory: bool) -> Path:
    """The run of a model with or without a memory, which is trained if it is not there."""
    files = split(arguments.data / f"en-{language}.tsv.gz", arguments.output_dir / language, None, SALT)
    output = arguments.output_dir / f"{language}-{'with' if memory else 'without'}-{seed}"
    if not RunFolder(output).metrics:
        argv = [*RECIPE, "--target_language", language, "--seed", str(seed), "--output_dir", str(output)]
        for option, part in {"data": "train", "validation": "validation", "test": "test"}.items():
            argv += [f"--{option}_path", str(files[part])]
        argv += ["--resume_from_checkpoint", "true", *(["--memory", "true"] if memory else [])]
        train(parse_settings(argv))
    return output


def read_pairs(file: Path) -> list[Pair]:
    return [Pair(*line.split("\t")) for line in file.read_text(encoding="utf-8").splitlines()]


def compare(arguments: argparse.Namespace, language: str, seed: int) -> dict[str, Any]:
    """The scores of all systems by the score of the match, and the cost of both models."""
    runs = {name: trained(arguments, language, seed, name == WITH) for name in (WITHOUT, WITH)}
    folder = arguments.output_dir / language
    known, pairs = read_pairs(folder / "train.tsv"), read_pairs(folder / "test.tsv")
    sources = [pair.source for pair in pairs]
    with Memory.temporary(known) as memory:
        tests = [_tested(memory, pair) for pair in pairs]
        found, seconds = {MATCH: [test.match.target for test in tests]}, {}
        for name, recall in {
            WITHOUT: None,
            WITH: Recall([memory]),
            OFF: None,
            WRONG: Recall([Wrong(known, seed)]),
        }.items():
            started = time.process_time()
            found[name] = translations(runs[WITHOUT if name == WITHOUT else WITH], sources, recall)
            seconds[name] = time.process_time() - started
        thresholds = {str(low): translations(runs[WITH], sources, Recall([memory], low)) for low in THRESHOLDS}
    file = arguments.output_dir / f"{language}-{seed}.json"
    file.write_text(json.dumps({"tests": tests, "found": found}, ensure_ascii=False), encoding="utf-8")
    cost = {name: _cost(output) | {"cpu_seconds": seconds[name]} for name, output in runs.items()}
    tokenizer = load_tokenizer(str(runs[WITH]))
    near = [test for test in tests if test.score >= USED]
    texts = [test.source + own for test in near for own in ("", memory_suffix(test.source, test.match))]
    lengths = [len(ids) for ids in tokenizer(texts)["input_ids"]]
    cost[WITHOUT]["tokens"], cost[WITH]["tokens"] = (sum(lengths[side::2]) / len(near) for side in (0, 1))
    read = {low: _read_scores(texts, tests, language) for low, texts in thresholds.items()}
    return {"scores": by_bin(found, tests, language), "thresholds": read, "cost": cost}


def _tested(memory: Memory, pair: Pair) -> Test:
    best = memory.matches(pair.source, threshold=1)
    match = Pair(best[0].source, best[0].target) if best else Pair("", "")
    return Test(pair.source, pair.target, match, best[0].score if best else 0)


class Wrong:
    """A memory that finds a random pair for every text."""

    path = "random"

    def __init__(self, known: Sequence[Pair], seed: int):
        self.known, self.random = known, random.Random(seed)

    def exact(self, source: str, *context: str | None) -> None:
        return None

    def matches(self, source: str, threshold: int = USED, most: int = 1, other_than: str | None = None) -> list[Match]:
        pair = self.random.choice(self.known)
        return [Match(pair.source, pair.target, threshold, Origin("", "", "", 0))]


def translations(run: Path, sources: Sequence[str], recall: Recall | None = None) -> list[str]:
    """The translations of sentences by a run, with beams."""
    translator = build_translator(
        [str(run)], "auto", search=Search(BEAMS), execution=Execution(split_sentences=False)
    ).with_recall(recall)
    return translator.best(sources, progress=True)


def by_bin(found: dict[str, list[str]], tests: Sequence[Test], language: str) -> dict[str, dict]:
    """Of each bin of scores the number of pairs, and BLEU, chrF++ and TER of each system; of `WITH` also its p."""
    tokenize, scores = bleu_tokenizer(language), {}
    for name, (low, high) in BINS.items():
        rows = [row for row, test in enumerate(tests) if low <= test.score < high]
        references = [[tests[row].target] for row in rows]
        own: dict[str, Any] = {"pairs": len(rows)}
        for system, texts in found.items():
            some = [texts[row] for row in rows]
            own[system] = score(some, references, 0, tokenize) | score(some, references, 1000, tokenize, ["bleu"])
        given = [found[WITHOUT][row] for row in rows], [found[WITH][row] for row in rows]
        own["paired"] = paired_bootstrap(*given, references, tokenize=tokenize, metrics=["bleu"])
        own["edits"] = _edits(found, tests, rows)
        scores[name] = own
    return scores


def _read_scores(texts: list[str], tests: Sequence[Test], language: str) -> dict[str, float]:
    """The scores of translations of all pairs, and their edits as in [`_edits`]."""
    scores = score(texts, [[test.target] for test in tests], 0, bleu_tokenizer(language))
    typed = sum(Levenshtein.distance(text, test.target) for text, test in zip(texts, tests, strict=True))
    edits = 100 * typed / sum(len(test.target) for test in tests)
    return {name: one["score"] for name, one in scores.items()} | {"edits": edits}


def _edits(found: dict[str, list[str]], tests: Sequence[Test], rows: Sequence[int]) -> dict[str, float]:
    """The characters that turn translations into their references, in percent of these; and the share of all text."""
    typed = {name: [Levenshtein.distance(found[name][row], tests[row].target) for row in rows] for name in CHOSEN}
    typed[BEST] = list(map(min, zip(*typed.values(), strict=True)))
    characters = sum(len(tests[row].target) for row in rows)
    edits = {name: 100 * sum(each) / characters for name, each in typed.items()}
    return edits | {"text": 100 * characters / sum(len(test.target) for test in tests)}


def _cost(output: Path) -> dict[str, float]:
    """What training a run took."""
    metrics = RunFolder(output).metrics
    return {"steps": metrics["steps"], "seconds": metrics["training_seconds"], "parameters": metrics["parameters"]}


def _by_language(results: list[dict]) -> dict[str, list[dict[str, dict]]]:
    """The scores of all seeds of each language."""
    found: dict[str, list[dict[str, dict]]] = {}
    for result in results:
        if result["table"] == "repair":
            found.setdefault(result["row"], []).append(result["metrics"]["scores"])
    return found


def score_lines(results: list[dict]) -> str:
    """A table for each language: BLEU and TER of all systems by the score of the match, means over the seeds."""
    parts = []
    for language, own in _by_language(results).items():
        rows = []
        for name in BINS:
            cells = {"score of the match": name, "pairs": f"{own[0][name]['pairs']:,}"}
            cells |= {system: _cell([scores[name][system] for scores in own]) for system in SYSTEMS}
            worst = max(scores[name]["paired"]["bleu"]["p_value"] for scores in own)
            rows.append(cells | {"p": "< 0.001" if worst < 0.001 else f"{worst:.3f}"})
        seeds = "one seed" if len(own) == 1 else f"{len(own)} seeds"
        parts.append(f"English to {language}, {seeds}:\n\n{table(rows)}")
    return "\n\n".join(parts) or "No row is finished."


def _cell(own: Sequence[dict]) -> str:
    """The mean BLEU, chrF++ and TER, and the interval of BLEU: over the seeds, or of the only one."""
    bleu, chrf, ter = (sum(scores[name]["score"] for scores in own) / len(own) for name in ("bleu", "chrf", "ter"))
    values = [scores["bleu"]["score"] for scores in own]
    low, high = (min(values), max(values)) if len(own) > 1 else (own[0]["bleu"]["low"], own[0]["bleu"]["high"])
    return f"{bleu:.1f} [{low:.1f}, {high:.1f}] / {chrf:.1f} / {ter:.1f}"


def edit_lines(results: list[dict]) -> str:
    """A table for each language: the edits of what a translator could choose from, means over the seeds."""
    parts = []
    for language, own in _by_language(results).items():
        rows = []
        for name in ("all", "under 70", "70 and more", "90 and more"):
            means = {key: sum(one[name]["edits"][key] for one in own) / len(own) for key in ("text", *CHOSEN, BEST)}
            cells = {"score of the match": name, "of the text": f"{means.pop('text'):.1f}%"}
            rows.append(cells | {key: f"{mean:.1f}%" for key, mean in means.items()})
        parts.append(f"English to {language}:\n\n{table(rows)}")
    return "\n\n".join(parts) or "No row is finished."


def threshold_lines(results: list[dict]) -> str:
    """All pairs with matches from several scores on, means over the seeds."""
    rows = []
    for language in _by_language(results):
        own = [one["metrics"]["thresholds"] for one in results if one["table"] == "repair" and one["row"] == language]
        for low in map(str, THRESHOLDS):
            means = {name: sum(one[low][name] for one in own) / len(own) for name in own[0][low]}
            cells = {"language": language, "matches from": low} | {"BLEU": f"{means['bleu']:.1f}"}
            cells |= {
                "chrF++": f"{means['chrf']:.1f}",
                "TER": f"{means['ter']:.1f}",
                "edits": f"{means['edits']:.1f}%",
            }
            rows.append(cells)
    return table(rows) if rows else "No row is finished."


def cost_lines(results: list[dict]) -> str:
    """What training with a memory costs, of the first seed."""
    rows = []
    for result in results:
        if result["table"] == "repair" and result["seed"] == 1:
            for name, cost in result["metrics"]["cost"].items():
                place = {"language": result["row"], "memory": name}
                rows.append(
                    place
                    | {"steps": f"{cost['steps']:,}", "minutes": f"{cost['seconds'] / 60:.0f}"}
                    | {"parameters": f"{cost['parameters']:,}", "tokens read": f"{cost['tokens']:.1f}"}
                    | {"CPU-seconds of translation": f"{cost['cpu_seconds']:.0f}", "commit": result["commit"]}
                )
    return table(rows) if rows else "No row is finished."
