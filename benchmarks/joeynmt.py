"""JoeyNMT in the race: its configuration, written from the settings of a recipe, and its process.

JoeyNMT pins older libraries, so it runs in an environment of its own:

    python -m venv joeynmt
    joeynmt/bin/pip install torch==2.13.0 joeynmt==2.3.0 sentencepiece==0.2.0 importlib_metadata

It imports importlib_metadata without requiring it, and newer versions of sentencepiece lack a function that it calls.
"""

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from glossa.errors import GlossaError
from glossa.plan.arguments import Settings

ROOT = Path(__file__).parents[1]


def train(python: Path, settings: Settings, folder: Path, options: dict[str, Any]) -> dict:
    """Train in JoeyNMT's environment, in `folder`; returns its parameters, marks and history.

    Args:
        python: The Python of that environment.
        settings: Settings of a recipe with post-norm Transformers of equal sides, and data in two files a split.
        folder: Empty; for text, vocabulary and checkpoint.
        options: Keyword arguments of [`Clock`].

    Raises:
        GlossaError: when its process fails, with the end of its output.
    """
    files = {"train": settings.data.data_path, "validation": settings.data.validation_path}
    for split, pair in files.items():
        for language, file in zip(("source", "target"), pair, strict=True):
            with gzip.open(file, "rt", encoding="utf-8") as text:
                (folder / f"{split}.{language}").write_text(text.read(), encoding="utf-8")
    job = folder / "job.json"
    job.write_text(json.dumps({"clock": options, "config": configuration(settings, folder)}), encoding="utf-8")
    threads = str(settings.training.cpu_threads)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}
    command = [str(python), "-m", "benchmarks.joeynmt_process", str(job)]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    report = folder / "report.json"
    if done.returncode or not report.exists():
        raise GlossaError(f"JoeyNMT failed under {python}: {done.stderr[-2000:]}")
    return json.loads(report.read_text(encoding="utf-8"))


def configuration(settings: Settings, folder: Path) -> dict[str, Any]:
    """JoeyNMT's configuration of the model and the training that `settings` describe."""
    model, training = settings.model, settings.training
    vocabulary = {
        "level": "bpe",
        "voc_file": str(folder / "vocabulary.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model")},
        "max_length": settings.data.max_length,
    }
    sides = {
        side: {
            "type": "transformer",
            "num_layers": getattr(model, f"{side}_layers"),
            "num_heads": getattr(model, f"{side}_attention_heads"),
            "embeddings": {"embedding_dim": model.d_model, "scale": True},
            "hidden_size": model.d_model,
            "ff_size": getattr(model, f"{side}_ffn_dim"),
            "dropout": model.dropout,
            "layer_norm": "post",
        }
        for side in ("encoder", "decoder")
    }
    return {
        "name": "race",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": training.seed,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "validation"),
            "dataset_type": "plain",
            "vocab_size": settings.tokenizer.vocab_size,
            "src": {"lang": "source"} | vocabulary,
            "trg": {"lang": "target"} | vocabulary,
        },
        "testing": {
            "batch_size": 64,
            "eval_metrics": ["bleu"],
            "sacrebleu_cfg": {"tokenize": "none"},
            "beam_size": 1,
            "max_output_length": settings.translator.max_new_tokens,
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [training.adam_beta1, training.adam_beta2],
            "learning_rate": training.learning_rate,
            "learning_rate_min": 0,
            "learning_rate_warmup": training.warmup_steps,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": training.label_smoothing_factor,
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": training.batch_tokens,
            "batch_multiplier": training.gradient_accumulation_steps,
            "epochs": 10**6,
            "updates": training.max_steps,
            "early_stopping_metric": "bleu",
            "logging_freq": 1,
            "validation_freq": 1,  # after every step the clock is asked whether an evaluation is due
        },
        "model": {"tied_embeddings": True, "tied_softmax": True} | sides,
    }
