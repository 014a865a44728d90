"""Compare the precisions of the stored weights by translating with the exported graphs."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from ...base.errors import require
from ...base.metrics import bleu_tokenizer, score
from ...model.batches_glossa import max_target_length
from ...translate.interface import Engine, Search, Translation
from ...translate.translator import Translator
from .graphs import PRECISIONS, Weights, dequantized, quantized
from .parts import Exported

PAIRS = 500  # number of test pairs to translate
# For `auto`: the share of translations that must be identical to those in float32, and the BLEU that may be lost.
MIN_IDENTICAL, MAX_LOST = 0.98, 0.2


@dataclass(frozen=True)
class Row:
    """A precision: bytes before compression, scores, and the share of translations that equal those in float32."""

    precision: str
    size: int
    identical: float
    bleu: float
    chrf: float


class GraphEngine(Engine):
    """Greedy search with the two graphs of [`take_weights`] in ONNX Runtime."""

    num_beams = 1

    def __init__(self, parts: Exported, weights: Weights, folder: Path, decode: Any):
        runtime = require("onnxruntime", "engine")
        for name, value in weights.items():
            value.tofile(folder / name)
        for graph in ("encoder.onnx", "decoder.onnx"):
            (folder / graph).write_bytes((parts.graphs / graph).read_bytes())
        self.encoder = runtime.InferenceSession(folder / "encoder.onnx")
        self.decoder = runtime.InferenceSession(folder / "decoder.onnx")
        self.model, self.decode = parts.model, decode
        for name, value in parts.model["text"].items():
            if value is not None:
                setattr(self, name, frozenset(value) if name == "abbreviations" else value)

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        """Translate greedily. Ignores the settings in `search`."""
        settings, longest = self.model["search"], max(map(len, sources))
        ids = numpy.full((len(sources), longest), settings["padding"], dtype=numpy.int64)
        mask = numpy.zeros_like(ids)
        for row, source in enumerate(sources):
            ids[row, : len(source)], mask[row, : len(source)] = source, 1
        (read,) = self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})
        limits = numpy.array([max_target_length(len(source), self.model["limits"]["target"]) for source in sources])
        written, running = read[..., :0, :], numpy.ones(len(sources), dtype=bool)
        tokens = numpy.full((len(sources), 1), settings["start"], dtype=numpy.int64)
        while running.any():
            inputs = {"input_ids": tokens[:, -1:], "attention_mask": mask, "source": read, "target": written}
            written, best = self.decoder.run(["new_target", "tokens"], inputs | {"count": numpy.array([1])})
            tokens = numpy.concatenate((tokens, numpy.where(running[:, None], best, settings["padding"])), axis=1)
            running &= ~numpy.isin(tokens[:, -1], settings["ends"]) & (tokens.shape[1] <= limits)
        return [Translation(text) for text in self.decode(tokens.tolist(), skip_special_tokens=True)]


def compare(parts: Exported, tokenizer: Any, pairs: Sequence[tuple[str, str]], language: str) -> list[Row]:
    """Measure each precision, float32 first.

    Args:
        parts: The parts of the model.
        tokenizer: Its tokenizer.
        pairs: Sources and references, of which the first `PAIRS` are translated.
        language: The target language.
    """
    sources, references = zip(*pairs[:PAIRS], strict=True)
    tagged = tokenizer.into(language) if parts.model["tagged"] else tokenizer
    rows: list[Row] = []
    reference: list[str] = []
    for precision in PRECISIONS:
        saved = quantized(parts.weights, precision)
        with tempfile.TemporaryDirectory(prefix="glossa-web-") as folder:
            engine = GraphEngine(parts, dequantized(saved), Path(folder), tagged.batch_decode)
            found = Translator(engine, tagged).best(sources)
        reference = reference or found
        scores = score(
            found, [[one] for one in references], tokenize=bleu_tokenizer(language), metrics=("bleu", "chrf")
        )
        same = sum(map(str.__eq__, found, reference)) / len(found)
        size = sum(value.nbytes for value in saved.values())
        rows.append(Row(precision, size, same, scores["bleu"]["score"], scores["chrf"]["score"]))
    return rows


def smallest(rows: Sequence[Row]) -> str:
    """The smallest precision within `MIN_IDENTICAL` and `MAX_LOST`."""
    first = rows[0]
    allowed = [row for row in rows if row.identical >= MIN_IDENTICAL and first.bleu - row.bleu <= MAX_LOST]
    return min(allowed, key=lambda row: row.size).precision


def table(rows: Sequence[Row]) -> list[str]:
    """The rows as lines of a table."""
    lines = ["weights   megabytes  identical   BLEU  chrF++"]
    for row in rows:
        size, share = row.size / 1e6, 100 * row.identical
        lines.append(f"{row.precision:8} {size:10.1f} {share:9.1f}% {row.bleu:6.1f} {row.chrf:7.1f}")
    return lines
