"""Conversion of word links of training pairs to token links, and their collation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from datasets import Dataset, Features, List, Value

from ....base import word_links
from ....base.caching import cached_map
from ....base.word_links import Links, Words, find_words, link_words

WORD_LINKS = "word_links"  # column with indices of linked words, source and target in turn


def with_word_links(rows: Dataset) -> Dataset:
    """Add the word links of the pairs, learned from all pairs. Cached."""

    def link(batch: dict) -> dict:
        return {WORD_LINKS: [_flat(links) for links in link_words(batch["source"], batch["target"])]}

    features = Features(rows.features | {WORD_LINKS: List(Value("int32"))})
    options: dict[str, Any] = {"batch_size": len(rows), "features": features, "desc": "aligning words"}
    return cached_map(rows, link, code=[word_links], **options)


def token_links(encoder: Any, sources: Sequence[str], targets: Sequence[str], links: Sequence[list[int]]) -> list:
    """The token links of each pair, source and target in turn: all tokens of linked words are linked."""
    if not sources:  # tokenizers do not accept an empty list
        return []
    sides = [
        [_tokens_of_words(text, spans) for text, spans in zip(texts, _spans(encoder, name, texts), strict=True)]
        for name, texts in (("text", sources), ("text_target", targets))
    ]
    found = []
    for first, second, flat in zip(*sides, links, strict=True):
        pairs = {
            (source, target)
            for row, column in zip(flat[::2], flat[1::2], strict=True)
            for source in first[row]
            for target in second[column]
        }
        found.append(_flat(sorted(pairs)))
    return found


def _flat(links: Links) -> list[int]:
    return [number for link in links for number in link]


def _spans(encoder: Any, name: str, texts: Sequence[str]) -> list[Words]:
    return encoder(**{name: list(texts)}, return_offsets_mapping=True)["offset_mapping"]


def _tokens_of_words(text: str, spans: Words) -> list[list[int]]:
    """The indices of the tokens that overlap each word; special tokens overlap none."""
    words = find_words(text)
    owner = numpy.full(len(text) + 1, -1)
    for number, (start, end) in enumerate(words):
        owner[start:end] = number
    found: list[list[int]] = [[] for _ in words]
    for token, (start, end) in enumerate(spans):
        for number in dict.fromkeys(owner[start:end].tolist()):
            if number >= 0:
                found[number].append(token)
    return found


class LinkCollator:
    """Adds `alignments` [B, T, S] to batches of `collate`: for each label, the weights of its linked source tokens.

    Rows without `links`, such as augmented ones, have zeros. A batch with only such rows has no `alignments`.
    """

    def __init__(self, collate: Callable[[list[dict]], Any]):
        self.collate = collate

    def __call__(self, rows: list[dict]) -> Any:
        import torch

        batch = self.collate([{name: value for name, value in row.items() if name != "links"} for row in rows])
        if any("links" in row for row in rows):
            counts = torch.zeros(*batch["labels"].shape, batch["input_ids"].shape[1])  # [B, T, S]
            for number, row in enumerate(rows):
                links = torch.as_tensor(row.get("links", []), dtype=torch.long).view(-1, 2)
                counts[number, links[:, 1], links[:, 0]] = 1
            batch["alignments"] = counts / counts.sum(-1, keepdim=True).clamp(min=1)
        return batch
