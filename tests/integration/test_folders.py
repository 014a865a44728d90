"""Whatever the command trains can be loaded by transformers alone: every kind of run, and its checkpoints.

Each run is a process of its own that imports Glossa itself, since an import in this one would hide what the command
does not do. Each folder is then loaded without Glossa.
"""

import json
import subprocess
from pathlib import Path

import pytest
from bare import run_bare
from small_models import UNSCORED

ROOT = Path(__file__).parents[2]
TWO_VOCABULARIES = {
    "target_vocab_size": 280, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False,
}  # fmt: skip
LOAD = """
import torch
from transformers import (
    AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, pipeline
)
torch.set_num_threads(1)
table = {}
for folder in json.loads(sys.argv[1]):
    row = table[folder] = {}
    for loader in (AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig):
        trust = {} if loader is GenerationConfig else {"trust_remote_code": True}
        try:
            row[loader.__name__] = type(loader.from_pretrained(folder, **trust)).__name__
        except Exception as error:
            row[loader.__name__] = f"{type(error).__name__}: {error}"
    try:
        loaded = pipeline("translation", model=folder, trust_remote_code=True)
        row["pipeline"] = type(loaded).__name__
        row["text"] = loaded("a k. b l.", max_new_tokens=5, tgt_lang="fr")[0]["translation_text"]
    except Exception as error:
        row["pipeline"] = f"{type(error).__name__}: {error}"
print(json.dumps(table))
"""


def run(zygote, folder, *command):
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=zygote.environment,  # a checkout of the tests is no part of a user's path
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def table(tmp_path_factory, tiny_settings, tiny_pairs, zygote, early):
    """What transformers makes of each object in each folder."""
    place = tmp_path_factory.mktemp("folders")

    def train(name, *recipe, **changes):
        changes = UNSCORED | {"num_train_epochs": 1} | changes
        arguments = tiny_settings(name, **changes)
        kept = [word for pair in zip(arguments[::2], arguments[1::2], strict=True) if pair[1] for word in pair]
        run(zygote, place, zygote.path / "glossa", "train", *recipe, *kept)

    train("fresh")
    train("resumed", max_steps=5)
    train("resumed", max_steps=10, resume_from_checkpoint="true")
    train("started", init_from="fresh")
    train("lora", init_from="fresh", lora_rank=2)
    train("words", **TWO_VOCABULARIES)
    texts = place / "texts.txt"
    texts.write_text("".join(line.split("\t")[0] + "\n" for line in tiny_pairs.read_text().splitlines()))
    train("pretrained", objective="span_corruption", data_path=texts, metric_for_best_model="loss")
    recipe = place / "several.yaml"
    sources = [{"name": code, "data_path": str(tiny_pairs), "target_language": code} for code in ("fr", "de")]
    recipe.write_text(json.dumps({"sources": sources, "source_language": "en"}))
    train("several", "several.yaml", dataset="", data_path="")
    train("two", cpu_processes=2, gradient_accumulation_steps=2)
    folders = sorted(str(path.parent) for path in place.rglob("config.json") if path.parent.name != "adapter")
    done = run_bare(early, LOAD, place, json.dumps(folders))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    return {str(Path(folder).relative_to(place)): row for folder, row in rows.items()}


@pytest.mark.slow
def test_transformers_loads_every_folder_of_every_kind_of_run(table):
    runs = {"fresh", "resumed", "started", "lora", "words", "pretrained", "several", "two"}
    assert runs <= table.keys()
    checkpoints = {folder for folder in table if "checkpoint-" in folder}
    assert {folder.split("/")[0] for folder in checkpoints} >= runs - {"pretrained"}
    for folder, row in table.items():
        assert row["AutoConfig"] == "GlossaConfig", (folder, row)
        assert row["AutoModel"] == "GlossaModel", (folder, row)
        assert row["AutoModelForSeq2SeqLM"] == "GlossaForConditionalGeneration", (folder, row)
        own = folder.startswith(("words", "several"))
        assert row["AutoTokenizer"] == ("GlossaTokenizer" if own else "TokenizersBackend"), (folder, row)
        assert row["GenerationConfig"] == "GenerationConfig", (folder, row)
        assert row["pipeline"] == "TranslationPipeline", (folder, row)
        assert isinstance(row["text"], str), (folder, row)
