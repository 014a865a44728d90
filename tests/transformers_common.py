"""transformers' own tests of models and generation, for small Glossa models of every architecture.

These tests are not in transformers' package. Take its repository at the installed version, or its source distribution
(`pip download --no-deps --no-binary :all: transformers`) with `conftest.py`, `utils` and the folders `exporters`,
`generation` and `utils` of `tests`, which it lacks. `make common TRANSFORMERS=FOLDER`, where FOLDER contains `tests`,
copies this file there and prints the counts. `pip install parameterized` is needed too.
"""

import re
import unittest
from typing import Any, ClassVar

from transformers.models.auto import modeling_auto

from glossa import GlossaConfig, GlossaForConditionalGeneration, GlossaModel
from glossa.model.configuration_glossa import PUBLISHED_2017

from ...generation.test_utils import GenerationTesterMixin  # type: ignore[import-not-found]
from ...test_configuration_common import ConfigTester  # type: ignore[import-not-found]
from ...test_modeling_common import ModelTesterMixin, ids_tensor  # type: ignore[import-not-found]

# The tests learn from the tables of built-in models which class takes labels.
modeling_auto.MODEL_MAPPING_NAMES["glossa"] = "GlossaModel"
modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES["glossa"] = "GlossaForConditionalGeneration"

VOCABULARY = 99
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Default": {}, "Published": PUBLISHED_2017,
    "Learned": {"position_embedding_type": "learned", "norm_position": "post", "norm_type": "layer"},
    "MultiQuery": {"num_key_value_heads": 1},
    "Separate": {"decoder_vocab_size": 90, "tie_word_embeddings": False, "share_encoder_decoder_embeddings": False},
    "Latent": {"num_key_value_heads": None, "kv_lora_rank": 12},
    "LatentCross": {"num_key_value_heads": None, "kv_lora_rank": 12, "rotary_cross_attention": True},
    "Experts": {"num_local_experts": 3, "num_experts_per_tok": 2, "num_shared_experts": 1},
}  # fmt: skip
SIZES = {"vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2}
SIZES |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
SIZES |= {"max_source_positions": 100, "max_target_positions": 100}


class Tester:
    """What the common tests ask of a model: a configuration and inputs."""

    batch_size, seq_length, num_hidden_layers = 3, 7, 2
    hidden_size, num_attention_heads, is_training = 32, 4, True

    def __init__(self, parent: unittest.TestCase, settings: dict[str, Any]):
        self.parent, self.settings = parent, settings

    def get_config(self) -> GlossaConfig:
        return GlossaConfig(**(SIZES | self.settings))

    def prepare_config_and_inputs_for_common(self) -> tuple[GlossaConfig, dict[str, Any]]:
        config = self.get_config()
        smallest = min(VOCABULARY, self.settings.get("decoder_vocab_size", VOCABULARY))
        shape = [self.batch_size, self.seq_length]
        inputs = {"input_ids": ids_tensor(shape, smallest), "decoder_input_ids": ids_tensor(shape, smallest)}
        inputs = {name: ids.clamp(min=4) for name, ids in inputs.items()}  # no special tokens
        masks = {"attention_mask": inputs["input_ids"].ne(0).long()}
        return config, inputs | masks | {"decoder_attention_mask": inputs["decoder_input_ids"].ne(0).long()}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


class _CommonTests:
    all_model_classes = (GlossaModel, GlossaForConditionalGeneration)
    is_encoder_decoder = True
    settings: ClassVar[dict[str, Any]]

    def setUp(self):
        self.model_tester = Tester(self, self.settings)
        self.config_tester = ConfigTester(self, config_class=GlossaConfig)

    def _get_attention_shape(self, batch_size: int, seq_length: int | None, config: GlossaConfig):
        """The shape of a cache layer, which with latent attention holds latents and the rotary part of the keys."""
        if config.kv_lora_rank is None or seq_length is not None:
            return super()._get_attention_shape(batch_size, seq_length, config)  # type: ignore[misc]
        rotary = config.qk_rope_head_dim if config.rotary_cross_attention else 0
        return (batch_size, 1, config.kv_lora_rank), (batch_size, 1, rotary)

    def test_config(self):
        self.config_tester.run_common_tests()


# These tests give the decoder the source's vocabulary or embedding.
ONE_VOCABULARY = (
    "test_forward_with_logits_to_keep", "test_inputs_embeds_matches_input_ids", "test_resize_tokens_embeddings",
)  # fmt: skip

# In half precision eager and SDPA attention differ by rounding, which can change the choice between two experts that
# are about equally likely. Here every token takes all experts, so that the comparison is one of attention.
SAME_EXPERTS = [name for name in dir(ModelTesterMixin) if re.match(r"test_eager_matches_sdpa_inf.*(bf16|fp16)", name)]


def with_all_experts(name: str):
    def test(self):
        self.model_tester.settings = self.settings | {"num_experts_per_tok": self.settings["num_local_experts"]}
        getattr(ModelTesterMixin, name)(self)

    return test


# The number of tokens of an expert depends on the data, so one graph cannot hold it.
ONE_GRAPH = ("test_torch_compile_for_training", "test_generate_compile_model_forward_fullgraph")

for name, settings in ARCHITECTURES.items():
    bases = (_CommonTests, ModelTesterMixin, GenerationTesterMixin, unittest.TestCase)
    members: dict[str, Any] = {"settings": settings}
    if name == "Separate":
        members |= dict.fromkeys(ONE_VOCABULARY, unittest.skip("assumes one vocabulary")(lambda self: None))
    if name == "Experts":
        members |= dict.fromkeys(ONE_GRAPH, unittest.skip("assumes one graph")(lambda self: None))
        members |= {name: with_all_experts(name) for name in SAME_EXPERTS}
    globals()[f"Glossa{name}Test"] = type(f"Glossa{name}Test", bases, members)
