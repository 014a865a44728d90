"""Saving, loading and offloading with transformers and Accelerate."""

import json

import pytest
import torch
from accelerate import init_empty_weights
from safetensors.torch import load_file
from small_models import same
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from glossa import GlossaConfig, GlossaForConditionalGeneration, GlossaModel

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 14, 15, 16]])
TARGET = torch.tensor([[2, 20, 21, 22, 23], [2, 30, 31, 32, 33]])
TYINGS = {
    "one matrix": {}, "target and output": {"share_encoder_decoder_embeddings": False},
    "two vocabularies": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 37},
    "three matrices": {"tie_word_embeddings": False},
    "three matrices, two vocabularies": {"tie_word_embeddings": False, "decoder_vocab_size": 37},
}  # fmt: skip
# The embedding matrices in a saved file, with their number of rows.
STORED = {
    "one matrix": {"model.decoder.embed_tokens.weight": 50},
    "target and output": {"model.encoder.embed_tokens.weight": 50, "model.decoder.embed_tokens.weight": 50},
    "two vocabularies": {"model.encoder.embed_tokens.weight": 50, "model.decoder.embed_tokens.weight": 37},
    "three matrices": {
        "model.encoder.embed_tokens.weight": 50, "model.decoder.embed_tokens.weight": 50, "lm_head.weight": 50,
    },
    "three matrices, two vocabularies": {
        "model.encoder.embed_tokens.weight": 50, "model.decoder.embed_tokens.weight": 37, "lm_head.weight": 37,
    },
}  # fmt: skip


@torch.no_grad()
def logits_of(model):
    return model(SOURCE, decoder_input_ids=TARGET).logits


def stored_in(folder):
    return {name: tensor for path in folder.glob("*.safetensors") for name, tensor in load_file(path).items()}


