"""Learning from corrections: which are taken, the recipe, and when the new model may take the old one's place."""

import json

import pytest
import yaml

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import train as command
from glossa.train import corrections
from glossa.train.corrections import compare, recipe_of, select
from glossa.translate.build import build_translator


def write(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def correction(source, better, **more):
    return {"source": source, "output": "x", "correction": better} | more


@pytest.fixture
def held_out(tiny_run):
    return RunFolder(tiny_run).load_held_out("test")[0]["source"]


def test_what_teaches_nothing_is_refused_by_line_and_reason(tmp_path, tiny_run, held_out):
    file = write(
        tmp_path / "c.jsonl", correction("a b.", "b a?"), correction("c d.", "c d."), correction("e f.", "x"),
        correction("g h.", "!"), correction("i j.", "j i? " * 9), correction("a b.", "b a?"),
        correction(held_out, "k a?"), correction("k l.", "l k?", **{"from": "en", "to": "de"}),
        correction("m n.", "n m?", **{"from": "en", "to": "fr"}),
    )  # fmt: skip
    found = select(file, RunFolder(tiny_run), ("en", "fr"))
    assert [row["source"] for row in found.rows] == ["a b.", "m n."]
    assert [number for number, _ in found.refused] == [2, 3, 4, 5, 6, 7] and found.other == 1
    assert str(found).splitlines() == [
        "2 corrections are learned, 6 are refused.",
        "  2 (line 2, 3): The correction is equal to the text or to its translation.",
        "  1 (line 4): The correction has no words.",
        "  1 (line 5): The correction is much shorter or longer than the text.",
        "  1 (line 6): The correction is a duplicate.", "  1 (line 7): The text is held out to measure the model.",
        "  1 of other languages are left out.",
    ]  # fmt: skip


def test_lines_that_are_no_corrections_are_refused(tmp_path, tiny_run):
    whole = json.dumps(correction("a b.", "b\u2028a?"), ensure_ascii=False)
    (tmp_path / "c.jsonl").write_text(f'{whole[:-3]}\n{whole}\n{{"source": "a"}}\n{whole[:9]}', encoding="utf-8")
    found = select(tmp_path / "c.jsonl", RunFolder(tiny_run), ("en", "fr"))
    assert [row["correction"] for row in found.rows] == ["b\u2028a?"]
    assert str(found).splitlines() == [
        "1 corrections are learned, 3 are refused.",
        "  2 (line 1, 4): The line is not JSON in UTF-8, or is cut off.",
        "  1 (line 3): The line has no texts `source` and `correction`.",
    ]


def test_a_file_without_corrections_is_refused(tmp_path, tiny_run):
    (tmp_path / "c.jsonl").write_text('{"source": "a b.", "correction": "?"}\n{')
    with pytest.raises(GlossaError, match=r"(?s)no correction is left to learn.*line 2.*line 1"):
        select(tmp_path / "c.jsonl", RunFolder(tiny_run), ("en", "fr"))
    with pytest.raises(GlossaError, match="does not exist"):
        select(tmp_path / "none.jsonl", RunFolder(tiny_run), ("en", "fr"))


def test_the_recipe_mixes_what_the_run_has_seen_with_the_corrections(tmp_path):
    run = RunFolder(tmp_path)
    (tmp_path / "held_out").mkdir()
    (tmp_path / "held_out" / "validation.jsonl").touch()
    old = {"dataset": "anki", "data_path": ["fra-eng.zip"], "source_language": "en", "target_language": "de",
           "max_train_samples": 500, "filter_copied": True, "validation_size": 0.1, "max_length": 64,
           "batch_tokens": 700, "d_model": 64, "num_beams": 3, "watch": ["x"]}  # fmt: skip
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(old))
    recipe = recipe_of(run, "runs/a", tmp_path / "c.jsonl", 3)
    assert recipe == corrections.SCHEDULE | {
        "init_from": "runs/a", "replay": ["runs/a"], "replay_size": 2000, "max_length": 64, "num_beams": 3,
        "source_language": "en", "target_language": "de",
        "validation_path": [str(tmp_path / "held_out" / "validation.jsonl")],
        "sources": [{"name": "corrections", "data_path": [str(tmp_path / "c.jsonl")], "source_column": "source",
                     "target_column": "correction", "weight": 4}],
    }  # fmt: skip
    assert recipe_of(run, "runs/a", tmp_path / "c.jsonl", 150)["replay_size"] == 3000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--init_from", "RUN", "--corrections"], "--corrections names no file"),
        (["--corrections", "c.jsonl"], "is for --init_from RUN"),
        (["--init_from", "RUN", "--corrections", "c.jsonl", "--explain"], "--explain is not for --corrections"),
        (["quickstart", "--init_from", "RUN", "--corrections=c.jsonl"], "Give --init_from and no recipe"),
        (["--init_from", "RUN", "--corrections", "c.jsonl", "--resume_from_checkpoint", "true"], "use its recipe"),
        (["--init_from", "RUN", "--corrections", "c.jsonl", "--output_dir", "RUN"], "already holds a run"),
    ],
)
def test_contradictions_are_refused(tiny_run, options, message):
    with pytest.raises(GlossaError, match=message):
        command.main([str(tiny_run) if word == "RUN" else word for word in options])


