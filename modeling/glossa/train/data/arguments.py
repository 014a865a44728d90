"""The data and tokenizer settings of a recipe. This module imports no library, so their checks are quick."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ...base.errors import GlossaError
from ...base.languages import settled_code
from ...base.values import interval_problem, settle
from .augmentation.shares import PLACEHOLDERS, check_sum, settled_shares
from .filters import gathered, settled
from .mixture import check_sources, unmixed
from .prepared import adopt_prepared

NORMALIZATION_STEPS = ("nfkc", "lowercase", "hyphens_to_spaces", "strip_punctuation")


# What `trust_data` names: checks of the data, and that the languages of `init_from` match the data.
CHECKS = ["malformed", "equal", "length", "language", "start"]


def _setting(default, meaning: str):
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class DataArguments:
    """Data settings.

    Raises `GlossaError` if a value is not allowed or two settings contradict each other.
    """

    _argument_group_name = "data"

    dataset: str = _setting(
        "embedded",
        "Source of the pairs: 'embedded' (the small corpus in the package), 'anki' "
        "(manythings.org/anki), 'files' (give data_path), 'sources' (give sources), a Hub data set such as "
        "'wmt/wmt14', or a folder that load_dataset reads.",
    )
    dataset_config: str | None = _setting(None, "The configuration of a Hub data set, such as 'de-en'.")
    data_path: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Local pairs instead of a download: any number of tables (.tsv .txt .csv .jsonl, .tmx .xlsx and "
            "more, see docs/data.md), folders, patterns (data/*.tsv), URLs, corpora of OPUS (opus:Books/v1), or two "
            "line-aligned text files, source then target. For pretraining also text files with one text per line, or "
            "tables, with source_column and target_column naming the same column."
        },
    )
    sources: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Several corpora, instead of dataset and data_path: a list of sources, each with its own settings "
            '(see docs/data.md). On the command line, JSON: \'[{"data_path": "a.tsv", "weight": 2}, ...]\'.'
        },
    )
    sampling_temperature: float | None = _setting(
        None,
        "Temperature T, such as 5, instead of weights: the shares of the sources are proportional to "
        "size^(1/T), and the largest source is seen once per epoch. Default: every row once.",
    )
    validation_path: list[str] = field(
        default_factory=list,
        metadata={"help": "Validation pairs, in the same formats as data_path."},
    )
    test_path: list[str] = field(
        default_factory=list,
        metadata={"help": "Test pairs, in the same formats as data_path."},
    )
    watch: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Other pairs that are scored at each evaluation too, to see what a model forgets: files as for "
            "data_path, or the folder of a run, which stands for its test pairs. Of more than 500, 500 are drawn."
        },
    )
    source_language: str = _setting("en", "Code of the source language, as in the data; a name (German) works too.")
    target_language: str = _setting("fr", "Code of the target language, as in the data; a name (German) works too.")
    source_column: str | None = _setting(
        None,
        "Column (its name, its number from 1, or JSON key) of the source text, if its name is neither the "
        "language code nor 'source'.",
    )
    target_column: str | None = _setting(
        None,
        "Column (its name, its number from 1, or JSON key) of the target text, if its name is neither the "
        "language code nor 'target'.",
    )
    streaming: bool = _setting(
        False,
        "Read training rows from Parquet files, local or on the Hub, while training, and copy nothing. "
        "With max_train_samples, copy the first rows of a Hub data set; the rest is not downloaded.",
    )
    max_train_samples: int | None = _setting(
        None, "Read only the first N training rows, before cleaning and splitting. Default: all."
    )
    max_validation_samples: int | None = _setting(
        None, "Keep N validation pairs, drawn with split_seed, in their order. Default: all."
    )
    max_test_samples: int | None = _setting(None, "Keep N test pairs, drawn in the same way. Default: all.")
    validation_size: float | None = _setting(
        None,
        "Size of the validation split, if the data has none: below 1 a share of the pairs (at least one), "
        "from 1 a number of pairs, 0 for no split. Default: one pair in a hundred, but at least 500 (or one in "
        "ten, if these are fewer) and at most 2,000.",
    )
    test_size: float | None = _setting(None, "Size of the test split, as for validation_size, if the data has none.")
    split_seed: int = _setting(1, "Seed of the random choices of held-out pairs.")
    strict: bool = _setting(False, "Stop at the first malformed row instead of counting and dropping it.")
    trust_data: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Checks of the data that only warn: malformed (over one malformed row in twenty), equal (equal "
            "sides), length (sides of very different length), language (a side in another language), start (init_from "
            "is of other languages); true: all of them."
        },
    )
    repair_text: bool = _setting(False, "Repair training text that was decoded wrongly (Ã© for é), by ftfy.")
    keep_overlap: bool = _setting(
        False,
        "Keep training pairs with a side that occurs in the given validation or test pairs. Default: they "
        "are dropped and counted as overlap; case, punctuation and white space are ignored.",
    )
    filters: dict = field(
        default_factory=dict,
        metadata={
            "help": "Filters of training pairs by name, such as {digits: true, length_ratio: 3}; on the command line "
            "--filters.digits true. `--help filters` lists them."
        },
    )
    split_sentences: bool = _setting(
        False,
        "Split training rows into sentence pairs if both sides have the same number of sentences; other "
        "rows stay whole.",
    )
    augmentation: dict | str | None = field(
        default=None,
        metadata={
            "help": "Change a share of the training pairs in each epoch, so that the model translates text that is "
            "written in other ways too: standard, or shares by kind such as '{\"lower_case\": 0.05}' (docs/data.md "
            "lists the kinds). Default: no change."
        },
    )
    placeholder_augmentation: float = _setting(
        0.0,
        "Share of the training pairs in each epoch whose numbers and names become tokens that the model "
        "learns to keep; it then translates placeholders and addresses as such tokens.",
    )
    memory: bool = _setting(
        False,
        "Let training pairs see the translation of a similar pair, so that the model can use a translation memory.",
    )
    keep_out: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Sentences of either language to exclude from all splits; case, punctuation and white space are "
            "ignored."
        },
    )
    max_length: int = _setting(
        128, "Drop training pairs with more tokens than this on either side, end token included."
    )

    def __post_init__(self):
        for name in ("data_path", "validation_path", "test_path", "watch"):
            # In YAML, a single path is often written without list brackets.
            if isinstance(getattr(self, name), str):
                settle(self, **{name: [getattr(self, name)]})
        settle(self, trust_data=trusted_checks(self.trust_data), augmentation=settled_shares(self.augmentation))
        settle(self, filters=settled(self.filters))
        for name in ("source_column", "target_column"):
            # In YAML, the number of a column is no text.
            if type(getattr(self, name)) is int:
                settle(self, **{name: str(getattr(self, name))})
        check_ranges(self, [setting.name for setting in fields(self)])
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
            settle(self, **{name: settled_code(getattr(self, name))})
        if self.source_language == self.target_language:
            raise GlossaError(
                f"source_language and target_language are both {self.source_language!r}; they must differ."
            )
        adopt_prepared(self)
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

    @classmethod
    def of_run(cls, recipe: dict) -> "DataArguments":
        """The data settings of a finished run, to read its pairs again without the weights and tags of its sources."""
        names = {setting.name for setting in fields(cls)}
        chosen = {name: value for name, value in gathered(recipe).items() if name in names}
        # The run has read them before.
        return cls(**unmixed(chosen) | {"trust_data": CHECKS})

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.source_language, self.target_language

    @property
    def text_column(self) -> str | None:
        """The column of the texts for pretraining: one that is both source and target."""
        return self.source_column if self.source_column == self.target_column else None

    @property
    def shares(self) -> dict[str, float]:
        """Which share of the training pairs is changed in each way in an epoch."""
        given: Any = self.augmentation or {}
        return given | ({PLACEHOLDERS: self.placeholder_augmentation} if self.placeholder_augmentation else {})

    def _check_sources(self) -> None:
        if self.sources:
            # A recipe writes them as mappings, the command line as JSON.
            settle(self, sources=check_sources(self), dataset="sources")
        elif self.dataset == "sources":
            raise GlossaError("dataset is 'sources' but sources is empty; give a list of sources.")
        elif self.sampling_temperature is not None:
            raise GlossaError(
                f"sampling_temperature is {self.sampling_temperature}, but there is one corpus; it is for sources."
            )


def trusted_checks(given: bool | str | list[str]) -> list[str]:
    """The names in a value of `trust_data`, in the order of `CHECKS`. Raises `GlossaError` if one is not known."""
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

    tokenizer: str | None = _setting(
        None, "Folder or Hub name of a saved tokenizer, or of a model that has one, to use instead of learning one."
    )
    vocab_size: int = _setting(
        8000, "Size of the shared vocabulary; with target_vocab_size, of the source vocabulary."
    )
    target_vocab_size: int | None = _setting(
        None, "Size of the target vocabulary. If given, source and target have separate vocabularies."
    )
    tokenizer_model: Literal["bpe", "unigram", "wordpiece", "word", "character"] = _setting(
        "bpe", "Subwords (byte-level BPE, Unigram, WordPiece), whole words or characters."
    )
    min_frequency: int = _setting(2, "Leave out subwords, words or characters that are rarer than this in the text.")
    normalization: list[str] = field(
        default_factory=list,
        metadata={"help": "Normalization steps, in order: nfkc, lowercase, hyphens_to_spaces, strip_punctuation."},
    )
    split_punctuation: bool = _setting(True, "wordpiece and word: punctuation marks are separate words.")
    source_special_tokens: Literal["none", "end", "start_end"] = _setting(
        "end", "Special tokens of a source: none, end (</s> after it) or start_end (also <s> before it)."
    )

    def __post_init__(self):
        if self.tokenizer is not None:
            self._refuse_ignored()
        for step in self.normalization:
            if step not in NORMALIZATION_STEPS:
                raise GlossaError(f"normalization has {step!r}; its steps are {', '.join(NORMALIZATION_STEPS)}.")
        check_ranges(self, [setting.name for setting in fields(self)])

    def _refuse_ignored(self) -> None:
        """A saved tokenizer is used as it is; settings of a new one would be ignored."""
        new = TokenizerArguments()
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.name != "tokenizer" and value != getattr(new, setting.name):
                raise GlossaError(
                    f"{setting.name} is {value}, but tokenizer is {self.tokenizer}, which is used as it is. Leave one "
                    "of the two out."
                )


_NAMES = {
    "[1, inf)": (
        "max_train_samples max_validation_samples max_test_samples sampling_temperature min_frequency num_beams "
        "add_vocabulary max_new_tokens per_device_train_batch_size per_device_eval_batch_size "
        "gradient_accumulation_steps "
        "torch_empty_cache_steps eval_accumulation_steps save_total_limit dataloader_prefetch_factor "
        "ddp_bucket_cap_mb ddp_timeout generation_max_length generation_num_beams batch_tokens "
        "early_stopping_patience cpu_threads cpu_processes"
    ),
    # Sizes of matrices: the product of two must be a number that torch takes.
    "[1, 16777216]": (
        "vocab_size target_vocab_size d_model encoder_attention_heads decoder_attention_heads num_key_value_heads "
        "kv_lora_rank q_lora_rank qk_rope_head_dim encoder_ffn_dim decoder_ffn_dim num_experts_per_tok "
        "max_source_positions max_target_positions"
    ),
    "[1, 1000]": "encoder_layers decoder_layers",
    "[2, inf)": "max_length",
    "[2, 1000]": "num_local_experts",
    "[0, inf)": (
        "validation_size test_size num_shared_experts router_aux_loss_coef learning_rate warmup_steps weight_decay "
        "adam_epsilon max_grad_norm neftune_noise_alpha eval_delay dataloader_num_workers average_checkpoints "
        "eval_samples lora_rank"
    ),
    "(0, inf)": (
        "norm_eps num_train_epochs muon_learning_rate learning_rate_factor logging_steps eval_steps save_steps hours"
    ),
    "[0, 1]": "placeholder_augmentation",
    "[0, 1)": ("dropout attention_dropout activation_dropout adam_beta1 adam_beta2 label_smoothing_factor"),
    "[-1, inf)": "max_steps local_rank",
    "[0, 4294967295]": "split_seed seed data_seed",  # what NumPy takes
    "(-inf, inf)": "length_penalty",
}
RANGES = {name: interval for interval, names in _NAMES.items() for name in names.split()}


def range_problem(name: str, value: float) -> str | None:
    """What is wrong with `value` of the setting `name`, such as "it must be above 0"; None if it is allowed."""
    return interval_problem(RANGES[name], value)


def check_ranges(settings: Any, names: Iterable[str]) -> None:
    """Raise `GlossaError` if an attribute of `settings` among `names` is a number beyond its range, or is none."""
    for name in names:
        value = getattr(settings, name)
        if name not in RANGES or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise GlossaError(f"{name} is {value!r}; give a number (in YAML 0.01, not 1e-2, which is text).")
        if problem := range_problem(name, value):
            raise GlossaError(f"{name} is {value}; {problem}.")
