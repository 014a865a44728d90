"""Selection and augmentation of the training pairs of an epoch."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from random import Random

from ....base.pair import Pair
from .items import with_item
from .joining import Words, join_pairs, ordinary_words
from .placeholders import with_sentinels
from .shares import PLACEHOLDERS
from .typing_errors import typing_errors
from .typography import changed_ending, changed_typography, lower_case


class Augmentation:
    """Changes a share of the pairs in each epoch, each in one way.

    The change of a pair depends only on seed, epoch and row number, and for joined rows on neighboring pairs.

    Args:
        shares: The share of pairs per kind of change; the sum is at most 1.
        seed: The seed, combined with epoch and row number for each pair.
        language: The source language, which determines the keyboard layout.
        tags: Tags at the start of sources, which are left unchanged.
    """

    def __init__(self, shares: Mapping[str, float], seed: int, language: str = "en", tags: Sequence[str] = ()):
        self.kinds, self.bounds = list(shares), list(accumulate(shares.values()))
        self.seed = seed
        self.tags = tuple(filter(None, tags))
        self.changes: dict[str, Callable[[Pair, Random], Pair | None]] = {
            "lower_case": lower_case,
            "endings": changed_ending,
            "typing_errors": partial(typing_errors, language=language),
            "typography": changed_typography,
            "items": with_item,
            PLACEHOLDERS: with_sentinels,
        }

    def apply(
        self, pairs: Sequence[Pair], epoch: int, first: int = 0, groups: Sequence[str] = ()
    ) -> dict[int, tuple[str, Pair]]:
        """Change some of `pairs`; returns the changed ones by index, each with the kind of change.

        Args:
            pairs: Neighbors of the training data.
            epoch: The number of the epoch.
            first: The row number of the first pair.
            groups: The target language of each pair if there are several; only pairs of the same language are joined.
        """
        neighbors: dict[tuple[str, str], list[Pair]] = {}
        words: Words | None = None
        found = {}
        for index, pair in enumerate(pairs):
            generator = Random((self.seed << 128) | (epoch << 64) | (first + index))
            draw = generator.random()
            kind = next((kind for kind, bound in zip(self.kinds, self.bounds, strict=True) if draw < bound), None)
            if kind is None:
                continue
            tag, plain = self._untagged(pair)
            changed: Pair | None
            if kind == "joined":
                if words is None:
                    neighbors, words = self._neighbors(pairs, groups), ordinary_words(pairs)
                changed = join_pairs(plain, neighbors[tag, groups[index] if groups else ""], generator, words)
            else:
                changed = self.changes[kind](plain, generator)
            if changed is not None:
                found[index] = (kind, changed._replace(source=tag + changed.source))
        return found

    def _untagged(self, pair: Pair) -> tuple[str, Pair]:
        tag = next((tag for tag in self.tags if pair.source.startswith(tag)), "")
        return tag, pair._replace(source=pair.source.removeprefix(tag))

    def _neighbors(self, pairs: Sequence[Pair], groups: Sequence[str]) -> dict[tuple[str, str], list[Pair]]:
        """All pairs without their tag, by tag and group."""
        found: dict[tuple[str, str], list[Pair]] = {}
        for pair, group in zip(pairs, groups or [""] * len(pairs), strict=True):
            tag, plain = self._untagged(pair)
            found.setdefault((tag, group), []).append(plain)
        return found
