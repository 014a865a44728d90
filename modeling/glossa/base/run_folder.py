"""The files of a run. Only this module knows their names."""

import json
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from filelock import FileLock, Timeout

from .checkpoints import CHECKPOINT_STATE, RESTORE, checkpoint_step, find_damage, read_file
from .errors import GlossaError
from .jobs.whole_files import write_whole
from .paths import masked

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

LIBRARIES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "evaluate", "sacrebleu")
RECIPE, VERSIONS, DATA_REPORT = "recipe.yaml", "versions.json", "data_report.json"
STAGES, PLAN, STATE, REVERSE = "stages", "plan.yaml", "stages.json", "reverse"
METRICS, HISTORY, SAMPLES = "metrics.json", "history.json", "samples.json"
SAMPLES_TABLE, CURVES, BLENDS, HELD_OUT = "samples.md", "curves.png", "blends.png", "held_out"
# Files published with the model. The recipe is not, since it has local paths.
PUBLISHED = (METRICS, HISTORY, VERSIONS, SAMPLES_TABLE, CURVES, BLENDS)
ADAPTER_WEIGHTS = "lora.safetensors"  # next to the merged weights of a checkpoint
ADAPTER = "adapter"  # a folder in PEFT's format
ADAPTER_CONFIG = "adapter_config.json"  # in a folder of PEFT's
LOCK = ".lock"
SIDES = ("source", "target")


