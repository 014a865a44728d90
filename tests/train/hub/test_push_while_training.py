"""`--push_to_hub` during training: Glossa's card and code with every checkpoint, and no pickles."""

import subprocess
from pathlib import Path

import pytest
from hub_server import Hub

SCRIPT = Path(__file__).parents[3] / "scripts/train.py"
NAME, TOKEN = "someone/tiny", "hf_secretsecretsecret"


@pytest.fixture
def train(tiny_settings, early, tmp_path):
    def run(hub, **settings):
        arguments = tiny_settings(tmp_path / "run", push_to_hub="true", hub_model_id=NAME, **settings)
        process = subprocess.run(
            [early.path / "python", str(SCRIPT), *arguments],
            cwd=tmp_path, env=hub.environment(tmp_path / "home", TOKEN),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert TOKEN not in process.stdout + process.stderr
        return process

    return run


@pytest.mark.slow
def test_checkpoints_and_the_finished_run_are_pushed(train, tmp_path):
    with Hub({TOKEN: "someone"}) as hub:
        process = train(hub)
        assert process.returncode == 0, process.stderr
        repository = hub.repositories["models", NAME]
    *_, before, last = repository.messages
    assert before.startswith("Training in progress, step ") and last == "End of training"
    for files in list(repository.commits.values())[1:]:
        assert {"model.safetensors", "tokenizer.json", "pipeline_glossa.py", "modeling_glossa.py"} <= set(files)
        assert not [name for name in files if name.endswith((".bin", ".pt", ".pth"))]
        assert b"\n# tiny\n" in files["README.md"] and b"generated_from_trainer" not in files["README.md"]
    first, *_, last = list(repository.commits.values())[1:]
    assert b"## Results" not in first["README.md"] and b"## Results" in last["README.md"]
    assert last["model.safetensors"] == (tmp_path / "run/model.safetensors").read_bytes()
    assert last["metrics.json"] == (tmp_path / "run/metrics.json").read_bytes()


@pytest.mark.slow
def test_hub_failure_does_not_end_training(train):
    with Hub({TOKEN: "someone"}) as hub:
        hub.faults += [("POST /api/models/someone/tiny/commit", 400)]
        process = train(hub, num_train_epochs=1)
        assert process.returncode == 0, process.stderr
        assert "was not pushed: The Hub refused (400)" in process.stderr
        assert hub.repositories["models", NAME].messages[-1] == "End of training"


@pytest.mark.slow
def test_training_does_not_start_without_permission(train, tmp_path):
    with Hub({TOKEN: "other"}) as hub:
        process = train(hub)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith("error: This token may not write to someone/tiny")
    assert not list(tmp_path.glob("run/checkpoint-*"))
