"""JoeyNMT in the race, with a package of the same name instead of JoeyNMT, which needs older libraries."""

import argparse
import gzip
import sys
from textwrap import dedent

import pytest

from benchmarks import joeynmt
from benchmarks.__main__ import main
from benchmarks.race import _entries, add_arguments
from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings

# Parts of JoeyNMT that the process uses: an evaluation after each step gives a BLEU of ten times the step.
STAND_IN = {
    "joeynmt/__init__.py": "",
    "joeynmt/helpers.py": """
        def make_model_dir(folder, overwrite):
            folder.mkdir()
        """,
    "joeynmt/prediction.py": """
        def predict(model, data, **options):
            return {"bleu": 10.0 * model.step}, None
        """,
    "joeynmt/training.py": """
        from pathlib import Path
        from types import SimpleNamespace

        class Weight:
            requires_grad = True
            def numel(self):
                return 42

        class TrainManager:
            def __init__(self, cfg):
                self.model = SimpleNamespace(step=0, parameters=lambda: [Weight(), Weight()])
                self.stats = SimpleNamespace(steps=0, is_max_update=False)
                self.device = self.n_gpu = self.dev_cfg = self.autocast = None

        def train(rank, world_size, cfg, skip_test):
            pieces = Path(cfg["data"]["src"]["voc_file"]).read_text().split()
            assert pieces == ["a", "b"], pieces
            assert Path(cfg["data"]["train"] + ".source").read_text() == "a b\\n"
            manager = TrainManager(cfg)
            while not manager.stats.is_max_update:
                manager.stats.steps += 1
                manager.model.step += 1
                manager._validate(None)
        """,
    "sentencepiece.py": """
        from pathlib import Path
        from types import SimpleNamespace

        def train(input, model_prefix, vocab_size, **options):
            assert vocab_size == 10_000 and all(Path(file).exists() for file in input)
            Path(model_prefix + ".vocab").write_text("<unk>\\t0\\n<s>\\t0\\n</s>\\t0\\na\\t-1\\nb\\t-2\\n")

        SentencePieceTrainer = SimpleNamespace(train=train)
        """,
}


@pytest.fixture
def settings(tmp_path):
    paths = []
    for name, text in (("t.en", "a b\n"), ("t.de", "b a\n"), ("v.en", "a\n"), ("v.de", "b\n")):
        paths.append(str(tmp_path / f"{name}.gz"))
        with gzip.open(paths[-1], "wt") as file:
            file.write(text)
    files = ["--data_path", *paths[:2], "--validation_path", *paths[2:]]
    return parse_settings(["multi30k-en-de-tiny", "--dataset", "files", *files, "--cpu_threads", "1", "--seed", "3"])


def test_it_trains_in_its_own_process_until_the_marks_are_reached(tmp_path, settings):
    packages = tmp_path / "packages"
    for name, text in STAND_IN.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(dedent(text))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    found = joeynmt.train(python, settings, folder, {"marks": [15.0, 30.0], "limit": 1000, "every": 0})
    assert found["parameters"] == 84
    assert {mark: reached["step"] for mark, reached in found["marks"].items()} == {"15.0": 2, "30.0": 3}
    assert [bleu for _, bleu in found["history"]] == [10, 20, 30]


def test_the_configuration_is_the_published_recipe(tmp_path, settings):
    found = joeynmt.configuration(settings, tmp_path)
    # Section 4 of Wu et al. 2021.
    for side in ("encoder", "decoder"):
        layers = {key: found["model"][side][key] for key in ("num_layers", "num_heads", "hidden_size", "ff_size")}
        assert layers == {"num_layers": 4, "num_heads": 4, "hidden_size": 128, "ff_size": 256}
        assert found["model"][side]["dropout"] == 0.3
    training = found["training"]
    assert training["batch_size"] * training["batch_multiplier"] == 8192 and training["batch_type"] == "token"
    assert (training["learning_rate"], training["learning_rate_warmup"], training["updates"]) == (0.005, 2000, 8000)
    assert training["adam_betas"] == [0.9, 0.98] and training["label_smoothing"] == 0.1
    assert found["random_seed"] == 3 and found["data"]["vocab_size"] == 10_000


def test_a_failure_shows_the_end_of_its_output(tmp_path, settings):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named joeynmt' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(GlossaError, match=f"JoeyNMT failed under {python}: No module named joeynmt"):
        joeynmt.train(python, settings, tmp_path, {})


def test_without_its_python_it_is_left_out(capsys, tmp_path):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert "JoeyNMT" not in _entries(parser.parse_args([]))
    assert "Without --joeynmt PYTHON, JoeyNMT is left out." in capsys.readouterr().out
    assert "JoeyNMT" in _entries(parser.parse_args(["--joeynmt", "python"]))
    with pytest.raises(GlossaError, match="--entries JoeyNMT needs --joeynmt PYTHON"):
        main(["race", "--entries", "JoeyNMT", "--results", str(tmp_path / "none.json")])
