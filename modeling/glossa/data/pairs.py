"""From data settings to clean, split pairs."""

from datasets import Dataset, DatasetDict

from .arguments import DataArguments
from .cleaning import DataReport, clean
from .sources import SPLITS, load_source
from .splitting import check_overlap, split_by_component


def prepare_pairs(arguments: DataArguments) -> tuple[DatasetDict, DataReport]:
    """Pairs (columns `source`, `target`) in "train", "validation" and "test", and the report of how they came about.

    Predefined splits are kept; a split the data lacks is held out of training by connected components, unless its
    size is 0. Raises `GlossaError` for whatever is wrong with the settings or the data.
    """
    dataset, report = clean(load_source(arguments), arguments)
    lacking = {
        f"{name}_size": 0 if name in dataset else getattr(arguments, f"{name}_size") for name in ("validation", "test")
    }
    if any(lacking.values()):
        dataset |= split_by_component(dataset["train"], **lacking, seed=arguments.split_seed)
    for name in ("validation", "test"):
        limit = getattr(arguments, f"max_{name}_samples")
        if name in dataset and limit is not None:
            dataset[name] = dataset[name].select(range(min(limit, len(dataset[name]))))
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
    """The clean pairs that `arguments` describe, undivided."""
    dataset, _ = clean(load_source(arguments), arguments)
    return dataset["train"]
