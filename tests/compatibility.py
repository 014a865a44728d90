"""Test saved models with the oldest and the newest supported transformers, each in a temporary environment.

    make compat                                  # 5.17.0 and the newest below 6
    python tests/compatibility.py 5.20.0 newest       # these versions

An environment has torch and that version of transformers with its dependencies, but not Glossa. The code of the saved
folder is loaded in it, and its logits, generated tokens and tokenization are compared with those of this environment.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TORCH = "torch==2.13.0"
SENTENCES = ["The cat sleeps on the mat.", "Où est-ce qu’il l'a posé ?", "</s> is text"]
SIZES = {"vocab_size": 300, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2}
SIZES |= {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_source_positions": 64, "max_target_positions": 64}


def architectures() -> dict[str, dict]:
    from glossa.configuration_glossa import PUBLISHED_2017

    return {
        "default": {},
        "published": PUBLISHED_2017,
        "separate": {"decoder_vocab_size": 310, "tie_word_embeddings": False},
        "learned": {"position_embedding_type": "learned", "norm_position": "post"},
    }


def save(folder: Path, settings: dict) -> None:
    """Save a small random model, its tokenizer and its code, as training does."""
    import torch

    from glossa import GlossaConfig, GlossaForConditionalGeneration
    from glossa.data.vocabulary import train_tokenizer

    torch.manual_seed(0)
    model = GlossaForConditionalGeneration(GlossaConfig(**(SIZES | settings)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    train_tokenizer(SENTENCES * 4, SIZES["vocab_size"]).save_pretrained(folder)
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)


def probe(folder: str) -> dict:
    """The values to compare, computed from the folder only."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig

    torch.set_num_threads(1)
    trust = {"trust_remote_code": True}
    config = AutoConfig.from_pretrained(folder, **trust)
    tokenizer = AutoTokenizer.from_pretrained(folder, **trust)
    base = AutoModel.from_pretrained(folder, **trust)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, **trust)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    target = batch["input_ids"][:, :6]
    options = {"max_new_tokens": 12, "min_new_tokens": 4}
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=target).logits
        states = base(**batch, decoder_input_ids=target).last_hidden_state
        loss = model(**batch, labels=target).loss
    return {
        "configuration": {name: getattr(config, name) for name in sorted(type(config).__annotations__)},
        "decoding": GenerationConfig.from_pretrained(folder).decoder_start_token_id,
        "tokens": batch["input_ids"].tolist(),
        "text": tokenizer.batch_decode(batch["input_ids"], skip_special_tokens=True),
        "logits": logits.flatten().tolist(),
        "states": states.flatten().tolist(),
        "loss": [loss.item()],
        "greedy": model.generate(**batch, **options).tolist(),
        "beam": model.generate(**batch, **options, num_beams=4).tolist(),
        "static cache": model.generate(**batch, **options, cache_implementation="static").tolist(),
    }


def probe_in(python: Path, folder: Path, home: Path) -> dict | str:
    """The results of `probe` in that interpreter, or the last line of its error."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTHON"))}
    environment |= {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    process = subprocess.run(
        [python, "-I", __file__, "--probe", folder], env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        return process.stderr.strip().splitlines()[-1]
    return json.loads(process.stdout.splitlines()[-1])


def install(folder: Path, version: str) -> tuple[Path, str]:
    """Create an environment with that version of transformers; return its interpreter and the installed versions."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    transformers = "transformers>=5.17,<6" if version == "newest" else f"transformers=={version}"
    subprocess.run([python, "-m", "pip", "install", "--quiet", TORCH, transformers], check=True)
    code = "import sys, importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    names = ["torch", "transformers", "huggingface_hub", "tokenizers"]
    return python, subprocess.check_output([python, "-I", "-c", code, *names], text=True).strip()


def compare(found: dict | str, expected: dict) -> list[str]:
    """One table cell per value: "same", the largest numerical difference, or what went wrong."""
    if isinstance(found, str):
        return [f"FAILED: {found}"]
    cells = []
    for name, value in expected.items():
        if name in ("logits", "states", "loss"):
            worst = max(abs(ours - theirs) for ours, theirs in zip(found[name], value, strict=True))
            cells.append("same" if worst == 0 else f"{'near' if worst < 1e-5 else 'FAR'}: {worst:.1e}")
        else:
            cells.append("same" if found[name] == value else "DIFFERENT")
    return cells


def main(versions: list[str]) -> int:
    """Print the table; return 1 if anything differs, else 0."""
    faults = 0
    with tempfile.TemporaryDirectory() as scratch:
        models = architectures()
        for name, settings in models.items():
            save(Path(scratch, name), settings)
        expected = {name: json.loads(json.dumps(probe(str(Path(scratch, name))))) for name in models}
        for version in versions:
            python, installed = install(Path(scratch, f"environment-{version}"), version)
            print(f"\n{installed}\n| model | " + " | ".join(expected["default"]) + " |")
            print("|" + " --- |" * (len(expected["default"]) + 1))
            for name in models:
                found = probe_in(python, Path(scratch, name), Path(scratch, f"home-{version}"))
                cells = compare(found, expected[name])
                print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
                faults += sum(not cell.startswith(("same", "near")) for cell in cells)
            shutil.rmtree(Path(scratch, f"environment-{version}"))
    print("\n" + (f"{faults} differences" if faults else "no differences"))
    return int(faults > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=["5.17.0", "newest"], help="of transformers")
    parser.add_argument("--probe", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        print(json.dumps(probe(arguments.probe)))
    else:
        sys.exit(main(arguments.versions))
