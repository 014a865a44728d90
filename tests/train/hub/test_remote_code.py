"""A saved folder works without Glossa. Tested in new processes, because classes registered in this one hide errors."""

import ast
import json
import sys
from pathlib import Path

import pytest
import torch
from bare import run_bare

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.train.data.encoding.vocabulary import train_tokenizer

PACKAGE = Path(__file__).parents[3] / "modeling/glossa/model"
TRAVELLERS = ["abbreviations", "batches", "clauses", "configuration", "generation", "layers", "loss"]
TRAVELLERS += ["modeling", "pipeline", "profile", "facts", "segments", "sentences", "spans", "steps"]
TRAVELLERS = [f"{name}_glossa" for name in [*TRAVELLERS, "tokenization"]]
ALLOWED = {"torch", "transformers", "huggingface_hub", "tokenizers"} | set(sys.stdlib_module_names)
SENTENCES = ["The cat sleeps on the mat.", "Où est-ce qu’il l'a posé ?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    torch.manual_seed(0)
    config = GlossaConfig(vocab_size=280, d_model=16, encoder_ffn_dim=24, decoder_ffn_dim=24, encoder_layers=2)
    model = GlossaForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():  # a new model gives the same output for every sentence
            parameter.add_(0.5 * torch.randn_like(parameter))
    model.save_pretrained(path)
    train_tokenizer(SENTENCES * 4, 280).save_pretrained(path)
    return path


def contents(folder):
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


LOAD = """
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer
torch.set_num_threads(1)
folder, sentences = sys.argv[1], json.loads(sys.argv[2])
config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
base = AutoModel.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True)
batch = tokenizer(sentences, padding=True, return_tensors="pt")
print(json.dumps({
    "names": [type(thing).__name__ for thing in (config, base, model)],
    "modules": [type(thing).__module__.split(".")[0] for thing in (config, base, model, tokenizer)],
    "config": config.to_dict(),
    "batch": batch["input_ids"].tolist(),
    "greedy": model.generate(**batch, max_new_tokens=12).tolist(),
    "beam": model.generate(**batch, max_new_tokens=12, num_beams=3).tolist(),
    "state": base(**batch, decoder_input_ids=batch["input_ids"]).last_hidden_state.double().sum().item(),
    "absent": [name for name in sys.modules if name.split(".")[0] in absent and sys.modules[name] is not None],
}))
"""


@pytest.mark.slow
def test_read_only_folder_generates_the_same_ids_without_glossa(folder, early, tmp_path):
    before = contents(folder)
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        process = run_bare(early, LOAD, tmp_path, folder, json.dumps(SENTENCES))
    finally:
        folder.chmod(0o755)
    assert process.returncode == 0, process.stderr
    assert "Do you wish" not in process.stdout + process.stderr
    there = json.loads(process.stdout.splitlines()[-1])
    # Root can write to a read-only folder, so compare the contents.
    assert contents(folder) == before
    read = {path.name: len(path.read_text().splitlines()) for path in (tmp_path / "modules").rglob("*_glossa.py")}
    own = ("configuration", "generation", "layers", "loss", "modeling", "steps")
    assert read.keys() == {f"{name}_glossa.py" for name in own}, "who needs no pipeline need not trust its code"
    assert sum(read.values()) <= 2300

    assert there["names"] == ["GlossaConfig", "GlossaModel", "GlossaForConditionalGeneration"]
    assert there["modules"] == ["transformers_modules"] * 3 + ["transformers"]
    assert there["absent"] == []
    model = GlossaForConditionalGeneration.from_pretrained(folder)
    batch = train_tokenizer(SENTENCES * 4, 280)(SENTENCES, padding=True, return_tensors="pt")
    assert there["batch"] == batch["input_ids"].tolist()
    assert there["greedy"] == model.generate(**batch, max_new_tokens=12).tolist()
    assert there["beam"] == model.generate(**batch, max_new_tokens=12, num_beams=3).tolist()
    assert len({tuple(row) for row in there["greedy"]}) == 2  # the two sentences differ, so the source is read
    state = model.model(**batch, decoder_input_ids=batch["input_ids"]).last_hidden_state.double().sum().item()
    assert there["state"] == pytest.approx(state, rel=1e-4, abs=1e-3)
    for field in ("d_model", "decoder_vocab_size", "position_embedding_type", "pad_token_id", "rotary_base"):
        assert there["config"][field] == getattr(model.config, field)


def test_folder_has_its_code_and_auto_map(folder):
    config = json.loads((folder / "config.json").read_text())
    assert config["auto_map"] == {
        "AutoConfig": "configuration_glossa.GlossaConfig", "AutoModel": "modeling_glossa.GlossaModel",
        "AutoModelForSeq2SeqLM": "modeling_glossa.GlossaForConditionalGeneration",
    }  # fmt: skip
    for name in ("configuration_glossa.py", "modeling_glossa.py"):
        assert (folder / name).read_text() == (PACKAGE / name).read_text()


REFUSE = """
from transformers import AutoConfig, AutoModelForSeq2SeqLM
for loader in (AutoConfig, AutoModelForSeq2SeqLM):
    try:
        loader.from_pretrained(sys.argv[1])
    except ValueError as error:
        print(loader.__name__, "trust_remote_code" in str(error))
AutoConfig.from_pretrained(sys.argv[1], trust_remote_code=True)
"""


@pytest.mark.slow
def test_no_code_runs_without_trust_remote_code(folder, early, tmp_path):
    copy, mark = tmp_path / "copy", tmp_path / "ran"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    code = (copy / "configuration_glossa.py").read_text()
    (copy / "configuration_glossa.py").write_text(f"open({str(mark)!r}, 'a').write('x')\n{code}")
    untrusted, trusted = REFUSE.rsplit("AutoConfig", 1)[0], REFUSE
    process = run_bare(early, untrusted, tmp_path, copy)
    for loader in ("AutoConfig", "AutoModelForSeq2SeqLM"):
        assert f"{loader} True" in process.stdout, process.stderr
    assert not mark.exists()
    # With trust the same code runs and leaves the mark.
    process = run_bare(early, trusted, tmp_path, copy)
    assert process.returncode == 0, process.stderr
    assert mark.exists()


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize("name", TRAVELLERS)
def test_saved_code_imports_only_saved_code(name):
    path = PACKAGE / f"{name}.py"
    if not path.exists():
        pytest.skip(f"{path.name} does not exist")
    imports = list(imports_of(ast.parse(path.read_text())))
    assert imports or name == "abbreviations_glossa"  # lists only
    for level, module in imports:
        if level == 0:
            assert module.split(".")[0] in ALLOWED, module
        else:
            # Only modules in the same folder are copied, and `from . import x` does not name one.
            assert level == 1 and module in TRAVELLERS, f"{'.' * level}{module}"
    assert (0, "__future__") not in imports  # it turns annotations into strings, but `@strict` reads them
