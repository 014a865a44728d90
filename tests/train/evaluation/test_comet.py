"""COMET as a command of another environment, here a script that stands for it."""

import json
import sys

import pytest

from glossa.base.errors import GlossaError
from glossa.cli import score
from glossa.train.evaluation.comet import comet_score, find_command

# Prints the number of lines that are the same in translation and reference, and keeps the files it was given.
SCRIPT = """#!{python}
import sys
values = dict(zip(sys.argv[1::2], sys.argv[2::2]))
texts = [open(values[name], encoding="utf-8").read().split("\\n")[:-1] for name in ("-s", "-t", "-r")]
assert len({{len(part) for part in texts}}) == 1 and "--only_system" in sys.argv
print("some\\tscore: 0.1")
print(f"system\\tscore: {{sum(a == b for a, b in zip(*texts[1:])) / len(texts[0]):.4f}}")
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    def install(script):
        file = tmp_path / "bin" / "comet-score"
        file.parent.mkdir()
        file.write_text(script.format(python=sys.executable))
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(file.parent))
        return find_command()

    return install


def test_the_command_gets_one_line_per_text(fake):
    command = fake(SCRIPT)
    assert comet_score(command, ["a", "b\nc", "d", "e"], ["x", "y", "z\u2028", "w"], ["x", "q", "z", "w"]) == 0.75


def test_a_failure_is_one_line(fake):
    command = fake("#!{python}\nimport sys\nsys.exit('no model')")
    with pytest.raises(GlossaError, match="comet-score failed: no model"):
        comet_score(command, ["a"], ["b"], ["c"])


def test_scores_have_comet_where_it_is_installed(fake, tiny_run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    score.main([str(tiny_run), "--num_beams", "1", "--comet"])
    assert "COMET is left out, since comet-score is not installed." in capsys.readouterr().out
    fake(SCRIPT)
    score.main([str(tiny_run), "--num_beams", "1", "--comet", "--output", str(tmp_path / "scores.json")])
    result = json.loads((tmp_path / "scores.json").read_text())["results"]["greedy"]
    right = sum(a == b[0] for a, b in zip(result["translations"], result["references"], strict=True))
    assert result["comet"]["score"] == pytest.approx(right / 20, abs=1e-4)
    assert "greedy: 0." in capsys.readouterr().out
