"""What the wheel holds. That it alone trains, translates and pushes is in tests/docs/test_blocks.py."""

import zipfile
from pathlib import Path

import pytest
from environments import with_wheel

ROOT = Path(__file__).parents[2]


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
    assert {f"glossa/configuration/{path.parent.name}/{path.name}" for path in launchers} <= names
    assert len(launchers) == 13
    assert {
        "glossa/model_card/handler.py", "glossa/model_card/space/Dockerfile", "glossa/apps/web/page/page.js",
        "glossa/apps/web/page/browser/worker.js", "glossa/apps/web/runtime.json",
    } <= names  # fmt: skip
    assert "glossa/train/hub/card_template.jinja" in names
    assert not any("benchmark" in name or name.startswith("tests") for name in names)
