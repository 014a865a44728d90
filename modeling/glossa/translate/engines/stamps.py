"""Stamps of models: a long job continues only with those that it began with."""

from collections.abc import Iterable
from pathlib import Path

from ...base.jobs.records import hash_bytes, hash_file

# The files of a model's folder that decide its translations.
MODEL_FILES: tuple[str, ...] = (
    "config.json",
    "generation_config.json",
    "*tokenizer*.json",
    "special_tokens_map.json",
    "vocab*",
)
MODEL_FILES += ("*vocabulary*", "merges.txt", "*.model", "*.spm", "*.safetensors*", "*.bin*")


def stamp_models(names: Iterable[str]) -> dict[str, str]:
    """A hash of the files that matter of each model, a folder or a Hub name, as "model NAME"."""
    return {f"model {name}": _stamp_model(name) for name in names}


def _stamp_model(name: str) -> str:
    folder = Path(name)
    if not folder.is_dir():
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(name, "config.json")
        if not isinstance(cached, str):
            return ""  # it is not here yet
        return Path(cached).parent.name  # the commit
    files = sorted({path for pattern in MODEL_FILES for path in folder.glob(pattern) if path.is_file()})
    return hash_bytes(f"{path.name}\0{hash_file(path)}\n".encode() for path in files)
