"""Splitting of evaluation batches into pieces with a limited number of tokens, so that long rows fit into memory."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch.nn.functional import pad

TOKENS = 1024  # per side of a piece, padding included; the logits of a vocabulary of 32,000 take 128 MiB


def split_batch(batch: dict[str, torch.Tensor], padding: int, tokens: int) -> Iterator[dict[str, torch.Tensor]]:
    """Split `batch` (sources [B, S]; optional `labels` and decoder inputs [B, T]) into runs of rows without padding.

    A piece has at most `tokens` tokens on either side, padding included, but at least one row. `padding` is the
    padding id of the sources.
    """
    sides = {"input_ids": padding, "labels": -100}
    lengths = [
        (batch[name] != blank).flip(-1).float().cumsum(-1).gt(0).sum(-1).tolist()
        for name, blank in sides.items()
        if name in batch
    ]
    longest = [max(row) for row in zip(*lengths, strict=True)]
    apart = "decoder_input_ids" in batch or "labels" not in batch  # otherwise there is a label per source token
    start = 0
    while start < len(longest):
        end, widest = start + 1, longest[start]
        while end < len(longest) and max(widest, longest[end]) * (end + 1 - start) <= tokens:
            widest, end = max(widest, longest[end]), end + 1
        source, target = (max(*length[start:end], 1) for length in (lengths[0], lengths[-1]))
        if not apart:
            source = target = max(source, target)
        parts = {
            name: values[start:end, : target if name == "labels" or name.startswith("decoder_") else source]
            for name, values in batch.items()
        }
        yield {name: part.contiguous() for name, part in parts.items()}  # other families need contiguous labels
        start = end


@torch.no_grad()
def loss_sums(model: Callable, batches: Iterable[dict[str, torch.Tensor]]) -> torch.Tensor:
    """Sums [3] over all target tokens of `batches`, float64 on the CPU: loss (nats), correct predictions, tokens."""
    sums = torch.zeros(3, dtype=torch.float64)
    for batch in batches:
        outputs = model(**batch)
        real = batch["labels"] != -100
        tokens = real.sum()
        right = ((outputs.logits.argmax(-1) == batch["labels"]) & real).sum()
        loss = torch.where(tokens > 0, outputs.loss * tokens, 0.0)  # a batch of only repeated rows has no tokens
        sums += torch.stack([loss, right, tokens]).double().cpu()
    return sums


def join_batches(parts: list[torch.Tensor], padding: int) -> torch.Tensor:
    """Concatenate the translations [B, T] of the pieces of a batch, padded to the same length."""
    longest = max(part.shape[1] for part in parts)
    return torch.cat([pad(part, (0, longest - part.shape[1]), value=padding) for part in parts])


def decoder_start(batch: dict[str, torch.Tensor]) -> dict[str, list[int]]:
    """The first decoder token of each row, if the batch has decoder inputs; `generate` would prepend its default."""
    given = batch.get("decoder_input_ids")
    return {} if given is None else {"decoder_start_token_id": given[:, 0].tolist()}
