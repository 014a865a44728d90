"""The files of a run: written, read back, and empty where they do not exist."""

import json

import pytest
from datasets import Dataset, DatasetDict

from glossa.errors import GlossaError
from glossa.run_folder import RunFolder, checkpoint_step, table_cell

PAIRS = [{"source": "a|b", "target": "é"}, {"source": "c", "target": "d"}]


def test_what_is_written_is_read(tmp_path):
    run = RunFolder(tmp_path / "deep" / "run")
    run.write_setup(
        {"dropout": 0.1, "names": ["é"]}, {"sizes": {"train": 3}}, DatasetDict(test=Dataset.from_list(PAIRS))
    )
    run.write_history([{"step": 1, "loss": 2.5}])
    run.write_metrics({"steps": 1})
    again = RunFolder(str(run.path))
    assert again.recipe == {"dropout": 0.1, "names": ["é"]}
    assert again.data_report == {"sizes": {"train": 3}}
    assert {"python", "torch", "transformers"} <= again.versions.keys()
    assert again.history == [{"step": 1, "loss": 2.5}] and again.metrics == {"steps": 1}
    assert list(again.load_held_out("test")) == PAIRS
    with pytest.raises(GlossaError, match="keeps no validation pairs"):
        again.load_held_out("validation")


def test_held_out_pairs_are_read_as_they_were_kept(tmp_path, caplog, capsys):
    """Whatever their language, without another check: equal pairs, a line separator, and a language of each."""
    rows = [{"source": "Ein Haus.", "target": "a\u2028b", "language": "en"}] * 60
    rows += [{"source": "Ein Haus.", "target": "Une maison.", "language": "fr"}] * 2
    run = RunFolder(tmp_path)
    run.write_setup({}, {}, DatasetDict(test=Dataset.from_list(rows), validation=Dataset.from_list([])))
    pairs = [{"source": row["source"], "target": row["target"]} for row in rows]
    assert list(run.load_held_out("test")) == pairs
    assert list(run.load_held_out("test", "fr")) == pairs[60:]
    assert not caplog.records and "read" not in capsys.readouterr().out
    with pytest.raises(GlossaError, match="keeps no test pairs into es"):
        run.load_held_out("test", "es")
    with pytest.raises(GlossaError, match="keeps no validation pairs"):
        run.load_held_out("validation")


def test_a_setting_that_names_a_folder_is_recorded(tmp_path, monkeypatch):
    """`ann/corpus` is also a name on the Hub; later, from another folder, nobody can tell."""
    (tmp_path / "ann" / "corpus").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    recipe = {"dataset": "ann/corpus", "init_from": "someone/base"}
    RunFolder("run").write_setup(recipe, {"sizes": {}}, DatasetDict())
    assert RunFolder("run").data_report == {"sizes": {}, "local": ["dataset"]}


def test_an_empty_folder_has_nothing(tmp_path):
    run = RunFolder(tmp_path / "nothing")
    assert not any([run.recipe, run.versions, run.data_report, run.history, run.metrics, run.samples])
    assert not run.holds_work() and run.checkpoints() == [] and run.published() == []


def test_samples_are_json_and_a_table_of_them(tmp_path):
    rows = [{"source": "a|b", "reference": "c", "greedy": "d"}, {"source": "e", "reference": "f", "greedy": "g"}]
    RunFolder(tmp_path).write_samples(rows)
    assert RunFolder(tmp_path).samples == json.loads((tmp_path / "samples.json").read_text()) == rows
    assert (tmp_path / "samples.md").read_text().splitlines() == [
        "| source | reference | greedy |",
        "| --- | --- | --- |",
        "| a\\|b | c | d |",
        "| e | f | g |",
    ]
    RunFolder(tmp_path).write_samples([rows[0] | {"chrf": 12.5}])
    assert (tmp_path / "samples.md").read_text().splitlines()[2] == "| a\\|b | c | d | 12.5 |"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain, text.", "plain, text."),
        ("a|b", r"a\|b"),
        ("![x](http://y)", r"!\[x\](http://y)"),
        ("<img src=x> *b* _i_ `c`", r"\<img src=x\> \*b\* \_i\_ \`c\`"),
        ("one\u2028two\u2029three\u0085four\nfive", "one two three four five"),
    ],
)
def test_a_table_cell_is_one_line_of_plain_text(text, cell):
    assert table_cell(text) == cell


def test_checkpoints_in_the_order_of_their_steps(tmp_path):
    for step in (100, 5, 20):
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-5" / "trainer_state.json").write_text("{}")
    run = RunFolder(tmp_path)
    assert [checkpoint_step(path) for path in run.checkpoints()] == [5, 20, 100]
    assert [checkpoint_step(path) for path in run.checkpoints(whole=True)] == [5]
    assert run.holds_work()


def test_what_is_published(tmp_path):
    for name in ("metrics.json", "recipe.yaml", "samples.md", "samples.json", "curves.png"):
        (tmp_path / name).write_text("x")
    assert {path.name for path in RunFolder(tmp_path).published()} == {"metrics.json", "samples.md", "curves.png"}
    assert {path.name for path in RunFolder(tmp_path).published(samples=False)} == {"metrics.json", "curves.png"}
