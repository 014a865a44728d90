"""The data and tokenizer settings of a recipe. Imports no library, so that they are checked quickly."""

import difflib
from dataclasses import dataclass, fields
from typing import Any, Literal

from ...base.errors import GlossaError
from ...base.languages import normalized_code
from ...base.values import interval_problem, kept_patterns, setting
from .augmentation.shares import PLACEHOLDERS, check_sum, resolve_shares
from .filters import enabled_filters, nest_filters
from .mixture import check_sources, without_mixing
from .prepared import prepared_settings

NORMALIZATION_STEPS = ("nfkc", "lowercase", "hyphens_to_spaces", "strip_punctuation")


# Values of `trust_data`: checks of the data, and of the languages of `init_from`.
CHECKS = ["malformed", "equal", "length", "language", "start"]


@dataclass(frozen=True)
class DataArguments:
    """Data settings.

    Raises `GlossaError` if a value is not allowed or two settings contradict each other.
    """

    _argument_group_name = "data"

    dataset: str = setting(
        "embedded",
        "Source of the pairs: 'embedded' (the small corpus in the package), 'anki' "
        "(manythings.org/anki), 'files' (give data_path), 'sources' (give sources), a Hub dataset such as "
        "'wmt/wmt14', or a folder that load_dataset reads.",
    )
    dataset_config: str | None = setting(None, "The configuration of a Hub dataset, such as 'de-en'.")
    data_path: list[str] = setting(
        [],
        "Local pairs instead of a download: any number of tables (.tsv .txt .csv .jsonl, .tmx .xlsx and "
        "more, see docs/data.md), folders, patterns (data/*.tsv), URLs, corpora of OPUS (opus:Books/v1), or two "
        "line-aligned text files, source then target. For pretraining also text files with one text per line, or "
        "tables, with source_column and target_column naming the same column.",
    )
    sources: list[str] = setting(
        [],
        "Several corpora, instead of dataset and data_path: a list of sources, each with its own settings "
        '(see docs/data.md). On the command line, JSON: \'[{"data_path": "a.tsv", "weight": 2}, ...]\'.',
    )
    sampling_temperature: float | None = setting(
        None,
        "Temperature T, such as 5, instead of weights: the shares of the sources are proportional to "
        "size^(1/T), and the largest source is seen once per epoch. Default: every row once.",
        interval="[1, inf)",
    )
    validation_path: list[str] = setting([], "Validation pairs, in the same formats as data_path.")
    test_path: list[str] = setting([], "Test pairs, in the same formats as data_path.")
    watch: list[str] = setting(
        [],
        "Other pairs that are scored at each evaluation too, to see what a model forgets: files as for "
        "data_path, or the folder of a run, which stands for its test pairs. Of more than 500, 500 are drawn.",
    )
    watch_loss: float = setting(
        2.0,
        "With init_from and watch: the tuned weights are blended with the start's. Of the blends that lose at most so "
        "much BLEU on the watched pairs, the best on the validation pairs is kept.",
        interval="[0, inf)",
    )
    replay: list[str] = setting(
        [],
        "With init_from: text that the start translates well, mixed into training so that it is not forgotten. "
        "Files of pairs as for data_path; text files with one text per line, which the start translates first; or the "
        "folder of a run, which stands for its training pairs. Default: the run in watch, if it names one.",
    )
    replay_size: int | None = setting(
        None,
        "Replayed pairs in each pass, other ones in each as far as there are enough. Default: as much text as the "
        "training pairs have.",
        interval="[1, inf)",
    )
    monolingual: list[str] = setting(
        [], "For the stage back in stages: text files in the target language, with a text on each line."
    )
    both_directions: bool = setting(
        False,
        "Train one model in both directions, without tags: each training pair is also seen with its sides exchanged "
        "(Ding et al. 2021). Validation and test pairs stay in the direction of the settings.",
    )
    source_language: str = setting("en", "Code of the source language, as in the data; a name (German) works too.")
    target_language: str = setting("fr", "Code of the target language, as in the data; a name (German) works too.")
    source_column: str | None = setting(
        None,
        "Column (its name, its number from 1, or JSON key) of the source text, if its name is neither the "
        "language code nor 'source'.",
    )
    target_column: str | None = setting(
        None,
        "Column (its name, its number from 1, or JSON key) of the target text, if its name is neither the "
        "language code nor 'target'.",
    )
    streaming: bool = setting(
        False,
        "Read training rows from Parquet files, local or on the Hub, while training, and copy nothing. "
        "With max_train_samples, copy the first rows of a Hub dataset; the rest is not downloaded.",
    )
    max_train_samples: int | None = setting(
        None, "Read only the first N training rows, before cleaning and splitting. Default: all.", interval="[1, inf)"
    )
    max_validation_samples: int | None = setting(
        None, "Keep N validation pairs, drawn with split_seed, in their order. Default: all.", interval="[1, inf)"
    )
    max_test_samples: int | None = setting(
        None,
        "Keep N test pairs, drawn in the same way; 0 holds them out and scores none. Default: all.",
        interval="[0, inf)",
    )
    validation_size: float | None = setting(
        None,
        "Size of the validation split, if the data has none: below 1 a share of the pairs (at least one), "
        "from 1 a number of pairs, 0 for no split. Default: one pair in a hundred, but at least 500 (or one in "
        "ten, if these are fewer) and at most 2,000.",
        interval="[0, inf)",
    )
    test_size: float | None = setting(
        None, "Size of the test split, as for validation_size, if the data has none.", interval="[0, inf)"
    )
    split_seed: int = setting(1, "Seed of the random choices of held-out pairs.", interval="[0, 4294967295]")
    strict: bool = setting(False, "Stop at the first malformed row instead of counting and dropping it.")
    trust_data: list[str] = setting(
        [],
        "Checks of the data that only warn: malformed (over one malformed row in twenty), equal (equal "
        "sides), length (sides of very different length), language (a side in another language), start (init_from "
        "is of other languages); true: all of them.",
    )
    repair_text: bool = setting(False, "Repair training text that was decoded wrongly (Ã© for é), by ftfy.")
    keep_overlap: bool = setting(
        False,
        "Keep training pairs with a side that occurs in the given validation or test pairs. Default: they "
        "are dropped and counted as overlap; case, punctuation and white space are ignored.",
    )
    filters: dict = setting(
        {},
        "Filters of training pairs by name, such as {digits: true, length_ratio: 3}; on the command line "
        "--filters.digits true. `--help filters` lists them.",
    )
    split_sentences: bool = setting(
        False,
        "Split training rows into sentence pairs if both sides have the same number of sentences; other "
        "rows stay whole.",
    )
    augmentation: dict | str | None = setting(
        None,
        "Change a share of the training pairs in each epoch, so that the model translates text that is "
        "written in other ways too: standard, or shares by kind such as '{\"lower_case\": 0.05}' (docs/data.md "
        "lists the kinds). Default: no change.",
    )
    placeholder_augmentation: float = setting(
        0.0,
        "Share of the training pairs in each epoch whose numbers and names become tokens that the model "
        "learns to keep; it then translates placeholders and addresses as such tokens.",
        interval="[0, 1]",
    )
    memory: bool = setting(
        False,
        "Let training pairs see the translation of a similar pair, so that the model can use a translation memory.",
    )
    keep: list[str] = setting(
        [],
        "Regular expressions of what translations keep, such as placeholders of your own. They are saved with the "
        "model, so that everything that translates with it keeps them.",
    )
    keep_out: list[str] = setting(
        [], "Sentences of either language to exclude from all splits; case, punctuation and white space are ignored."
    )
    max_length: int = setting(
        128, "Drop training pairs with more tokens than this on either side, end token included.", interval="[2, inf)"
    )

    def __post_init__(self):
        for name in ("data_path", "validation_path", "test_path", "watch", "replay", "monolingual", "keep"):
            # In YAML, a single path is often written without brackets.
            if isinstance(getattr(self, name), str):
                self._read(name, [getattr(self, name)])
        self._read("trust_data", trusted_checks(self.trust_data))
        self._read("augmentation", resolve_shares(self.augmentation))
        self._read("filters", enabled_filters(self.filters))
        for name in ("source_column", "target_column"):
            # In YAML, the number of a column is not text.
            if type(getattr(self, name)) is int:
                self._read(name, str(getattr(self, name)))
        check_ranges(self)
        kept_patterns(self.keep, "keep")
        check_sum(self.shares)
        for name in ("validation_size", "test_size"):
            value = getattr(self, name)
            if value is not None and value > 1 and value != int(value):
                raise GlossaError(
                    f"{name} is {value}; give a share of the pairs below 1 (0.01) or a whole number of pairs (1000)."
                )
        for name in ("source_language", "target_language"):
            if not isinstance(getattr(self, name), str):
                raise GlossaError(f"{name} is {getattr(self, name)!r}; give a code in quotes: YAML reads no as false.")
            self._read(name, normalized_code(getattr(self, name)))
        if self.source_language == self.target_language:
            raise GlossaError(
                f"source_language and target_language are both {self.source_language!r}; they must differ."
            )
        for name, value in prepared_settings(self).items():
            self._read(name, value)
        if (self.source_column is None) != (self.target_column is None):
            raise GlossaError(
                f"source_column is {self.source_column!r} and target_column is {self.target_column!r}; "
                "give both, or neither."
            )
        self._check_sources()
        if self.dataset == "files" and not self.data_path:
            raise GlossaError(
                "dataset is 'files' but data_path is empty; give one file of pairs or two aligned files."
            )

    def _read(self, name: str, value: Any) -> None:
        """Replace a value by its normalized form, while the frozen settings are initialized."""
        object.__setattr__(self, name, value)

    @classmethod
    def of_run(cls, recipe: dict) -> "DataArguments":
        """The data settings of a finished run, without weights and tags, to read its pairs again."""
        names = {one.name for one in fields(cls)}
        chosen = {name: value for name, value in nest_filters(recipe).items() if name in names}
        # The run has already checked the data.
        return cls(**without_mixing(chosen) | {"trust_data": CHECKS})

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.source_language, self.target_language

    @property
    def text_column(self) -> str | None:
        """The column of texts for pretraining, which is both source and target; None for pairs."""
        return self.source_column if self.source_column == self.target_column else None

    @property
    def shares(self) -> dict[str, float]:
        """The share of training pairs changed in an epoch, by kind of augmentation."""
        given: Any = self.augmentation or {}
        return given | ({PLACEHOLDERS: self.placeholder_augmentation} if self.placeholder_augmentation else {})

    def _check_sources(self) -> None:
        if self.sources:
            # Sources are mappings in a recipe, and JSON on the command line.
            self._read("sources", check_sources(self))
            self._read("dataset", "sources")
        elif self.dataset == "sources":
            raise GlossaError("dataset is 'sources' but sources is empty; give a list of sources.")
        elif self.sampling_temperature is not None:
            raise GlossaError(
                f"sampling_temperature is {self.sampling_temperature}, but there is one corpus; it is for sources."
            )