class RunFolder:
    """The folder of a run. A file that does not exist is read as empty.

    Args:
        path: The run's `output_dir`. It need not exist.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    # -- before training --------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other runs until the block or this process ends.

        Raises `GlossaError` if another run uses the folder, or if it cannot be written.
        """
        lock, file = FileLock(self.path / LOCK), self.path / LOCK
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        had_lock = file.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout as error:
            raise GlossaError(
                f"Another run is training in {self.path}. Wait for it to end, or give another --output_dir."
            ) from error
        except OSError as error:
            raise GlossaError(
                f"output_dir is {self.path}, which cannot be written: {error.strerror}. Give a folder of your own."
            ) from error
        try:
            yield
        finally:
            if not had_lock and [path.name for path in self.path.glob("*")] == [LOCK]:
                # The start failed and wrote nothing. Earlier files are kept.
                file.unlink()
                for path in made:
                    try:
                        path.rmdir()
                    except OSError:
                        break
            lock.release()

    def write_setup(self, recipe: dict, report: dict, pairs: "DatasetDict") -> None:
        """Write all settings, the library versions, the data report and the held-out splits of `pairs`."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / METRICS).unlink(missing_ok=True)  # metrics mark a run as finished, and this one continues
        # Other users may read the folder, and recipes are shared.
        text = yaml.safe_dump(without_secrets(recipe), allow_unicode=True)
        if (plan := self.stages / PLAN).is_file():  # a recipe that repeats all stages is of more use
            write_whole(self.stages / RECIPE, text)
            text = plan.read_text(encoding="utf-8")
        write_whole(self.path / RECIPE, text)
        versions = {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
        self._write_json(VERSIONS, versions)
        # A path such as data/pairs looks like a repository on the Hub, so record now whether it is a local folder.
        local = [name for name in ("dataset", "init_from") if recipe.get(name) and Path(recipe[name]).exists()]
        self._write_json(DATA_REPORT, without_secrets(report | ({"local": local} if local else {})))
        for split in ("validation", "test"):
            if split in pairs:
                lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in pairs[split])
                self.held_out_file(split).parent.mkdir(exist_ok=True)
                write_whole(self.held_out_file(split), "".join(f"{line}\n" for line in lines))

    @property
    def recipe(self) -> dict:
        """All settings of the run, by name; of a run in stages those of its last training."""
        file = self.stages / RECIPE
        if not file.is_file():
            file = self.path / RECIPE
        return read_file(file, yaml.safe_load, dict) if file.is_file() else {}

    @property
    def stages(self) -> Path:
        """The folder of the earlier stages of a run."""
        return self.path / STAGES

    @property
    def is_stage(self) -> bool:
        """Whether this is an earlier stage of another run."""
        return self.path.parent.name == STAGES and (self.path.parent / STATE).is_file()

    def stage(self, number: int, name: str) -> Path:
        """The folder of a training that is a stage; `number` counts from 1."""
        return self.stages / f"{number}-{name}"

    def stage_pairs(self, number: int, name: str, part: str = "") -> Path:
        """The path of the pairs that a stage makes, or a part of them."""
        return self.stages / f"{number}-{name}{part}.jsonl"

    @property
    def reverse(self) -> Path:
        """The folder of the model of both directions as a translator of the opposite one."""
        return self.path / REVERSE

    @property
    def state(self) -> Path:
        """The path of the state of the stages."""
        return self.stages / STATE

    def write_plan(self, values: dict) -> None:
        """Write the given settings of a run in stages, which repeat all of them."""
        self.stages.mkdir(parents=True, exist_ok=True)
        write_whole(self.stages / PLAN, yaml.safe_dump(without_secrets(values), allow_unicode=True))

    @property
    def versions(self) -> dict[str, str]:
        """Versions of Python and the libraries."""
        return self._read_json(VERSIONS, {})

    @property
    def data_report(self) -> dict:
        """The data report, with `local`: the settings that name a local folder rather than a Hub repository."""
        return self._read_json(DATA_REPORT, {})

    def changed_data(self, current: dict[str, str]) -> list[str] | None:
        """The splits whose fingerprints differ from those of the run; None if the run has no fingerprints."""
        saved = self.data_report.get("fingerprints")
        if saved is None:
            return None
        return [split for split in {**saved, **current} if saved.get(split) != current.get(split)]

    def write_data_report(self, report: dict) -> None:
        """Replace the counts of the data report with the final counts."""
        self._write_json(DATA_REPORT, without_secrets(self.data_report | report))

    def held_out_file(self, split: str) -> Path:
        """The path of the `validation` or `test` pairs: JSON Lines with `source` and `target`.

        Rows also have `language` or `file` if the run has several of them.
        """
        return self.path / HELD_OUT / f"{split}.jsonl"

    def replayed_file(self, key: str) -> Path:
        """The path of texts that the start translated for replay, as pairs; `key` tells other texts apart."""
        return self.path / f"replayed-{key[:8]}.jsonl"

    def load_held_out(self, split: str, language: str | None = None) -> "Dataset":
        """Load the held-out pairs of `split`; with several target languages only the pairs of `language`.

        With several files, the column `file` has the name of each pair's file. Raises `GlossaError` if the run has no
        such pairs.
        """
        from datasets import Dataset  # slow to import, and translation commands read recipes too

        file = self.held_out_file(split)
        if not file.is_file():
            raise GlossaError(f"{self.path} has no {split} pairs ({file} is missing). Give pairs with --data_path.")
        rows = read_file(file, lambda text: [json.loads(line) for line in text.split("\n") if line], list)
        if not all(isinstance(row, dict) and all(isinstance(row.get(s), str) for s in SIDES) for row in rows):
            raise GlossaError(f"{file} is damaged: a line has no source and target. {RESTORE}")
        own = [row for row in rows if language is None or row.get("language", language) == language]
        if not own:
            into = "" if language is None else f" into {language}"
            raise GlossaError(f"{self.path} has no {split} pairs{into}. Give pairs with --data_path.")
        names = [*SIDES, *(["file"] if all(isinstance(row.get("file"), str) for row in own) else [])]
        return Dataset.from_list([{name: row[name] for name in names} for row in own])

    # -- during training --------------------------------------------------------------------------------------------

    def checkpoints(self, whole: bool = False) -> list[Path]:
        """Checkpoint folders, oldest first; with `whole` only complete ones."""
        found = (path for path in self.path.glob("checkpoint-*") if not whole or (path / CHECKPOINT_STATE).is_file())
        return sorted(found, key=checkpoint_step)

    def remove_unusable_checkpoints(self, start: Path) -> dict[Path, str]:
        """Remove incomplete checkpoints, and damaged ones after `start`, from which the run continues.

        Returns the problem of each removed checkpoint.
        """
        found = {path: "is incomplete" for path in self.checkpoints()}
        found = {path: reason for path, reason in found.items() if not (path / CHECKPOINT_STATE).is_file()}
        if start in (whole := self.checkpoints(whole=True)):
            later = whole[whole.index(start) + 1 :]
            found |= {path: f"is damaged ({damage})" for path in later if (damage := find_damage(path))}
        for path in found:
            shutil.rmtree(path)
        return found

    def is_complete(self) -> bool:
        """Whether the run has finished and its model is present."""
        files = [self.path / name for name in ("config.json", "tokenizer_config.json")]
        weights = any(self.path.glob("*.safetensors"))
        return bool(self.metrics) and weights and all(file.is_file() for file in files)

    def holds_work(self) -> bool:
        """Whether the folder has weights or checkpoints of a run."""
        return any(self.path.glob("*.safetensors")) or any(self.checkpoints())

    # -- after training ---------------------------------------------------------------------------------------------

    def write_history(self, history: list[dict]) -> None:
        """Write the training log, the entries of the Trainer's log."""
        self._write_json(HISTORY, history)

    @property
    def history(self) -> list[dict]:
        """The training log; empty until the run is finished."""
        history = self._read_json(HISTORY, [])
        if not all(isinstance(entry, dict) and _are_numbers(entry) for entry in history):
            raise GlossaError(f"{self.path / HISTORY} is damaged: an entry has values that are not numbers. {RESTORE}")
        return history

    @property
    def curves(self) -> Path:
        """The path of the plot of loss and validation BLEU."""
        return self.path / CURVES

    @property
    def blends(self) -> Path:
        """The path of the plot of own and general quality by the share of the tuned weights."""
        return self.path / BLENDS

    def write_metrics(self, metrics: dict) -> None:
        """Write the metrics of the run."""
        self._write_json(METRICS, metrics)

    @property
    def metrics(self) -> dict:
        """The metrics of the run: scores, times and sizes."""
        return self._read_json(METRICS, {})

    def write_samples(self, rows: list[dict[str, Any]]) -> None:
        """Write source, reference and translations of some pairs, as JSON and as a Markdown table."""
        self._write_json(SAMPLES, rows)
        lines = [list(rows[0]), ["---"] * len(rows[0])]
        lines += [[table_cell(str(value)) for value in row.values()] for row in rows]
        table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        write_whole(self.path / SAMPLES_TABLE, table)

    @property
    def samples(self) -> list[dict[str, Any]]:
        """Rows with `source`, `reference` and one translation per decoding method.

        If the rows were chosen from all held-out pairs, `chrf` is the chrF++ of the last translation.
        """
        return self._read_json(SAMPLES, [])

    def published(self, samples: bool = True) -> list[Path]:
        """The files pushed to the Hub with the model; without `samples` no file with sentences of the data."""
        names = [name for name in PUBLISHED if samples or name != SAMPLES_TABLE]
        return [self.path / name for name in names if (self.path / name).is_file()]

    def _write_json(self, name: str, value: Any) -> None:
        write_whole(self.path / name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def _read_json(self, name: str, missing: Any) -> Any:
        file = self.path / name
        return read_file(file, json.loads, type(missing)) if file.is_file() else missing


def _are_numbers(entry: dict) -> bool:
    """Whether the step and scores of a log entry are numbers."""
    scores = [value for name, value in entry.items() if "loss" in name or "bleu" in name or "chrf" in name]
    return all(isinstance(value, int | float) for value in (entry.get("step", 0), *scores))


def without_secrets(value: Any) -> Any:
    """`value` with the users, passwords and keys of all URLs masked."""
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return masked(value) if isinstance(value, str) else value


def table_cell(text: str) -> str:
    """Escape `text` for a cell of a Markdown table: one line, without Markdown or HTML markup."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))
