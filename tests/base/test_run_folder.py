"""The files of a run: written, read back, and empty where they do not exist."""

import json

import pytest
from datasets import Dataset, DatasetDict
from refusals import refused

from glossa.base.checkpoints import checkpoint_step, find_damage, write_checksums
from glossa.base.errors import GlossaError
from glossa.base.paths import masked
from glossa.base.run_folder import RunFolder, table_cell
from glossa.readers.downloads import local_paths

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
    refused("has no validation pairs", again.load_held_out, "validation")


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
    refused("has no test pairs into es", run.load_held_out, "test", "es")
    refused("has no validation pairs", run.load_held_out, "validation")


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
        "| source | reference | greedy |", "| --- | --- | --- |", "| a\\|b | c | d |", "| e | f | g |",
    ]  # fmt: skip
    RunFolder(tmp_path).write_samples([rows[0] | {"chrf": 12.5}])
    assert (tmp_path / "samples.md").read_text().splitlines()[2] == "| a\\|b | c | d | 12.5 |"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain, text.", "plain, text."), ("a|b", r"a\|b"), ("![x](http://y)", r"!\[x\](http://y)"),
        ("<img src=x> *b* _i_ `c`", r"\<img src=x\> \*b\* \_i\_ \`c\`"),
        ("one\u2028two\u2029three\u0085four\nfive", "one two three four five"),
    ],
)  # fmt: skip
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


def test_the_lock_removes_only_what_it_made(tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.mkdir()
    with RunFolder(mine).lock():
        assert (mine / ".lock").exists()
    assert mine.is_dir() and not any(mine.iterdir()), "a folder of the user's stays, as it was"
    monkeypatch.chdir(mine)
    with RunFolder(".").lock():
        pass
    assert mine.is_dir()
    with RunFolder(tmp_path / "a" / "b").lock():
        pass
    assert not (tmp_path / "a").exists()
    with RunFolder(tmp_path / "a" / "b").lock():
        (tmp_path / "a" / "b" / "recipe.yaml").touch()
    assert (tmp_path / "a" / "b" / "recipe.yaml").exists()
    with RunFolder(tmp_path / "c" / "d").lock():
        (tmp_path / "c" / "other.txt").touch()  # another program, meanwhile
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["other.txt"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00", "[" * 100_000])
@pytest.mark.parametrize("name", ["metrics.json", "recipe.yaml"])
def test_a_damaged_file_is_named(tmp_path, name, text):
    if (name, text) == ("recipe.yaml", "\x00"):
        text = "a: ["
    (tmp_path / name).write_text(text)
    with pytest.raises(GlossaError, match=rf"{name} is damaged: .*Restore it from a copy") as error:
        RunFolder(tmp_path).metrics if name == "metrics.json" else RunFolder(tmp_path).recipe
    assert "\n" not in str(error.value)


def test_checksums_see_one_flipped_bit(tmp_path):
    (tmp_path / "part").mkdir()
    for name in ("a.bin", "part/b.bin"):
        (tmp_path / name).write_bytes(bytes(1000))
    write_checksums(tmp_path)
    before = find_damage(tmp_path)
    assert "a.bin" not in before and "b.bin" not in before
    (tmp_path / "part/b.bin").write_bytes(bytes(999) + b"\x01")
    assert find_damage(tmp_path) == f"{before}, part/b.bin has changed"


def test_passwords_and_keys_of_urls_are_not_written(tmp_path):
    secret = "https://me:pa55@example.com/a.tsv?token=abc&download=1"
    recipe = {"data_path": [secret], "sources": [{"data_path": [secret], "exclude": "https://h/x?sig=abc"}], "seed": 1}
    run = RunFolder(tmp_path / "run")
    run.write_setup(recipe, {"examples": {"empty": [{"file": secret}]}}, DatasetDict())
    run.write_data_report({"malformed_rows": [{"file": secret}]})
    shown = "https://***@example.com/a.tsv?token=***&download=1"
    assert run.recipe == {
        "data_path": [shown], "sources": [{"data_path": [shown], "exclude": "https://h/x?sig=***"}], "seed": 1,
    }  # fmt: skip
    text = "".join(path.read_text() for path in run.path.iterdir())
    assert not [word for word in ("me:", "pa55", "abc") if word in text] and text.count(shown) == 4
    with pytest.raises(GlossaError, match=r"with its password or key removed\. Give the complete URL"):
        local_paths(run.recipe["data_path"], ("en", "fr"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.tsv", "a.tsv"), ("https://h/a?download=1", "https://h/a?download=1"),
        ("me@home: x?token=1", "me@home: x?token=1"),
        ("at https://u:p@h:80/x, or", "at https://***@h:80/x, or"), ("https://token@h/a#b", "https://***@h/a#b"),
        ("s3://h/a?X-Amz-Signature=1&v=2", "s3://h/a?X-Amz-Signature=***&v=2"), ("opus:Books/v1", "opus:Books/v1"),
        ("https://h/a?x=0123456789012345678901234", "https://h/a?x=***"), ("http://[::1", "http://[::1"),
    ],
)  # fmt: skip
def test_what_is_secret_in_a_url(text, shown):
    assert masked(text) == shown
