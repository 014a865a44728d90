"""Training on a stream: batches come from windows of Parquet files, and checkpoints save the stream position."""

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from torch.utils.data import DataLoader

from ..base.checkpoints import stream_file
from .data.cleaning.report import DataReport
from .data.streaming.streams import Stream
from .data.streaming.windows import StreamBatches, Windows
from .trainer import GlossaTrainer

logger = logging.getLogger(__name__)


class StreamTrainer(GlossaTrainer):
    """A `GlossaTrainer` with training rows from a stream; `train_dataset` is a sample of them.

    The number of batches in an epoch is that of a pass over the stream, estimated from this sample.
    """

    def __init__(self, *args, stream: Stream, **kwargs):
        super().__init__(*args, **kwargs)
        training: Any = self.args
        steps = max(round(len(self.batch_sampler) / stream.sampled / self.batch_sampler.batches_a_step), 1)
        windows = Windows(
            stream,
            self.processing_class,  # type: ignore[arg-type]
            self.batch_sampler.batch_tokens,
            training.gradient_accumulation_steps,
            training.order_seed,
            self.augmented.augmentation if self.augmented is not None else None,
        )
        self.stream = StreamBatches(
            windows,
            steps * self.batch_sampler.batches_a_step,
            training.process_index,
            training.world_size,
            training.dataloader_num_workers,
        )

    def set_epoch(self, epoch: int) -> None:
        """Do nothing: the stream keeps its own position."""

    def get_train_dataloader(self) -> DataLoader:
        """The batches of the stream; Accelerate distributes them over the processes."""
        return self.accelerator.prepare(DataLoader(self.stream, collate_fn=self._collate))

    def _collate(self, batches: list[list[dict]]) -> dict[str, Any]:
        return self.data_collator(batches[0])

    def padding(self) -> float:
        """Fraction of padding in the windows read so far."""
        return self.stream.padding()

    def _save_rng_state(self, output_dir: str) -> None:
        """Also save the stream position of each process."""
        given = self.state.global_step * self.args.gradient_accumulation_steps
        place = stream_file(Path(output_dir), self.args.process_index)
        place.write_text(json.dumps(self.stream.state(given)), encoding="utf-8")
        super()._save_rng_state(output_dir)

    def load_place(self, checkpoint: Path) -> None:
        """Restore the stream position and counts of `checkpoint`."""
        place = stream_file(checkpoint, self.args.process_index)
        self.stream.load_state(json.loads(place.read_text(encoding="utf-8")))

    def count_rows(self, report: DataReport) -> None:
        """Write the counts of all rows read by all processes to `report`. All processes must call this."""
        found = gather_object([{name: dict(counts) for name, counts in self.stream.counts.items()}])
        total: dict[str, Counter] = {}
        for counts in found:
            for name, own in counts.items():
                total.setdefault(name, Counter()).update(own)
        report.splits["train"] = {}
        for name, own in total.items():
            weight = report.sources.pop(name)["weight"]
            report.add_counts("train", name, dict(own))
            report.sources[name]["weight"] = weight
        logger.info("read from the stream: %s", report.splits["train"])
