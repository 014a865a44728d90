"""Packages of Argos Translate: the same pieces and the same translations in the real package, and clear errors."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from environments import ROOT, once
from small_models import build

from glossa.base.errors import GlossaError
from glossa.cli.export import main
from glossa.readers.embedded import embedded_corpus
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.engines.ctranslate2 import load_engine
from glossa.translate.export.argos import export_argos, sentencepiece_model
from glossa.translate.interface import Search
from glossa.translate.languages import Languages
from glossa.translate.translator import Translator

# What the package needs to translate. Its libraries for sentence boundaries download models; this test replaces them.
PACKAGES = ["argostranslate==1.11.0", "ctranslate2", "sentencepiece", "packaging", "numpy", "pyyaml"]
PROGRAM = """
import json, sys, types
sys.modules["stanza"] = types.ModuleType("stanza")
sys.modules["minisbd"] = minisbd = types.ModuleType("minisbd")
minisbd.SBDetect = None
minisbd.models = types.SimpleNamespace(list_models=lambda: ["en"])
sys.modules["minisbd.models"] = minisbd.models
from argostranslate import package, translate
package.install_from_path(sys.argv[1])
translation = translate.get_translation_from_codes("en", "fr")
translation.underlying.sentencizer = types.SimpleNamespace(split_sentences=lambda text: [text])
print(json.dumps([translation.translate(text) for text in json.load(open(sys.argv[2]))]))
"""


def texts(split, count):
    return [text for pair in embedded_corpus()[split].select(range(count))["translation"] for text in pair.values()]


@pytest.fixture(scope="module")
def unigram():
    options = TokenizerArguments(tokenizer_model="unigram")
    return train_tokenizer(texts("train", 3000), 400, options=options)


@pytest.fixture
def model(unigram):
    model = build(vocab_size=len(unigram), max_source_positions=128, max_target_positions=128)
    Languages("en", ("fr",)).write(model, unigram)
    return model


def test_the_pieces_are_those_of_the_tokenizer(unigram):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(unigram))
    for text in [*texts("test", 300), "a", "two words", "Über-Öl 3,5 %"]:
        assert processor.encode(text) == unigram(text)["input_ids"][:-1]
    assert processor.decode(processor.encode("two words")) == "two words"


def test_a_package_is_one_folder_with_what_argos_translate_reads(tmp_path, model, unigram):
    Languages("en", ("pt_BR",)).write(model, unigram)
    export_argos(model, unigram, tmp_path / "a.argosmodel", "int8")
    assert [path.name for path in tmp_path.iterdir()] == ["a.argosmodel"]
    with zipfile.ZipFile(tmp_path / "a.argosmodel") as archive:
        names = {name.partition("/")[2] for name in archive.namelist() if name.startswith("translate-en_pb-1_0/")}
        assert len(names) == len(archive.namelist())
        assert {"metadata.json", "sentencepiece.model", "README.md", "model/model.bin", "model/config.json"} <= names
        metadata = json.loads(archive.read("translate-en_pb-1_0/metadata.json"))
        config = json.loads(archive.read("translate-en_pb-1_0/model/config.json"))
    assert (metadata["from_code"], metadata["to_code"]) == ("en", "pb")
    assert (metadata["from_name"], metadata["to_name"]) == ("English", "Portuguese (BR)")
    assert (config["add_source_bos"], config["add_source_eos"]) == (False, True)


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_train):
    """A run that has learned to end its translations, as random weights do not."""
    words = {"tokenizer_model": "unigram", "vocab_size": 60, "d_model": 32, "num_train_epochs": 50, "warmup_steps": 30}
    words |= {"source_language": "en", "target_language": "fr", "eval_strategy": "no", "save_strategy": "no"}
    words |= {"load_best_model_at_end": False, "learning_rate": 0.005, "trust_data": True, "encoder_ffn_dim": 64}
    return tiny_train(tmp_path_factory.mktemp("runs") / "unigram", **words)


@pytest.mark.slow
def test_argos_translate_gives_the_same_translations(tmp_path_factory, tmp_path, run, tiny_pairs):
    def install(folder):
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--no-deps", "-c", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, *PACKAGES], check=True, capture_output=True)

    python = once(tmp_path_factory, "argos", install) / "venv/bin/python"
    sources = [line.partition("\t")[0] for line in tiny_pairs.read_text().splitlines()]
    (tmp_path / "texts.json").write_text(json.dumps(sources), encoding="utf-8")
    main([str(run), "--to", "argos", "--output", str(tmp_path / "a.argosmodel")])
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("ARGOS", "XDG", "PYTHON"))}
    variables |= {"HOME": str(tmp_path / "home"), "ARGOS_COMPUTE_TYPE": "float32"}
    command = [str(python), "-c", PROGRAM, str(tmp_path / "a.argosmodel"), str(tmp_path / "texts.json")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    main([str(run), "--to", "ctranslate2", "--output", str(tmp_path / "engine")])
    translator = Translator(*load_engine(str(tmp_path / "engine")), Search(4, length_penalty=0.2))
    expected = translator.best(sources)
    assert len(sources) == 200 and len(set(expected)) > 100
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "its vocabulary is BPE; train one with tokenizer_model: unigram"),
        ({"tokenizer_model": "unigram", "normalization": ["nfkc"]}, "it normalizes text; train one with"),
    ],
)
def test_a_tokenizer_that_is_not_sentencepiece_is_refused(options, message):
    tokenizer = train_tokenizer(texts("train", 300), 300, options=TokenizerArguments(**options))
    with pytest.raises(GlossaError, match=message):
        sentencepiece_model(tokenizer)


def test_other_names_and_several_languages_are_refused(tmp_path, model, unigram):
    with pytest.raises(GlossaError, match=r"must end with \.argosmodel"):
        export_argos(model, unigram, tmp_path / "a.zip")
    model.config.target_language = ["fr", "de"]
    with pytest.raises(GlossaError, match=r"has en and \['fr', 'de'\]. Train one with --source_language"):
        export_argos(model, unigram, tmp_path / "a.argosmodel")
