"""The model of costs: the ring all-reduce, a step and the counts worked by hand, and the paper's own run."""

from types import SimpleNamespace

import pytest

from benchmarks.__main__ import main
from benchmarks.cost import PAPER, all_reduce_bytes, count_parameters, estimate, step_operations
from glossa.errors import GlossaError


@pytest.mark.parametrize(("processes", "sent"), [(1, 0), (2, 800), (4, 1200), (8, 1400), (32, 1550)])
def test_what_each_process_sends_of_800_bytes(processes, sent):
    assert all_reduce_bytes(800, processes) == sent


# Of 30 million gradients 10 million are the embedding's: 40 MB of 120 MB. A ring of two sends each byte once.
# Compute: 1.2e12 operations / (2 GPUs x 1e12 x 0.5) = 1.2 s, of which the backward pass takes 0.8 s.
@pytest.mark.parametrize(
    ("machines", "gpus", "overlap", "all_reduce", "waiting"),
    [
        (1, 2, 1.0, 1.2, 0.4),  # at 0.1 GB/s; the 0.8 s of the layers pass during the backward pass
        (1, 2, 0.5, 1.2, 0.8),  # 0.4 s of them do
        (1, 2, 0.0, 1.2, 1.2),
        (2, 1, 1.0, 2.4, 1.6),  # at 0.05 GB/s: 1.6 s for the layers, 0.8 s for the embedding
    ],
)
def test_a_step_worked_by_hand(machines, gpus, overlap, all_reduce, waiting):
    options = {"peak": 1.0, "utilization": 0.5, "inside": 0.1, "between": 0.05, "gradient_bytes": 4.0}
    step = estimate(1.2e12, (30_000_000, 10_000_000), machines, gpus, SimpleNamespace(**options, overlap=overlap))
    assert (step.compute, step.all_reduce, step.waiting) == pytest.approx((1.2, all_reduce, waiting))
    assert step.seconds == pytest.approx(1.2 + waiting)


def test_one_gpu_waits_for_nobody():
    options = {"peak": 1.0, "utilization": 0.5, "inside": 0.1, "between": 0.05, "gradient_bytes": 4.0, "overlap": 1.0}
    step = estimate(1.2e12, (30_000_000, 10_000_000), 1, 1, SimpleNamespace(**options))
    assert (step.seconds, step.all_reduce) == pytest.approx((2.4, 0))


def test_the_base_model_counted_by_hand():
    config = PAPER["base"].config()
    attention = 4 * (512 * 512 + 512)
    feed_forward = 2 * 512 * 2048 + 2048 + 512
    encoder = 6 * (attention + feed_forward + 2 * 2 * 512)
    decoder = 6 * (2 * attention + feed_forward + 3 * 2 * 512)
    assert count_parameters(config) == (encoder + decoder + 37_000 * 512, 37_000 * 512)
    # A sentence of one token on each side attends to itself alone: 4 x 512 operations for each of the 18 attentions.
    multiplied = 6 * (4 * 512**2 + 2 * 512 * 2048) + 6 * (8 * 512**2 + 2 * 512 * 2048) + 37_000 * 512
    assert step_operations(config, 1000, 1) == 3 * 1000 * (2 * multiplied + 18 * 4 * 512)


@pytest.mark.parametrize("name", PAPER)
def test_the_figures_of_the_paper_agree_with_each_other(name):
    paper = PAPER[name]
    assert paper.hours * 3600 * 8 * 9.5e12 == pytest.approx(paper.operations, rel=0.01)
    assert paper.steps * paper.step_seconds == pytest.approx(paper.hours * 3600, rel=0.1)
    assert count_parameters(paper.config())[0] == pytest.approx(paper.parameters, rel=0.04)


def test_the_table_of_the_machines_of_the_paper(capsys):
    """With the peak of a P100, eight GPUs take about as long as the paper's: 0.4 seconds a step, 12 hours."""
    main(["cost", "--peak", "9.5", "--inside", "80"])
    printed = capsys.readouterr().out
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[0:1] == "|"
    ]
    found = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}
    paper, ours = found["base, paper: 8 P100"], found["base, 8 GPUs"]
    assert (paper["step"], paper["hours"], paper["target tokens/s"]) == ("400 ms", "12.00", "62,500")
    assert float(ours["step"].split()[0]) == pytest.approx(400, rel=0.1)
    assert float(ours["hours"]) == pytest.approx(12, rel=0.1)
    hours = float(found["base, 1 GPU"]["hours"])
    assert hours == pytest.approx(8 * float(ours["hours"]), rel=0.01)
    assert float(found["base, 1 GPU"]["price"].strip("$").replace(",", "")) == pytest.approx(3 * hours, abs=1)
    assert "8 P100 mean a utilization of 29%" in printed and "A model, not a measurement." in printed


def test_the_figures_of_the_paper_do_not_depend_on_the_options(capsys):
    main(["cost"])
    default = capsys.readouterr().out.splitlines()
    main(["cost", "--tokens", "400000", "--peak", "500", "--price", "1"])
    changed = capsys.readouterr().out.splitlines()
    assert [line for line in default if "paper" in line] == [line for line in changed if "paper" in line]
    assert [line for line in default if "GPUs |" in line] != [line for line in changed if "GPUs |" in line]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--peak", "0"], "peak is 0.0; it must be above 0"),
        (["--overlap", "2"], "overlap is 2.0; it must be between 0"),
    ],
)
def test_impossible_assumptions_are_refused(option, message):
    with pytest.raises(GlossaError, match=message):
        main(["cost", *option])
