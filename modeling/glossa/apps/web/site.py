"""Export a model as a folder of static files: a page that translates in the browser.

    index.html, *.js, style.css      the page
    browser/                         the translator in JavaScript
    model.json, rules.json           languages, search, limits; the rules about texts
    encoder.onnx.gz, decoder.onnx.gz, weights.safetensors.gz, tokenizer.json.gz
    attention.onnx.gz                for explanations, loaded at the first one
    runtime/                         ONNX Runtime and the tokenizer, with their licenses

Large files are gzipped, and the page decompresses them, so the size of the download does not depend on the server.
"""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

from ...base.errors import GlossaError
from ...base.run_folder import RunFolder
from ...model.modeling_glossa import GlossaForConditionalGeneration
from ...translate.loading import load_model, load_tokenizer
from . import PAGE
from .check import compare, smallest, table
from .graphs import GRAPHS, quantized, save_weights
from .parts import Exported, exported
from .patterns import text_rules
from .runtime import packages, write_runtime

SERVER_ONLY = ("docs",)  # parts of the page
PACKED = ".gz"
KEPT_OFFLINE: tuple[str, ...] = (".html", ".js", ".mjs", ".css", ".svg", PACKED)
VERSION = 1  # of the folder layout; the page refuses others
WEIGHTS = "weights.safetensors"
LATER = "attention.onnx"  # loaded when it is needed
DEFAULT = "float16"  # for a model without test pairs


def export_site(
    name: str, folder: Path, facts: dict[str, Any], precision: str = "auto", runtime: Path | None = None
) -> list[str]:
    """Export a model as a page. Returns the lines of a table that compares the precisions of the weights.

    Args:
        name: Folder of a run, or Hub name.
        folder: A new or empty folder.
        facts: Facts about the model for the page: a `note`, as a list of paragraphs.
        precision: One of `PRECISIONS`, or "auto" for the smallest that hardly changes translations of the run's test
            pairs, and float16 without test pairs.
        runtime: See [`write_runtime`].

    Raises `GlossaError` if the model cannot be exported, or the runtime is not available.
    """
    model, tokenizer = load_model(name), load_tokenizer(name)
    if not isinstance(model, GlossaForConditionalGeneration):
        raise GlossaError(f"{name} is a {type(model).__name__}. Give a Glossa model.")
    with exported(model, tokenizer) as parts:
        run, language = RunFolder(name), parts.model["target"]
        lines = [f"No test pairs: the weights are stored in {DEFAULT}, without a comparison with float32."]
        chosen = DEFAULT
        if run.held_out_file("test").is_file():
            pairs = run.load_held_out("test", language if parts.model["tagged"] else None)
            rows = compare(parts, tokenizer, list(zip(pairs["source"], pairs["target"], strict=True)), language)
            chosen, lines = smallest(rows), table(rows)
        chosen = chosen if precision == "auto" else precision
        write_site(parts, folder, chosen, facts, runtime)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return [*lines, f"{folder}: {size / 1e6:.1f} MB with weights in {chosen}"]


def write_site(parts: Exported, folder: Path, precision: str, facts: dict[str, Any], runtime: Path | None) -> None:
    """Write the folder of a page.

    Args:
        parts: The parts of the model.
        folder: A new or empty folder.
        precision: One of `PRECISIONS`.
        facts: Facts about the model for the page: name, license, training data and scores.
        runtime: See [`write_runtime`].
    """
    shutil.copytree(PAGE, folder, ignore=shutil.ignore_patterns(*SERVER_ONLY), dirs_exist_ok=True)
    for name in ("engine.js", "offline.js"):  # engine.js replaces the server's
        shutil.move(folder / "browser" / name, folder / name)
    write_runtime(folder / "runtime", runtime)
    save_weights(quantized(parts.weights, precision), folder / WEIGHTS)
    for name in GRAPHS:
        shutil.copy(parts.graphs / f"{name}.onnx", folder)
    for name, content in parts.tokenizers.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    rules = text_rules([parts.model["source"], *parts.model["targets"]])
    (folder / "rules.json").write_text(json.dumps(rules, ensure_ascii=False), encoding="utf-8")
    packed = [WEIGHTS, *(f"{name}.onnx" for name in GRAPHS), *parts.tokenizers, "rules.json"]
    files = {name: _pack(folder / name) for name in packed}
    files[LATER]["later"] = True
    for file in sorted((folder / "runtime").glob(f"*{PACKED}")):
        size = len(gzip.decompress(file.read_bytes()))
        files[f"runtime/{file.name.removesuffix(PACKED)}"] = {"stored": file.stat().st_size, "bytes": size}
    offline = [
        file.relative_to(folder).as_posix()
        for file in sorted(folder.rglob("*"))
        if file.suffix in KEPT_OFFLINE and file.name != LATER + PACKED
    ]
    description = parts.model | {
        "offline": offline,
        "version": VERSION,
        "precision": precision,
        "files": files,
        "facts": facts,
        "runtime": [{"package": one.package, "version": one.version, "license": one.license} for one in packages()],
    }
    (folder / "model.json").write_text(json.dumps(description, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _pack(file: Path) -> dict[str, Any]:
    """Replace a file with its gzipped version. Returns both sizes in bytes."""
    content = file.read_bytes()
    file.unlink()
    packed = gzip.compress(content, mtime=0)
    file.with_name(file.name + PACKED).write_bytes(packed)
    return {"stored": len(packed), "bytes": len(content)}
