"""Export to transformers.js: stock graphs for the stock package, in Node if it is there."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from onnxruntime import InferenceSession
from small_models import build, special, words
from transformers import PreTrainedTokenizerFast

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer, train_tokenizer_pair
from glossa.translate.export.transformers_js import export_transformers_js

pytestmark = pytest.mark.slow  # minutes in all

TEXTS = [f"The {a} {b} in the {c}." for a in ("man", "dog") for b in ("sleeps", "runs") for c in ("park", "house")]
PROGRAM = """
import { pipeline, env } from "@huggingface/transformers";
Object.assign(env, { localModelPath: process.argv[2], allowRemoteModels: false });
const translate = await pipeline("translation", process.argv[3]);
const found = [];
for (const text of JSON.parse(process.argv[4])) {
  found.push((await translate(text, { max_new_tokens: 30 }))[0].translation_text);
}
console.log(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    torch.manual_seed(3)
    tokenizer = train_tokenizer(TEXTS * 3, 290, 64)
    model = build(vocab_size=len(tokenizer), encoder_layers=1, max_target_positions=64, num_key_value_heads=2)
    model.generation_config.update(eos_token_id=1, decoder_start_token_id=2, max_length=40, num_beams=4)
    folder = tmp_path_factory.mktemp("models") / "small"
    export_transformers_js(model, tokenizer, folder)
    return model, tokenizer, folder


def test_the_graphs_give_the_logits_of_the_model(exported):
    model, _, folder = exported
    generator = torch.Generator().manual_seed(1)
    source, target = (torch.randint(4, 200, (3, length), generator=generator) for length in (7, 5))
    mask = torch.ones_like(source)
    mask[0, 4:] = 0
    encoder, decoder = (
        InferenceSession(folder / "onnx" / f"{name}.onnx") for name in ("encoder_model", "decoder_model_merged")
    )
    (states,) = encoder.run(["last_hidden_state"], {"input_ids": source.numpy(), "attention_mask": mask.numpy()})
    shapes = {one.name: one.shape for one in decoder.get_inputs() if one.name.startswith("past_key_values.")}
    # As the library: an axis with a number has it, `batch_size` is the batch, others are empty.
    known = {"batch_size": 3}
    sizes = {name: [size if isinstance(size, int) else known.get(size, 0) for size in shapes[name]] for name in shapes}
    past = {name: torch.zeros(size).numpy() for name, size in sizes.items()}
    logits = []
    for position in range(target.shape[1]):
        inputs = {"input_ids": target[:, position : position + 1].numpy(), "encoder_hidden_states": states}
        names = ["logits", *(name.replace("past_key_values", "present") for name in past)]
        found, *present = decoder.run(names, inputs | {"encoder_attention_mask": mask.numpy()} | past)
        past = dict(zip(past, present, strict=True))
        logits.append(torch.from_numpy(found))
    with torch.no_grad():
        expected = model(source, attention_mask=mask, decoder_input_ids=target).logits
    torch.testing.assert_close(torch.cat(logits, 1), expected, rtol=0, atol=1e-4)


def test_the_stock_package_translates_like_glossa(exported, tmp_path):
    """GLOSSA_NODE_MODULES is what `npm install @huggingface/transformers@4.3` made."""
    node, modules = shutil.which("node"), os.environ.get("GLOSSA_NODE_MODULES")
    if node is None or modules is None:
        pytest.skip("this test needs Debian's package nodejs, and GLOSSA_NODE_MODULES")
    model, tokenizer, folder = exported
    (tmp_path / "node_modules").symlink_to(Path(modules).resolve())
    (tmp_path / "program.mjs").write_text(PROGRAM)
    command = [node, tmp_path / "program.mjs", f"{folder.parent}/", folder.name, json.dumps(TEXTS)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert output.returncode == 0, output.stderr
    ids = tokenizer(TEXTS, padding=True, return_tensors="pt")
    expected = tokenizer.batch_decode(model.generate(**ids, num_beams=1, max_new_tokens=30), skip_special_tokens=True)
    assert json.loads(output.stdout) == expected


def test_the_folder_says_that_it_is_of_a_known_family(exported):
    folder = exported[2]
    config = json.loads((folder / "config.json").read_text())
    assert (config["model_type"], config["transformers.js_config"]) == ("bart", {"dtype": "fp32"})
    assert json.loads((folder / "generation_config.json").read_text())["num_beams"] == 1


def test_two_vocabularies_are_refused(tmp_path):
    options = TokenizerArguments(vocab_size=290, target_vocab_size=290)
    tokenizer = train_tokenizer_pair(TEXTS * 3, TEXTS * 3, options, 64)
    with pytest.raises(GlossaError, match=r"cannot be exported to transformers\.js: it has two vocabularies"):
        export_transformers_js(build(), tokenizer, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_penalty_that_the_library_does_not_know_is_refused(tmp_path):
    model = build()
    model.generation_config.repetition_penalty = 1.3
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(37), **special())
    with pytest.raises(GlossaError, match=r"repetition_penalty in generation_config\.json is 1\.3"):
        export_transformers_js(model, tokenizer, tmp_path / "model")
