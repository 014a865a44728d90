"""The wheel: built from the sources, installed in an empty environment and imported."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_wheel_has_every_module_and_the_license(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "modeling"
    assert {str(path.relative_to(package)) for path in package.rglob("*.py")} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_wheel_installs_in_an_empty_environment(wheel, tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    program = "import glossa, glossa.training.run, glossa.export; print(glossa.__file__, glossa.__version__)"
    output = subprocess.run([str(python), "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert output.stdout.startswith(str(environment))
