"""Look at the data of a recipe without training: `glossa data RECIPE [--setting value ...]`.

Reads, cleans, filters and splits the pairs as `glossa train` does, with the same settings, and prints how many rows
each step dropped from each source, with examples. `--html FILE` also writes a page with lengths and more examples.
The cleaned data stay in the cache, so that training on them starts immediately. `--help all` shows all settings for
data.
"""

import sys
from pathlib import Path

from ..base.errors import GlossaError
from ..train.plan import catalog
from .train import check, print_help, wants_help

# In the order of processing: what is read, what is held out, what is dropped.
COMMON = (
    "data_path", "dataset", "sources", "source_language", "target_language", "source_column", "target_column",
    "max_train_samples", "validation_path", "test_path", "validation_size", "test_size", "keep_overlap", "trust_data",
    "repair_text", "split_sentences", "keep_out", "filters",
)  # fmt: skip
EXAMPLES = 5


def main(argv: list[str]) -> None:
    if wants_help(argv):
        own = (name for name, setting in catalog.settings().items() if setting.group == "data")
        print_help(own if "all" in argv else COMMON, __doc__)
        sys.exit(0)
    given = catalog.parse(argv, {"html": ()})
    with given.placed():
        check(given)
        show(given)


def show(given: catalog.Given) -> None:
    """Prepare the data, print a report, and write the page of --html."""
    from ..train.data.cleaning.report_page import report_page
    from ..train.data.pairs import prepare_pairs
    from ..train.plan.arguments import parse_settings

    settings = parse_settings(given)
    if settings.translator.objective != "translation":
        raise GlossaError(
            f"objective is {settings.translator.objective}; glossa data shows pairs. Leave objective out to see the "
            "pairs of the recipe."
        )
    pairs, report = prepare_pairs(settings.data)
    train = pairs["train"]
    if report.stream:
        print(f"A random sample of {report.stream['sample']:,} of {report.stream['rows']:,} training rows:\n")
    print(report.text())
    print("\nkept, for example:")
    for row in train.select(range(0, len(train), max(1, -(-len(train) // EXAMPLES)))):
        print(f"  {row['source']} | {row['target']}")
    sizes = ", ".join(f"{size:,} {split}" for split, size in report.sizes.items())
    print(f"\nPairs: {sizes}. After tokenization, training also drops those over max_length and filters.length_ratio.")
    if page := given.options.get("html"):
        title = f"Data of {given.recipe}" if given.recipe else "Data"
        Path(page).write_text(report_page(title, report, train), encoding="utf-8")
        print(f"Written: {page}")
