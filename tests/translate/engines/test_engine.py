"""CTranslate2: equal log-probabilities and translations for every architecture, and clear errors."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from refusals import refused
from small_models import ARCHITECTURES, SPECIAL, UNEXPORTED, build, special, words
from transformers import GenerationConfig, PreTrainedTokenizerFast

from glossa import GlossaTokenizer
from glossa.base.errors import GlossaError, require
from glossa.cli import export
from glossa.cli.export import TYPES
from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.translate.engines.ctranslate2 import CTranslate2Engine, load_engine
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.export.ctranslate2_model import ACTIVATIONS, export_ctranslate2, specs
from glossa.translate.interface import Search
from glossa.translate.languages import Languages
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

SCRIPTS = Path(__file__).parents[3] / "scripts"
CASES = ARCHITECTURES | {
    "published, grouped heads": PUBLISHED_2017 | {"num_key_value_heads": 2},
    "bart": PUBLISHED_2017 | {"embedding_norm": True, "position_embedding_type": "learned"},
    "post-norm with final norms": {"norm_position": "post"}, "pre-norm without final norms": {"final_norm": False},
    "large epsilon, rms": {"norm_eps": 0.01}, "large epsilon, layer": {"norm_eps": 0.01, "norm_type": "layer"},
    "sinusoidal, not scaled": {"position_embedding_type": "sinusoidal", "scale_embedding": False},
    "learned, some biases": {"position_embedding_type": "learned", "query_key_value_bias": True},
    "rotary of another base": {"rotary_base": 500}, "wide heads": {"head_dim": 6, "num_key_value_heads": None},
    "heads of each side": {"encoder_attention_heads": 2, "decoder_attention_heads": 8},
    "two vocabularies": {"decoder_vocab_size": 37, "share_encoder_decoder_embeddings": False},
    "all matrices separate": {"tie_word_embeddings": False},
} | {name: {"activation_function": name} for name in ACTIVATIONS}  # fmt: skip
SENTENCES = ["w4 w9 w7", "w20", "", "w11 w12 w13 w14 w15 w16", "w5 w5 w30 w8", "  "]


@pytest.fixture
def tokenizer():
    return PreTrainedTokenizerFast(tokenizer_object=words(37), **special())


@pytest.mark.parametrize("case", CASES)
def test_log_probabilities_and_translations_are_equal(tmp_path, tokenizer, case):
    model = build(**CASES[case])
    # With early stopping both engines stop at the same number of hypotheses; a random model never ends on its own.
    model.generation_config.update(num_beams=4, early_stopping=True)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    engine, there = load_engine(str(tmp_path / "engine"))

    sources, targets = [[4, 9, 7, 33, 5], [20]], [[9, 5, 30], [4, 4, 25, 36, 6, 8, 35]]
    names = [[tokenizer.convert_ids_to_tokens(ids) for ids in side] for side in (sources, targets)]
    scored = engine.translator.score_batch([[*source, "</s>"] for source in names[0]], names[1])
    for source, target, result in zip(sources, targets, scored, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([[*source, 1]]), decoder_input_ids=torch.tensor([[2, *target]])).logits[0]
        expected = logits.log_softmax(-1).gather(-1, torch.tensor([[*target, 1]]).T)[:, 0]
        assert expected.std() > 0.1
        torch.testing.assert_close(torch.tensor(result.log_probs), expected, rtol=0, atol=1e-4)

    ids = there(list(filter(str.strip, SENTENCES)))["input_ids"]
    for search in (Search(1, scores=True), Search(4, 2, scores=True)):
        expected = GenerateEngine(model, tokenizer).translate(ids, search)
        actual = engine.translate(ids, search)
        assert [found.text for found in actual] == [found.text for found in expected]
        assert [found.score for found in actual] == pytest.approx([found.score for found in expected], abs=1e-3)
    assert len({found.text for found in actual}) > 4


def test_an_exported_model_returns_the_attention_of_the_trained_head(tmp_path, tokenizer):
    model = build(decoder_layers=3, alignment_layer=1)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    engine, _ = load_engine(str(tmp_path / "engine"))
    source = [4, 9, 7, 33, 5, 1]
    (found,) = engine.translator.translate_batch(
        [tokenizer.convert_ids_to_tokens(source)], beam_size=1, max_decoding_length=6, return_attention=True
    )
    written = [model.config.decoder_start_token_id, *tokenizer.convert_tokens_to_ids(found.hypotheses[0])]
    model.set_attn_implementation("eager")
    inputs = {"input_ids": torch.tensor([source]), "decoder_input_ids": torch.tensor([written[:-1]])}
    with torch.no_grad():
        weights = model.eval()(**inputs, output_attentions=True).cross_attentions[1][0, 0]
    assert len(found.attention[0]) == 6  # a row for each predicted token
    assert torch.allclose(torch.tensor(found.attention[0]), weights[:, : len(found.attention[0][0])], atol=1e-4)


def test_an_exported_model_keeps_its_languages(tmp_path, tokenizer):
    model = build()
    Languages("en", ("pt_BR",)).write(model, tokenizer)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    _, there = load_engine(str(tmp_path / "engine"))
    assert (there.init_kwargs["src_lang"], there.init_kwargs["tgt_lang"]) == ("en", "pt_BR")


def test_length_limit_of_a_sentence_does_not_depend_on_its_batch(tmp_path, tokenizer):
    """A model that never ends stops at twice the source length plus 50, or at its number of learned positions."""
    for positions, limits in (("rotary", [54, 64]), ("learned", [32, 32])):
        model = build(position_embedding_type=positions, tie_word_embeddings=False)
        with torch.no_grad():
            model.lm_head.weight[:4] = 0
            model.lm_head.weight[4:].mul_(100)
        folder = str(tmp_path / positions)
        export_ctranslate2(model, tokenizer, folder)
        engine, there = load_engine(folder)
        texts = ["w20", "w4 w5 w6 w7 w8 w9"]
        actual = Translator(engine, there, Search(1)).best(texts)
        assert actual == Translator(model, tokenizer, Search(1)).best(texts)
        # Embedding rows without a token add no word, so there may be fewer words than tokens.
        assert all(0 < len(text.split()) <= limit for text, limit in zip(actual, limits, strict=True))
        assert max(len(text.split()) for text in actual) > 25


def test_decoding_defaults_are_exported(tmp_path, tokenizer):
    model = build(**ARCHITECTURES["multi-query"])
    found = []
    for length_penalty in (None, 0.0, 3.0):
        model.generation_config.update(num_beams=3, length_penalty=length_penalty, early_stopping=True)
        folder = str(tmp_path / str(length_penalty))
        export_ctranslate2(model, tokenizer, folder)
        engine, there = load_engine(folder)
        assert engine.num_beams == 3
        found.append(Translator(engine, there, Search(num_return_sequences=3)).translate(SENTENCES))
        if length_penalty != 0:  # at 0 the engine stops as soon as the best hypothesis is certain
            assert found[-1] == Translator(model, tokenizer, Search(num_return_sequences=3)).translate(SENTENCES)
    assert found[0] != found[1] != found[2] != found[0]
    engine, there = load_engine(str(tmp_path / "None"))
    model.generation_config.length_penalty = None
    for each in (engine, GenerateEngine(model, tokenizer)):
        assert (
            Translator(each, there, Search(num_return_sequences=3, length_penalty=3.0)).translate(SENTENCES)
            == found[2]
        )


def test_two_vocabularies_in_one_tokenizer(tmp_path):
    tokenizer = GlossaTokenizer(tokenizer_object=words(40), target_tokenizer_object=words(25, "v"), **special())
    model = build(decoder_vocab_size=30, share_encoder_decoder_embeddings=False)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    engine, there = load_engine(str(tmp_path / "engine"))
    assert isinstance(load_tokenizer(str(tmp_path / "engine")), GlossaTokenizer)
    translations = Translator(engine, there, Search(2)).best(SENTENCES)
    assert translations == Translator(model, tokenizer, Search(2)).best(SENTENCES)
    assert "v" in "".join(translations) and "w" not in "".join(translations)
    target = json.loads((tmp_path / "engine" / "target_vocabulary.json").read_text())
    assert target[:5] == [*SPECIAL, "v4"] and len(target) == 30


@pytest.mark.parametrize(
    ("settings", "decoding", "words_of_error"),
    [
        ({"activation_function": "mish"}, {}, ["activation_function is 'mish'", "silu"]),
        ({}, {"do_sample": True}, ["do_sample in generation_config.json is True"]),
        ({}, {"repetition_penalty": 1.2}, ["repetition_penalty in generation_config.json is 1.2"]),
        ({}, {"early_stopping": "never"}, ["early_stopping is 'never'", "True or False"]),
        ({}, {"eos_token_id": None}, ["eos_token_id"]),
        (
            {"activation_function": "relu2"}, {"min_length": 3},
            ["activation_function is 'relu2'", "min_length in generation_config.json is 3"],
        ),
        (UNEXPORTED["latent"], {}, ["kv_lora_rank is 6, it must be None"]),
        (
            UNEXPORTED["experts"], {},
            ["num_local_experts is 4, it must be None", "rotary_cross_attention is True, it must be False"],
        ),
    ],
)  # fmt: skip
def test_unsupported_settings_are_named_in_the_error(tmp_path, tokenizer, settings, decoding, words_of_error):
    model = build(**settings)
    model.generation_config.update(**decoding)
    with pytest.raises(GlossaError) as error:
        export_ctranslate2(model, tokenizer, tmp_path / "engine")
    assert all(word in str(error.value) for word in words_of_error), str(error.value)
    assert not (tmp_path / "engine").exists()


def test_sinusoidal_positions_need_a_maximum_source_length(tmp_path):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(37), **special(length=None))
    with pytest.raises(GlossaError, match=r"model_max_length is .* at most 100,000"):
        export_ctranslate2(build(position_embedding_type="sinusoidal"), tokenizer, tmp_path / "engine")


def test_tokenizer_of_another_model_is_refused(tmp_path):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(41), **special())
    refused("tokenizer has 41 tokens and the model 40", export_ctranslate2, build(), tokenizer, tmp_path / "engine")


def test_the_command_knows_the_types_of_weights():
    assert TYPES == specs.model_spec.ACCEPTED_MODEL_TYPES


def test_folder_without_an_engine_is_refused(tiny_run):
    refused(r"no CTranslate2 model .* --to ctranslate2", load_engine, str(tiny_run))


def test_missing_package_error_has_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    refused(r'ctranslate2 is missing. Install it: pip install "glossa-mt\[engine\]"', require, "ctranslate2", "engine")


@pytest.mark.parametrize(
    ("kind", "package"),
    [("web", "onnx"), ("onnx", "onnxscript"), ("transformers.js", "onnxscript"), ("argos", "sentencepiece")],
)
def test_an_export_names_a_missing_package_before_any_work(tmp_path, monkeypatch, tiny_run, kind, package):
    """The case `export-web-without-engine`."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(export, "load_model", None)  # not called
    words = [str(tiny_run), "--to", kind, "--output", str(tmp_path / "out")]
    refused(
        rf'^The package {package} is missing\. Install it: pip install "glossa-mt\[engine\]"\.$', export.main, words
    )
    assert not (tmp_path / "out").exists()


