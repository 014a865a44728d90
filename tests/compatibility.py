"""Test saved models with the supported versions of transformers, in a temporary environment.

    make compat                                  # 5.17.0 and the newest
    python tests/compatibility.py 5.20.0 newest       # these versions
    python tests/compatibility.py minors development --write docs    # the newest of every minor release, and main

`--write FOLDER` writes compatibility.md, a table of the versions, and compatibility.json for a badge of shields.io.
`development` is the main branch on GitHub; where that cannot be reached, the table says so.

An environment has torch and that version of transformers with its dependencies, but not Glossa. The code of the saved
folder is loaded in it, and its logits, generated tokens and tokenization are compared with those of this environment.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TORCH = "torch==2.13.0"
OLDEST = (5, 17)
DEVELOPMENT = "https://github.com/huggingface/transformers/archive/refs/heads/main.zip"
SENTENCES = ["The cat sleeps on the mat.", "Où est-ce qu’il l'a posé ?", "</s> is text"]
SIZES = {"vocab_size": 300, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2}
SIZES |= {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_source_positions": 64, "max_target_positions": 64}


def architectures() -> dict[str, dict]:
    from glossa.model.configuration_glossa import PUBLISHED_2017

    return {
        "default": {}, "published": PUBLISHED_2017,
        "separate": {"decoder_vocab_size": 310, "tie_word_embeddings": False},
        "learned": {"position_embedding_type": "learned", "norm_position": "post"},
        "latent": {"num_key_value_heads": None, "kv_lora_rank": 12, "rotary_cross_attention": True},
        "experts": {"num_local_experts": 3, "num_experts_per_tok": 2, "num_shared_experts": 1},
    }  # fmt: skip


def save(folder: Path, settings: dict) -> None:
    """Save a small random model, its tokenizer and its code, as training does."""
    import torch

    from glossa import GlossaConfig, GlossaForConditionalGeneration
    from glossa.train.data.encoding.vocabulary import train_tokenizer

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
        "logits": logits.flatten().tolist(), "states": states.flatten().tolist(), "loss": [loss.item()],
        "greedy": model.generate(**batch, **options).tolist(),
        "beam": model.generate(**batch, **options, num_beams=4).tolist(),
        "static cache": model.generate(**batch, **options, cache_implementation="static").tolist(),
    }  # fmt: skip


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


def minors() -> list[str]:
    """The newest version of every minor release that pyproject.toml allows, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", "transformers"]
    listed = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL)
    versions = re.search(r"Available versions: (.*)", listed)[1].split(", ")  # type: ignore[index]
    newest: dict[int, str] = {}
    for version in versions:  # the newest comes first
        major, minor = (int(part) for part in version.split(".")[:2])
        if (major, minor) >= OLDEST and major < 6:
            newest.setdefault(minor, version)
    return [newest[minor] for minor in sorted(newest)]


def install(python: Path, version: str) -> str:
    """Install that version of transformers; return the installed versions. Raises `CalledProcessError`."""
    named = {"newest": "transformers>=5.17,<6", "development": DEVELOPMENT}
    wanted = named.get(version, f"transformers=={version}")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", TORCH, wanted], check=True)
    code = "import sys, importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    names = ["torch", "transformers", "huggingface_hub", "tokenizers"]
    return subprocess.check_output([python, "-I", "-c", code, *names], text=True).strip()


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


def check_version(python: Path, version: str, scratch: Path, expected: dict[str, dict]) -> list[str]:
    """Print a table of all models with this version; return the cells that differ."""
    print(f"\n{install(python, version)}\n| model | " + " | ".join(expected["default"]) + " |")
    print("|" + " --- |" * (len(expected["default"]) + 1))
    faults = []
    for name, values in expected.items():
        cells = compare(probe_in(python, scratch / name, scratch / f"home-{version}"), values)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        faults += [f"{name}: {cell}" for cell in cells if not cell.startswith(("same", "near"))]
    return faults


def write(folder: Path, results: dict[str, list[str] | None]) -> None:
    """Write the table of versions and the badge."""
    models = ", ".join(architectures())
    rows = [
        f"| {version} | {'not reachable' if faults is None else 'equal' if not faults else '; '.join(faults)} |"
        for version, faults in results.items()
    ]
    text = f"""# Compatibility

Small models of several architectures ({models}) are saved with Glossa. Each version of transformers loads
them with `trust_remote_code=True` where Glossa is not installed. Configuration, tokens, logits, states, loss, greedy
search, beam search and generation with a static cache are compared with those of the environment that saved them.
*equal* means: tokens and texts are the same, and numbers differ by less than 1e-5.

`python tests/compatibility.py minors development --write docs` writes this page.

| transformers | result |
| --- | --- |
"""
    (folder / "compatibility.md").write_text(text + "\n".join(rows) + "\n", encoding="utf-8")
    tested = [version for version, faults in results.items() if faults is not None]
    good = all(not results[version] for version in tested)
    badge = {"schemaVersion": 1, "label": "transformers", "message": f"{tested[0]} to {tested[-1]}"}
    badge |= {"color": "brightgreen" if good else "red"}
    (folder / "compatibility.json").write_text(json.dumps(badge, indent=2) + "\n", encoding="utf-8")


def main(versions: list[str], folder: Path | None) -> int:
    """Print the tables; return 1 if anything differs, else 0."""
    versions = [each for version in versions for each in (minors() if version == "minors" else [version])]
    results: dict[str, list[str] | None] = {}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        models = architectures()
        for model, settings in models.items():
            save(scratch / model, settings)
        expected = {model: json.loads(json.dumps(probe(str(scratch / model)))) for model in models}
        venv.create(scratch / "environment", with_pip=True)
        for version in versions:
            try:
                results[version] = check_version(scratch / "environment/bin/python", version, scratch, expected)
            except subprocess.CalledProcessError:
                if version != "development":
                    raise
                print("\ndevelopment: not reachable")
                results[version] = None
    if folder is not None:
        write(folder, results)
    faults = sum(len(each or []) for each in results.values())
    print("\n" + (f"{faults} differences" if faults else "no differences"))
    return int(faults > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=["5.17.0", "newest"], help="of transformers")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write compatibility.md and .json there")
    parser.add_argument("--probe", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        print(json.dumps(probe(arguments.probe)))
    else:
        sys.exit(main(arguments.versions, arguments.write))
