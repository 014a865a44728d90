"""Facts of a run, from the files in its folder, for its model card and for pushes."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, HfApi
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from jinja2 import TemplateError
from sacrebleu.metrics import CHRF

from ...base.checkpoints import read_file
from ...base.errors import GlossaError, http_errors
from ...base.languages import direction
from ...base.run_folder import RunFolder, table_cell
from ...translate.languages import Languages
from ..evaluation.robustness import robustness_cells
from ..evaluation.scoring import METRICS, NORMALIZED, REFERENCES, distinct_kinds

OWN_DATA = {"embedded": "the corpus embedded in Glossa", "files": "local files", "folder": "a local folder"}
OWN_DATA |= {"anki": "Anki's sentence pairs (manythings.org/anki, from Tatoeba)", "sources": "several corpora"}
PUBLIC = ("embedded", "anki")
_NO_ANSWER: tuple[type[Exception], ...] = (OSError, RuntimeError, ValueError, *http_errors())
HELD_OUT_PATHS = ("data_path", "validation_path", "test_path")  # settings whose pairs may be held out
EXAMPLES = 3  # number of widget examples, of good samples and of bad samples
EVALUATIONS = 20  # maximum rows in the validation table


@contextmanager
def naming_damage(folder: Path) -> Iterator[None]:
    """Convert errors from unexpected content in the files of `folder` to a `GlossaError` that they are damaged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, TemplateError) as error:
        text = " ".join(str(error).split())[:200]
        raise GlossaError(
            f"{folder}: the metrics, the log, the data report or the samples are damaged ({type(error).__name__}: "
            f"{text}). Restore them from a copy."
        ) from error


