"""Packages of Argos Translate, which LibreTranslate loads too: CTranslate2's model and a SentencePiece vocabulary.

A package is a zip archive of one folder: `metadata.json`, `sentencepiece.model` and `model/`. Argos Translate splits a
text into sentences and these into pieces, translates with 4 beams and a length penalty of 0.2, and writes `_` as a
space. It knows nothing of Glossa's own preparation of texts (Unicode normalization, capitals, kept items).
"""

import json
import os
import tempfile
import zipfile
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from ...base.errors import GlossaError, require
from ...base.languages import language_name
from ...model.modeling_glossa import GlossaForConditionalGeneration
from .ctranslate2_model import export_ctranslate2

SUFFIX = ".argosmodel"
# Languages that Argos Translate names otherwise.
CODES = {"pt_BR": "pb", "zh_TW": "zt", "zh_Hant": "zt"}
README = """# {direction}

Made by Glossa for Argos Translate and LibreTranslate: `argospm install FILE{suffix}`.

Argos Translate downloads a model that finds sentence boundaries when a text is translated for the first time. Without
a network, put a blank one of spaCy into this folder and set `ARGOS_CHUNK_TYPE=SPACY`:

    python -c "import spacy; spacy.blank('xx').to_disk('spacy')"
"""


def export_argos(
    model: GlossaForConditionalGeneration,
    tokenizer: PreTrainedTokenizerBase,
    file: str | Path,
    quantization: str | None = None,
) -> None:
    """Write a package for Argos Translate and LibreTranslate.

    Args:
        model: A model that CTranslate2 can compute, of one source and one target language.
        tokenizer: Its tokenizer: one vocabulary for both sides, `tokenizer_model: unigram`, no normalization.
        file: The package; its name ends with `.argosmodel`.
        quantization: Type of the stored weights, as for [`export_ctranslate2`].

    Raises:
        GlossaError: for another ending, and for a model or a tokenizer that a package cannot hold.
    """
    file = Path(file)
    if file.suffix != SUFFIX:
        raise GlossaError(f"--output {file} must end with {SUFFIX}.")
    source, target = model.config.source_language, model.config.target_language
    if not (isinstance(source, str) and isinstance(target, str)):
        raise GlossaError(
            f"A package of Argos Translate has one source and one target language; this model has {source} and "
            f"{target}. Train one with --source_language and --target_language."
        )
    pieces = sentencepiece_model(tokenizer)
    codes, names = (
        [CODES.get(code, code) for code in (source, target)],
        [language_name(code) for code in (source, target)],
    )
    # Argos Translate names the folders of its own packages in this way.
    top = f"translate-{codes[0]}_{codes[1]}-1_0"
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".argos-") as place:
        folder = Path(place) / top
        folder.mkdir()
        export_ctranslate2(model, tokenizer, folder / "model", quantization)
        for path in (folder / "model").iterdir():
            if path.name != "model.bin" and path.name != "config.json" and "vocabulary" not in path.name:
                path.unlink()  # what Glossa reads of a folder that is its own
        _add_special_tokens(folder / "model" / "config.json", tokenizer)
        (folder / "sentencepiece.model").write_bytes(pieces)
        metadata = {"package_version": "1.0", "argos_version": "1.9.0", "type": "translate"}
        metadata |= {"from_code": codes[0], "from_name": names[0], "to_code": codes[1], "to_name": names[1]}
        (folder / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
        text = README.format(direction=f"{names[0]} to {names[1]}", suffix=SUFFIX)
        (folder / "README.md").write_text(text, encoding="utf-8")
        whole = Path(place) / file.name
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(place))
        os.replace(whole, file)


def sentencepiece_model(tokenizer: PreTrainedTokenizerBase) -> bytes:
    """The content of a `sentencepiece.model` that splits text as the tokenizer does.

    Raises `GlossaError` unless it has one vocabulary of the unigram model, with spaces as parts of words, and leaves
    text as it is.
    """
    described = json.loads(tokenizer.backend_tokenizer.to_str())
    kind, pre = described["model"]["type"], described["pre_tokenizer"] or {}
    pre = pre.get("pretokenizers", [pre])[0]  # a second one is for special tokens, which SentencePiece leaves alone
    problems = []
    if hasattr(tokenizer, "target_tokenizer"):
        problems.append("it has two vocabularies; train one (no target_vocab_size)")
    if kind != "Unigram" or (pre.get("type"), pre.get("prepend_scheme")) != ("Metaspace", "always"):
        problems.append(f"its vocabulary is {kind}; train one with tokenizer_model: unigram")
    if described["normalizer"]:
        problems.append("it normalizes text; train one with normalization: []")
    if problems:
        raise GlossaError(f"A package of Argos Translate cannot hold this tokenizer: {'; '.join(problems)}.")
    messages = require("sentencepiece.sentencepiece_model_pb2", "engine")
    model, kinds = messages.ModelProto(), messages.ModelProto.SentencePiece
    special = {token["content"] for token in described["added_tokens"]}
    for number, (piece, score) in enumerate(described["model"]["vocab"]):
        type_of = kinds.UNKNOWN if number == described["model"]["unk_id"] else kinds.NORMAL
        if piece in special and type_of == kinds.NORMAL:
            type_of = kinds.CONTROL
        model.pieces.add(piece=piece, score=score, type=type_of)
    model.trainer_spec.model_type = messages.TrainerSpec.UNIGRAM
    model.trainer_spec.vocab_size = len(model.pieces)
    for name in ("unk", "pad", "bos", "eos"):
        setattr(model.trainer_spec, f"{name}_piece", getattr(tokenizer, f"{name}_token"))
        setattr(model.trainer_spec, f"{name}_id", getattr(tokenizer, f"{name}_token_id"))
    model.normalizer_spec.name = "identity"
    return model.SerializeToString()


def _add_special_tokens(path: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Have CTranslate2 add the source's special tokens: Argos Translate passes the pieces of the text alone."""
    config = json.loads(path.read_text(encoding="utf-8"))
    ids = tokenizer("")["input_ids"]
    config["add_source_bos"] = tokenizer.bos_token_id in ids
    config["add_source_eos"] = tokenizer.eos_token_id in ids
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
