"""What a run leaves beside its model: recipe, versions, metrics, curves, samples, held-out pairs."""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import yaml
from datasets import DatasetDict

from ..data.cleaning import DataReport
from ..data.pairs import held_out_file
from .arguments import Settings

LIBRARIES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "evaluate", "sacrebleu")


def write_setup(run: Path, settings: Settings, pairs: DatasetDict, report: DataReport) -> None:
    """What is known before training: `recipe.yaml`, `versions.json`, `data_report.json`, and the held-out pairs."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "recipe.yaml").write_text(yaml.safe_dump(settings.recipe(), allow_unicode=True), encoding="utf-8")
    write_json(run / "versions.json", {"python": platform.python_version()} | {n: version(n) for n in LIBRARIES})
    write_json(run / "data_report.json", report.to_dict())
    for split in ("validation", "test"):
        if split in pairs:
            pairs[split].to_json(held_out_file(run, split), force_ascii=False)


def write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_samples(run: Path, rows: list[dict[str, str]]) -> None:
    """`samples.md`: a table of source, reference, greedy and beam translation."""
    columns = list(rows[0])
    lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = (row[column].replace("|", "\\|") for column in columns)
        lines.append(f"| {' | '.join(cells)} |")
    (run / "samples.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
