"""Blends of a model with the model that it was tuned from: WiSE-FT (Wortsman et al. 2022, section 3)."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..base.errors import GlossaError, require
from ..base.run_folder import ADAPTER_CONFIG
from ..translate.loading import load_model, load_tokenizer

Weights = Mapping[str, torch.Tensor]


@torch.no_grad()
def blend_into(model: torch.nn.Module, start: Weights, tuned: Weights, share: float) -> None:
    """Set the weights of `model` to `start + share * (tuned - start)`, in the more exact type of both.

    For a model tuned with LoRA, whose adapters are merged, this is the scale of the adapters.

    Args:
        model: The model to change.
        start: The weights of the start by name.
        tuned: The weights of the tuned model by name, with the shapes of `start`.
        share: The share of the tuned weights, from 0 to 1.
    """
    for name, weight in model.state_dict().items():
        old, new = start[name].to(weight.device), tuned[name].to(weight.device)
        if weight.is_floating_point():
            kind = torch.promote_types(old.dtype, new.dtype)
            weight.copy_(torch.lerp(old.to(kind), new.to(kind), share))


def blend_folders(start: str, tuned: str, share: float, output: Path) -> None:
    """Blend the models of two folders, of any one family, and save the result with the tokenizer of `tuned`.

    Args:
        start: Folder or Hub name of the model that was tuned.
        tuned: The same of the tuned model, or a folder of PEFT's with a LoRA adapter of `start`.
        share: The share of the tuned weights, from 0 to 1. For an adapter it is its scale.
        output: The folder to write.

    Raises:
        GlossaError: if `output` holds files, a model does not load, or the two differ in family, architecture or
            vocabulary.
    """
    if output.is_dir() and any(output.iterdir()):
        raise GlossaError(f"--output {output} already holds files. Give another folder.")
    adapter = (Path(tuned) / ADAPTER_CONFIG).is_file()
    model = _with_adapter(start, tuned) if adapter else load_model(tuned)
    tokenizer, first = load_tokenizer(start if adapter else tuned), load_model(start)
    check_alike(start, tuned, first, model)
    if not adapter:
        _check_vocabularies(start, tuned, load_tokenizer(start), tokenizer)
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    blend_into(model, first.state_dict(), weights, share)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)


def check_alike(start: str, tuned: str, first: PreTrainedModel, second: PreTrainedModel) -> None:
    """Raise `GlossaError` unless two models, which the messages call `start` and `tuned`, have the same weights."""
    families = first.config.model_type, second.config.model_type
    if families[0] != families[1]:
        raise GlossaError(
            f"{start} is a model of the family {families[0]}, and {tuned} of {families[1]}. Only a model and what it "
            "was tuned to can be blended."
        )
    shapes = [{name: tuple(weight.shape) for name, weight in one.state_dict().items()} for one in (first, second)]
    names = [name for name in {**shapes[0], **shapes[1]} if shapes[0].get(name) != shapes[1].get(name)]
    if names:
        there = [str(found[names[0]]) if names[0] in found else "missing" for found in shapes]
        raise GlossaError(
            f"{tuned} was not tuned from {start}: the weight {names[0]} is {there[0]} in {start} and {there[1]} in "
            f"{tuned}, and {len(names)} weights differ so. Give the model that it was tuned from."
        )


def _check_vocabularies(
    start: str, tuned: str, first: PreTrainedTokenizerBase, second: PreTrainedTokenizerBase
) -> None:
    known, own = first.get_vocab(), second.get_vocab()
    differ = sorted(token for token in {**known, **own} if known.get(token) != own.get(token))
    if differ:
        raise GlossaError(
            f"{tuned} was not tuned from {start}: their vocabularies differ in {len(differ)} tokens, such as "
            f"{differ[0]!r}. Give the model that it was tuned from."
        )


def _with_adapter(start: str, adapter: str) -> PreTrainedModel:
    peft = require("peft", "adapters")
    model = load_model(start)
    tied = getattr(model.config, "tie_word_embeddings", None)
    try:
        merged = peft.PeftModel.from_pretrained(model, adapter).merge_and_unload()
    except (RuntimeError, ValueError) as error:
        raise GlossaError(f"{adapter} is not an adapter of {start}: {' '.join(str(error).split())[:300]}") from error
    if tied is not None:  # PEFT changes the config although the weights stay tied
        merged.config.tie_word_embeddings = tied
    return merged


def scale_adapter(folder: Path, share: float) -> None:
    """Multiply the scale of the LoRA adapter that PEFT has saved in `folder` by `share`."""
    file = folder / ADAPTER_CONFIG
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["lora_alpha"] *= share
    file.write_text(json.dumps(settings, indent=2), encoding="utf-8")
