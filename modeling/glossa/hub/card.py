"""The model card. Its metadata and text come only from the files of a run."""

import json
import re
from datetime import UTC, datetime
from importlib.metadata import metadata
from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from sacrebleu.metrics import CHRF

from ..errors import GlossaError
from ..evaluation.scoring import METRICS, REFERENCES, distinct
from ..run_folder import RunFolder, table_cell

# Inside the package, because the Trainer writes cards where only the package is installed.
TEMPLATE = Path(__file__).with_name("card_template.jinja")
OWN_DATA = {
    "embedded": "the corpus embedded in Glossa",
    "anki": "Anki's sentence pairs (manythings.org/anki, from Tatoeba)",
    "files": "local files",
}
EXAMPLES = 3  # number of widget examples, of good samples and of bad samples
EVALUATIONS = 20  # maximum rows in the validation table


def build_card(run: Path, repo_id: str, license: str | None = None, model: Path | None = None) -> ModelCard:
    """Build the card of the run in the folder `run`.

    The card leaves out facts that the folder does not contain.

    Args:
        run: The folder of a run.
        repo_id: The repository that the card is for, "user/name".
        license: A license identifier of the Hub. Defaults to the license of this package.
        model: The folder of the model if it is not `run`, for example a checkpoint.

    Raises:
        GlossaError: if the model folder has no config.json, or the model is pretrained but not yet a translator.
    """
    facts = Run(run, model)
    objective = facts.recipe.get("objective", "translation")
    if objective != "translation":
        raise GlossaError(
            f"{run} was trained with objective {objective}: it does not translate yet. Give a translator that was "
            f"trained from it with init_from {run}."
        )
    data = ModelCardData(
        language=facts.languages,
        license=license or _package_license(),
        library_name="transformers",
        pipeline_tag="translation",
        tags=["glossa", "custom_code"],
        datasets=[facts.hub_dataset] if facts.hub_dataset else None,
        metrics=[name for name in METRICS if any(name in row["scores"] for row in facts.results)] or None,
        base_model=facts.base_model,
        widget=facts.widget() or None,
        model_name=repo_id.split("/")[-1],
        eval_results=facts.evaluations() or None,
    )
    return ModelCard.from_template(
        data,
        template_path=str(TEMPLATE),
        repo_id=repo_id,
        facts=facts,
        metric_names=METRICS,
        quoted=lambda text: json.dumps(text, ensure_ascii=False),
    )


