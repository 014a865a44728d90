"""Tied and shared embeddings, adapted, merged, resized and saved: a reloaded model has the same logits."""

import warnings

import pytest
import torch
from small_models import same
from torch import nn

from glossa import GlossaForConditionalGeneration

pytest.importorskip("peft", reason="adapters need peft")

BATCH = {
    "input_ids": torch.tensor([[5, 6, 7, 8, 1], [9, 10, 11, 12, 1]]),
    "labels": torch.tensor([[5, 9, 7, 1], [6, 7, 8, 1]]),
}
TYINGS = [(True, True), (True, False), (False, True), (False, False)]
ADAPTERS = {
    "one layer": {"target_modules": ["q_proj"]},
    "embeddings": {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]},
    # The case `peft-untied-source`.
    "tied embeddings": {
        "target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"], "ensure_weight_tying": True,
    },
    "output": {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    "embeddings and output": {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens", "lm_head"]},
}  # fmt: skip


def trained(model, steps=3):
    optimizer = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=1.0)
    for _ in range(steps):
        model.train()(**BATCH).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def logits(model):
    with torch.no_grad():
        return model(**BATCH).logits


def assert_reloads(model, folder):
    before = model.config.to_dict()
    model.save_pretrained(folder)
    after = model.config.to_dict()
    ours = {"tie_word_embeddings", "share_encoder_decoder_embeddings"}
    assert {name: after[name] for name in ours} == {name: before[name] for name in ours}, "saving changes no setting"
    again, info = GlossaForConditionalGeneration.from_pretrained(folder, dtype=torch.float64, output_loading_info=True)
    assert not {kind: info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[kind]}
    same(logits(again.eval()), logits(model), 1e-9)
    return again


@pytest.mark.parametrize(("tied", "shared"), TYINGS)
@pytest.mark.parametrize("change", ["trained", "resized", "untied output", "own source", "source of the target"])
def test_a_changed_model_reloads(tiny_model, tmp_path, tied, shared, change):
    model = tiny_model(tie_word_embeddings=tied, share_encoder_decoder_embeddings=shared)
    if change == "resized":
        model.resize_token_embeddings(57)
    elif change == "untied output":
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach() + 0.1)
    elif change == "own source":
        model.model.encoder.embed_tokens.weight = nn.Parameter(model.model.encoder.embed_tokens.weight.detach() + 0.1)
    elif change == "source of the target":
        model.model.encoder.embed_tokens.weight = model.model.decoder.embed_tokens.weight
    assert_reloads(trained(model), tmp_path)


@pytest.mark.parametrize(("tied", "shared"), TYINGS)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_merged_adapter_reloads(tiny_model, tmp_path, tied, shared, adapter):
    from peft import LoraConfig, get_peft_model

    model = tiny_model(tie_word_embeddings=tied, share_encoder_decoder_embeddings=shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT warns of tied layers
        adapted = get_peft_model(model, LoraConfig(task_type="SEQ_2_SEQ_LM", r=4, **ADAPTERS[adapter]))
        expected = logits(trained(adapted))
        merged = adapted.merge_and_unload()
    same(logits(merged), expected, 1e-9)
    assert_reloads(merged, tmp_path)


@pytest.mark.parametrize("ensured", [True, False])
def test_peft_warns_of_an_adapter_of_tied_embeddings(tiny_model, ensured):
    """It adds the change of both to the one matrix, so the merged model is another: its warning names the layers."""
    from peft import LoraConfig, get_peft_model

    settings = {"target_modules": ["q_proj", "embed_tokens"], "ensure_weight_tying": ensured}
    with pytest.warns(UserWarning, match=r"tied_target_modules=.*embed_tokens"):
        get_peft_model(tiny_model(), LoraConfig(task_type="SEQ_2_SEQ_LM", r=4, **settings)).merge_and_unload()
