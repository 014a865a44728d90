"""Write a folder of static files with a model in it: any file server shows a page that translates in the browser.

index.html, *.js, style.css      the page
browser/                         what translates there
model.json, rules.json           languages, search, limits; the rules about texts
encoder.onnx.gz, decoder.onnx.gz, weights.safetensors.gz, tokenizer.json.gz
runtime/                         ONNX Runtime and the tokenizer, with their licenses
"""

import gzip
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from ..batches_glossa import position_limits
from ..data.encoding.vocabulary import target_vocabulary
from ..errors import GlossaError
from ..export.decoding import not_supported
from ..export.families import KEPT
from ..export.onnx_model import check_graphs, export_graphs
from ..inference import plausibility
from ..inference.loading import load_model, load_tokenizer
from ..modeling_glossa import GlossaForConditionalGeneration
from ..run_folder import RunFolder
from . import PAGE
from .check import compare, smallest, table
from .graphs import GRAPHS, Weights, save_weights, stored, take_weights
from .patterns import text_rules
from .runtime import packages, write_runtime

SERVER_ONLY = ("docs",)  # of the page, what describes the requests of a server
PACKED = ".gz"
KEPT_OFFLINE: tuple[str, ...] = (".html", ".js", ".mjs", ".css", ".svg", PACKED)
VERSION = 1  # of the layout; the page refuses others
WEIGHTS = "weights.safetensors"
DEFAULT = "float16"  # without pairs to compare with: half the bytes, and rounding to 11 bits
TOKENIZERS = ("BPE", "Unigram")  # kinds with equal ids in both libraries; the others split white space differently
# Settings of generation_config.json that the search in the browser knows.
DECODING = {
    "num_beams", "length_penalty", "early_stopping", "eos_token_id", "decoder_start_token_id", "no_repeat_ngram_size",
    "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "min_new_tokens",
}  # fmt: skip
PASSED: tuple[str, ...] = ("no_repeat_ngram_size", "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens")
PASSED += ("begin_suppress_tokens", "min_new_tokens")
CHECKS = {"repeated": plausibility._REPEATED, "quantity": plausibility._NUMBER}
LIMITS = {
    "copied": plausibility.COPIED_LETTERS,
    "checked": plausibility.CHECKED_LENGTH,
    "spare": plausibility.SPARE_LENGTH,
    "shortest": plausibility.SHORTEST,
    "longest": plausibility.LONGEST,
    "spelled": plausibility.SPELLED,
    "hours": plausibility.HOURS,
    "invented": plausibility.INVENTED,
}


@dataclass
class Exported:
    """A model's parts for the browser, before they are written.

    Attributes:
        graphs: A folder with encoder.onnx and decoder.onnx, without weights.
        weights: All weights in float32.
        needed: The names of the weights that each graph needs.
        model: The fields of model.json that say how to translate.
        tokenizers: The contents of tokenizer.json and, with two vocabularies, of target_tokenizer.json.
    """

    graphs: Path
    weights: Weights
    needed: Mapping[str, Sequence[str]]
    model: dict[str, Any]
    tokenizers: dict[str, dict] = field(default_factory=dict)


def export_site(
    name: str, folder: Path, facts: dict[str, Any], precision: str = "auto", runtime: Path | None = None
) -> list[str]:
    """Write a page with a model, and return a table of what the precision of the weights changes, a line each.

    Args:
        name: The folder of a run, or a name on the Hub.
        folder: An empty folder, or none yet.
        facts: What the page says of the model: a `note`, a paragraph each.
        precision: One of `PRECISIONS`, or "auto": the smallest that changes next to nothing on the run's test pairs,
            and float16 for a model without any.
        runtime: See [`write_runtime`].

    Raises `GlossaError` if the model cannot be exported, or the runtime cannot be had.
    """
    model, tokenizer = load_model(name), load_tokenizer(name)
    if not isinstance(model, GlossaForConditionalGeneration):
        raise GlossaError(f"{name} is a {type(model).__name__}. Give a Glossa model.")
    with exported(model, tokenizer) as parts:
        run, language = RunFolder(name), parts.model["target"]
        lines = [f"No test pairs: {DEFAULT} is stored, and not compared with float32."]
        chosen = DEFAULT
        if run.held_out_file("test").is_file():
            pairs = run.load_held_out("test", language if parts.model["tagged"] else None)
            rows = compare(parts, tokenizer, list(zip(pairs["source"], pairs["target"], strict=True)), language)
            chosen, lines = smallest(rows), table(rows)
        chosen = chosen if precision == "auto" else precision
        write_site(parts, folder, chosen, facts, runtime)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return [*lines, f"{folder}: {size / 1e6:.1f} MB with weights in {chosen}"]


