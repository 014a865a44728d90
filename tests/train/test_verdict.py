"""What a run says of its prospects before training and of itself at its end."""

import pytest

from glossa.base.run_folder import RunFolder
from glossa.train.evaluation import verdict as table
from glossa.train.evaluation.verdict import Measured, card_line, count_pairs, expected, rank
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.starts import published_starts
from glossa.train.verdict import conclusion, forecast


def metrics(chrf, bleu, split="test"):
    return {split: {"greedy": {"scores": {"single": {"bleu": {"score": bleu}, "chrf": {"score": chrf}}}}}}


def test_scores_between_measured_runs_follow_their_curve(monkeypatch):
    # 70 / (1 + 1000 / (pairs x passes)): 35 of 1,000 sentences, 52.5 of 3,000 and 14 of 250.
    runs = ((1_000, 1, 35.0), (1_000, 3, 52.5), (3_000, 1, 52.5), (250, 1, 14.0))
    monkeypatch.setattr(table, "RUNS", runs)
    assert expected(500, 2) == pytest.approx((30, 40))
    assert expected(9_000, 1) == pytest.approx((47.5, 57.5)), "no more pairs than were measured"
    assert expected(100, 300) == expected(100, 30), "nor more passes"
    # Off the curve by 10 in one of five: the error is more than 10 / 5, the half width at least 5.
    monkeypatch.setattr(table, "RUNS", (*runs, (500, 2, 45.0)))
    low, high = expected(500, 2)
    assert 10 < high - low < 40


def test_more_pairs_and_more_passes_are_never_worse():
    scores = [[sum(expected(pairs, passes)) for passes in (1, 4, 20)] for pairs in (500, 7_000, 90_000)]
    assert all(row == sorted(row) for row in scores)
    assert all(list(column) == sorted(column) for column in zip(*scores, strict=True))
    assert expected(100, 1)[0] == 0


@pytest.mark.parametrize(
    ("chrf", "bleu", "name"),
    [
        (29.9, 9.9, "not yet a translator"),
        (30, 0, "a helper for sentences near its texts"), (11.2, 13.1, "a helper for sentences near its texts"),
        (50, 9, "a translator"), (40, 28, "a translator"),
    ],
)  # fmt: skip
def test_the_better_score_decides(chrf, bleu, name):
    assert rank(chrf, bleu).name == name


def test_published_starts_have_names_and_licenses():
    assert list(published_starts("en", "fr"))[:3] == [
        "Helsinki-NLP/opus-mt-en-fr (Apache 2.0 or CC BY 4.0)",
        "facebook/m2m100_418M (MIT)",
        "facebook/nllb-200-distilled-600M (CC BY-NC 4.0)",
    ]
    assert not any("opus" in name for name in published_starts("en", "pt")), "it has no model of this pair alone"
    assert list(published_starts("en", "tt")) == ["facebook/nllb-200-distilled-600M (CC BY-NC 4.0)"]
    assert list(published_starts("en_US", "en")) == list(published_starts("en", None)) == []


def test_few_pairs_and_minutes_are_told_what_they_become_and_what_helps():
    argv = [
        "--data_path",
        "a.tsv",
        "--target_language",
        "fr",
        "--source_language",
        "en",
        "--hours",
        "0.15",
        "--num_train_epochs",
        "2",
    ]
    settings = parse_settings(argv)
    first, *routes = forecast(settings, 7_000, 43)
    low, high = expected(7_000, 2)
    assert first == (
        f"7,000 pairs, 2 of 43 passes: expect chrF++ {low:.0f} to {high:.0f} (docs/quality.md). "
        "It will know phrases of these texts, and will not translate others."
    )
    assert routes[0] == "  for all passes: --hours 3.3"  # 0.15 x 43 / 2 = 3.225
    assert routes[1].startswith(
        "  a published start (names are not checked online): --init_from Helsinki-NLP/opus-mt-en"
    )
    assert len(routes) == 4
    assert "chrF++" not in forecast(parse_settings([*argv, "--target_language", "zh"]), 7_000, 43)[0]
    assert forecast(parse_settings([*argv, "--init_from", "runs/other"]), 7_000, 43) == []
    assert len(forecast(settings, 165_000, 2)) == 1, "this is enough"
    assert forecast(parse_settings(["quickstart"]), 29_000, 10) == [], "the embedded corpus is no text of people"


