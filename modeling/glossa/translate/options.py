"""What is asked of translations, apart from the search: checks, and how the work is divided."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .engines.engine import Batch, Search, Translation

OnError = Literal["stop", "blank", "copy"]


@dataclass(frozen=True)
class Checks:
    """Checks of translations, and what happens to texts that cannot be translated.

    Attributes:
        on_error: Result for a text that cannot be translated (not UTF-8, or too long even after splitting): "stop"
            raises an error; "blank" gives a blank translation, "copy" the source, with the reason as its `problem`.
        retry_implausible: Translate sentences whose translation cannot be right (see [`find_problem`]) once more, with
            twice the beams and without repeated sequences of three tokens; a translation that passes then is used.
        confident: Compute the probability that a translation needs no correction. The model must have learned it.
        min_confidence: A translation with less confidence has [`UNCERTAIN`] as its `problem`, if there is no other.
        words: Compute the probability that each word of the best translations is right.
        links: Link the words of texts and translations.
    """

    on_error: OnError = "stop"
    retry_implausible: bool = False
    confident: bool = False
    min_confidence: float = 0.0
    words: bool = False
    links: bool = False

    @property
    def needs_confidence(self) -> bool:
        return self.confident or self.min_confidence > 0


@dataclass(frozen=True)
class Execution:
    """Size of batches, and the processes that translate them.

    Attributes:
        batch_tokens: Maximum source tokens in a batch, including padding and counting every beam.
        shared: The processes of a launch share the batches; all of them translate the same texts and get all
            translations.
        run_batches: Translates the batches of a search in other processes, if there are several. It is called with
            the batches, the search and whether to show progress, as [`translated_at`].
    """

    batch_tokens: int = 4096
    shared: bool = False
    run_batches: Callable[[list[Batch], Search, bool], list[list[Translation]]] | None = None
