"""The wheel: what it holds, and that it alone trains, translates, exports and prepares a push in an empty folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A run of seconds from a recipe in the wheel.
SHORT = {
    "d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 400, "max_train_samples": 2000,
    "max_validation_samples": 9, "max_test_samples": 9, "eval_strategy": "steps", "save_strategy": "steps",
    "max_steps": 6, "eval_steps": 3, "save_steps": 3, "max_new_tokens": 12,
    "cpu_threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    # Built from a copy: in the checkout setuptools would leave a build folder, whose files go into later wheels.
    folder, copy = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for name in ("modeling", "configuration", "model_card"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_what_the_wheel_holds(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "modeling"
    code = {str(path.relative_to(package)) for path in package.rglob("*.py") if "model_card" not in path.parts}
    assert code == {name for name in names if name.endswith(".py") and "model_card" not in name}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {f"glossa/recipes/{path.name}" for path in ROOT.glob("configuration/*.yaml")} <= names
    assert {"glossa/hub/model_card/handler.py", "glossa/hub/model_card/space/app.py"} <= names
    assert "glossa/hub/card_template.jinja" in names
    assert not any("benchmark" in name or name.startswith("tests") for name in names)


@pytest.mark.slow
def test_the_wheel_alone_trains_translates_exports_and_pushes(wheel, tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/pip"), "install", "--quiet", "--no-compile", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def glossa(*arguments, **options):
        command = [str(environment / "bin/glossa"), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, cwd=empty, env=variables, **options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    settings = [text for name, value in SHORT.items() for text in (f"--{name}", str(value))]
    glossa(
        "train", "quickstart", "--output_dir", "run", "--eval_strategy", "steps", "--save_strategy", "steps", *settings
    )
    assert len(glossa("translate", "run", input="Where is the station?\nThank you.\n").splitlines()) == 2
    assert "BLEU" in glossa("score", "run", "--n_bootstrap", 5)
    assert "handler.py" in glossa("push", "run", "--repo_id", "someone/name", "--space", "--dry_run")
