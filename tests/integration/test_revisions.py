"""Two revisions of the code in one process, each with its own weights, without Glossa installed."""

import json
import os
import subprocess

import pytest
import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration

LOAD = """
import json, sys
sys.modules["glossa"] = None
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM
torch.set_num_threads(1)
models = [AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True) for folder in sys.argv[1:]]
ids = torch.tensor([[9, 8, 7, 1]])
logits = [model(ids, decoder_input_ids=ids).logits.double().sum().item() for model in models]
print(json.dumps({
    "logits": logits,
    "revisions": [sys.modules[type(model).__module__].__dict__.get("REVISION") for model in models],
    "configurations": [sys.modules[type(model.config).__module__].__dict__.get("REVISION") for model in models],
    "one class": type(models[0]) is type(models[1]),
}))
"""


@pytest.mark.slow
def test_two_revisions_keep_their_own_code_in_one_process(early, tmp_path):
    torch.manual_seed(0)
    config = GlossaConfig(vocab_size=50, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=24)
    model = GlossaForConditionalGeneration(config).eval()
    for number in (1, 2):
        folder = tmp_path / f"revision-{number}"
        model.save_pretrained(folder)
        for name in ("configuration_glossa.py", "modeling_glossa.py"):
            code = (folder / name).read_text()
            if number == 2:
                # The second revision doubles its logits, so that its code can be told from the first one's.
                code = code.replace("self.lm_head(states)", "2 * self.lm_head(states)")
            (folder / name).write_text(f"{code}\nREVISION = {number}\n")
    environment = os.environ | {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_MODULES_CACHE", None)
    process = subprocess.run(
        [early.path / "python", "-I", "-c", LOAD, tmp_path / "revision-1", tmp_path / "revision-2"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    there = json.loads(process.stdout.splitlines()[-1])
    assert there["revisions"] == there["configurations"] == [1, 2]
    assert not there["one class"]
    ids = torch.tensor([[9, 8, 7, 1]])
    with torch.no_grad():
        expected = model(ids, decoder_input_ids=ids).logits.double().sum().item()
    assert abs(there["logits"][0] - expected) < 1e-3 * abs(expected)
    assert abs(there["logits"][1] - 2 * expected) < 1e-3 * abs(expected)
