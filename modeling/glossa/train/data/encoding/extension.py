"""Extension of the vocabulary of a trained model by further merges of byte-pair encoding."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

from tokenizers import Tokenizer

from ....base.errors import GlossaError

Pair = tuple[str, str]


def extend_vocabulary(vocabulary: Tokenizer, texts: Iterable[str], count: int, first: int) -> Tokenizer:
    """Add `count` pieces to `vocabulary`, each the most frequent remaining pair of pieces in `texts`.

    The new merges follow all old ones, so the new pieces consist of old ones (continuing Sennrich et al. 2016, section
    3.2). Fewer pieces are added if no remaining pair occurs twice.

    Args:
        vocabulary: A tokenizer with byte-pair encoding.
        texts: Sentences from which the pieces are learned.
        count: The number of new pieces.
        first: The id of the first new piece; the others follow.

    Raises:
        GlossaError: if the tokenizer is not of byte-pair encoding.
    """
    described = json.loads(vocabulary.to_str())
    model = described["model"]
    if model["type"] != "BPE":
        raise GlossaError(
            f"add_vocabulary is {count}, but the tokenizer of init_from is of the kind {model['type']}; only byte-"
            "pair encoding supports new pieces. Leave add_vocabulary out."
        )
    for left, right in further_merges(words_of(vocabulary, texts), count, set(model["vocab"])):
        model["merges"].append([left, right])
        model["vocab"][left + right] = first
        first += 1
    return Tokenizer.from_str(json.dumps(described))


def words_of(vocabulary: Tokenizer, texts: Iterable[str]) -> Counter[tuple[str, ...]]:
    """The counts of the words in `texts`, each as the tuple of its pieces."""
    words: Counter[str] = Counter()
    for text in texts:
        normal = text if vocabulary.normalizer is None else vocabulary.normalizer.normalize_str(text)
        cut = [(normal, ())] if vocabulary.pre_tokenizer is None else vocabulary.pre_tokenizer.pre_tokenize_str(normal)
        words.update(word for word, _ in cut)
    found: Counter[tuple[str, ...]] = Counter()
    for word, times in words.items():
        found[tuple(piece.value for piece in vocabulary.model.tokenize(word))] += times
    return found


def further_merges(words: Counter[tuple[str, ...]], count: int, known: set[str]) -> list[Pair]:
    """The `count` merges that byte-pair encoding would learn next; ties go to the first pair in alphabetical order."""
    pieces = [list(word) for word in words]
    times = list(words.values())
    pairs: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, word in enumerate(pieces):
        _count(word, times[number], number, pairs, places)
    waiting = [(-own, pair) for pair, own in pairs.items()]
    heapify(waiting)
    merges: list[Pair] = []
    while len(merges) < count and waiting:
        own, best = heappop(waiting)
        if -own != pairs.get(best):  # an outdated count from before another merge
            continue
        if -own < 2:
            break
        if "".join(best) not in known:
            merges.append(best)
            known.add("".join(best))
        changed: set[Pair] = set()
        for number in places.pop(best):
            before, pieces[number] = pieces[number], _merged(pieces[number], best)
            _count(before, -times[number], number, pairs, places)
            _count(pieces[number], times[number], number, pairs, places)
            changed |= {*pairwise(before), *pairwise(pieces[number])}
        for pair in changed & pairs.keys():
            heappush(waiting, (-pairs[pair], pair))
    return merges


def _count(word: list[str], times: int, number: int, pairs: Counter[Pair], places: dict[Pair, set[int]]) -> None:
    for pair in pairwise(word):
        pairs[pair] += times
        if pairs[pair] <= 0:
            del pairs[pair]
        if times > 0:
            places[pair].add(number)


def _merged(word: list[str], pair: Pair) -> list[str]:
    found: list[str] = []
    for piece in word:
        if found and (found[-1], piece) == pair:
            found[-1] += piece
        else:
            found.append(piece)
    return found


def piece_parts(vocabulary: Tokenizer, first: int) -> dict[int, list[int]]:
    """The ids below `first` that make up each piece with a higher id; tokens that are not merges are left out."""
    model: dict[str, Any] = json.loads(vocabulary.to_str())["model"]
    ids = model.get("vocab", {})
    found: dict[int, list[int]] = {}
    for left, right in model.get("merges", ()) if isinstance(ids, dict) else ():
        own = ids.get(left + right, -1)
        if own >= first:
            sides = (ids[left], ids[right])
            found[own] = [part for side in sides for part in (found[side] if side >= first else [side])]
    return found