def test_a_model_without_its_run_is_refused(tmp_path, tiny_run):
    (tmp_path / "model").mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "model" / name).write_bytes((tiny_run / name).read_bytes())
    with pytest.raises(GlossaError, match="is not the folder of a run with its recipe and held-out pairs"):
        command.main(["--init_from", str(tmp_path / "model"), "--corrections", "c.jsonl"])


@pytest.mark.slow
def test_corrections_are_learned_and_the_new_model_is_compared(tmp_path, tiny_run, capsys, monkeypatch):
    monkeypatch.setattr(corrections, "LEAST", 20)
    monkeypatch.setitem(corrections.SCHEDULE, "learning_rate", 0.01)
    monkeypatch.setitem(corrections.SCHEDULE, "num_train_epochs", 100)
    test = set(RunFolder(tiny_run).load_held_out("test")["source"])
    sources = [source for source in (f"{a} {b}." for a in "abc" for b in "klmno") if source not in test][:6]
    file = write(tmp_path / "c.jsonl", *(correction(source, "a a!") for source in sources))
    new = tmp_path / "new"
    options = [
        "--max_new_tokens", "12", "--cpu_threads", "1", "--cpu_processes", "1", "--save_strategy", "no", "--bf16",
        "false",
    ]  # fmt: skip
    options += ["--eval_strategy", "no", "--load_best_model_at_end", "false", "--trust_data", "true"]
    command.main(["--init_from", str(tiny_run), "--corrections", str(file), "--output_dir", str(new), *options])
    printed = capsys.readouterr().out
    assert "6 corrections are learned, 0 are refused." in printed
    now = build_translator([str(new)]).best(sources)
    assert now.count("a a!") >= 3
    assert f"translated as corrected: 0 of 6 before, {now.count('a a!')} now." in printed
    assert printed.rstrip().endswith(f"are not translated worse. The new model is in {new}.")
    assert compare(tiny_run, tiny_run, [correction("a b.", "b a?")])
    assert "0 of 20 translations have changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "p_value", "accepted"),
    [(30.0, 29.0, 0.04, False), (30.0, 29.0, 0.06, True), (30.0, 31.0, 0.01, True), (30.0, 30.0, 1.0, True)],
)
def test_a_model_is_accepted_unless_it_is_worse_for_sure(monkeypatch, tiny_run, before, after, p_value, accepted):
    found = {"baseline": before, "system": after, "p_value": p_value}
    monkeypatch.setattr(corrections, "paired_bootstrap", lambda *_, **__: {"bleu": found})
    assert compare(tiny_run, tiny_run, [correction("a b.", "b a?")]) is accepted


def test_a_model_that_is_worse_ends_the_command_with_1(monkeypatch, tiny_run, tmp_path, capsys):
    file = write(tmp_path / "c.jsonl", correction("a b.", "b a?"))
    monkeypatch.setattr(corrections, "compare", lambda *_: False)
    started = []
    monkeypatch.setattr(command, "train", started.append)
    with pytest.raises(SystemExit) as ended:
        command.main(["--init_from", str(tiny_run), "--corrections", str(file), "--output_dir", str(tmp_path / "new")])
    assert ended.value.code == 1 and "remains the better model" in capsys.readouterr().out
    assert started[0].recipe == str(tmp_path / "new" / "corrections.yaml")
