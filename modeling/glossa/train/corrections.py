"""Fine-tuning on corrected translations: select corrections, write the recipe, and compare the models.

The corrections are mixed with a random sample of the model's training pairs to prevent forgetting. The new model is
accepted unless a paired bootstrap test shows that it translates the held-out pairs of the old model worse.
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
from ..translate.interface import Checks
from ..translate.languages import Languages
from .data.arguments import DataArguments
from .data.mixture import SETTINGS
from .evaluation.scoring import comparison_table, decoding_name

logger = logging.getLogger(__name__)

FILE, RECIPE = "corrections.jsonl", "corrections.yaml"  # in the folder of the new run
SHOWN = 5  # examples per kind
# Old pairs per correction and their minimum number in an epoch, and how often each correction is seen in it.
OLD, LEAST, WEIGHT = 20, 2000, 4
SCHEDULE: dict[str, Any] = {
    "learning_rate": 1e-4, "muon_learning_rate": None, "warmup_steps": 0.1, "num_train_epochs": 3,
    "batch_tokens": 1024, "gradient_accumulation_steps": 1, "eval_strategy": "epoch", "save_strategy": "epoch",
    "load_best_model_at_end": False,  # or corrections would be learned only while they change nothing else
}  # fmt: skip
WORSE = 0.05  # p-value below which a lower score is significant
# Settings copied from the recipe of the old run in addition to its data settings, and data settings not copied.
KEPT = ("source_language", "target_language", "bleu_tokenizer", "num_beams", "length_penalty")
LEFT = ("validation_size", "test_size", "sampling_temperature", "watch", "replay", "replay_size", "sources", "filters")


@dataclass
class Selection:
    """Corrections to learn, as rows of `source`, `output` and `correction`, and the corrections that were refused.

    `refused` has line numbers with reasons; `other` counts corrections of other languages.
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
    """Select the corrections in a server's file that are useful for the model of `run`.

    Raises `GlossaError` if the file cannot be read, or no correction is left.
    """
    path = Path(file)
    if not path.is_file():
        raise GlossaError(f"--corrections {path} does not exist. `glossa serve --corrections` writes such a file.")
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
            reason = "The correction is a duplicate."
        if reason:
            found.refused.append((number, reason))
            continue
        known.add((row["source"], row["correction"]))
        found.rows.append({name: row.get(name) or "" for name in ("source", "output", "correction")})
    if not found.rows:
        raise GlossaError(f"--corrections {path}: no correction is left to learn.\n{found}")
    return found


def prepare(start: str, file: str, output_dir: str) -> tuple[Selection, Path]:
    """Write the corrections to learn and a recipe to train on them into `output_dir`.

    Args:
        start: The folder of the run whose model is corrected.
        file: The file that `glossa serve --corrections` has written.
        output_dir: The folder of the new run.

    Returns:
        The selected corrections, and the path of the recipe.

    Raises:
        GlossaError: as in [`select`], and if `start` is not a run with one target language and held-out pairs.
    """
    run, spoken = RunFolder(start), Languages.of(start)
    if not run.recipe or not run.held_out_file("validation").is_file():
        raise GlossaError(
            f"--init_from {start} is not the folder of a run with its recipe and held-out pairs, which are needed to "
            "compare the corrected model. Write a recipe with two sources instead."
        )
    if spoken.tagged:
        raise GlossaError(f"--init_from {start} has several target languages; --corrections supports only one.")
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
    """The recipe that fine-tunes the model of `run` on corrections and on its earlier training pairs."""
    old, plain = run.recipe, DataArguments()
    names = {entry.name for entry in fields(DataArguments)} - {*LEFT, *SETTINGS}
    kept = {name: old[name] for name in names if name in old and old[name] != getattr(plain, name)}
    kept |= {name: old[name] for name in KEPT if name in old}
    learned = {"name": "corrections", "data_path": [str(corrections)], "source_column": "source",
               "target_column": "correction", "weight": WEIGHT}  # fmt: skip
    splits = {f"{split}_path": [str(run.held_out_file(split))] for split in ("validation", "test")
              if run.held_out_file(split).is_file()}  # fmt: skip
    replay = {"replay": [start], "replay_size": max(OLD * count, LEAST)}
    return {"init_from": start, "sources": [learned]} | splits | replay | kept | SCHEDULE


def compare(start: str, new: str | Path, corrections: list[dict[str, str]]) -> bool:
    """Print a comparison of the old and the new model; returns whether the new model is not significantly worse.

    Both models translate the corrected texts and the held-out pairs of `start` with their default search.
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
    print(f"Held-out pairs ({split}): {len(differ)} of {len(sources)} translations have changed.")
    for row in differ[:SHOWN]:
        print(f"  {sources[row]}\n    before: {held_out[0][row]}\n    now:    {held_out[1][row]}")
    recipe = run.recipe
    tokenize = bleu_tokenizer(recipe.get("target_language") or "", recipe.get("bleu_tokenizer", "auto"))
    tests = paired_bootstrap(held_out[0], held_out[1], [[text] for text in pairs["target"]], tokenize=tokenize)
    print(comparison_table({decoding_name(both[1].search.beams): tests}))
    bleu = tests["bleu"]
    return not (bleu["system"] < bleu["baseline"] and bleu["p_value"] < WORSE)
