"""LoRA adapters (Hu et al. 2021) for fine-tuning, provided by PEFT."""

import logging
import re
from pathlib import Path
from typing import Any

import torch
import xxhash
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from transformers import PreTrainedModel

from ..base.errors import GlossaError
from ..base.run_folder import ADAPTER, ADAPTER_WEIGHTS

logger = logging.getLogger(__name__)

BASE = "base"  # metadata key for the fingerprint of the base weights


def adapted_matrices(model: nn.Module) -> list[str]:
    """The names of the linear modules in numbered layers, such as `layers.0` in most families and `block.0` in T5."""
    return [
        name for name, module in model.named_modules() if isinstance(module, nn.Linear) and re.search(r"\.\d+\.", name)
    ]


class Adapters:
    """LoRA on every linear module of the model's layers, for any model family; all other weights are frozen.

    A checkpoint has the merged weights, so that it loads like any other, and in a second file the weights of the
    adapters, to continue training exactly.

    Args:
        model: The model, which is adapted in place.
        rank: Rank of the adapters. The scaling, `lora_alpha`, is twice the rank.

    Raises:
        GlossaError: if PEFT is not installed.
    """

    def __init__(self, model: PreTrainedModel, rank: int):
        try:
            from peft import LoraConfig, get_peft_model
        except ImportError as error:
            raise GlossaError(
                f"lora_rank is {rank}, which needs PEFT. Install it with `pip install glossa-mt[adapters]`."
            ) from error
        self.model = model
        self.base = _fingerprint(model)
        names = adapted_matrices(model)
        kinds = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in names))
        logger.info("LoRA adapts %d matrices of the layers: %s.", len(names), kinds)
        settings = LoraConfig(task_type="SEQ_2_SEQ_LM", r=rank, lora_alpha=2 * rank, target_modules=names)
        self.adapted: Any = get_peft_model(model, settings)

    def merged_weights(self) -> dict[str, torch.Tensor]:
        """The weights of the model by their usual names, with the adapters merged in."""
        weights = {}
        for name, weight in self.model.state_dict().items():
            if ".lora_" not in name:
                weights[name.replace(".base_layer.", ".")] = weight
        for name, module in self.model.named_modules():
            if hasattr(module, "get_delta_weight"):
                weights[f"{name}.weight"] = module.base_layer.weight + module.get_delta_weight("default")
        return weights

    def save_adapters(self, checkpoint: Path) -> None:
        """Write the weights of the adapters to `checkpoint`."""
        weights = {name: weight for name, weight in self.model.state_dict().items() if ".lora_" in name}
        save_file(weights, checkpoint / ADAPTER_WEIGHTS, {BASE: self.base})

    def load(self, checkpoint: Path) -> None:
        """Load the weights of the adapters from `checkpoint`.

        Raises `GlossaError` if they have another model, rank or base weights.
        """
        file = checkpoint / ADAPTER_WEIGHTS
        with safe_open(file, framework="pt") as opened:
            base = (opened.metadata() or {}).get(BASE, self.base)  # not saved by older versions
            weights = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        own = {name: weight.shape for name, weight in self.model.state_dict().items() if ".lora_" in name}
        found = {name: weight.shape for name, weight in weights.items()}
        if found != own:
            name = min(name for name in {*found, *own} if found.get(name) != own.get(name))
            there, wanted = (tuple(shapes[name]) if name in shapes else "missing" for shapes in (found, own))
            raise GlossaError(
                f"{file} does not fit this model and lora_rank: {name} is {there}, but {wanted} is expected. Continue "
                "with the settings of the run, or start a new one."
            )
        if base != self.base:
            raise GlossaError(
                f"{checkpoint} cannot be continued: the weights of init_from have changed since its adapters were "
                f"trained. Restore the model, or start a new run with --init_from {checkpoint}."
            )
        self.model.load_state_dict(weights, strict=False)  # all other weights come from init_from

    def export(self, run: Path) -> None:
        """Save the adapters in PEFT's format, for `PeftModel.from_pretrained` with the base model."""
        self.adapted.save_pretrained(run / ADAPTER)

    def merge(self) -> None:
        """Merge the adapters into the model's weights, and restore the original modules."""
        tied = getattr(self.model.config, "tie_word_embeddings", None)
        self.adapted.merge_and_unload()
        if tied is not None:  # PEFT changes the config although the weights stay tied
            self.model.config.tie_word_embeddings = tied
        self.model.requires_grad_(True)


def _fingerprint(model: PreTrainedModel) -> str:
    """A hash of all weights."""
    digest = xxhash.xxh3_128()
    for name, weight in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
