"""Progress lines of a training run that logs to a file."""

import re
import subprocess

import pytest

from glossa.train.progress import duration, evaluation_line, training_line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (3540, "59 min"), (3600, "1 h 00 min"), (11100, "3 h 05 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_lines():
    logs = {"loss": 5.1234, "epoch": 0.4167, "learning_rate": 0.0004, "target_tokens_per_second": 6512.3}
    line = training_line(logs, 50, 1200, 185)
    assert line == "step 50/1,200  epoch 0.42  loss 5.123  rate 0.0004  6,512 tokens/s  3 min left"
    line = training_line(logs | {"token_accuracy": 0.234, "utilization": 0.975}, 50, 1200, 185)
    end = "rate 0.0004  6,512 tokens/s  98% busy  3 min left"
    assert line == f"step 50/1,200  epoch 0.42  loss 5.123  accuracy 23%  {end}"
    plain = training_line(logs | {"plain_loss": 3.7116}, 50, 1200, 185)
    assert "  loss 5.123 (3.712 plain)  rate" in plain
    narrow = training_line(logs | {"token_accuracy": 0.234, "utilization": 0.975}, 50, 1200, 185, 80)
    assert narrow == "step 50/1,200  epoch 0.42  loss 5.123  accuracy 23%  6,512 tokens/s  3 min left"
    assert evaluation_line({"eval_loss": 3.21}, "step 100") == "step 100: validation loss 3.210"
    logs = {"eval_loss": 3.21, "eval_bleu": 12.3, "eval_chrf": 30.214}
    watched = {"eval_watch_loss": 2.1051, "eval_watch_bleu": 38.9, "eval_watch_chrf": 58.021}
    assert evaluation_line(logs | watched, "step 1,100") == (
        "step 1,100: validation loss 3.210, BLEU 12.30, chrF++ 30.21; watched: loss 2.105, BLEU 38.90, chrF++ 58.02"
    )
    assert evaluation_line(logs, "step 1,100") == "step 1,100: validation loss 3.210, BLEU 12.30, chrF++ 30.21"


@pytest.mark.slow
def test_run_prints_progress_lines_without_bars(tmp_path, tiny_settings, early):
    arguments = tiny_settings(tmp_path / "run", max_steps=7, eval_samples=0, disable_tqdm=None)
    command = [early.path / "python", "-m", "glossa_command", "train", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    steps = re.findall(r"^step (\d+)/7  epoch .*  loss .*  \d+ s left$", result.stdout, re.M)
    assert steps == ["3", "6"]
    assert re.findall(r"^step (\d+): validation loss .*, BLEU .*, chrF\+\+ ", result.stdout, re.M) == ["5", "7"]
    assert "{'" not in result.stdout
    assert "it/s" not in result.stderr and "%|" not in result.stderr
