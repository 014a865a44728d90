"""Held-out pairs of several files: each file has scores of its own, from training to the card."""

import json
import shutil

import pytest
import sacrebleu

from glossa.base.paths import distinct_names
from glossa.base.run_folder import RunFolder
from glossa.cli import score
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import prepare_pairs
from glossa.train.hub.card import build_card
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

NAMES = ["a.tsv, greedy", "b.tsv, greedy", "all, greedy", "a.tsv, beam 2", "b.tsv, beam 2", "all, beam 2"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of two and three usable pairs; "E E" is in both, and each has a line without a pair."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.tsv").write_text("no pair\nE a.\ta E!\nE E.\tE E!\n")
    (folder / "b.tsv").write_text("E b.\tb E!\nE E.\tE E!\n\t\nE c.\tc E!\nE b.\tB E!\n")
    return [str(folder / name) for name in ("a.tsv", "b.tsv")]


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_settings, files):
    output = tmp_path_factory.mktemp("runs") / "run"
    given = tiny_settings(output, max_steps=2, num_beams=2, trust_data=True)
    return train(parse_settings([*given, "--validation_path", *files, "--test_path", *files]))


def test_each_held_out_pair_has_the_name_of_its_file(tmp_path, files, tiny_pairs):
    (tmp_path / "a.tsv").write_text("F a.\ta F!\n")
    common = {"dataset": "files", "data_path": [str(tiny_pairs)], "validation_size": 10, "trust_data": True}
    splits, _ = prepare_pairs(DataArguments(**common, test_path=[*files, str(tmp_path / "a.tsv")]))
    assert splits["test"]["source"][:] == ["E a.", "E E.", "E b.", "E c.", "E b.", "F a."]
    first, second = f"{splits['test']['file'][0]}", f"{tmp_path.name}/a.tsv"
    assert first.endswith("/a.tsv") and first.count("/") == 1
    assert [name.rpartition("/")[2] for name in splits["test"]["file"]] == ["a.tsv"] * 2 + ["b.tsv"] * 3 + ["a.tsv"]
    assert splits["test"]["file"][5] == second
    for name in ("train", "validation"):
        assert splits[name].column_names == ["source", "target"]
    one, _ = prepare_pairs(DataArguments(**common, test_path=files[:1]))
    assert one["test"].column_names == ["source", "target"]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([["x/a.de", "x/a.en"], ["x/b.tsv"]], ["a.de + a.en", "b.tsv"]),
        ([["x/a.tsv"], ["y/a.tsv"]], ["x/a.tsv", "y/a.tsv"]),
        ([["/1/x/a.tsv"], ["/2/x/a.tsv"], ["b"]], ["1/x/a.tsv", "2/x/a.tsv", "b"]), ([["a"], ["a"]], ["a", "a"]),
        ([], []),
    ],
)  # fmt: skip
def test_names_are_as_short_as_they_can_be(groups, names):
    assert distinct_names(groups) == names


def test_the_scores_of_each_file_and_of_all(run):
    metrics = json.loads((run / "metrics.json").read_text())
    for split in ("validation", "test"):
        assert list(metrics[split]) == NAMES
    assert metrics["test"]["b.tsv, greedy"].keys() == {"file", "num_beams", "scores"}
    assert "length" in metrics["test"]["all, greedy"] and "files" not in metrics["test"]["all, greedy"]
    rows = [json.loads(line) for line in (run / "held_out/test.jsonl").read_text().splitlines()]
    assert [row["file"] for row in rows] == ["a.tsv"] * 2 + ["b.tsv"] * 3


def test_the_run_can_be_scored_again_by_file(run, tmp_path, capsys):
    score.main([str(run), "--num_beams", "1", "--n_bootstrap", "0", "--output", str(tmp_path / "scores.json")])
    printed = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert [name for name in printed if "greedy" in name] == NAMES[:3]
    found = json.loads((tmp_path / "scores.json").read_text())["results"]
    kept = RunFolder(run).metrics["test"]
    for name in NAMES[:3]:
        scores = [result[name]["scores"]["single"]["bleu"]["score"] for result in (found, kept)]
        assert scores[0] == pytest.approx(scores[1])
    own = found["b.tsv, greedy"]
    expected = sacrebleu.corpus_bleu(own["translations"], [["b E!", "c E!", "B E!"]]).score
    assert own["scores"]["single"]["bleu"]["score"] == pytest.approx(expected)


def test_the_card_has_a_row_for_each_file(run, tiny_run):
    card = build_card(run, "user/name").content
    for name in NAMES:
        assert f"| test | {name} | first |" in card
    assert "A row that names a file is for the pairs of that file only." in card
    assert "A row that names a file" not in build_card(tiny_run, "user/name").content


def test_a_run_from_before_the_names_of_files_resumes(tmp_path, tiny_settings, files):
    """Its fingerprints are those of the texts, which the names do not change."""
    given = tiny_settings(tmp_path / "run", save_steps=2, eval_steps=2, trust_data=True)
    given += ["--test_path", *files, "--max_steps"]
    run = train(parse_settings([*given, "2"]))
    saved = RunFolder(run).data_report["fingerprints"]["test"]
    renamed = [str(tmp_path / name) for name in ("c.tsv", "d.tsv")]
    for old, new in zip(files, renamed, strict=True):
        shutil.copy(old, tmp_path / new)
    given[given.index(files[0]) : given.index(files[1]) + 1] = renamed
    train(parse_settings([*given, "4", "--resume_from_checkpoint", "true"]))
    assert RunFolder(run).data_report["fingerprints"]["test"] == saved
    assert list(RunFolder(run).metrics["test"])[:2] == ["c.tsv, greedy", "d.tsv, greedy"]
