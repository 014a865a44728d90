"""Data settings to clean, split sentence pairs."""

from dataclasses import replace

from datasets import Dataset, DatasetDict

from .arguments import DataArguments
from .cleaning import DataReport, clean
from .sources import SPLITS, load_source
from .splitting import check_overlap, sample_rows, split_by_component


def prepare_pairs(arguments: DataArguments) -> tuple[DatasetDict, DataReport]:
    """Pairs (columns `source`, `target`) in "train", "validation" and "test", and a report of the preparation.

    Predefined splits are kept. Missing splits are held out of the training pairs by connected components, unless their
    size is 0. `max_validation_samples` and `max_test_samples` draw pairs with `split_seed`. Raises `GlossaError` if
    the settings or the data are invalid.
    """
    dataset, report = clean(load_source(arguments), arguments)
    missing = {
        f"{name}_size": 0 if name in dataset else getattr(arguments, f"{name}_size") for name in ("validation", "test")
    }
    if any(size != 0 for size in missing.values()):
        dataset |= split_by_component(dataset["train"], **missing, seed=arguments.split_seed)
    for name in ("validation", "test"):
        if name in dataset:
            limit = getattr(arguments, f"max_{name}_samples")
            dataset[name] = sample_rows(dataset[name], limit, arguments.split_seed)
    dataset = DatasetDict({name: dataset[name] for name in SPLITS if name in dataset})
    report.sizes = {name: len(part) for name, part in dataset.items()}
    report.overlap = check_overlap(dataset)
    return dataset, report


def group_references(dataset: Dataset) -> list[tuple[str, list[str]]]:
    """Each source once, in order of first appearance, with all its targets in order."""
    references: dict[str, list[str]] = {}
    for source, target in zip(dataset["source"], dataset["target"], strict=True):
        references.setdefault(source, []).append(target)
    return list(references.items())


def load_pairs(arguments: DataArguments) -> Dataset:
    """The clean pairs that `arguments` describe, without held-out splits; implausible data give a warning only."""
    dataset, _ = clean(load_source(arguments), replace(arguments, trust_data=True))
    return dataset["train"]
