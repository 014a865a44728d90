"""Models of other families, exported to CTranslate2 by its own converter, translate as in transformers."""

import pytest
from published_models import publish

from glossa.base.errors import GlossaError
from glossa.cli.export import main
from glossa.translate.build import load_engine
from glossa.translate.languages import Wanted

ctranslate2 = pytest.importorskip("ctranslate2")

WORDS = [(a, b) for a in "abcdefghij" for b in "klmnopqrst"]
SOURCES, TARGETS = [f"{a} {b} {a}{b}" for a, b in WORDS], [f"{b}{b} {a}{a}!" for a, b in WORDS]


@pytest.mark.parametrize(
    "family",
    [
        "opus-mt", "opus-mt, many targets", "nllb", "m2m100", "mbart-50", "mbart-25", "byt5", "t5gemma", "bart",
        "pegasus",
    ],
)  # fmt: skip
def test_translations_are_those_of_generate(family, tmp_path):
    folder = publish(family, tmp_path / "model", SOURCES, TARGETS)
    main([str(folder), "--to", "ctranslate2", "--output", str(tmp_path / "exported")])
    engine, tokenizer = load_engine([str(folder)], "torch", Wanted("fr", "en"))
    asked = tokenizer.prompt(engine.start) if tokenizer.codes else []
    first = ["<s>"] if family == "bart" else tokenizer.convert_ids_to_tokens(asked[-1:])  # forced in generation_config
    translator = ctranslate2.Translator(str(tmp_path / "exported"))
    for text in ("a k ak", "c c", "j t q r"):
        batch = tokenizer([text], return_tensors="pt")
        sequence = engine.pipeline._forward(
            batch, prompt=asked or None, num_beams=1, max_new_tokens=6, no_repeat_ngram_size=0
        )["sequences"]
        expected = tokenizer.convert_ids_to_tokens(sequence[0].tolist()[len(asked) or 1 :])
        source = [tokenizer.convert_ids_to_tokens(batch["input_ids"][0].tolist())]
        found = translator.translate_batch(source, [first] if first else None, beam_size=1, max_decoding_length=8)
        own = found[0].hypotheses[0][len(first) if asked else 0 :]
        length = min(5, len(own), len(expected))
        assert own[:length] == expected[:length] and length


def test_what_cannot_be_exported_says_why(tmp_path):
    folder = publish("prophetnet", tmp_path / "model", SOURCES, TARGETS)
    with pytest.raises(
        GlossaError, match=r"is of the family prophetnet, which CTranslate2 does not know\. It knows Bart"
    ):
        main([str(folder), "--to", "ctranslate2", "--output", str(tmp_path / "exported")])
    with pytest.raises(GlossaError, match=r"is not a Glossa model, and --to onnx is only for these\. Give --to ct"):
        main([str(folder), "--to", "onnx", "--output", str(tmp_path / "exported")])


def test_the_folder_is_for_other_programs(tmp_path, capsys):
    folder = publish("opus-mt", tmp_path / "model", SOURCES, TARGETS)
    main([str(folder), "--to", "ctranslate2", "--output", str(tmp_path / "exported")])
    assert f"Glossa's commands use {folder} directly." in capsys.readouterr().out
    with pytest.raises(GlossaError, match="was exported from a model of another family, for other programs"):
        load_engine([str(tmp_path / "exported")], "ctranslate2", None)
