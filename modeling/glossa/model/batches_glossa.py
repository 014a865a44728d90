"""Texts to batches of token ids, and translations back to texts. The standard library is enough."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from .sentences_glossa import clean_text

SPARE_TARGET_TOKENS = 50
# Families whose first position is the one after the padding's, or that look one position ahead.
LATER_POSITIONS = ("camembert", "prophetnet", "roberta", "xlm-roberta")
LOWEST_SCORE = -1e9  # of a blank translation that fills up a list


def fits(tokenizer, limit: int, text: str) -> bool:
    """Whether `text` has at most `limit` tokens after the cleaning used in training."""
    text = clean_text(text)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    normalizer = None if backend is None else backend.normalizer
    normal = text if normalizer is None else normalizer.normalize_str(text)  # which may be several times as long
    normal = normal.replace(" ", "\u2581")  # three bytes in some vocabularies
    # No vocabulary has more tokens for a text than the text has bytes, apart from three special tokens and a space.
    return len(normal.encode()) + 6 <= limit or len(tokenizer(text, verbose=False)["input_ids"]) <= limit


def encode_texts(tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text after the cleaning used in training; empty for a blank text.

    Raises [`TextTooLong`] if a text has more tokens than the tokenizer's `model_max_length`.
    """
    cleaned = [clean_text(text) for text in texts]
    encoded = tokenizer(cleaned)["input_ids"] if cleaned else []
    for index, ids in enumerate(encoded):
        if len(ids) > tokenizer.model_max_length:
            raise TextTooLong(index, len(ids), tokenizer.model_max_length)
    return [ids if text else [] for text, ids in zip(cleaned, encoded, strict=True)]


class TextTooLong(ValueError):
    """A text has more tokens than the model takes; `index` is its position in the list of texts."""

    def __init__(self, index: int, length: int, limit: int):
        self.index = index
        super().__init__(f"A text has {length:,} tokens; the model takes {limit:,}.")


def translate_in_batches(
    encoded: list[list[int]],
    batches: Callable[[list[int]], Iterable[list[int]]],
    translate: Callable[[list[list[int]]], list],
    blank: list,
) -> list[list]:
    """Translations of each text, in order.

    Args:
        encoded: Token ids of each text.
        batches: Maps the lengths of the nonempty texts to batches of their indices.
        translate: Maps the token ids of a batch to its translations, `len(blank)` per text.
        blank: The translations of a text without tokens.
    """
    results = [list(blank) for _ in encoded]
    wanted = [index for index, ids in enumerate(encoded) if ids]
    for batch in batches([len(encoded[index]) for index in wanted]) if wanted else ():
        indices = [wanted[position] for position in batch]
        found = iter(translate([encoded[index] for index in indices]))
        for index in indices:
            results[index] = list(islice(found, len(blank)))
    return results


def search_distinct(
    search: Callable[[list, int], list], sources: list, num_beams: int, wanted: int, text: Callable, blank
) -> list:
    """`wanted` translations of each source with different texts, best first, in one list.

    A text can have several sequences of tokens. If fewer texts are found, the search is repeated with four times as
    many beams; missing ones are then filled up with blanks.

    Args:
        search: Maps sources and a number of beams to that many translations of each, best first, in one list.
        sources: Anything that `search` takes.
        num_beams: Beams of the first search, at least `wanted`.
        wanted: Translations per source.
        text: The text of a translation.
        blank: A translation to fill up with.
    """
    found: list[dict] = [{} for _ in sources]
    for beams in (num_beams, 4 * num_beams):
        few = [index for index, different in enumerate(found) if len(different) < wanted]
        results = iter(search([sources[index] for index in few], beams) if few else ())
        for index in few:
            for translation in islice(results, beams):
                found[index].setdefault(text(translation), translation)
    return [one for different in found for one in [*different.values(), *[blank] * wanted][:wanted]]


def position_limits(config) -> tuple[int | None, int | None]:
    """Most tokens of a source and of a target that a model with a table of positions takes; None without a limit."""
    if getattr(config, "position_embedding_type", None) == "learned":
        return config.max_source_positions, config.max_target_positions
    sides = [getattr(config, side, None) or config for side in ("encoder", "decoder")]  # of models of other families
    source, target = (getattr(side, "max_position_embeddings", None) for side in sides)
    spare = [2 if getattr(side, "model_type", None) in LATER_POSITIONS else 0 for side in sides]
    return source and source - spare[0], target and target - spare[1]


def max_target_length(source_length: int, positions: int | None = None) -> int:
    """Maximum tokens of a translation: twice the source length plus 50, and at most `positions` if there are so few.

    Vaswani et al. 2017 (section 6.1) allow the source length plus 50.
    """
    limit = 2 * source_length + SPARE_TARGET_TOKENS
    return limit if positions is None else min(limit, positions)


def check_beams(num_return_sequences: int, num_beams: int) -> None:
    """Raise `ValueError` if beam search cannot return that many translations."""
    if num_return_sequences > num_beams:
        raise ValueError(
            f"num_return_sequences is {num_return_sequences} and num_beams {num_beams}; beam search returns at most "
            "as many translations as it has beams. Raise num_beams."
        )
