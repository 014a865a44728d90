"""Exported folders of small models, and what runs them."""

import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from small_models import build, knows

from glossa.apps.web.parts import exported
from glossa.apps.web.runtime import write_runtime
from glossa.apps.web.site import write_site
from glossa.base.errors import GlossaError
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair

SOURCES = [
    f"The {a} {b} in the {c}." for a in ("man", "woman", "dog") for b in ("sleeps", "runs") for c in ("park", "house")
]
TARGETS = [text.replace("The", "Le").replace("in", "dans").replace("sleeps", "dort") for text in SOURCES]
LAYERS = {"encoder_layers": 1, "decoder_layers": 1, "max_source_positions": 64, "max_target_positions": 64}


@pytest.fixture(scope="session")
def runtime(tmp_path_factory):
    """A folder with the runtime."""
    folder = tmp_path_factory.mktemp("runtime")
    try:
        write_runtime(folder)
    except GlossaError as error:
        pytest.skip(f"this test needs the packages of runtime.json: {error}")
    return folder


def model_of(kind):
    """A random model with a vocabulary of some kind, and its tokenizer."""
    torch.manual_seed(3)
    texts = [*SOURCES, *TARGETS] * 3
    if kind == "shared":
        tokenizer = train_tokenizer(texts, 300, 64)
        model = build(vocab_size=len(tokenizer), **LAYERS)
        knows(model.config, mask_items=True, lower_capitals=True, add_stops=True, length_ratio=1.1)
    elif kind == "two vocabularies":
        options = TokenizerArguments(tokenizer_model="unigram", vocab_size=60, target_vocab_size=50)
        tokenizer = train_tokenizer_pair(SOURCES * 3, TARGETS * 3, options, 64)
        model = build(
            vocab_size=len(tokenizer), decoder_vocab_size=tokenizer.target_vocab_size,
            share_encoder_decoder_embeddings=False, **LAYERS,
        )  # fmt: skip
    else:
        options = TokenizerArguments(vocab_size=290, target_vocab_size=290)
        tokenizer = train_tokenizer_pair(SOURCES * 3, TARGETS * 3, options, 64, AddedTokens(languages=("fr", "de")))
        model = build(
            vocab_size=len(tokenizer), decoder_vocab_size=tokenizer.target_vocab_size,
            share_encoder_decoder_embeddings=False, **LAYERS,
        )  # fmt: skip
        tokenizer.tgt_lang = "fr"
    model.config.update({"source_language": "en", "target_language": "fr"})
    if kind == "two vocabularies":  # a random model writes padding, whose probability Python's score leaves out
        model.generation_config.suppress_tokens = [0]
    model.generation_config.update(eos_token_id=1, decoder_start_token_id=2, num_beams=3, max_length=None)
    return model, tokenizer


@pytest.fixture(scope="session")
def site(tmp_path_factory, runtime):
    """A function of a kind: its model, tokenizer and exported folder, in float32."""

    @functools.cache
    def export(kind):
        folder = tmp_path_factory.mktemp("site") / "page"
        model, tokenizer = model_of(kind)
        with pytest.MonkeyPatch.context() as patch, exported(model, tokenizer) as parts:
            patch.setattr("glossa.apps.web.site.write_runtime", lambda to, given: shutil.copytree(runtime, to))
            write_site(parts, folder, "float32", {"note": ["A model of a test."]}, None)
        return model, tokenizer, folder

    return export


@pytest.fixture(scope="session")
def node():
    """A function of an exported folder and calls: what they give in Node."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("this test needs Debian's package nodejs")

    def run(folder, calls):
        given = folder.parent / "calls.json"
        given.write_text(json.dumps(calls), encoding="utf-8")
        command = [program, "--no-warnings", Path(__file__).with_name("translate.mjs"), folder, given]
        output = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert output.returncode == 0, output.stderr
        return json.loads(output.stdout)

    return run
