"""Models of other families of transformers are trained further: random ones, with classes of transformers itself."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from glossa.data.encoding.vocabulary import train_tokenizer
from glossa.errors import GlossaError
from glossa.inference.engines.engine import Search
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.plan.arguments import parse_settings
from glossa.plan.start import FAMILIES, load_start
from glossa.run_folder import RunFolder
from glossa.training.run import train

FORKING = Path(__file__).parents[1] / "forking.py"
CASES = Path(__file__).parents[3] / "shared" / "cases" / "hostile"
POSITIONS = 64  # fewer than a translation may have: twice the tokens of its source and fifty
SIZES = {f"{side}_{name}": size for side in ("encoder", "decoder")
         for name, size in {"layers": 1, "attention_heads": 2, "ffn_dim": 32}.items()}  # fmt: skip
SIZES |= {"d_model": 16, "max_position_embeddings": POSITIONS}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
CLASSES = {
    "marian": (MarianMTModel, MarianConfig, SIZES),
    "bart": (BartForConditionalGeneration, BartConfig, SIZES),
    "pegasus": (PegasusForConditionalGeneration, PegasusConfig, SIZES),
    "t5": (T5ForConditionalGeneration, T5Config, T5),
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pairs of two to 33 words, so that an evaluation batch has several pieces."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    words = [(a, b) for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"]
    lines = (f"{a} {b}{f' {a}' * (n % 32)}\t{b} {a}!{f' {b}' * (n % 29)}\n" for n, (a, b) in enumerate(words))
    path.write_text("".join(lines))
    return path


def saved(family, texts, folder):
    """A folder with a random model of `family` and a tokenizer."""
    tokenizer = train_tokenizer(texts, 270, POSITIONS)
    ids = {name: getattr(tokenizer, name) for name in ("pad_token_id", "eos_token_id", "bos_token_id")}
    build, config, sizes = CLASSES[family]
    torch.manual_seed(0)
    build(config(vocab_size=len(tokenizer), decoder_start_token_id=0, **ids, **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_every_family_is_tested():
    assert set(CLASSES) == set(FAMILIES)


@pytest.fixture
def settings(tiny_settings, pairs, tmp_path):
    """The arguments of a short training from a random model of a family, which is in `start`."""

    def from_start(family):
        start = saved(family, pairs.read_text().split("\n"), tmp_path / "start")
        given = tiny_settings(
            tmp_path / "run", data_path=pairs, init_from=start, max_steps=4, eval_steps=2, save_steps=2,
            trust_data=True, validation_size=20, label_smoothing_factor=0.1, max_new_tokens=100, num_beams=1,
        )  # fmt: skip
        for name in ("--vocab_size", *(f"--{name}" for name in SIZES)):
            if name in given:
                given = given[: given.index(name)] + given[given.index(name) + 2 :]
        return given

    return from_start


@pytest.mark.parametrize("family", FAMILIES)
def test_a_random_model_is_trained_evaluated_and_scored(family, settings, tmp_path):
    run = RunFolder(train(parse_settings(settings(family))))
    losses = [entry["eval_loss"] for entry in run.history if "eval_loss" in entry]
    assert len(losses) == 3 and losses[-1] < losses[0]
    assert set(run.metrics["test"]) == {"greedy"}
    before, after = load_model(str(tmp_path / "start")).state_dict(), load_model(str(run.path)).state_dict()
    matrices = [name for name in before if name.endswith("fc1.weight") or name.endswith("wi.weight")]
    assert len(matrices) == 2 and not any(before[name].equal(after[name]) for name in matrices)


def test_a_search_may_start_with_token_0_and_without_a_beginning_token(tmp_path):
    folder = saved("t5", [f"{a} {b}{a}!" for a in "abcdefghij" for b in "klmnop"] * 3, tmp_path / "start")
    model, tokenizer = load_model(str(folder)), load_tokenizer(str(folder))
    model.generation_config.update(bos_token_id=None, decoder_start_token_id=0)
    assert len(Translator(model, tokenizer, Search(1)).best(["a b"])) == 1
    model.generation_config.update(decoder_start_token_id=None)
    with pytest.raises(GlossaError, match="neither decoder_start_token_id nor bos_token_id"):
        Translator(model, tokenizer, Search(1))


@pytest.mark.skipif(not CASES.is_dir(), reason="this test needs ../shared/cases")
def test_the_given_cases_of_models():
    folder = CASES / "t5-start0"
    assert len(Translator(load_model(str(folder)), load_tokenizer(str(folder)), Search(1)).best(["a b"])) == 1
    given = parse_settings(["--init_from", str(CASES / "nan-model"), "--output_dir", "unused"])
    with pytest.raises(GlossaError, match="is not a number everywhere"):
        load_start(given)


@pytest.mark.slow
def test_two_processes_train_a_model_with_weights_that_get_no_gradient(settings, tmp_path, zygote):
    """The positions of Pegasus are weights that its forward pass reads without gradients."""
    command = [
        zygote.path / "python",
        FORKING,
        json.dumps([[[*settings("pegasus"), "--gradient_accumulation_steps", "2"], 2]]),
    ]
    done = subprocess.run(command, env=zygote.environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "run")
    assert set(run.metrics["test"]) == {"greedy"}
    losses = [entry["eval_loss"] for entry in run.history if "eval_loss" in entry]
    assert len(losses) == 3 and losses[-1] < losses[0]
