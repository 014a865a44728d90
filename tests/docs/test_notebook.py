"""The notebook runs from the first cell to the last, and the .ipynb is made from the .py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs/notebook.py"


@pytest.mark.slow
def test_the_notebook_trains_and_translates(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "modeling")}
    command = [sys.executable, str(SOURCE)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "notebook/run"
    assert (run / "model.safetensors").is_file() and (run / "curves.png").is_file()
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["test"]["beam 4"]["scores"]["single"]["bleu"]["score"] > 10
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