@pytest.mark.parametrize("shard_size", ["5GB", "5KB"])
@pytest.mark.parametrize("tying", TYINGS)
def test_a_tied_matrix_is_stored_once_and_loaded_tied(tiny_model, tmp_path, tying, shard_size):
    model = tiny_model(**TYINGS[tying])
    model.save_pretrained(tmp_path, max_shard_size=shard_size)
    files = list(tmp_path.glob("*.safetensors"))
    assert (len(files) > 2) == (shard_size == "5KB")
    assert (tmp_path / "model.safetensors.index.json").exists() == (shard_size == "5KB")
    stored = stored_in(tmp_path)
    matrices = {name: len(tensor) for name, tensor in stored.items() if "embed_tokens" in name or "lm_head" in name}
    # transformers chooses the name under which a shared matrix is stored, so only the sizes are compared.
    assert sorted(matrices.values()) == sorted(STORED[tying].values())
    if tying.startswith("three"):
        assert matrices == STORED[tying]

    loaded, report = GlossaForConditionalGeneration.from_pretrained(
        tmp_path, dtype=torch.float64, output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    weights = model.state_dict()
    assert all(weight.equal(weights[name]) for name, weight in loaded.state_dict().items())
    same(logits_of(loaded), logits_of(model))
    # Changing one matrix changes exactly the tied ones.
    with torch.no_grad():
        loaded.model.decoder.embed_tokens.weight.zero_()
    assert bool(loaded.lm_head.weight.eq(0).all()) == loaded.config.tie_word_embeddings
    assert bool(loaded.model.encoder.embed_tokens.weight.eq(0).all()) == (tying == "one matrix")


@pytest.mark.parametrize("shard_size", ["5GB", "5KB"])
def test_auto_classes_load_their_model(tiny_model, tmp_path, shard_size):
    model = tiny_model()
    model.save_pretrained(tmp_path, max_shard_size=shard_size)
    assert type(AutoConfig.from_pretrained(tmp_path)) is GlossaConfig
    translator = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    base = AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert type(translator) is GlossaForConditionalGeneration and type(base) is GlossaModel
    assert type(AutoModelForSeq2SeqLM.from_config(model.config)) is GlossaForConditionalGeneration
    same(logits_of(translator), logits_of(model))
    state = base(SOURCE, decoder_input_ids=TARGET).last_hidden_state
    same(model.lm_head(state), model(SOURCE, decoder_input_ids=TARGET).logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_dtype_is_saved_and_can_be_chosen(tiny_config, tmp_path, dtype):
    model = GlossaForConditionalGeneration(tiny_config()).to(dtype)
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == str(dtype).removeprefix("torch.")
    assert {tensor.dtype for tensor in stored_in(tmp_path).values()} == {dtype}
    assert GlossaForConditionalGeneration.from_pretrained(tmp_path, dtype="auto").dtype == dtype
    chosen = GlossaForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    assert {parameter.dtype for parameter in chosen.parameters()} == {torch.float64}


def test_a_model_built_on_the_meta_device_takes_no_memory_and_can_be_filled(tiny_model, architecture):
    model = tiny_model(**architecture)
    for build in (lambda: torch.device("meta"), lambda: init_empty_weights(include_buffers=True)):
        with build():
            empty = GlossaForConditionalGeneration(model.config)
        assert {tensor.device.type for tensor in empty.state_dict().values()} == {"meta"}
        assert {tensor.device.type for tensor in empty.buffers()} <= {"meta"}
    filled = empty.to_empty(device="cpu").double().eval()
    filled.load_state_dict(model.state_dict())
    filled.tie_weights()
    same(logits_of(filled), logits_of(model))


def test_offloading_to_disk_keeps_the_logits(tiny_model, architecture, tmp_path):
    model = tiny_model(**architecture)
    model.save_pretrained(tmp_path / "saved")
    device_map = {
        "model.encoder": "cpu", "model.decoder.embed_tokens": "cpu", "model.decoder.embeddings": "cpu",
        "model.decoder.layers": "disk", "model.decoder.final_norm": "cpu", "lm_head": "cpu",
    }  # fmt: skip
    loaded = GlossaForConditionalGeneration.from_pretrained(
        tmp_path / "saved", dtype=torch.float64, device_map=device_map, offload_folder=tmp_path / "offload"
    )
    devices = {name: parameter.device.type for name, parameter in loaded.named_parameters()}
    assert {kind for name, kind in devices.items() if name.startswith("model.decoder.layers")} == {"meta"}
    assert {kind for name, kind in devices.items() if not name.startswith("model.decoder.layers")} == {"cpu"}
    same(logits_of(loaded), logits_of(model))
    generated = loaded.generate(SOURCE, max_new_tokens=6, num_beams=2)
    assert generated.equal(model.generate(SOURCE, max_new_tokens=6, num_beams=2))


def test_getters_and_setters_of_transformers(tiny_model, tiny_config):
    model = tiny_model(decoder_vocab_size=37, share_encoder_decoder_embeddings=False)
    for whole in (model, model.model):
        assert whole.get_encoder() is model.model.encoder
        assert whole.get_decoder() is model.model.decoder
        assert whole.get_input_embeddings() is model.model.encoder.embed_tokens
    assert model.get_output_embeddings() is model.lm_head and model.model.get_output_embeddings() is None
    assert model.base_model is model.model
    assert model.get_encoder().main_input_name == "input_ids"
    replacement = torch.nn.Embedding(50, 16, 0).double()
    model.set_input_embeddings(replacement)
    assert model.model.encoder.embed_tokens is replacement and model.model.decoder.embed_tokens is not replacement
    head = torch.nn.Linear(16, 37, bias=False).double()
    model.set_output_embeddings(head)
    assert model.lm_head is head

    shared = tiny_model()
    shared.set_input_embeddings(replacement)
    shared.tie_weights()
    assert shared.lm_head.weight is shared.model.decoder.embed_tokens.weight is replacement.weight
    assert GlossaModel(tiny_config()).get_decoder().get_input_embeddings().num_embeddings == 50
