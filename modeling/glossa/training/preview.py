"""A preview of the training: the number of parameters, pairs as the model reads them, and what is augmented."""

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.encoding.augmented import AugmentedRows
from ..data.encoding.vocabulary import readable_tokens, target_vocabulary
from ..segments_glossa import SENTINELS

EXAMPLE = 60  # characters of each side
PAIRS = 2
TOKENS = 30  # of each side
NAMES = {ord(sentinel): f"<ph{number}>" for number, sentinel in enumerate(SENTINELS, 1)}  # which fonts lack


def preview(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch: dict[str, torch.Tensor]) -> str:
    """The number of parameters, and the first pairs of `batch` (`input_ids` [B, S], `labels` [B, T]) as tokens."""
    embeddings = {
        weight
        for part in (model.get_encoder(), model.get_decoder())
        for weight in part.get_input_embeddings().parameters()
    }
    embeddings.update(model.get_output_embeddings().parameters())
    count = sum(weight.numel() for weight in embeddings)
    lines = [f"Parameters: {model.num_parameters():,}, of these {count:,} in token embeddings and output layer"]
    padding = {tokenizer.pad_token_id, -100}
    sides = (("source", tokenizer.backend_tokenizer, "input_ids"), ("target", target_vocabulary(tokenizer), "labels"))
    for row in range(min(PAIRS, len(batch["labels"]))):
        for name, vocabulary, column in sides:
            ids = [index for index in batch[column][row].tolist() if index not in padding]
            more = " ..." if len(ids) > TOKENS else ""
            lines.append(f"{name:>10}: {' | '.join(readable_tokens(vocabulary, ids[:TOKENS]))}{more}")
    return "\n".join(lines)


def augmentation_preview(rows: AugmentedRows) -> str:
    """The rows of this epoch that are augmented, by kind, each with an example."""
    changed = f"{sum(rows.counts.values()):,} of {len(rows):,} pairs"
    lines = [f"Augmented in a pass: {changed}, in {rows.seconds:.1f} seconds"]
    for kind, count in rows.counts.most_common():
        shown = " -> ".join(
            (text if len(text) <= EXAMPLE else f"{text[:EXAMPLE]}...").translate(NAMES)
            for text in rows.examples[kind][1]
        )
        lines.append(f"{kind:>14} {count:>9,}: {shown}")
    return "\n".join(lines)