def test_quantization_shrinks_the_file_and_keeps_scores_close(tmp_path, tokenizer):
    model = build(d_model=64, encoder_ffn_dim=128, decoder_ffn_dim=128)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    sizes, scores = {}, {}
    for quantization in (None, "int8", "float16"):
        folder = tmp_path / str(quantization)
        export_ctranslate2(model, tokenizer, folder, quantization)
        sizes[quantization] = (folder / "model.bin").stat().st_size
        engine, _ = load_engine(str(folder))
        result = engine.translator.score_batch([["w4", "w9", "w7", "</s>"]], [["w20", "w5", "w6"]])
        scores[quantization] = torch.tensor(result[0].log_probs)
    assert sizes["int8"] < 0.32 * sizes[None]
    assert sizes["float16"] < 0.55 * sizes[None]
    # 0.09 if weights and inputs are rounded to 8 bits in torch; 1.0 if products of 8 bits overflow.
    torch.testing.assert_close(scores["int8"], scores[None], rtol=0, atol=0.2)
    assert (scores["int8"] - scores[None]).abs().max() > 1e-4
    assert all(weight.equal(before[name]) for name, weight in model.state_dict().items()), "the model is unchanged"


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"architecture": "x86_64", "avx2": True}, "float32"),
        ({"architecture": "x86_64", "avx2": True, "avx_vnni": True}, "int8_float32"),
        ({"architecture": "x86_64", "avx512_vnni": True}, "int8_float32"),
        ({"architecture": "aarch64"}, "int8_float32"),
    ],
)
def test_8_bit_products_that_overflow_are_not_used(tmp_path, tokenizer, monkeypatch, caplog, capabilities, expected):
    export_ctranslate2(build(), tokenizer, tmp_path, "int8")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert load_engine(str(tmp_path))[0].translator.compute_type == expected
    assert ("computing in float32" in caplog.text) == (expected == "float32"), "the change is shown"
    explicit = CTranslate2Engine(tmp_path, load_tokenizer(str(tmp_path)), compute_type="int8")
    assert explicit.translator.compute_type == "int8_float32"


