"""Loading a folder runs no code in it and asks nothing."""

import json

import pytest

from glossa.errors import GlossaError
from glossa.inference.loading import load_model, load_tokenizer


@pytest.mark.parametrize("load", [load_model, load_tokenizer])
def test_code_in_a_folder_is_neither_run_nor_asked_about(tmp_path, monkeypatch, load):
    code = {"AutoConfig": "own.OwnConfig", "AutoModelForSeq2SeqLM": "own.OwnModel", "AutoTokenizer": ["own.Own", None]}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": code}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": code}))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    asked = []
    monkeypatch.setattr("builtins.input", lambda *question: asked.append(question) or "y")
    with pytest.raises(GlossaError, match="does not load"):
        load(str(tmp_path))
    assert not asked and not (tmp_path / "run").exists()
