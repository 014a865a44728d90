"""Plots of attention and of training curves; benchmarks/test_growth.py tests those of growing costs."""

import pytest
import torch

from glossa.plots import draw_attention, draw_curves
from glossa.run_folder import RunFolder


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plots(tmp_path, tiny_run, ending, start):
    draw_attention(torch.full((3, 2, 2), 0.5), ["$a", "b"], ["c$", "d"], "title", tmp_path / f"attention.{ending}")
    history = RunFolder(tiny_run).history
    draw_curves({"one": history, "two": history}, tmp_path / f"curves.{ending}")
    for name in ("attention", "curves"):
        assert (tmp_path / f"{name}.{ending}").read_bytes().startswith(start)
    if ending == "svg":
        assert (tmp_path / "curves.svg").read_text().count("two, validation") == 1
