"""Default settings chosen by the number of training pairs and the available hours."""

import logging
import math
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from transformers import PreTrainedTokenizerBase, SchedulerType
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from ...base.run_folder import RunFolder
from ...model.configuration_glossa import GlossaConfig
from ...model.modeling_glossa import GlossaForConditionalGeneration
from ...translate.loading import load_config
from ..data.augmentation.shares import STANDARD
from ..data.cleaning.report import DataReport
from ..data.mixture import sources_of
from ..data.prepared import tokens_of
from ..data.streaming.streams import is_stream
from .arguments import Origin, Settings
from .devices import is_sharded, trial_step, uses_deepspeed
from .processes import resumed_recipe
from .table import CHOSEN, PLAIN

logger = logging.getLogger(__name__)

TRIAL_LENGTH = 20  # tokens per side in the trial, before there is a vocabulary
CHARACTERS = 4  # approximate characters per token
WIDE = 3  # characters that an ideograph, kana or Hangul syllable counts for: a token has one or two of these
SEEN = 300_000  # minimum pairs over all passes; with fewer, training has too few steps (docs/results.md)
SEEN_WELL, MOST_PASSES = 600_000, 60  # so many pairs, if they take at most so many passes (docs/results.md)
PASSES = 2  # if fewer passes, and fewer than half of those wanted, fit into the hours, the model is too large
OVERHEAD = 1.3  # for optimizer, evaluations and checkpoints; the trial has only forward and backward passes
SHORT = 0.4  # maximum share of the passes for which less dropout is better (docs/results.md)
LESS_DROPOUT = 0.1
EVALUATIONS_AN_HOUR = 10  # maximum with `hours`, so that they do not dominate a short run
KEPT = 3  # groups not chosen with init_from, which provides vocabulary, model and dropout
FURTHER = 0.5  # factor for passes and learning rates of a pretrained model (docs/results.md)
# Fine-tuning of a translator: the passes for `TUNED_PAIRS` pairs; more for fewer pairs, fewer for more. A higher rate,
# or Muon, learns faster but forgets far more (docs/decisions.md).
TUNED_PAIRS, TUNED_PASSES, MOST_TUNED_PASSES, FEWER = 2000, 8, 15, 0.3
TUNED_RATE = 5e-4
ADAPTER_RATE = 3e-3  # as in quickstart-adapter
OTHER_RATE = 0.05  # divided by the width, for models of other families: 1e-4 for 512, 5e-5 for 1,024
TUNED_EVALUATIONS = 0.1  # fraction of the steps
AUGMENTED_PASSES = 4  # minimum passes for which augmentation costs next to nothing (docs/results.md)


@dataclass(frozen=True)
class Size:
    """The settings for at most `pairs` training pairs.

    The schedule is a cosine with a tenth of the steps as warm-up. There are twenty evaluations and checkpoints, since
    a pass over many pairs takes days; fewer if `hours` is short.

    Few pairs need more dropout (Araabi and Monz 2020). Gowda and May 2020 also recommend a small vocabulary, of about
    1,000 pieces for 30,000 pairs, but on Multi30k 8,000 pieces translate better, even for 10,000 pairs
    (docs/results.md). If the text is too small for this vocabulary, it gets smaller.
    """

    pairs: float
    vocab_size: int
    width: int
    ffn: int
    layers: int
    heads: int
    dropout: float
    passes: float
    learning_rate: float
    muon_learning_rate: float | None = None

    def dimensions(self) -> dict:
        """The settings of the model by name."""
        chosen: dict[str, Any] = {
            "vocab_size": self.vocab_size,
            "d_model": self.width,
            "num_key_value_heads": self.heads,
        }
        for side in ("encoder", "decoder"):
            chosen |= {f"{side}_layers": self.layers, f"{side}_attention_heads": self.heads}
            chosen |= {f"{side}_ffn_dim": self.ffn}
        return chosen

    def settings(self) -> dict:
        """The chosen settings by name."""
        chosen = self.dimensions()
        chosen |= {"dropout": self.dropout, "num_train_epochs": self.passes, "learning_rate": self.learning_rate}
        if self.muon_learning_rate is not None:
            chosen |= {"muon_learning_rate": self.muon_learning_rate}
        chosen |= {
            "warmup_steps": 0.1,
            "lr_scheduler_type": SchedulerType.COSINE,
            "eval_steps": 0.05,
            "save_steps": 0.05,
        }
        return chosen | {"eval_strategy": IntervalStrategy.STEPS, "save_strategy": SaveStrategy.STEPS}


