"""The report of the data preparation as a self-contained HTML page."""

from html import escape

import numpy
from datasets import Dataset

from ....base.html_page import html_page, html_table
from .report import DataReport

BARS = 25
BARS_STYLE = """
.bars { display: flex; align-items: flex-end; height: 9em; gap: 1px } .bars div { flex: 1; background: #47a }"""


def report_page(title: str, report: DataReport, pairs: Dataset) -> str:
    """The counts, the lengths of the training pairs (columns `source`, `target`) and examples."""
    lengths = {side: numpy.array([len(text) for text in pairs[side]]) for side in ("source", "target")}
    ratios = lengths["target"] / lengths["source"]
    examples = "".join(
        f"<h3>{escape(reason.replace('_', ' '))}</h3>{_examples(found)}"
        for reason, found in report.examples_by_reason().items()
    )
    sample = pairs.select(numpy.linspace(0, len(pairs) - 1, min(10, len(pairs)), dtype=int))
    kept = [[row["source"], row["target"]] for row in sample]
    body = (
        f"{html_table(*report.table())}\n<h2>Lengths of the training pairs</h2>\n"
        + "".join(_histogram(f"Characters, {side}", values) for side, values in lengths.items())
        + _histogram("Characters of the target for each of the source", ratios)
        + f"\n<h2>Pairs that were kept</h2>\n{html_table(['source', 'target'], kept, 'text')}"
        f"\n<h2>Rows that were dropped or changed</h2>\n{examples or '<p>None.</p>'}"
    )
    return html_page(title, body, BARS_STYLE)


def _examples(rows: list[dict]) -> str:
    cells = ([row["file"], str(row["line"]), row["excerpt"]] for row in rows)
    return html_table(["file", "line", "text"], cells, "text")


def _histogram(title: str, values: numpy.ndarray) -> str:
    """A histogram from the minimum to the 99th percentile; the last bar includes all greater values."""
    low, high = float(values.min()), float(numpy.percentile(values, 99))
    counts, edges = numpy.histogram(values.clip(max=high), BARS, (low, max(high, low + 1e-6)))
    bars = "".join(
        f'<div style="height:{100 * count / counts.max():.1f}%" title="from {start:.4g}: {count:,}"></div>'
        for count, start in zip(counts.tolist(), edges.tolist(), strict=False)
    )
    middle = float(numpy.median(values))
    facts = f"{low:.4g} to {float(values.max()):.4g}, median {middle:.4g}, 99% at most {high:.4g}"
    return f'<h3>{escape(title)}</h3><div class="bars">{bars}</div><p>{facts}</p>\n'