@contextmanager
def exported(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase) -> Iterator[Exported]:
    """The parts of a model, in a temporary folder.

    Raises `GlossaError` if the graphs, the search or the tokenizer in the browser cannot do what the model needs.
    """
    check_graphs(model)
    tokenizers = _tokenizers(tokenizer)
    fields = _fields(model, tokenizer)
    with tempfile.TemporaryDirectory(prefix="glossa-web-") as folder:
        export_graphs(model, Path(folder))
        names = {name: value.detach().float().numpy() for name, value in model.state_dict().items()}
        weights, needed = take_weights(Path(folder), names)
        yield Exported(Path(folder), weights, needed, fields | {"graphs": needed}, tokenizers)


def write_site(parts: Exported, folder: Path, precision: str, facts: dict[str, Any], runtime: Path | None) -> None:
    """Write the folder of a page.

    Args:
        parts: The parts of the model.
        folder: An empty one, or none yet.
        precision: One of `PRECISIONS` of the weights as they are stored.
        facts: What the page says of the model: its name, license, training data and scores.
        runtime: See [`write_runtime`].
    """
    shutil.copytree(PAGE, folder, ignore=shutil.ignore_patterns(*SERVER_ONLY), dirs_exist_ok=True)
    for name in ("engine.js", "offline.js"):  # the first one instead of the server's
        shutil.move(folder / "browser" / name, folder / name)
    write_runtime(folder / "runtime", runtime)
    save_weights(stored(parts.weights, precision), folder / WEIGHTS)
    for name in GRAPHS:
        shutil.copy(parts.graphs / f"{name}.onnx", folder)
    for name, content in parts.tokenizers.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (folder / "rules.json").write_text(json.dumps(text_rules(CHECKS, LIMITS), ensure_ascii=False), encoding="utf-8")
    packed = [WEIGHTS, *(f"{name}.onnx" for name in GRAPHS), *parts.tokenizers, "rules.json"]
    files = {name: _pack(folder / name) for name in packed}
    for file in sorted((folder / "runtime").glob(f"*{PACKED}")):
        size = len(gzip.decompress(file.read_bytes()))
        files[f"runtime/{file.name.removesuffix(PACKED)}"] = {"stored": file.stat().st_size, "bytes": size}
    offline = [
        file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if file.suffix in KEPT_OFFLINE
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


def _pack(file: Path) -> dict[str, int]:
    """Gzip a file in place, and say its sizes in bytes."""
    content = file.read_bytes()
    file.unlink()
    packed = gzip.compress(content, mtime=0)
    file.with_name(file.name + PACKED).write_bytes(packed)
    return {"stored": len(packed), "bytes": len(content)}


def _tokenizers(tokenizer: PreTrainedTokenizerBase) -> dict[str, dict]:
    found = {"tokenizer.json": json.loads(tokenizer.backend_tokenizer.to_str())}
    target = target_vocabulary(tokenizer)
    if target is not tokenizer.backend_tokenizer:
        found["target_tokenizer.json"] = json.loads(target.to_str())
    for name, content in found.items():
        kind = content["model"]["type"]
        if kind not in TOKENIZERS:
            raise GlossaError(
                f"{name} has a vocabulary of the kind {kind}, which a browser splits differently. Train with "
                f"--tokenizer bpe or unigram, whose kinds are {' and '.join(TOKENIZERS)}."
            )
        # The page adds special tokens itself, so that a text that has `</s>` gets none.
        content |= {"added_tokens": [], "post_processor": None, "padding": None, "truncation": None}
    return found


def _fields(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    config, decoding = model.config, model.generation_config
    problems = not_supported(decoding, DECODING)
    if decoding.eos_token_id is None or decoding.decoder_start_token_id is None:
        problems.append("eos_token_id and decoder_start_token_id must be set in generation_config.json")
    if problems:
        raise GlossaError(f"This model cannot be exported to web: {'; '.join(problems)}.")
    ends = decoding.eos_token_id
    source, target = position_limits(config)
    several = list(getattr(tokenizer, "target_languages", []))
    languages = several or [config.target_language or "target"]
    tags = {code: tokenizer.convert_tokens_to_ids(f"<2{code}>") for code in several}
    special = target_vocabulary(tokenizer).get_added_tokens_decoder()
    chosen = getattr(tokenizer, "tgt_lang", None)
    return {
        "source": config.source_language or "mul",  # several
        "targets": languages,
        "target": chosen if chosen in languages else languages[0],
        "tagged": bool(several),
        "tags": tags,
        "special": sorted(number for number, token in special.items() if token.special),
        "search": {
            "num_beams": decoding.num_beams or 1,
            "length_penalty": 1.0 if decoding.length_penalty is None else decoding.length_penalty,
            "early_stopping": decoding.early_stopping or False,
            "start": decoding.decoder_start_token_id,
            "ends": ends if isinstance(ends, list) else [ends],
            "padding": config.pad_token_id,
            **{name: value for name in PASSED if (value := getattr(decoding, name, None)) is not None},
        },
        "limits": {
            "source": min(tokenizer.model_max_length, source or tokenizer.model_max_length),
            "target": target,
            "trained": config.trained_length,
        },
        "text": {name: getattr(config, name, None) for name in KEPT if name not in ("confidence", "word_confidence")},
        "parameters": model.num_parameters(),
    }