def test_the_end_is_judged_by_what_was_measured():
    settings = parse_settings(["--data_path", "a.tsv", "--source_language", "en", "--target_language", "fr"])
    first, *routes = conclusion(settings, 7_000, 10, metrics(12.34, 1.0))
    assert first == (
        "Verdict: not yet a translator: 7,000 pairs, BLEU 1.0, chrF++ 12.3 on its test pairs; for trying out."
    )
    assert len(routes) == 4 and "--hours" not in "".join(routes)
    enough = settings.with_values({"num_train_epochs": 30.0}, settings.origins["target_language"])
    assert len(conclusion(enough, 165_000, 10, metrics(60, 40, "validation"))) == 1
    assert "expected" not in " ".join(conclusion(settings, 7_000, 10, metrics(48, 20))), "others say nothing of it"
    assert conclusion(settings, 7_000, 10, {}) == []


def test_the_end_says_what_twice_the_passes_would_bring():
    argv = ["--data_path", "a.tsv", "--source_language", "en", "--target_language", "fr", "--num_train_epochs", "4"]
    more, longer = ((sum(expected(*size)) - sum(expected(7_000, 4))) / 2 for size in ((14_000, 4), (7_000, 8)))
    _, gains, *_ = conclusion(parse_settings(argv), 7_000, 10, metrics(20, 5))
    assert (
        gains
        == f"  to be expected: {longer:+.1f} chrF++ with twice the passes, {more:+.1f} chrF++ with twice the pairs"
    )
    lines = conclusion(parse_settings([*argv, "--hours", "1.5"]), 7_000, 10, metrics(20, 5))
    assert f"{longer:+.1f} chrF++ with --hours 3," in lines[1]
    assert sum("--hours" in line for line in lines) == 1, "one advice about hours, not two"
    other = [*argv[:5], "zh", *argv[6:]]
    for without in (other, [*argv, "--init_from", "runs/other"]):
        assert "expected" not in " ".join(conclusion(parse_settings(without), 7_000, 10, metrics(20, 5)))


def test_the_card_says_in_a_line_what_the_model_is_for():
    line = "This model has seen 7,000 sentence pairs; BLEU 1.0 on its test pairs: for trying out."
    assert card_line(metrics(12, 1.04), {"sizes": {"train": 7_000}}) == line
    assert card_line({}, {"sizes": {"train": 7_000}}) == card_line(metrics(12, 1), {}) == ""
    assert count_pairs({"stream": {"rows": 9}, "sizes": {"train": 5}}) == 9
    both = metrics(12, 1) | metrics(40, 20, "validation")
    assert Measured.of(both)[:3] == ("test", 1, 12)


def test_a_run_prints_its_prospects_and_its_verdict(tiny_train, tmp_path, capsys):
    run = tiny_train(tmp_path / "run", max_steps=None, num_train_epochs=1)
    out = capsys.readouterr().out
    pairs = count_pairs(RunFolder(run).data_report)
    assert f"{pairs:,} pairs, 1 passes: expect chrF++ 0 to " in out
    assert f"Verdict: not yet a translator: {pairs:,} pairs, BLEU " in out


def test_a_verdict_on_few_pairs_says_that_it_is_unsure():
    few = metrics(52, 20)
    few["test"]["greedy"]["scores"]["single"]["chrf"] |= {"low": 41.0, "high": 63.0}
    settings = parse_settings(["--data_path", "a.tsv", "--source_language", "en", "--target_language", "fr"])
    assert conclusion(settings, 100, 30, few)[0] == (
        "Verdict: a translator: 100 pairs, BLEU 20.0, chrF++ 52.0 [41.0, 63.0] on its test pairs (too few to be "
        "sure); for text like its training pairs."
    )
    assert not Measured("test", 20, 55, 51.0, 59.0).is_unsure, "a translator at both ends"
    assert not Measured("test", 20, 52, 49.9, 54.0).is_unsure, "many pairs"
    assert not Measured("test", 20, 52).is_unsure


def test_large_numbers_of_passes_are_written_out():
    argv = ["--data_path", "a.tsv", "--source_language", "en", "--target_language", "fr"]
    argv += ["--num_train_epochs", "120000"]
    assert forecast(parse_settings(argv), 2, 120_000)[0].startswith("2 pairs, 120,000 passes: ")
