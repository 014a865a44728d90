"""BPE dropout (Provilkov et al. 2020): in training, words are split differently in every epoch.

`tokenizers` has BPE dropout too, but its random numbers cannot be seeded, so a resumed run would not be exact.
"""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy
import torch
import xxhash
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from ...errors import GlossaError
from .vocabulary import target_vocabulary


class BpeDropout:
    """Splits words by BPE; each possible merge of a step is left out with probability `rate` (algorithm 1).

    Raises `GlossaError` if `tokenizer` is not BPE.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float):
        model = json.loads(tokenizer.to_str())["model"]
        if model["type"] != "BPE":
            raise GlossaError(
                f"bpe_dropout is {rate}, but the tokenizer is {model['type']}. Set tokenizer_model to bpe, or leave "
                "bpe_dropout out."
            )
        self.tokenizer = tokenizer
        self.rate = rate
        self.vocabulary: dict[str, int] = model["vocab"]
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
        self.special = {token for token, added in tokenizer.get_added_tokens_decoder().items() if added.special}

    def split(self, word: str, generator: random.Random) -> list[str]:
        """The pieces of `word`, whose characters are in the vocabulary."""
        pieces, draw = list(word), generator.random
        while len(pieces) > 1:
            ranks = map(self.ranks.get, pairwise(pieces))
            merges = [(rank, i) for i, rank in enumerate(ranks) if rank is not None and draw() >= self.rate]
            if not merges:
                break
            _, first = min(merges)
            pieces[first : first + 2] = [pieces[first] + pieces[first + 1]]
        return pieces

    def split_again(self, ids: Sequence[int], generator: random.Random) -> list[int]:
        """The same text as `ids`, split differently; special tokens at its ends stay."""
        before = list(takewhile(self.special.__contains__, ids))
        after = list(takewhile(self.special.__contains__, reversed(ids[len(before) :])))[::-1]
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        if self.tokenizer.normalizer is not None:
            text = self.tokenizer.normalizer.normalize_str(text)
        pieces: list[str] = []
        for word, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(text):
            pieces += self.split(word, generator)
        return [*before, *map(self.vocabulary.__getitem__, pieces), *after]


class DropoutCollator:
    """Collates training rows after splitting both sides again, depending only on the row, the seed and the epoch.

    Args:
        tokenizer: The tokenizer of the run.
        pad: Makes a batch of rows.
        rate: Probability that a merge is left out.
        max_length: A side that would become longer than this many tokens keeps its usual split.
        seed: Seed of the splits, together with row and epoch.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        pad: Callable[[list[dict]], Any],
        rate: float,
        max_length: int,
        seed: int,
    ):
        self.pad = pad
        self.max_length = max_length
        self.seed = seed
        self.sides = {
            "input_ids": BpeDropout(tokenizer.backend_tokenizer, rate),
            "labels": BpeDropout(target_vocabulary(tokenizer), rate),
        }
        # In shared memory, since persistent workers of a data loader must see a new epoch.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which changes the splits."""
        self._epoch.fill_(epoch)

    def __call__(self, rows: list[dict]) -> Any:
        return self.pad([self.split_again(row) for row in rows])

    def split_again(self, row: dict) -> dict:
        """`row` with other `input_ids` and `labels`."""
        digest = xxhash.xxh3_64(numpy.asarray([self.seed, int(self._epoch)]).tobytes())
        for side in self.sides:
            digest.update(numpy.asarray(row[side], dtype=numpy.int64).tobytes())
        generator = random.Random(digest.intdigest())
        new = {name: side.split_again(row[name], generator) for name, side in self.sides.items()}
        return row | {name: ids for name, ids in new.items() if len(ids) <= self.max_length}

    def growth(self, rows: Iterable[dict]) -> float:
        """How many times as many tokens `rows` have after splitting, on average."""
        before = after = 0
        for row in rows:
            new = self.split_again(row)
            before += sum(len(row[side]) for side in self.sides)
            after += sum(len(new[side]) for side in self.sides)
        return after / max(before, 1)
