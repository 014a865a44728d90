"""Learning from corrected translations: which, with what, and whether the new model may take the old one's place.

The corrections are mixed with a random sample of the pairs that the model was trained on, so that it does not forget
them. The new model is accepted unless it translates the held-out pairs of the old one worse, by paired bootstrap.
"""

import json
import logging
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from datasets import Dataset

from ..base.errors import GlossaError
from ..base.jobs.whole_files import write_whole
from ..base.metrics import bleu_tokenizer, paired_bootstrap
from ..base.run_folder import RunFolder
from ..readers.corrections import read_corrections, refusal
from ..translate.build import build_translator
from ..translate.languages import Languages
from ..translate.options import Checks
from .data.arguments import DataArguments
from .data.filters import gathered
from .data.mixture import SETTINGS
from .evaluation.scoring import comparison_table, decoding_name

logger = logging.getLogger(__name__)

FILE, RECIPE = "corrections.jsonl", "corrections.yaml"  # in the folder of the new run
SHOWN = 5  # examples of each kind
# Twenty old pairs for each correction, but no fewer than two thousand; each correction is seen four times in an epoch.
OLD, LEAST, WEIGHT = 20, 2000, 4
SCHEDULE: dict[str, Any] = {
    "learning_rate": 1e-4, "muon_learning_rate": None, "warmup_steps": 0.1, "num_train_epochs": 3,
    "batch_tokens": 1024, "gradient_accumulation_steps": 1, "eval_strategy": "epoch", "save_strategy": "epoch",
}  # fmt: skip
WORSE = 0.05  # p-value below which a lower score is no chance
# Of the old run's recipe, besides its data.
KEPT = ("source_language", "target_language", "bleu_tokenizer", "num_beams", "length_penalty")
LEFT = ("validation_path", "test_path", "validation_size", "test_size", "sampling_temperature", "watch")  # of its data


@dataclass
class Selection:
    """The corrections in a file: those to learn as rows of `source`, `output`, `correction`, and why others are not.

    `refused` has the number of the line and the reason; `other` counts those of other languages.
    """

    rows: list[dict[str, str]]
    refused: list[tuple[int, str]]
    other: int = 0

    def __str__(self) -> str:
        lines = [f"{len(self.rows)} corrections are learned, {len(self.refused)} are refused."]
        for reason, count in Counter(reason for _, reason in self.refused).most_common():
            numbers = [str(number) for number, other in self.refused if other == reason][:SHOWN]
            more = ", ..." if count > SHOWN else ""
            lines.append(f"  {count} (line {', '.join(numbers)}{more}): {reason}")
        if self.other:
            lines.append(f"  {self.other} of other languages are left out.")
        return "\n".join(lines)


def select(file: str | Path, run: RunFolder, languages: tuple[str | None, str | None]) -> Selection:
    """The corrections in a server's file that teach the model of `run` something.

    Raises `GlossaError` if the file cannot be read, or nothing is left.
    """
    path = Path(file)
    if not path.is_file():
        raise GlossaError(f"--corrections {path}: there is no such file. `glossa serve --corrections` writes one.")
    rows, problems = read_corrections(path)
    found = Selection([], list(problems.items()))
    held_out = {
        row["source"]
        for split in ("validation", "test")
        if run.held_out_file(split).is_file()
        for row in run.load_held_out(split)
    }
    known = set()
    for number, row in rows.items():
        if any(
            row.get(name) and own and row[name] != own for name, own in zip(("from", "to"), languages, strict=True)
        ):
            found.other += 1
            continue
        reason = refusal(row["source"], row.get("output"), row["correction"])
        if row["source"] in held_out:
            reason = "The text is held out to measure the model."
        elif (row["source"], row["correction"]) in known:
            reason = "The correction is there already."
        if reason:
            found.refused.append((number, reason))
            continue
        known.add((row["source"], row["correction"]))
        found.rows.append({name: row.get(name) or "" for name in ("source", "output", "correction")})
    if not found.rows:
        raise GlossaError(f"--corrections {path}: no correction is left to learn.\n{found}")
    return found


