"""What a model has learned about texts from its training pairs. It is saved with the model."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any

NAME = "text_profile"  # of the field of a configuration


@dataclass(frozen=True)
class TextProfile:
    """What a model has learned about texts: the field `text_profile` of its configuration.

    Training writes it. A model of another family may have none, and an older one lacks some of it; then the defaults
    hold.

    Attributes:
        split_sentences: Whether text is translated sentence by sentence. `False` if most training pairs have several
            sentences on both sides.
        length_ratio: Characters of a target for each character of its source in the training data. Translations that
            are much shorter or longer are reported.
        trained_length: Tokens of a source that few training sentences exceed. Longer sentences are cut at clauses;
            `None` leaves only the limit of the tokenizer.
        abbreviations: Words of the training sources that end with a period, without it. Sentence splitting knows them
            in addition to its own list for all languages.
        improbable_score: Log-probability per token (natural logarithm) below which a translation is reported as
            improbable: one in a hundred validation translations is below it.
        confidence: Weights of a logistic model for the probability that a translation needs no correction, by the
            names of its features, learned from the model's own translations of the validation pairs.
        word_confidence: The same for the probability that a word of a translation is right.
        lower_capitals: Whether sentences in upper case and headlines are translated in lower case, and the
            translations get their capitals. `False` if over one training source in a hundred is in capitals.
        add_stops: Whether sentences that end with a letter or digit are translated with a period, which the
            translations lose again: few training sources end like this.
        mask_items: Whether the model has learned to copy `MARK`, and reads it instead of addresses, placeholders and
            emoji inside of sentences.
        keeps_placeholders: Whether the model has learned to copy `SENTINELS`, and reads them instead.
        reads_memory: Whether the model has learned to use the translation of a similar sentence behind its source.
        keep: Regular expressions of what translations keep as it is, such as the placeholders of a program.
    """

    split_sentences: bool = True
    length_ratio: float | None = None
    trained_length: int | None = None
    abbreviations: Set[str] = frozenset()
    improbable_score: float | None = None
    confidence: Mapping[str, float] | None = None
    word_confidence: Mapping[str, float] | None = None
    lower_capitals: bool = False
    add_stops: bool = False
    mask_items: bool = False
    keeps_placeholders: bool = False
    reads_memory: bool = False
    keep: Sequence[str] = ()

    @classmethod
    def of(cls, config: Any) -> "TextProfile":
        """The profile in a configuration: an object of any model, or a dictionary as in `config.json`."""
        given = config if isinstance(config, Mapping) else vars(config)
        given = given.get(NAME) or given  # folders of earlier versions have its fields among the others
        known = {field.name: given[field.name] for field in fields(cls) if given.get(field.name) is not None}
        sets = {"abbreviations": frozenset(known.get("abbreviations", ())), "keep": tuple(known.get("keep", ()))}
        return cls(**known | sets)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them, without those that are not known."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"abbreviations": sorted(self.abbreviations), "keep": [*self.keep]}
        return {name: value for name, value in values.items() if value is not None}

    def write(self, config: Any) -> None:
        """Write the profile into a configuration, which is an object of any model."""
        for field in fields(self):
            vars(config).pop(field.name, None)
        setattr(config, NAME, self.to_dict())


__all__ = ["TextProfile"]
