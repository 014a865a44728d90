"""Held-out sentences with their translations, for inspection."""

from collections.abc import Iterable

from sacrebleu.metrics import CHRF
from tqdm.auto import tqdm

from .scoring import NORMALIZED

SAMPLES = 10
EXTREMES = 3  # best and worst translations among the samples
SHOWN = 300  # characters of a text in the log


def choose_samples(results: dict[str, dict]) -> list[dict]:
    """Print some rows of the split; returns them together with the best and the worst rows, each with its `chrf`."""
    whole = {name: result for name, result in results.items() if "file" not in result}
    decodings = {name: result["translations"] for name, result in whole.items() if not name.endswith(NORMALIZED)}
    first, *_ = whole.values()
    *_, last = decodings.values()
    metric = CHRF(word_order=2)
    scores = [
        metric.sentence_score(translation, targets[:1]).score
        for translation, targets in zip(last, first["references"], strict=True)
    ]
    rows = [
        {"source": source, "reference": targets[0]} | {name: texts[row] for name, texts in decodings.items()}
        for row, (source, targets) in enumerate(zip(first["sources"], first["references"], strict=True))
    ]
    shown = spread(len(rows), SAMPLES)
    print_samples(rows[row] for row in shown)
    ranked = sorted(range(len(rows)), key=scores.__getitem__)
    chosen = sorted({*shown, *ranked[:EXTREMES], *ranked[-EXTREMES:]})
    return [rows[row] | {"chrf": round(scores[row], 2)} for row in chosen]


def spread(rows: int, samples: int) -> range:
    """Indices of at most `samples` evenly spaced rows."""
    return range(0, rows, max(rows // max(samples, 1), 1))[:samples]


def print_samples(rows: Iterable[dict[str, str]]) -> None:
    """Print each text of each row on a line. Long texts are truncated, since an untrained model repeats words."""
    for row in rows:
        lines = [f"{name:>10}: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" for name, text in row.items()]
        tqdm.write("\n".join(lines), end="\n\n")  # above a progress bar
