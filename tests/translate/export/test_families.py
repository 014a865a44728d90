"""Export to architectures of transformers: equal logits, equal translations, no custom code, clear errors."""

import json
import subprocess
import sys

import pytest
import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.model.profile_glossa import TextProfile
from glossa.readers.embedded import embedded_corpus
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.export.families import TARGETS, export_model, save_tokenizer
from glossa.translate.languages import Languages
from glossa.translate.loading import load_config

PLAIN = PUBLISHED_2017 | {
    "vocab_size": 60, "d_model": 16, "encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20, "decoder_attention_heads": 2, "num_key_value_heads": 2, "max_source_positions": 40,
    "max_target_positions": 30,
}  # fmt: skip


def settings_for(family, **changes):
    target = TARGETS[family]
    fitting = {name: getattr(target, name) for name in ("norm_position", "position_embedding_type")}
    fitting |= {name: getattr(target, name) for name in ("embedding_norm", "final_norm")}
    return PLAIN | fitting | changes


def random_model(**settings):
    torch.manual_seed(3)
    model = GlossaForConditionalGeneration(GlossaConfig(**settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases away from 1 and 0
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def batch(vocabulary=60):
    generator = torch.Generator().manual_seed(5)
    source = torch.randint(4, vocabulary, (3, 9), generator=generator)
    mask = torch.ones_like(source)
    mask[1, 6:] = 0
    target = torch.randint(4, vocabulary, (3, 7), generator=generator)
    return {"input_ids": source.masked_fill(mask == 0, 0), "attention_mask": mask, "decoder_input_ids": target}


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("family", TARGETS)
def test_logits_are_equal(family, scale, biases):
    with_bias = dict.fromkeys(("query_key_value_bias", "attention_output_bias", "feed_forward_bias"), biases)
    model = random_model(**settings_for(family, scale_embedding=scale, **with_bias))
    exported = export_model(model, family)
    assert type(exported).__module__.startswith("transformers.models.")
    with torch.no_grad():
        expected, actual = model(**batch()).logits, exported(**batch()).logits
    assert expected.std() > 0.1
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("family", ["bart", "mbart"])
def test_logits_are_equal_in_float64(family):
    """All weights are copied, including positions, so results differ only by rounding."""
    settings = dict.fromkeys(("query_key_value_bias", "attention_output_bias", "feed_forward_bias"), True)
    model = random_model(**settings_for(family, **settings))
    exported = export_model(model, family).double()
    with torch.no_grad():
        torch.testing.assert_close(exported(**batch()).logits, model.double()(**batch()).logits, rtol=0, atol=1e-10)


def test_what_translating_needs_to_know_is_kept(tmp_path):
    model = random_model(**settings_for("marian"))
    model.config.update({"source_language": "de", "target_language": "en"})
    profile = TextProfile(split_sentences=False, length_ratio=1.25)
    profile.write(model.config)
    export_model(model, "marian").save_pretrained(tmp_path)
    assert TextProfile.of(load_config(str(tmp_path))) == profile
    assert Languages.of(str(tmp_path)).pair == ("de", "en")


def test_marian_takes_separate_vocabularies():
    changes = {"tie_word_embeddings": False, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 50}
    model = random_model(**settings_for("marian", **changes))
    inputs = batch(vocabulary=50)
    with torch.no_grad():
        torch.testing.assert_close(
            export_model(model, "marian")(**inputs).logits, model(**inputs).logits, rtol=1e-5, atol=2e-5
        )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norm_type": "rms"}, ["norm_type is 'rms'", "'layer'"]),
        ({"norm_eps": 1e-6}, ["norm_eps is 1e-06", "1e-05"]),
        ({"gated_feed_forward": True}, ["gated_feed_forward is True"]),
        ({"position_embedding_type": "rotary"}, ["position_embedding_type is 'rotary'", "'sinusoidal'"]),
        ({"norm_position": "pre", "final_norm": True}, ["norm_position is 'pre'", "final_norm is True"]),
        ({"head_dim": 6}, ["head_dim is 6"]),
        ({"kv_lora_rank": 6, "decoder_attention_heads": 4, "num_key_value_heads": 4}, ["kv_lora_rank is 6", "None"]),
        ({"num_local_experts": 4}, ["num_local_experts is 4", "None"]),
        (
            {"position_embedding_type": "rotary", "rotary_cross_attention": True},
            ["rotary_cross_attention is True, it must be False"],
        ),
    ],
)
def test_unsupported_settings_are_named(changes, words):
    with pytest.raises(GlossaError) as error:
        export_model(random_model(**settings_for("marian", **changes)), "marian")
    assert all(word in str(error.value) for word in words), str(error.value)


def test_bart_refuses_separate_matrices():
    with pytest.raises(GlossaError, match="tie_word_embeddings"):
        export_model(random_model(**settings_for("bart", tie_word_embeddings=False)), "bart")


@pytest.mark.slow
@pytest.mark.parametrize("num_beams", [1, 4])
def test_many_sentences_have_equal_translations(tmp_path, num_beams):
    """In a process without Glossa, from the saved folder."""
    sentences = [pair["en"] for pair in embedded_corpus()["test"]["translation"]]
    tokenizer = train_tokenizer([sentences], vocab_size=600)
    sentences = sentences[::5]
    assert len(sentences) == 200
    model = random_model(**settings_for("marian", vocab_size=600))
    exported = export_model(model, "marian")
    exported.save_pretrained(tmp_path / "marian")
    save_tokenizer(tokenizer, tmp_path / "marian")
    assert not list((tmp_path / "marian").glob("*.py"))
    assert "auto_map" not in (tmp_path / "marian" / "config.json").read_text()

    (tmp_path / "sentences.json").write_text(json.dumps(sentences))
    program = tmp_path / "translate.py"
    program.write_text(TRANSLATE)
    output = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "marian"), str(tmp_path / "sentences.json"), str(num_beams)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    namespace: dict = {}
    exec(TRANSLATE.split("if __name__")[0], namespace)
    assert json.loads(output.stdout) == namespace["translate"](model, tokenizer, sentences, num_beams)


TRANSLATE = """
import json
import sys


def translate(model, tokenizer, sentences, num_beams):
    texts = []
    for start in range(0, len(sentences), 100):
        inputs = tokenizer(sentences[start : start + 100], return_tensors="pt", padding=True)
        ids = model.generate(**inputs, num_beams=num_beams, max_new_tokens=15)
        texts += tokenizer.batch_decode(ids, skip_special_tokens=True)
    return texts


if __name__ == "__main__":
    sys.modules["glossa"] = None  # importing it would fail
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1]).eval()
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
    print(json.dumps(translate(model, tokenizer, json.load(open(sys.argv[2])), int(sys.argv[3]))))
"""