class Run:
    """Facts from the folder of a run, for the card template. Facts that the folder lacks are None or empty."""

    def __init__(self, folder: Path, model: Path | None = None):
        self.run, self.model = RunFolder(folder), model or folder
        config = self.model / "config.json"
        if not config.is_file():
            raise GlossaError(f"{self.model} is not a model folder: it has no config.json. Give a finished run.")
        self.config = read_file(config, json.loads, dict)
        self.metrics, self.versions, self.report = self.run.metrics, self.run.versions, self.run.data_report
        self.history, self.recipe = self.run.history, self.run.recipe
        self.has_curves = self.run.curves.is_file()
        targets = self.config.get("target_language")
        self.targets = targets if isinstance(targets, list) else []  # if there are several
        self.is_foreign = self.config.get("model_type") != "glossa"  # a model of another family
        self.samples = self._samples()
        self.shows_samples = True

    @property
    def sides(self) -> list[str | None]:
        """The codes of the source and the target languages, from the config, or the recipe of an older run."""
        languages = Languages.of_config(self.config, self.recipe)
        return [languages.source, *(languages.targets or [None])]

    @property
    def languages(self) -> list[str] | None:
        """Language codes of source and target as the Hub expects them: two or three letters."""
        known = [code or "" for code in self.sides if code or not self.targets]
        codes = list(dict.fromkeys(re.split(r"[-_]", code)[0].lower() for code in known))
        return codes if all(re.fullmatch(r"[a-z]{2,3}", code) for code in codes) else None

    @property
    def direction(self) -> str:
        """The direction, such as "English to French"; "" if the languages are not known."""
        return direction(*self.sides) if self.targets or all(self.sides) else ""

    @property
    def hub_dataset(self) -> str | None:
        """The Hub name of the dataset; None for other datasets."""
        name = self.recipe.get("dataset")
        return None if name in OWN_DATA or self.recipe.get("data_path") else self._hub_name("dataset")

    def _hub_name(self, setting: str) -> str | None:
        """The value of `setting` if it is a name on the Hub; None for a local path, which stays private."""
        name = self.recipe.get(setting)
        if not name or setting in self.report.get("local", []) or Path(name).exists():
            return None
        try:
            validate_repo_id(name)
        except HFValidationError:
            return None
        return name

    def may_show_samples(self, asked: bool | None = None) -> bool:
        """Whether to publish sentences of the held-out pairs: `asked`, or by default only if the data is public."""
        if asked is not None:
            return asked
        if any(self.recipe.get(name) for name in HELD_OUT_PATHS):
            return False
        return self.recipe.get("dataset") in PUBLIC or (
            self.hub_dataset is not None and is_public_dataset(self.hub_dataset)
        )

    @property
    def _data_key(self) -> str | None:
        """The key in `OWN_DATA` or the name on the Hub; a copy of Anki's pairs is "anki", not "files"."""
        name = self.recipe.get("dataset")
        if self.recipe.get("data_path") and name != "anki":
            return "files"
        return name if not name or name in OWN_DATA else self.hub_dataset or "folder"

    @property
    def data_name(self) -> str | None:
        """A description of the dataset."""
        name = self._data_key
        if self.hub_dataset:
            config = self.recipe.get("dataset_config")
            link = f"[{name}](https://huggingface.co/datasets/{name})"
            return f"{link}, configuration {config}" if config else link
        return OWN_DATA.get(name)

    def teachers(self) -> list[str]:
        """What translated training pairs, with its license."""
        found = [each for each in self.report.get("teachers", []) if not each["own"]]
        return [table_cell("{name} (license: {license})".format_map(each)) for each in found]

    @property
    def base_model(self) -> str | None:
        """The Hub name of the model that training started from; None if it is not on the Hub."""
        name = self._hub_name("init_from")
        return name if name and "/" in name else None

    @property
    def year(self) -> int:
        """The year in which the weights were last written."""
        files = sorted(self.model.glob("*.safetensors")) or [self.model / "config.json"]
        return datetime.fromtimestamp(files[0].stat().st_mtime, UTC).year

    def architecture(self) -> list[tuple[str, str]]:
        """Rows of the architecture table: a property and its value."""
        config = self.config
        experts, activation = config.get("num_local_experts"), config.get("activation_function")
        norm = {"rms": "RMSNorm", "layer": "LayerNorm"}.get(config.get("norm_type"))
        pairs = [
            ("Parameters", self.metrics.get("parameters") and f"{self.metrics['parameters']:,}"),
            ("Layers, encoder and decoder", _both(config, "encoder_layers", "decoder_layers")),
            ("Width", config.get("d_model")),
            ("Heads, encoder and decoder", _both(config, "encoder_attention_heads", "decoder_attention_heads")),
            ("Key and value heads", config.get("num_key_value_heads", config.get("key_value_heads"))),
            ("Latent of keys and values", config.get("kv_lora_rank")),
            ("Feed-forward, encoder and decoder", _both(config, "encoder_ffn_dim", "decoder_ffn_dim")),
            ("Activation", activation and f"{activation}{', gated' * bool(config.get('gated_feed_forward'))}"),
            ("Experts, and experts per token", experts and f"{experts}, {config.get('num_experts_per_tok')}"),
            ("Positions", config.get("position_embedding_type")),
            ("Norm", norm and f"{norm}, {config.get('norm_position')}"),
            ("Vocabulary", config.get("vocab_size") and self._vocabulary()),
        ]
        if self.is_foreign:
            pairs.insert(0, ("Family", config.get("model_type")))
        return [(name, str(value)) for name, value in pairs if value is not None]

    def _vocabulary(self) -> str:
        source, target = self.config.get("vocab_size"), self.config.get("decoder_vocab_size")
        if (self.model / "target_tokenizer.json").is_file() and not self.targets:
            return f"{source:,} source tokens, {target:,} target tokens"
        return f"{source:,} tokens"

    # -- data and training ------------------------------------------------------------------------------------------

    def cleaning(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and rows of the cleaning table: row counts of each split by outcome, without unused outcomes."""
        splits = self.report.get("splits")
        if not splits:
            return None
        reasons = list(dict.fromkeys(reason for counts in splits.values() for reason in counts))
        reasons = [name for name in reasons if any(counts.get(name) for counts in splits.values())]
        rows = [[split, *(f"{counts.get(name, 0):,}" for name in reasons)] for split, counts in splits.items()]
        return ["split", *(name.replace("_", " ") for name in reasons)], rows

    def training(self) -> list[tuple[str, str]]:
        """Rows of the training table: settings, then measurements."""
        recipe, metrics = self.recipe, self.metrics
        speed = metrics.get("target_tokens_per_second")
        shared = (recipe.get("cpu_processes") or 1) > 1  # by all processes
        precision = next((name for name in ("bf16", "fp16") if recipe.get(name)), "fp32" if recipe else None)
        pairs = [
            ("Optimizer", recipe.get("optim")),
            ("Adam's betas", _both(recipe, "adam_beta1", "adam_beta2")),
            ("Learning rate", recipe.get("learning_rate")),
            ("Learning rate of Muon, for the matrices of the layers", recipe.get("muon_learning_rate")),
            ("Schedule", recipe.get("lr_scheduler_type")),
            ("Warm-up steps", recipe.get("warmup_steps")),
            ("Maximum tokens per batch", recipe.get("batch_tokens")),
            ("Batches of a step" if shared else "Gradient accumulation", recipe.get("gradient_accumulation_steps")),
            ("Processes", metrics.get("processes")),
            ("Dropout", recipe.get("dropout")),
            ("Label smoothing", recipe.get("label_smoothing_factor")),
            ("Weight decay", recipe.get("weight_decay")),
            ("Averaged checkpoints", recipe.get("average_checkpoints")),
            ("Rank of the adapters", recipe.get("lora_rank")),
            ("Precision", precision),
            ("Seed", recipe.get("seed")),
            ("Epochs", metrics.get("epochs")),
            ("Steps", metrics.get("steps") and f"{metrics['steps']:,}"),
            ("Target tokens per second", speed and f"{speed:,.0f}"),
            ("Padding", metrics.get("padding") is not None and f"{metrics['padding']:.2%}"),
        ]
        return [(name, str(value)) for name, value in pairs if value not in (None, False)]

    def validation(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and rows of the validation table: step, epoch, loss and scores, with at most `EVALUATIONS` rows."""
        rows = [entry for entry in self.history if "eval_loss" in entry]
        step = -(-len(rows) // EVALUATIONS) if rows else 1
        rows = [*rows[:-1:step], rows[-1]] if rows else []
        if not rows:
            return None
        columns = {"step": "step", "epoch": "epoch", "eval_loss": "loss", "eval_bleu": "BLEU", "eval_chrf": "chrF++"}
        columns |= {"eval_watch_loss": "watched: loss", "eval_watch_bleu": "BLEU", "eval_watch_chrf": "chrF++"}
        columns = {key: name for key, name in columns.items() if key in rows[0]}
        form = {"step": "{:,}", "epoch": "{:.2f}", "eval_loss": "{:.4f}", "eval_watch_loss": "{:.4f}"}
        cells = [[form.get(key, "{:.2f}").format(row[key]) if key in row else "" for key in columns] for row in rows]
        return list(columns.values()), cells

    @property
    def hours(self) -> str | None:
        """Training time in hours."""
        seconds = self.metrics.get("training_seconds")
        return None if seconds is None else f"{seconds / 3600:.2f}"

    # -- results ----------------------------------------------------------------------------------------------------

    @property
    def results(self) -> list[dict]:
        """A row per split, decoding method and kind of references; all references only if they change the scores."""
        rows = []
        for split in ("test", "validation"):
            for name, result in self.metrics.get(split, {}).items():
                scores = result["scores"]
                rows += [
                    {
                        "split": split,
                        "decoding": name,
                        "num_beams": result["num_beams"],
                        "references": REFERENCES[kind],
                        "scores": scores[kind],
                    }
                    for kind in distinct_kinds(scores)
                ]
        return rows

    @property
    def scored_files(self) -> bool:
        """Whether there are scores by file of held-out pairs."""
        return any(
            "file" in found for split in ("test", "validation") for found in self.metrics.get(split, {}).values()
        )

    def score_rows(self) -> list[list[str]]:
        """Rows of the results table: each score with its 95% confidence interval."""
        return [
            [row["split"], row["decoding"], row["references"]]
            + [_interval(row["scores"][name]) if name in row["scores"] else "" for name in METRICS]
            for row in self.results
        ]

    def implausible(self) -> list[str]:
        """The share of implausible translations of the test split, for each decoding method."""
        rates = {
            name: found["implausible"]
            for name, found in self.metrics.get("test", {}).items()
            if "implausible" in found
        }
        return [
            f"{name} {sum(kinds.values()):.2%}" + "".join(f", {kind} {rate:.2%}" for kind, rate in kinds.items())
            for name, kinds in rates.items()
            if not name.endswith(NORMALIZED)
        ]

    @property
    def robustness(self) -> dict:
        """The results of `glossa score --robustness`; empty if it was not run."""
        return self.metrics.get("robustness", {})

    def robustness_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the robustness table."""
        return robustness_cells(self.robustness["rows"])

    @property
    def confidence(self) -> dict:
        """Calibration of the model's confidence on the test split; empty if it has no confidence model."""
        return self.metrics.get("confidence", {})

    def confidence_rows(self) -> list[list[str]]:
        """Confidence, share of translations that need no correction, and their number, by increasing confidence."""
        return [[f"{mean:.0%}", f"{share:.0%}", f"{size:,}"] for mean, share, size in self.confidence["bins"]]

    def signatures(self) -> list[str]:
        """The sacreBLEU signatures of all results."""
        found = (
            f"{METRICS[name]}: `{score['signature']}`" for row in self.results for name, score in row["scores"].items()
        )
        return sorted(dict.fromkeys(found))

    def evaluations(self) -> list[EvalResult]:
        """The results for the Hub's model-index."""
        name = self._data_key or "unknown"
        return [
            EvalResult(
                task_type="translation",
                task_name=f"Translation {self.direction}".strip(),
                dataset_type=self.hub_dataset or name,
                dataset_name=name,
                dataset_config=self.recipe.get("dataset_config") if self.hub_dataset else None,
                dataset_split=row["split"],
                metric_type=metric,
                metric_name=f"{METRICS[metric]}, {row['decoding']}, {row['references']} reference"
                + "s" * (row["references"] == "all"),
                metric_value=round(score["score"], 2),
                metric_args={"num_beams": row["num_beams"], "signature": score["signature"]},
            )
            for row in self.results
            for metric, score in row["scores"].items()
        ]

    # -- samples ----------------------------------------------------------------------------------------------------

    def _samples(self) -> list[dict[str, Any]]:
        """The samples with the chrF++ of their last translation as `chrf`, best first."""
        rows, metric = [], CHRF(word_order=2)
        for sample in self.run.samples:
            found = dict(sample)
            chrf = found.pop("chrf", None)
            *_, (decoding, translation) = found.items()
            if chrf is None:
                chrf = metric.sentence_score(translation, [found["reference"]]).score
            rows.append(found | {"decoding": decoding, "translation": translation, "chrf": chrf})
        return sorted(rows, key=lambda row: -row["chrf"])

    @property
    def samples_are_of_all(self) -> bool:
        """Whether best and worst samples were chosen from all held-out pairs rather than from the saved samples."""
        return all("chrf" in row for row in self.run.samples)

    def sample_rows(self, good: bool) -> list[list[str]]:
        """The best or the worst samples; no sample is in both."""
        half = self.samples[: len(self.samples) // 2] if good else self.samples[len(self.samples) // 2 :][::-1]
        return [
            [*(table_cell(row[name]) for name in ("source", "reference", "translation")), f"{row['chrf']:.1f}"]
            for row in half[:EXAMPLES]
        ]

    def sources(self, count: int = EXAMPLES) -> list[str]:
        """The first distinct sources of the test split, or else of the validation split, each as one line."""
        for split in ("test", "validation"):
            file = self.run.held_out_file(split)
            if file.is_file():
                rows = (json.loads(line)["source"] for line in file.read_text(encoding="utf-8").split("\n") if line)
                return list(dict.fromkeys(map(_one_line, rows)))[:count]
        return []

    def examples(self, count: int = EXAMPLES) -> list[str]:
        """`sources` if the card may show them; a placeholder otherwise."""
        return (self.sources(count) if self.shows_samples else []) or ["..."]

    def widget(self) -> list[dict]:
        """Widget examples from the held-out pairs, with the model's translation if it is among the samples."""
        translations = {_one_line(row["source"]): _one_line(row["translation"]) for row in self.samples}
        return [
            {"text": text, "example_title": f"Example {number}"}
            | ({"output": {"text": translations[text]}} if text in translations else {})
            for number, text in enumerate(self.sources() if self.shows_samples else [], 1)
        ]


def is_public_dataset(dataset: str) -> bool:
    """Whether a Hub dataset is public: it exists, and is neither private nor gated."""
    try:
        return not HfApi().dataset_info(dataset, token=False, timeout=10).gated
    except _NO_ANSWER:  # not known to be public
        return False


def _one_line(text: str) -> str:
    # YAML parsers differ in their handling of U+0085, U+2028 and U+2029.
    return " ".join(text.splitlines()).strip()


def _both(values: dict, first: str, second: str) -> str | None:
    return f"{values[first]}, {values[second]}" if first in values and second in values else None


def _interval(score: dict) -> str:
    interval = f" [{score['low']:.2f}, {score['high']:.2f}]" if "low" in score else ""
    return f"{score['score']:.2f}{interval}"
