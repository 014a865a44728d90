"""The model card, with metadata and text only from the files of a run."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from ...base.errors import GlossaError
from ...base.run_folder import table_cell
from ...translate.loading import load_tokenizer
from ..evaluation.blends import blend_cells, test_lines
from ..evaluation.scoring import METRICS
from ..evaluation.verdict import card_line
from .facts import Run

PICTURE = "page.png"  # of the Space
TEMPLATE = Path(__file__).with_name("card_template.jinja")  # in the package, since the Trainer writes cards


def build_card(
    run: Path,
    repo_id: str,
    license: str | None = None,
    model: Path | None = None,
    publish_samples: bool | None = None,
    space: bool = False,
) -> ModelCard:
    """Build the card of the run in the folder `run`.

    The card omits facts that are not in the folder.

    Args:
        run: The folder of a run.
        repo_id: The repository that the card is for, "user/name".
        license: A license identifier of the Hub. By default the card has no license.
        model: The folder of the model if it is not `run`, for example a checkpoint.
        publish_samples: Whether the card has sentences of the held-out pairs. By default only if the data is public.
        space: Whether the card links to a Space of the same name.

    Raises:
        GlossaError: if the model folder has no config.json, or the model is pretrained but not yet a translator.
    """
    facts = Run(run, model)
    facts.shows_samples = facts.may_show_samples(publish_samples)
    objective = facts.recipe.get("objective", "translation")
    if objective != "translation":
        raise GlossaError(
            f"{run} was trained with objective {objective}: it does not translate yet. Give a translator that was "
            f"trained from it with init_from {run}."
        )
    data = ModelCardData(
        language=facts.languages,
        license=license,
        library_name="transformers",
        pipeline_tag="translation",
        tags=["glossa"] if facts.is_foreign else ["glossa", "custom_code"],
        datasets=[facts.hub_dataset] if facts.hub_dataset else None,
        metrics=[name for name in METRICS if any(name in row["scores"] for row in facts.results)] or None,
        base_model=facts.base_model,
        widget=facts.widget() or None,
        model_name=repo_id.split("/")[-1],
        eval_results=facts.evaluations() or None,
    )
    return ModelCard.from_template(
        data,
        space=space,
        picture=PICTURE,
        template_path=str(TEMPLATE),
        repo_id=repo_id,
        facts=facts,
        blends=blend_cells(facts.metrics.get("blend", {})),
        blend_tests=test_lines(facts.metrics.get("blend", {"tests": {}})),
        verdict=card_line(facts.metrics, facts.report),
        snippet=snippet(facts.model, repo_id, facts.examples(1)[0]) if facts.is_foreign else None,
        metric_names=METRICS,
        corpora=corpora(facts.recipe, facts.report),
        quoted=lambda text: json.dumps(text, ensure_ascii=False),
    )


def snippet(model: Path, name: str, text: str) -> str:
    """Example code that translates `text` with a model of another family.

    Args:
        model: The folder of the model.
        name: The folder or Hub name of the model in the code.
        text: A text in the source language.
    """
    tokenizer: Any = load_tokenizer(str(model))
    asked, options = "", ""
    if several := tokenizer.target_languages:
        language = tokenizer.tgt_lang or several[0]
        asked = tokenizer.prefixes.get(language, "")
        if (code := tokenizer.codes.get(language)) and tokenizer.tgt_lang is None:
            options = f", forced_bos_token_id=tokenizer.convert_tokens_to_ids({code!r})"
    text, name = (json.dumps(each, ensure_ascii=False) for each in (asked + text, name))
    return f"""from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({name})
model = AutoModelForSeq2SeqLM.from_pretrained({name})
batch = tokenizer([{text}], padding=True, return_tensors="pt")
ids = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"]{options})
print(tokenizer.batch_decode(ids, skip_special_tokens=True)[0])"""


def corpora(recipe: dict, report: dict) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows of the table of several sources, with rows read, kept, trained on and seen in an epoch.

    It omits local files. A source without a `name` in the recipe is "source 1", since its file name may be private.
    """
    entries, found = recipe.get("sources", []), list(report.get("sources", {}).values())
    if not entries:
        return None
    columns = ("read", "kept", "train", "weight", "seen")
    rows = []
    for number, entry in enumerate(entries):
        counts = found[number] if number < len(found) else {}
        name = table_cell(entry.get("name") or f"source {number + 1}")
        rows.append([name, *(f"{counts.get(column, 0):,}" for column in columns)])
    return ["source", *columns[:-1], "seen in an epoch"], rows