def script(name, *arguments):
    """Run `main` of a script with these arguments."""
    module = importlib.import_module(f"glossa.cli.{Path(name).stem}")
    return module.main([str(argument) for argument in arguments])


@pytest.mark.slow
def test_export_and_translate_on_the_command_line(tiny_run, tmp_path, early):
    def call(name, *arguments, text=None):
        command = [early.path / "python", str(SCRIPTS / name), *map(str, arguments)]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)

    done = call("export.py", tiny_run, "--to", "ctranslate2", "--output", tmp_path / "engine")
    assert done.returncode == 0 and "saved in" in done.stdout, done.stderr
    options = ["--num_beams", 3, "--num_return_sequences", 2, "--batch_tokens", 64]
    lines = "a k.\n\nb l.\n   \nc m. d n. e o.\n"
    engine = call("translate.py", tmp_path / "engine", "--engine", "ctranslate2", *options, text=lines)
    assert engine.returncode == 0, engine.stderr
    assert engine.stdout == call("translate.py", tiny_run, *options, text=lines).stdout
    assert engine.stdout.split("\n")[2:4] == ["", ""] and len(engine.stdout.split("\n")) == 11
    command, text = ("translate.py", tmp_path / "engine", "--engine", "ctranslate2"), "a k.\n" + "word " * 5000
    assert call(*command, text=text).stdout.count("\n") == 2, "a long line is cut into pieces"
    long = call(*command, "--no_split_sentences", text=text)
    assert long.returncode == 1 and "Line 2" in long.stderr and "Traceback" not in long.stderr
    assert long.stdout.split("\n")[1:] == ["", ""], "the line before has a line of its own"


