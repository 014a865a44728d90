"""Whether batches of similar lengths train as well as random batches: `python -m benchmarks steps RECIPE`.

Trains the recipe's model from scratch with both kinds of batches, for the same number of steps of as many sentences on
average, and translates the validation split greedily. Any setting of `glossa train` may follow the recipe.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable

import datasets
from datasets import DatasetDict
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase, Seq2SeqTrainer, set_seed

from glossa.data.encoding.batching import TokenBatchSampler
from glossa.data.encoding.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.evaluation.metrics import score
from glossa.inference.engines.engine import Search
from glossa.inference.translator import Translator
from glossa.plan.arguments import Settings, parse_settings
from glossa.training.building import build_model, build_tokenizer
from glossa.training.trainer import GlossaTrainer

from .timing import table

COMPOSITIONS = ("at random", "as the recipe says")  # of a step's sentences
NO_EVALUATION = [
    *("--eval_strategy", "no", "--save_strategy", "no", "--load_best_model_at_end", "false"),
    *("--predict_with_generate", "false", "--logging_strategy", "no", "--report_to", "none", "--disable_tqdm", "true"),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s RECIPE [--seeds N ...] [--compositions NAME ...] [--setting value ...]"
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="default: 1 2 3")
    parser.add_argument("--compositions", nargs="+", choices=COMPOSITIONS, default=COMPOSITIONS, help="default: both")
    parser.set_defaults(settings=[])


def run(arguments: argparse.Namespace) -> None:
    datasets.disable_progress_bars()
    print(table(quality_rows(measure_quality(arguments.settings, arguments.compositions, arguments.seeds))))


class RandomTrainer(GlossaTrainer):
    """Glossa's Trainer with the batches of the stock Trainer: random sentences of any length."""

    get_train_dataloader = Seq2SeqTrainer.get_train_dataloader


def build_trainer(
    composition: str, settings: Settings, tokenizer: PreTrainedTokenizerBase, tokenized: DatasetDict
) -> GlossaTrainer:
    """A trainer for a new model: batches of `composition`, one of `COMPOSITIONS`, and the recipe's number of steps."""
    arguments, rows = settings.training, tokenized["train"]
    sampler = TokenBatchSampler(rows["source_length"][:], rows["target_length"][:], arguments.batch_tokens)
    steps_an_epoch = len(sampler) / arguments.gradient_accumulation_steps
    arguments.max_steps = round(arguments.num_train_epochs * steps_an_epoch)
    if composition == "at random":
        arguments.gradient_accumulation_steps = 1
    arguments.per_device_train_batch_size = round(len(rows) / steps_an_epoch)
    set_seed(arguments.seed)
    model = build_model(settings, tokenizer)
    return (RandomTrainer if composition == "at random" else GlossaTrainer)(
        model=model,
        args=arguments,
        train_dataset=rows,
        eval_dataset=tokenized["validation"],
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
    )


def measure_quality(argv: list[str], compositions: Iterable[str], seeds: Iterable[int]) -> dict[str, dict]:
    """For each composition `loss` (nats a token) and `bleu` on the validation split, and `seconds` of training.

    Each is a list with a value for each seed.
    """
    settings = parse_settings([*argv, *NO_EVALUATION])
    pairs, report = prepare_pairs(settings.data)
    tokenizer = build_tokenizer(settings, pairs)
    tokenized = tokenize_pairs(pairs, tokenizer, settings.data, report)
    results: dict[str, dict] = {name: {"loss": [], "bleu": [], "seconds": []} for name in compositions}
    for seed in seeds:
        for name, found in results.items():
            with tempfile.TemporaryDirectory() as run:
                settings = parse_settings([*argv, *NO_EVALUATION, "--seed", str(seed), "--output_dir", run])
                trainer = build_trainer(name, settings, tokenizer, tokenized)
                started = time.perf_counter()
                trainer.train()
                found["seconds"].append(time.perf_counter() - started)
            found["loss"].append(trainer.evaluate()["eval_loss"])
            translator = Translator(trainer.model.eval(), tokenizer, Search(1))  # type: ignore[arg-type]
            texts = translator.best(pairs["validation"]["source"])
            references = [[target] for target in pairs["validation"]["target"]]
            found["bleu"].append(score(texts, references)["bleu"]["score"])
            print(f"{name}, seed {seed}: " + ", ".join(f"{key} {values[-1]:.4f}" for key, values in found.items()))
    return results


def quality_rows(results: dict[str, dict]) -> list[dict[str, str]]:
    """What [`measure_quality`] returned, a row for each composition: a value for each seed, and the median time."""
    return [
        {
            "a step's sentences": name,
            "validation loss": ", ".join(f"{loss:.4f}" for loss in found["loss"]),
            "validation BLEU": ", ".join(f"{bleu:.2f}" for bleu in found["bleu"]),
            "seconds": f"{statistics.median(found['seconds']):,.0f}",
        }
        for name, found in results.items()
    ]