def prepare(start: str, file: str, output_dir: str) -> tuple[Selection, Path]:
    """Write the corrections to learn and the recipe of the run that learns them into `output_dir`; the recipe's path.

    Args:
        start: The folder of the run whose model is corrected.
        file: What `glossa serve --corrections` has written.
        output_dir: The folder of the new run.

    Raises:
        GlossaError: as [`select`], and if `start` is no finished run of two languages that keeps held-out pairs.
    """
    run, spoken = RunFolder(start), Languages.of(start)
    if not run.recipe or not run.held_out_file("validation").is_file():
        raise GlossaError(
            f"--init_from {start} is not the folder of a run that keeps its recipe and held-out pairs, which show "
            "whether a corrected model is worse. Write a recipe with two sources instead."
        )
    if spoken.tagged:
        raise GlossaError(f"--init_from {start} has several target languages; --corrections is for models of one.")
    if RunFolder(output_dir).holds_work():
        raise GlossaError(f"output_dir {output_dir} already holds a run. Give another folder.")
    selection = select(file, run, spoken.pair)
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in selection.rows))
    recipe = recipe_of(run, start, folder / FILE, len(selection.rows))
    write_whole(folder / RECIPE, yaml.safe_dump(recipe, allow_unicode=True, sort_keys=False))
    return selection, folder / RECIPE


def recipe_of(run: RunFolder, start: str, corrections: Path, count: int) -> dict[str, Any]:
    """The recipe that trains the model of `run` further on corrections and on pairs that it knows."""
    old, plain = gathered(run.recipe), DataArguments()
    names = [entry.name for entry in fields(DataArguments) if entry.name not in LEFT]
    given = {name: old[name] for name in names if name in old and old[name] != getattr(plain, name)}
    before = given.pop("sources", None)
    if not before:  # what describes the only source must not describe the corrections
        own = {name: given.pop(name) for name in (*SETTINGS, "filters") if name in given and "language" not in name}
        before = [{"name": "before", "dataset": old.get("dataset", plain.dataset)} | own]
    before = _replayed(before, run, max(OLD * count, LEAST))
    learned = {"name": "corrections", "data_path": [str(corrections)], "source_column": "source",
               "target_column": "correction", "weight": WEIGHT}  # fmt: skip
    splits = {f"{split}_path": [str(run.held_out_file(split))] for split in ("validation", "test")
              if run.held_out_file(split).is_file()}  # fmt: skip
    kept = {name: old[name] for name in KEPT if name in old}
    return {"init_from": start, "sources": [*before, learned]} | splits | given | kept | SCHEDULE


def _replayed(sources: list[dict], run: RunFolder, most: int) -> list[dict]:
    """The sources of `run` with weights that draw about `most` of their pairs in an epoch, as many of each source."""
    counts = list(run.data_report.get("sources", {}).values())
    pairs = [found.get("train", 0) for found in counts] if len(counts) == len(sources) else [0] * len(sources)
    if not all(pairs):
        logger.warning(
            "The data report of %s does not say how many pairs each source has, so all its pairs are replayed. Lower "
            "weights of its sources in %s replay fewer.", run.path, RECIPE,
        )  # fmt: skip
        return sources
    shares = [most / len(sources) / count for count in pairs]
    return [entry | {"weight": round(min(entry.get("weight", 1.0), share), 6) or 1e-6}
            for entry, share in zip(sources, shares, strict=True)]  # fmt: skip


def compare(start: str, new: str | Path, corrections: list[dict[str, str]]) -> bool:
    """Print what the new model has learned and what else has changed; whether it may take the old one's place.

    Both models translate the corrected texts and the held-out pairs of `start` with their own search.
    """
    run = RunFolder(start)
    split = "test" if run.held_out_file("test").is_file() else "validation"
    pairs: Dataset = run.load_held_out(split)
    sources = list(pairs["source"])
    both = [build_translator([str(name)], "auto", checks=Checks(on_error="blank")) for name in (start, new)]
    learned = [translator.best([row["source"] for row in corrections]) for translator in both]
    held_out = [translator.best(sources) for translator in both]
    wanted = [row["correction"] for row in corrections]
    right = [sum(text == other for text, other in zip(texts, wanted, strict=True)) for texts in learned]
    print(f"\nCorrections translated as corrected: {right[0]} of {len(wanted)} before, {right[1]} now.")
    differ = [row for row, (old, now) in enumerate(zip(*held_out, strict=True)) if old != now]
    print(f"Held-out pairs ({split}): {len(differ)} of {len(sources)} translations are others now.")
    for row in differ[:SHOWN]:
        print(f"  {sources[row]}\n    before: {held_out[0][row]}\n    now:    {held_out[1][row]}")
    recipe = run.recipe
    tokenize = bleu_tokenizer(recipe.get("target_language") or "", recipe.get("bleu_tokenizer", "auto"))
    tests = paired_bootstrap(held_out[0], held_out[1], [[text] for text in pairs["target"]], tokenize=tokenize)
    print(comparison_table({decoding_name(both[1].search.beams): tests}))
    bleu = tests["bleu"]
    return not (bleu["system"] < bleu["baseline"] and bleu["p_value"] < WORSE)