def trusted_checks(given: bool | str | list[str]) -> list[str]:
    """The names in a value of `trust_data`, in the order of `CHECKS`. Raises `GlossaError` for an unknown name."""
    words = [str(word).lower() for word in (given if isinstance(given, list | tuple) else [given])]
    if words in (["false"], ["no"], ["0"], ["none"]):
        return []
    if words in (["true"], ["yes"], ["1"]):
        return list(CHECKS)
    for word in words:
        if word not in CHECKS:
            near = difflib.get_close_matches(word, CHECKS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise GlossaError(
                f"trust_data has {word!r}.{hint} Allowed are {', '.join(CHECKS)}, or true for all of them."
            )
    return [name for name in CHECKS if name in words]


@dataclass(frozen=True)
class TokenizerArguments:
    """The tokenizer settings of a recipe. Raises `GlossaError` if a value is not allowed."""

    _argument_group_name = "tokenizer"

    tokenizer: str | None = setting(
        None, "Folder or Hub name of a saved tokenizer, or of a model that has one, to use instead of learning one."
    )
    vocab_size: int = setting(
        8000,
        "Size of the shared vocabulary; with target_vocab_size, of the source vocabulary.",
        interval="[1, 16777216]",
    )
    target_vocab_size: int | None = setting(
        None,
        "Size of the target vocabulary. If given, source and target have separate vocabularies.",
        interval="[1, 16777216]",
    )
    tokenizer_model: Literal["bpe", "unigram", "wordpiece", "word", "character"] = setting(
        "bpe", "Subwords (byte-level BPE, Unigram, WordPiece), whole words or characters."
    )
    min_frequency: int = setting(
        2, "Leave out subwords, words or characters that are rarer than this in the text.", interval="[1, inf)"
    )
    normalization: list[str] = setting(
        [], "Normalization steps, in order: nfkc, lowercase, hyphens_to_spaces, strip_punctuation."
    )
    split_punctuation: bool = setting(True, "wordpiece and word: punctuation marks are separate words.")
    source_special_tokens: Literal["none", "end", "start_end"] = setting(
        "end", "Special tokens of a source: none, end (</s> after it) or start_end (also <s> before it)."
    )

    def __post_init__(self):
        if self.tokenizer is not None:
            self._refuse_ignored()
        for step in self.normalization:
            if step not in NORMALIZATION_STEPS:
                raise GlossaError(f"normalization has {step!r}; its steps are {', '.join(NORMALIZATION_STEPS)}.")
        check_ranges(self)

    def _refuse_ignored(self) -> None:
        """Raise `GlossaError` for settings of a new tokenizer, which are ignored with a saved one."""
        new = TokenizerArguments()
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "tokenizer" and value != getattr(new, one.name):
                raise GlossaError(
                    f"{one.name} is {value}, but tokenizer is {self.tokenizer}, which has its own settings. Leave one "
                    "of the two out."
                )


# Ranges of the Trainer's own settings, see [`interval_problem`].
_INHERITED = {
    "[1, inf)": (
        "per_device_train_batch_size torch_empty_cache_steps eval_accumulation_steps dataloader_prefetch_factor "
        "ddp_bucket_cap_mb ddp_timeout generation_max_length generation_num_beams"
    ),
    "[0, inf)": "weight_decay max_grad_norm neftune_noise_alpha eval_delay dataloader_num_workers",
    "(0, inf)": "eval_steps save_steps",
    "[0, 1)": "adam_beta1",
    "[-1, inf)": "max_steps local_rank",
    "[0, 4294967295]": "data_seed",  # the range of NumPy
}
RANGES = {name: interval for interval, names in _INHERITED.items() for name in names.split()}


def check_ranges(settings: Any) -> None:
    """Raise `GlossaError` if a number in `settings` is out of range, or a value is not a number but should be."""
    for one in fields(settings):
        value, interval = getattr(settings, one.name), one.metadata.get("interval") or RANGES.get(one.name)
        if not interval or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise GlossaError(f"{one.name} is {value!r}; give a number (in YAML 0.01, not 1e-2, which is text).")
        if problem := interval_problem(interval, value):
            raise GlossaError(f"{one.name} is {value}; {problem}.")