# The first row is the recipe multi30k-en-de (3 million parameters), the second anki-en-fr (9 million).
# The largest is the base model of Vaswani et al. 2017, which a CPU cannot train in a day.
ON_CPU = (
    Size(60_000, 8_000, 128, 256, 4, 4, 0.2, 30, 4e-3, 2e-2),
    Size(300_000, 8_000, 256, 704, 4, 4, 0.15, 12, 1e-3),
    Size(3_000_000, 16_000, 256, 704, 4, 4, 0.1, 4, 1e-3),
    Size(math.inf, 16_000, 256, 704, 4, 4, 0.1, 1, 1e-3),
)
ON_GPU = (
    *ON_CPU[:2],
    Size(3_000_000, 16_000, 512, 1408, 6, 8, 0.1, 12, 1e-3),
    Size(math.inf, 32_000, 512, 1408, 6, 8, 0.1, 4, 1e-3),
)


def choose_for_pairs(settings: Settings, train: Dataset, report: DataReport) -> Settings:
    """Choose settings by the training pairs, as in [`choose_settings`]."""
    if not choosable(settings):
        return settings
    some = train.select(range(0, len(train), max(len(train) // 1000, 1)))["target"]
    return choose_settings(settings, report.stream.get("rows", len(train)) // _directions(settings), some)


def _directions(settings: Settings) -> int:
    """How often a pass has each pair."""
    return 1 + settings.data.both_directions


def choose_settings(settings: Settings, pairs: int, texts: Sequence[str] = ()) -> Settings:
    """Return the settings, with those not set explicitly chosen by the number of pairs, the device and the hours.

    `texts` is a sample of the targets.
    """
    device, start = settings.training.device.type, settings.translator.init_from
    sizes = ON_CPU if device == "cpu" else ON_GPU
    number = next(number for number, size in enumerate(sizes) if pairs <= size.pairs)
    size = replace(sizes[number], passes=max(sizes[number].passes, math.ceil(SEEN / pairs)))
    if settings.training.hours is not None and size.dimensions().keys() <= choosable(settings) | prepared(settings):
        tokens = _directions(settings) * pairs * sum(map(_tokens, texts)) / max(len(texts), 1)
        size = size_for_hours(settings, [*sizes[:number], size], tokens)
    size = replace(size, passes=max(size.passes, min(math.ceil(SEEN_WELL / pairs), MOST_PASSES)))
    if start:
        size = size_for_start(settings, sizes[number], pairs)
    if is_sharded(settings.training) or uses_deepspeed(settings.training):
        size = replace(size, muon_learning_rate=None)  # Muon needs complete matrices
    values = size.settings()
    if start:
        values |= {"eval_steps": TUNED_EVALUATIONS, "save_steps": TUNED_EVALUATIONS}
    if (hours := settings.training.own_hours) is not None:
        # A fraction of the steps, at most a half, since 1 would mean every step.
        share = min(max(values["eval_steps"], 1 / (EVALUATIONS_AN_HOUR * hours)), 0.5)
        values |= {"eval_steps": share, "save_steps": share}
    chosen = {name: value for name, value in values.items() if name in choosable(settings)}
    passes = chosen.get("num_train_epochs", settings.training.num_train_epochs)
    # A vocabulary of another family may lack the mark for items.
    known = start is None or load_config(start).model_type == "glossa"
    if "augmentation" in choosable(settings) and passes >= AUGMENTED_PASSES and known:
        chosen |= {"augmentation": dict(STANDARD)}
    reason = f"for {pairs:,} training pairs on a {device.upper()}"
    return settings.with_values(chosen, Origin("chosen", reason))


def show_choices(settings: Settings) -> None:
    """Log the chosen settings, as options to repeat them in another run.

    Call this after the trials, since fewer passes may fit into `hours`. A vocabulary that the text has made smaller is
    left out; another run finds its size by itself.
    """
    chosen = {name: origin.reason for name, origin in settings.origins.items() if origin.kind == "chosen"}
    if not chosen:
        return
    values, shown = settings.recipe(), [*chosen]
    if "augmentation" in chosen:
        values["augmentation"] = "standard"
    passes = settings.origins.get("num_train_epochs")
    if passes is not None and passes.kind == "trial":
        values["num_train_epochs"] = f"{settings.training.num_train_epochs:.3g}"
        shown.insert(0, "num_train_epochs")
    reason = next(iter(chosen.values()))
    logger.info("Chosen %s: %s", reason, " ".join(f"--{name} {values[name]}" for name in shown))


def size_for_start(settings: Settings, size: Size, pairs: int) -> Size:
    """Adapt `size` to the model of `init_from`: fewer passes and lower rates, by its kind and the number of pairs."""
    if settings.training.stages != PLAIN:
        # The last of several stages goes on where its start stopped early, at full rates (docs/decisions.md).
        return size
    start = str(settings.translator.init_from)
    config, recipe = load_config(start), RunFolder(start).recipe
    if recipe.get("objective", "translation") != "translation":
        passes, rate = FURTHER * size.passes, FURTHER * size.learning_rate
        muon = size.muon_learning_rate and FURTHER * size.muon_learning_rate
        return replace(size, passes=passes, learning_rate=rate, muon_learning_rate=muon)
    passes = tuned_passes(pairs)
    width = getattr(config, "hidden_size", None) or config.encoder.hidden_size  # of an encoder-decoder composite
    rate = TUNED_RATE if config.model_type == "glossa" else OTHER_RATE / width
    rate = ADAPTER_RATE if settings.training.lora_rank else rate
    return replace(size, passes=passes, learning_rate=rate, muon_learning_rate=None)


def tuned_passes(pairs: int) -> int:
    """The passes over the pairs that a translator is tuned on."""
    return max(1, min(MOST_TUNED_PASSES, round(TUNED_PASSES * (TUNED_PAIRS / pairs) ** FEWER)))


def _tokens(text: str) -> float:
    """The estimated number of tokens in `text`, before the vocabulary is trained."""
    return sum(WIDE if unicodedata.east_asian_width(character) in "WF" else 1 for character in text) / CHARACTERS


def size_for_hours(settings: Settings, sizes: Sequence[Size], tokens: float) -> Size:
    """The largest of `sizes` for which enough passes over `tokens` tokens fit into the hours, or else the smallest.

    Passes and dropout come from the last size, which fits the number of pairs; short runs have less dropout. The
    hours are those of all stages of a chain, which have the same model.
    """
    wanted, training = sizes[-1], settings.training
    enough = min(PASSES, wanted.passes / 2)
    chosen, passes = wanted, wanted.passes
    for chosen in reversed(sizes):
        seconds = [OVERHEAD * tokens * seconds_per_token(settings, chosen)]
        broadcast_object_list(seconds)  # all processes must build the same model
        passes = 3600 * training.hours / max(seconds[0], 1e-9)  # type: ignore[operator]
        logger.info("Width %d: about %.2g passes fit into %g h.", chosen.width, passes, training.hours)
        if passes >= enough:
            break
    is_short = passes * _directions(settings) <= SHORT * wanted.passes
    dropout = min(wanted.dropout, LESS_DROPOUT) if is_short else wanted.dropout
    return replace(chosen, dropout=dropout, passes=wanted.passes)


def seconds_per_token(settings: Settings, size: Size) -> float:
    """Time of the forward and backward pass per target token, measured with a new model of this size on one batch."""
    device = settings.training.device
    with torch.random.fork_rng():
        model = GlossaForConditionalGeneration(GlossaConfig(**size.dimensions())).train()
        model.to(device)  # type: ignore[arg-type]
        sentences = max(settings.training.batch_tokens // TRIAL_LENGTH, 1)
        ids = torch.randint(4, size.vocab_size, (sentences, TRIAL_LENGTH), device=device)
        step = trial_step(model, {"input_ids": ids, "labels": ids}, settings.training.bf16)
        step()  # allocates memory
        started = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
    return (time.perf_counter() - started) / ids.numel()


def adopt_choices(settings: Settings) -> Settings:
    """Return the settings with the values that a resumed run chose at its start, from its recipe."""
    recipe = resumed_recipe(vars(settings.training))
    if not recipe:
        return settings
    names, hours = choosable(settings), settings.training.hours
    if hours is not None:
        names |= {"num_train_epochs"}
        if hours != recipe.get("hours"):
            logger.warning(
                "hours is %g, but it applies only to a new run. The resumed run keeps its %g passes.",
                hours, recipe["num_train_epochs"],
            )  # fmt: skip
    origin = Origin("resumed", str(settings.training.output_dir))
    return settings.with_values({name: recipe.get(name) for name in names}, origin)


def choosable(settings: Settings) -> set[str]:
    """Names of the settings chosen by the number of pairs, since neither recipe nor command line sets them.

    Empty for pretraining.
    """
    names: set[str] = set()
    if settings.translator.objective != "translation":
        return names
    for group in CHOSEN[KEPT:] if settings.translator.init_from else CHOSEN:
        chosen, _, deciding = group.partition("|")
        if settings.named.isdisjoint([*chosen.split(), *deciding.split()]):
            names |= set(chosen.split())
    if is_stream(settings.data) or tokens_of(sources_of(settings.data)) is not None:
        names -= {"augmentation"}  # prepared pairs have token ids, and rows of a stream are seen only once
    return names - prepared(settings)


def prepared(settings: Settings) -> set[str]:
    """Names of the settings that come from a prepared folder."""
    return {name for name, origin in settings.origins.items() if origin.kind == "prepared"}


def resolve_vocabulary_size(settings: Settings, tokenizer: PreTrainedTokenizerBase) -> Settings:
    """Return the settings with the size of a new vocabulary, if it is smaller than the chosen size."""
    found = len(tokenizer)
    if "vocab_size" not in choosable(settings) or found >= settings.tokenizer.vocab_size:
        return settings
    logger.info("The training text has only %d tokens, so vocab_size is lowered.", found)
    # Not among the options that repeat the run: with other augmentation the text may support fewer tokens.
    return settings.with_values({"vocab_size": found}, Origin("trial", "the tokens that the text supports"))
