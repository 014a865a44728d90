"""The end of tuning: how much of the tuned weights is kept, so that little is forgotten and nothing is made worse."""

import logging
from functools import partial
from typing import Any

from datasets import DatasetDict
from transformers import EarlyStoppingCallback, PreTrainedModel, PreTrainedTokenizerBase

from ..base.metrics import bleu_tokenizer, paired_bootstrap
from ..base.run_folder import ADAPTER, RunFolder
from ..translate.interface import Execution, Search
from ..translate.translator import Translator
from .blending import blend_into, scale_adapter
from .evaluation.blends import NAMES, choose, test_lines
from .evaluation.scoring import score_translator
from .plan.arguments import Settings
from .plan.devices import is_sharded, uses_deepspeed
from .progress import evaluation_line
from .trainer import GlossaTrainer

logger = logging.getLogger(__name__)

SHARES = tuple(number / 10 for number in range(11))  # of the tuned weights
ENDS = (0.0, 1.0)
TESTS = {"test": "own", "watch_test": "watched"}  # splits that choose nothing, and their names


def can_turn(settings: Settings, trainer: GlossaTrainer) -> bool:
    """Whether a run chooses its weights: it starts from a translator, and takes the best weights by their scores."""
    start, training = settings.translator.init_from, settings.training
    if start is None or RunFolder(start).recipe.get("objective", "translation") != "translation":
        return False
    if is_sharded(training) or uses_deepspeed(training):
        logger.info("With FSDP or DeepSpeed, no blend with the start is tried. The tuned weights are saved.")
        return False
    return bool(training.load_best_model_at_end and training.predict_with_generate and trainer.compute_metrics)


def turn(settings: Settings, trainer: GlossaTrainer, start: PreTrainedModel) -> dict[str, Any]:
    """Blend the tuned weights with those of `start`, and leave the best blend in the trainer's model.

    Returns its `share`, the `metric`, the `points` with the scores of each share, by `NAMES`, and `tests`, which
    [`tell`] fills.

    With watched pairs, the shares are tenths; the best one is chosen of those that lose at most `watch_loss` BLEU on
    them. Without, it is the better one of start and tuned model. Better is by `metric_for_best_model` on the
    validation pairs. All processes must call this.
    """
    training = settings.training
    model = trainer.accelerator.unwrap_model(trainer.model)
    first, tuned = start.state_dict(), {name: weight.clone() for name, weight in model.state_dict().items()}
    trainer.remove_callback(EarlyStoppingCallback)
    measured: Any = trainer.compute_metrics
    trainer.compute_metrics = partial(measured, samples=0)  # translations are shown during training only
    points = []
    for share in SHARES if trainer.watched else ENDS:
        blend_into(model, first, tuned, share)
        trainer.evaluate(metric_key_prefix="blend")
        logged = trainer.state.log_history[-1]
        logged["blend_share"] = share
        points.append({name: logged[f"blend_{name}"] for name in NAMES if f"blend_{name}" in logged})
        if training.should_save:
            print(evaluation_line(logged, f"{share:.0%} of the tuned weights", "blend"), flush=True)
    metric = str(training.metric_for_best_model).removeprefix("eval_")
    share = choose(points, metric, bool(training.greater_is_better), settings.data.watch_loss)
    blend_into(model, first, tuned, share)
    if training.lora_rank and training.should_save:
        scale_adapter(RunFolder(training.output_dir).path / ADAPTER, share)
    return {"share": share, "metric": metric, "points": points, "tests": {}}


def tell(
    found: dict[str, Any], settings: Settings, start: PreTrainedModel, model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase, splits: DatasetDict,
) -> None:  # fmt: skip
    """Score start and kept model on test pairs, greedily, and print what was gained and lost.

    The scores are added to `found` of [`turn`]: for "own" and "watched" test pairs the metrics by name, each with
    `before`, `after` and `p_value`.

    Nothing is printed without watched pairs, or if the start is kept. All processes must call this.
    """
    if "watch_test" not in splits or not found["share"]:
        return
    tokenize = bleu_tokenizer(settings.data.target_language, settings.translator.bleu_tokenizer)
    start.to(model.device)  # type: ignore[arg-type]
    model.config.use_cache = True  # the Trainer turns it off for training
    both = [Translator(one.eval(), tokenizer, Search(1), execution=Execution(shared=True)) for one in (start, model)]
    for split, name in TESTS.items():
        if split not in splits:
            continue
        before, after = (score_translator(one, splits[split], tokenize) for one in both)
        known = dict(zip(before["sources"], before["translations"], strict=True))
        rows = [row for row, source in enumerate(after["sources"]) if source in known]
        old = [known[after["sources"][row]] for row in rows]
        new, references = ([after[key][row] for row in rows] for key in ("translations", "references"))
        tests = paired_bootstrap(old, new, [texts[:1] for texts in references], tokenize=tokenize)
        scores = [result["scores"]["single"] for result in (before, after)]
        found["tests"][name] = {
            metric: {"before": scores[0][metric], "after": scores[1][metric], "p_value": tests[metric]["p_value"]}
            for metric in tests
        }
    if settings.training.should_save:
        kept = f"\nKept: {found['share']:.0%} of the tuned weights. On pairs that chose nothing, greedy:"
        print("\n  ".join([kept, *test_lines(found)]))