def test_scripts_with_other_options(tiny_run, tmp_path, capsys):
    (tmp_path / "lines").write_text("a k.\n")
    engine = ["--to", "ctranslate2", "--output", tmp_path / "engine"]
    script("export.py", tiny_run, *engine, "--quantization", "int8")
    refused("is not empty", script, "export.py", tiny_run, *engine)
    with pytest.raises(GlossaError, match="--quantization is for --to ctranslate2 and argos, not for bart"):
        script("export.py", tiny_run, "--to", "bart", "--output", tmp_path / "bart", "--quantization", "int8")
    capsys.readouterr()
    options = ["--engine", "ctranslate2", "--input", tmp_path / "lines", "--scores"]
    script("translate.py", tmp_path / "engine", *options)
    assert float(capsys.readouterr().out.split("\t")[0]) < 0
    refused(r"no CTranslate2 model", script, "translate.py", tiny_run, *options)


def test_trained_model_gives_equal_translations(tiny_run, tmp_path):
    model, tokenizer = load_model(tiny_run), load_tokenizer(tiny_run)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    translators = [Translator(*pair) for pair in ((model, tokenizer), load_engine(str(tmp_path / "engine")))]
    texts = [f"{a} {b}." for a in "abcdefghij" for b in "klmnopqrst"]
    expected, actual = (translator.best(texts) for translator in translators)
    assert actual == expected


def test_settings_of_generation_that_ask_for_nothing_are_exported(tiny_run, tmp_path):
    """The case `export-after-trainer`: the Trainer writes every setting of generation when it evaluates with it."""
    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    neutral = GenerationConfig()._get_default_generation_params()
    asked = {"num_beams": 2, "max_length": 30, "length_penalty": 1.0, "early_stopping": False}
    model.generation_config.update(**neutral | asked)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    engine, there = load_engine(str(tmp_path / "engine"))
    assert Translator(engine, there).best(SENTENCES) == Translator(model, tokenizer).best(SENTENCES)
    for name, value in (("repetition_penalty", 1.2), ("num_beam_groups", 2), ("do_sample", True)):
        model.generation_config.update(**neutral | asked | {name: value})
        with pytest.raises(GlossaError, match=f"{name} in generation_config.json is {value!r}, it must not be set"):
            export_ctranslate2(model, tokenizer, tmp_path / "engine")
