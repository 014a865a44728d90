"""ONNX graphs in ONNX Runtime for any batch size and length, and the programs of docs/serving.md."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from onnxruntime import InferenceSession
from small_models import ARCHITECTURES, UNEXPORTED, build, special, words
from transformers import PreTrainedTokenizerFast

from glossa.base.errors import GlossaError
from glossa.translate.export import onnx_model
from glossa.translate.export.ctranslate2_model import export_ctranslate2
from glossa.translate.export.onnx_model import export_onnx
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

SERVING = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")


def steps(folder, source, mask, target):
    """Logits [B, T, V] of the graphs in `folder`, computed step by step."""
    encoder, decoder = (InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder"))
    (read,) = encoder.run(None, {"input_ids": source.numpy(), "attention_mask": mask.numpy()})
    written, logits = read[..., :0, :], []
    for position in range(target.shape[1]):
        inputs = {"input_ids": target[:, position : position + 1].numpy(), "attention_mask": mask.numpy()}
        found, written = decoder.run(None, inputs | {"source": read, "target": written})
        logits.append(found)
    return torch.from_numpy(np.stack(logits, 1))


# An export takes 20 seconds, so there are few, most with one layer; the two that write in one case pass on their keys
# and values. The default architecture is in "multi-query".
CASES = {name: ARCHITECTURES[name] | {"encoder_layers": 1, "decoder_layers": 1} for name in ("published", "learned")}
CASES["multi-query"] = ARCHITECTURES["multi-query"] | {"rotary_cross_attention": True, "encoder_layers": 1}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A function of a case: its model, tokenizer and folder of graphs."""

    @functools.cache
    def export(case):
        torch.manual_seed(0)
        model, folder = build(**CASES[case]), tmp_path_factory.mktemp("graphs")
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(37), **special())
        export_onnx(model, tokenizer, folder)
        return model, tokenizer, folder

    return export


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_logits_are_equal_for_any_batch_and_length(exported, case):
    model, _, folder = exported(case)
    assert model.config._attn_implementation != "eager", "the model is unchanged"
    generator = torch.Generator().manual_seed(2)
    for rows, source_length, target_length in ((1, 1, 1), (3, 9, 12), (5, 4, 2)):
        source = torch.randint(4, 37, (rows, source_length), generator=generator)
        target = torch.randint(4, 37, (rows, target_length), generator=generator)
        mask = torch.ones_like(source)
        mask[0, (source_length + 1) // 2 :] = 0
        with torch.no_grad():
            expected = model(source, attention_mask=mask, decoder_input_ids=target).logits
        torch.testing.assert_close(steps(folder, source, mask, target), expected, rtol=0, atol=1e-4)
        if source_length > 1:
            other = steps(folder, source, torch.ones_like(mask), target)
            assert (other[0] - expected[0]).abs().max() > 1e-3, "the mask has an effect"


@pytest.mark.parametrize(
    ("case", "message"),
    [("latent", "kv_lora_rank is 6, it must be None"), ("experts", "num_local_experts is 4, it must be None")],
)
def test_what_the_graphs_cannot_express_is_refused(tmp_path, case, message):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(37), **special())
    with pytest.raises(GlossaError, match=f"cannot be exported to onnx: {message}"):
        export_onnx(build(**UNEXPORTED[case]), tokenizer, tmp_path / "graphs")
    assert not (tmp_path / "graphs").exists()


def test_the_model_of_the_caller_is_unchanged(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_model, "export_graph", lambda *_: None)
    model = build().bfloat16().train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    attention = model.config._attn_implementation
    export_onnx(model, PreTrainedTokenizerFast(tokenizer_object=words(37), **special()), tmp_path)
    assert model.training and model.config._attn_implementation == attention != "eager"
    for name, weight in model.state_dict().items():
        assert weight.dtype == torch.bfloat16 and weight.equal(before[name])


def run_documented(name, folder, texts):
    """Run the program in docs/serving.md that starts with `# name`, without torch, transformers and Glossa."""
    (program,) = re.findall(rf"```python\n# {name}\n(.*?)```", SERVING, re.DOTALL)
    program = "import sys\nfor name in ('torch', 'transformers', 'glossa'): sys.modules[name] = None\n" + program
    output = subprocess.run(
        [sys.executable, "-c", program, str(folder)], input=json.dumps(texts), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)


@pytest.mark.slow
def test_the_documented_onnx_program_translates_like_glossa(exported):
    model, tokenizer, folder = exported("multi-query")
    texts = [f"w{a} w{b} w9 w{a}"[: 3 * (1 + a % 4)].strip() for a in range(10, 18) for b in range(20, 24)]
    expected = Translator(model, tokenizer, Search(1)).best(texts)
    assert len(set(expected)) > 8
    assert run_documented("onnx", folder, texts) == expected


@pytest.mark.slow
def test_the_documented_ctranslate2_program_translates_like_glossa(tiny_run, tmp_path):
    model, tokenizer = load_model(tiny_run), load_tokenizer(tiny_run)
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    texts = [f"{a} {b}." for a in "abcdefg" for b in "klmno"]
    expected = Translator(model, tokenizer, Search(5)).best(texts)
    assert len(set(expected)) > 1
    assert run_documented("ctranslate2", tmp_path / "engine", texts) == expected
