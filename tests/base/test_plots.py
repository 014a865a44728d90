"""Plots of attention and of training curves."""

import pytest
import torch

from glossa.base import plots
from glossa.base.plots import draw_attention, draw_curves
from glossa.base.run_folder import RunFolder
from glossa.cli import plot as plot_command


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plots(tmp_path, tiny_run, ending, start):
    draw_attention(torch.full((3, 2, 2), 0.5), ["$a", "b"], ["c$", "d"], "title", tmp_path / f"attention.{ending}")
    history = RunFolder(tiny_run).history
    draw_curves({"one": history, "two": history}, tmp_path / f"curves.{ending}")
    for name in ("attention", "curves"):
        assert (tmp_path / f"{name}.{ending}").read_bytes().startswith(start)
    if ending == "svg":
        assert (tmp_path / "curves.svg").read_text().count("two, validation") == 1


@pytest.fixture
def drawn(monkeypatch):
    """The figure that is drawn, instead of a file."""
    figures = []
    monkeypatch.setattr(plots, "_save", lambda figure, file: figures.append(figure))
    return figures


def test_every_layer_and_head_has_its_place_in_the_grid(drawn, tmp_path):
    weights = torch.arange(2 * 3 * 2 * 4).reshape(2, 3, 2, 4) / 48  # 2 layers, 3 heads, 2 x 4 tokens
    plots.draw_all_attention(weights, ["a", "$"], ["c", "d", "e", "f"], "cross", tmp_path / "a.png")
    *maps, _colors = drawn[0].axes
    assert len(maps) == 6 and drawn[0].get_suptitle() == "cross"
    for index, axes in enumerate(maps):
        layer, head = divmod(index, 3)
        assert axes.get_title() == f"layer {layer}, head {head}"
        assert (axes.images[0].get_array() == weights[layer, head].numpy()).all()
        assert axes.images[0].get_clim() == (0, 1), "one scale of colors for all"
        shown = [label.get_text() for label in axes.get_yticklabels() if axes.yaxis.get_tick_params()["labelleft"]]
        assert shown == (["a", "$"] if head == 0 else [])


def test_the_command_draws_all_layers_or_one_and_names_the_head(drawn, tiny_run, capsys):
    sentence = ["attention", str(tiny_run), "--source", "a k.", "--target", "k a!"]
    plot_command.main([*sentence, "--layer", "all"])
    plot_command.main([*sentence, "--layer", "all", "--head", "2"])
    plot_command.main([*sentence, "--head", "-1", "--part", "encoder"])
    titles = [[axes.get_title() for axes in figure.axes if axes.images] for figure in drawn]
    assert titles == [[f"layer 0, head {head}" for head in range(4)], ["layer 0, head 2"], ["head 3"]]
    assert [figure.get_suptitle() for figure in drawn] == ["cross", "cross", "encoder, layer 0"]
    with pytest.raises(SystemExit):
        plot_command.main([*sentence, "--layer", "every"])
    assert "argument --layer: 'every' is neither a number nor all" in capsys.readouterr().err


def test_the_backend_of_the_program_stays(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    before = matplotlib.rcParams["backend"]
    matplotlib.use("svg")
    try:
        draw_curves({"": [{"step": 1, "loss": 2.0}]}, tmp_path / "a.png")
        assert matplotlib.rcParams["backend"] == "svg" and (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    finally:
        matplotlib.rcParams["backend"] = before
