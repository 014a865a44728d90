"""The wheel: what it holds, and that it alone trains, translates, exports and prepares a push in an empty folder."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from environments import clean_variables, with_wheel

ROOT = Path(__file__).parents[2]
# A run of seconds from a recipe in the wheel.
SHORT = {
    "d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 400, "max_train_samples": 2000,
    "max_validation_samples": 9, "max_test_samples": 9, "eval_strategy": "steps", "save_strategy": "steps",
    "max_steps": 6, "eval_steps": 3, "save_steps": 3, "max_new_tokens": 12,
    "cpu_threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    return with_wheel(tmp_path_factory)


@pytest.fixture(scope="module")
def wheel(binaries):
    return next(binaries.parents[1].glob("*.whl"))


@pytest.mark.slow
def test_what_the_wheel_holds(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "modeling"
    code = {str(path.relative_to(package)) for path in package.rglob("*.py") if "model_card" not in path.parts}
    assert code == {
        name for name in names if name.endswith(".py") and "model_card" not in name and "/configuration/" not in name
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {f"glossa/configuration/{path.name}" for path in ROOT.glob("configuration/*.yaml")} <= names
    launchers = [path for folder in ("accelerate", "launch") for path in ROOT.glob(f"configuration/{folder}/*")]
    assert {f"glossa/configuration/{path.parent.name}/{path.name}" for path in launchers} <= names and len(
        launchers
    ) == 9
    assert {"glossa/model_card/handler.py", "glossa/model_card/space/app.py"} <= names
    assert "glossa/hub/card_template.jinja" in names
    assert not any("benchmark" in name or name.startswith("tests") for name in names)


@pytest.mark.slow
def test_the_wheel_alone_trains_translates_exports_and_pushes(binaries, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    variables = clean_variables()

    def glossa(*arguments, **options):
        command = [str(binaries / "glossa"), *map(str, arguments)]
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