class Run:
    """Facts from the folder of a run, for the card template. Facts that the folder lacks are None or empty."""

    def __init__(self, folder: Path, model: Path | None = None):
        self.run, self.model = RunFolder(folder), model or folder
        config = self.model / "config.json"
        if not config.is_file():
            raise GlossaError(f"{self.model} is not a model folder: it has no config.json. Give a finished run.")
        self.config = json.loads(config.read_text(encoding="utf-8"))
        self.metrics, self.versions, self.report = self.run.metrics, self.run.versions, self.run.data_report
        self.history, self.recipe = self.run.history, self.run.recipe
        self.has_curves = self.run.curves.is_file()
        self.samples = self._samples()

    # -- model ------------------------------------------------------------------------------------------------------

    @property
    def languages(self) -> list[str] | None:
        """Language codes of source and target as the Hub expects them: two or three letters."""
        codes = [self.recipe.get(f"{side}_language", "") for side in ("source", "target")]
        codes = [re.split(r"[-_]", code)[0].lower() for code in codes]
        return codes if all(re.fullmatch(r"[a-z]{2,3}", code) for code in codes) else None

    @property
    def direction(self) -> str:
        """The direction, such as "en to fr"; "" if the recipe does not name both languages."""
        sides = [self.recipe.get("source_language"), self.recipe.get("target_language")]
        return " to ".join(sides) if all(sides) else ""

    @property
    def hub_dataset(self) -> str | None:
        """The name of the dataset on the Hub; None for other datasets."""
        name = self.recipe.get("dataset")
        if not name or name in OWN_DATA or self.recipe.get("data_path") or Path(name).exists() or name[0] in "./~":
            return None
        return name

    @property
    def _data_key(self) -> str | None:
        """The dataset name in the recipe; "files" if the recipe has a path, unless it is a copy of Anki's pairs."""
        name = self.recipe.get("dataset")
        return "files" if self.recipe.get("data_path") and name != "anki" else name

    @property
    def data_name(self) -> str | None:
        """A description of the dataset."""
        name = self._data_key
        if self.hub_dataset:
            config = self.recipe.get("dataset_config")
            link = f"[{name}](https://huggingface.co/datasets/{name})"
            return f"{link}, configuration {config}" if config else link
        return OWN_DATA.get(name, "a local folder" if name else None)

    @property
    def base_model(self) -> str | None:
        """The Hub name of the model that training started from; None if it is not on the Hub."""
        name = self.recipe.get("init_from")
        return name if name and name.count("/") == 1 and name[0] not in "./~" and not Path(name).exists() else None

    @property
    def year(self) -> int:
        """The year in which the weights were last written."""
        files = sorted(self.model.glob("*.safetensors")) or [self.model / "config.json"]
        return datetime.fromtimestamp(files[0].stat().st_mtime, UTC).year

    def architecture(self) -> list[tuple[str, str]]:
        """Rows of the architecture table: a property and its value."""
        config = self.config
        norm = {"rms": "RMSNorm", "layer": "LayerNorm"}.get(config.get("norm_type"))
        pairs = [
            ("Parameters", self.metrics.get("parameters") and f"{self.metrics['parameters']:,}"),
            ("Layers, encoder and decoder", _both(config, "encoder_layers", "decoder_layers")),
            ("Width", config.get("d_model")),
            ("Heads, encoder and decoder", _both(config, "encoder_attention_heads", "decoder_attention_heads")),
            ("Key and value heads", config.get("num_key_value_heads", config.get("key_value_heads"))),
            ("Feed-forward, encoder and decoder", _both(config, "encoder_ffn_dim", "decoder_ffn_dim")),
            ("Activation", f"{config.get('activation_function')}{', gated' * bool(config.get('gated_feed_forward'))}"),
            ("Positions", config.get("position_embedding_type")),
            ("Norm", norm and f"{norm}, {config.get('norm_position')}"),
            ("Vocabulary", self._vocabulary()),
        ]
        return [(name, str(value)) for name, value in pairs if value is not None]

    def _vocabulary(self) -> str:
        source, target = self.config.get("vocab_size"), self.config.get("decoder_vocab_size")
        if (self.model / "target_tokenizer.json").is_file():
            return f"{source:,} source tokens, {target:,} target tokens"
        return f"{source:,} tokens"

    # -- data and training ------------------------------------------------------------------------------------------

    def cleaning(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and rows of the cleaning table: row counts of each split by outcome, without outcomes that are 0."""
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
        precision = next((name for name in ("bf16", "fp16") if recipe.get(name)), "fp32" if recipe else None)
        pairs = [
            ("Optimizer", recipe.get("optim")),
            ("Adam's betas", _both(recipe, "adam_beta1", "adam_beta2")),
            ("Learning rate", recipe.get("learning_rate")),
            ("Schedule", recipe.get("lr_scheduler_type")),
            ("Warm-up steps", recipe.get("warmup_steps")),
            ("Maximum tokens per batch", recipe.get("batch_tokens")),
            ("Gradient accumulation", recipe.get("gradient_accumulation_steps")),
            ("Dropout", recipe.get("dropout")),
            ("Label smoothing", recipe.get("label_smoothing_factor")),
            ("Weight decay", recipe.get("weight_decay")),
            ("Precision", precision),
            ("Seed", recipe.get("seed")),
            ("Epochs", metrics.get("epochs")),
            ("Steps", metrics.get("steps") and f"{metrics['steps']:,}"),
            ("Target tokens per second", _number(metrics.get("target_tokens_per_second"))),
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
        columns = {key: name for key, name in columns.items() if key in rows[0]}
        form = {"step": "{:,}", "epoch": "{:.2f}", "eval_loss": "{:.4f}"}
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
        """One row per split, decoding method and kind of references; all references only if they change the scores."""
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
                    for kind in distinct(scores)
                ]
        return rows

    def score_rows(self) -> list[list[str]]:
        """Rows of the results table: each score with its 95% confidence interval."""
        return [
            [row["split"], row["decoding"], row["references"]]
            + [_interval(row["scores"][name]) if name in row["scores"] else "" for name in METRICS]
            for row in self.results
        ]

    def signatures(self) -> list[str]:
        """The sacreBLEU signatures of all results."""
        found = (
            f"{METRICS[name]}: `{score['signature']}`" for row in self.results for name, score in row["scores"].items()
        )
        return sorted(dict.fromkeys(found))

    def evaluations(self) -> list[EvalResult]:
        """The results for the model-index of the Hub."""
        name = self._data_key or "unknown"
        return [
            EvalResult(
                task_type="translation",
                task_name=f"Translation {self.direction}".strip(),
                dataset_type=self.hub_dataset or name,
                dataset_name=name,
                dataset_config=self.recipe.get("dataset_config"),
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

    def _samples(self) -> list[dict[str, str]]:
        """The samples with the chrF++ of their last translation as `chrf`, best first."""
        rows = self.run.samples
        metric = CHRF(word_order=2)
        for row in rows:
            *_, (decoding, translation) = row.items()
            row |= {"decoding": decoding, "translation": translation}
            row["chrf"] = f"{metric.sentence_score(translation, [row['reference']]).score:.1f}"
        return sorted(rows, key=lambda row: -float(row["chrf"]))

    def sample_rows(self, good: bool) -> list[list[str]]:
        """The best or the worst samples; no sample is in both."""
        half = self.samples[: len(self.samples) // 2] if good else self.samples[len(self.samples) // 2 :][::-1]
        return [
            [table_cell(row[name]) for name in ("source", "reference", "translation", "chrf")]
            for row in half[:EXAMPLES]
        ]

    def sources(self, count: int = EXAMPLES) -> list[str]:
        """The first distinct sources of the test split, or of the validation split."""
        for split in ("test", "validation"):
            file = self.run.held_out_file(split)
            if file.is_file():
                rows = (json.loads(line)["source"] for line in file.read_text(encoding="utf-8").split("\n") if line)
                return list(dict.fromkeys(rows))[:count]
        return []

    def widget(self) -> list[dict]:
        """Widget examples from the held-out pairs, with the model's translation if it is among the samples."""
        translations = {row["source"]: row["translation"] for row in self.samples}
        return [
            {"text": text, "example_title": f"Example {number}"}
            | ({"output": {"text": translations[text]}} if text in translations else {})
            for number, text in enumerate(self.sources(), 1)
        ]


def _both(values: dict, first: str, second: str) -> str | None:
    return f"{values[first]}, {values[second]}" if first in values and second in values else None


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}"


def _interval(score: dict) -> str:
    interval = f" [{score['low']:.2f}, {score['high']:.2f}]" if "low" in score else ""
    return f"{score['score']:.2f}{interval}"


def _package_license() -> str | None:
    license = metadata("glossa").get("License-Expression")  # type: ignore[attr-defined]
    return license and license.lower()
