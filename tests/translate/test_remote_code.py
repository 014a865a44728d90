"""Models that bring code of their own: it is run only with permission."""

import json
import os
import subprocess
import sys

import pytest
from published_models import publish

from glossa.base.errors import GlossaError
from glossa.translate.loading import TRUSTED, load_model

CODE = """
from pathlib import Path
from transformers import BartConfig, BartForConditionalGeneration
Path({mark!r}).touch()
class OwnConfig(BartConfig):
    model_type = "own"
class OwnModel(BartForConditionalGeneration):
    config_class = OwnConfig
"""


@pytest.fixture
def with_code(tmp_path):
    """A model with code that leaves a mark."""
    texts = ["a b c d e"] * 20
    folder = publish("bart", tmp_path / "own", texts, texts)
    (folder / "modeling_own.py").write_text(CODE.format(mark=str(tmp_path / "mark")))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "architectures": ["OwnModel"], "auto_map": {
        "AutoConfig": "modeling_own.OwnConfig", "AutoModelForSeq2SeqLM": "modeling_own.OwnModel"}}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_the_code_of_a_model_is_not_run_without_permission(with_code, tmp_path, monkeypatch):
    monkeypatch.delenv(TRUSTED, raising=False)
    with pytest.raises(GlossaError, match=r"brings code of its own.* give --trust_remote_code\."):
        load_model(str(with_code))
    assert not (tmp_path / "mark").exists()


@pytest.mark.slow
def test_with_permission_a_command_runs_it_and_says_so(with_code, tmp_path):
    command = [sys.executable, "-m", "glossa_command", "translate", str(with_code), "--trust_remote_code"]
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    done = subprocess.run(
        command, input="a b\n", env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mark").exists()
    assert f"The code in {with_code} is run, as --trust_remote_code allows." in done.stderr
