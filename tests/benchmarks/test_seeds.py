"""Several runs together: each alone, their ensemble, and the average of their weights."""

import shutil

import pytest
from safetensors.torch import load_file, save_file

from benchmarks.__main__ import main


@pytest.mark.slow
def test_an_ensemble_and_an_average_of_weights(tiny_run, tmp_path, capsys):
    """Of a run and its copy both translate as the run; of a run and its negative, the average has only zeros."""
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    main(["seeds", str(tiny_run), str(copy)])
    scores = [line.split("  ", 1)[1].split() for line in capsys.readouterr().out.splitlines() if "[" in line]
    assert len(scores) == 4 and all(score == scores[0] for score in scores)

    weights = load_file(copy / "model.safetensors")
    save_file({name: -weight for name, weight in weights.items()}, copy / "model.safetensors", {"format": "pt"})
    main(["seeds", str(tiny_run), str(copy)])
    (average,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("average of the weights")]
    assert average.split()[4] == "0.00"
