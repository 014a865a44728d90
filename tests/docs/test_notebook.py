"""The notebook runs from the first cell to the last, on fewer pairs, and the .ipynb is made from the .py."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs/notebook.py"
SMALLER = {
    "range(8000)": "range(1000)",
    "num_train_epochs: 4": "num_train_epochs: 2\neval_strategy: epoch\nsave_strategy: epoch",
    "_size: 100": "_size: 20",
}


@pytest.mark.slow
def test_the_notebook_trains_and_translates(tmp_path, early):
    text = SOURCE.read_text(encoding="utf-8")
    for found, smaller in SMALLER.items():
        assert found in text
        text = text.replace(found, smaller)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    command = [early.path / "python", "program.py"]
    options = {"env": early.environment, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(command, cwd=tmp_path, check=False, **options)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "notebook/run"
    assert (run / "model.safetensors").is_file() and (run / "curves.png").is_file()
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["test"]["beam 4"]["scores"]["single"]["chrf"]["score"] > 0
    assert done.stdout.count("\n  ") >= 5  # a translation below each sentence


def test_the_ipynb_is_what_jupytext_makes_of_the_py():
    jupytext = pytest.importorskip("jupytext", reason="comes with the docs extra")
    saved = json.loads(SOURCE.with_suffix(".ipynb").read_text(encoding="utf-8"))
    made = json.loads(jupytext.writes(jupytext.read(SOURCE, fmt="py:percent"), fmt="ipynb"))
    for notebook in (saved, made):
        for cell in notebook["cells"]:
            cell.pop("id", None)  # random
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        for name in ("jupytext", "language_info"):  # the first holds the version of jupytext
            notebook["metadata"].pop(name, None)
    assert saved == made, "run `make notebook`"


def test_the_ipynb_has_the_outputs_of_one_run_from_the_first_cell_to_the_last():
    cells = json.loads(SOURCE.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "run `make notebook`"
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"stream", "execute_result"}
    assert all(output.get("name", "stdout") == "stdout" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
