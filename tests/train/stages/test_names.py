"""The names of the stages, and what is refused before any data is read."""

import pytest
from refusals import refused
from small_models import command_line

from glossa.cli.train import check, main
from glossa.train.plan import catalog
from glossa.train.stages.names import given_names
from glossa.train.stages.table import MEASURED


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, ()), ("plain", ()), ("auto", ("auto",)), ("both", ("both",)),
        ("plain,diversify", ("plain", "diversify")), ("both, back,diversify", ("both", "back", "diversify")),
    ],
)  # fmt: skip
def test_names_in_their_order(text, names):
    assert given_names({"stages": text}) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boht", "'boht' is no stage. Did you mean `both`"), ("both,auto", "'auto' is no stage"),
        ("both,", "'' is no stage"), ("both,diversify,diversify", "diversify is there twice"),
        ("plain,back", "Put both before it"), ("back", "Put both before it"), ("back,both", "Put both before it"),
        ("diversify", "the first stage is a training"), ("plain,both", "those after it make pairs"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_stages(text, message):
    refused(message, given_names, {"stages": text})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": "both,back"}, "monolingual is empty"),
        ({"stages": "both", "monolingual": "TEXT"}, "stages is both, which has no back"),
        ({"stages": "plain", "monolingual": "TEXT"}, "stages is plain, which has no back"),
        ({"init_from": "RUN"}, "init_from is"), ({"tokenizer": "RUN"}, "tokenizer is"),
        ({"replay": "TEXT"}, "replay is"), ({"watch": "RUN"}, "watch is"),
        ({"both_directions": True}, "both_directions is True"), ({"streaming": True}, "streaming is true"),
        ({"objective": "span_corruption"}, "objective is span_corruption"),
        ({"hours": None}, "neither hours nor max_steps"), ({"stages": "auto", "hours": None}, "neither hours nor"),
        ({"data_path": None, "dataset": None, "sources":
          '[{"data_path": "TEXT"}, {"data_path": "TEXT", "target_language": "es", "name": "b"}]'}, "en, es"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_settings_that_do_not_go_with_stages(changes, message, tmp_path, tiny_run):
    text = tmp_path / "text.tsv"
    text.write_text("a\tb\n")
    given = {"source_language": "de", "target_language": "en", "dataset": "files", "data_path": text, "hours": 1}
    given |= {"stages": "both"} | changes
    words = [
        word.replace("TEXT", str(text)).replace("RUN", str(tiny_run))
        for word in command_line({name: value for name, value in given.items() if value is not None})
    ]
    refused(f"(stages|monolingual) is .*{message}", check, catalog.parse(words))


@pytest.mark.parametrize(
    ("given", "names"),
    [({"hours": 2, "monolingual": ["a.txt"]}, ("auto",)), ({"hours": 2}, ()), ({"monolingual": ["a.txt"]}, ()),
     ({"hours": 2, "monolingual": ["a.txt"], "stages": "plain"}, ())],
)  # fmt: skip
def test_the_table_chooses_for_monolingual_text_and_hours(given, names):
    assert given_names(given) == names


def test_monolingual_text_that_is_missing(tmp_path, tiny_settings):
    words = tiny_settings(tmp_path / "run", stages="both,back", max_steps=4, monolingual=tmp_path / "none.txt")
    refused("none.txt", main, words)
    assert not (tmp_path / "run").exists()


def test_steps_bound_a_chain_as_hours_do(tiny_settings, tmp_path):
    assert check(catalog.parse(tiny_settings(tmp_path, stages="both", max_steps=4))) == ("both",)


@pytest.mark.parametrize(("form", "mark"), [("text", ""), ("yaml", "# ")])
def test_the_plan_is_explained(form, mark, tiny_settings, tiny_pairs, tmp_path, capsys):
    """By the end of the stages 40, 50, 60 and 100% of ten hours are over; two thirds of a fifth are for diversify."""
    words = tiny_settings(tmp_path, stages="both,diversify,back", hours=10, monolingual=tiny_pairs)
    main([*words, "--explain", form])
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix(mark).split()[:3] for line in lines[:5]] == [
        ["stages"], ["1", "both", "4"], ["2", "diversify", "1.3"], ["3", "back", "0.67"], ["4", "last", "4"],
    ]  # fmt: skip
    assert all(line.startswith(mark) and line.endswith("not measured") for line in lines[1:5])
    assert f"({tiny_pairs})" in lines[3]


def test_the_plan_of_auto_is_explained(tiny_settings, tiny_pairs, tmp_path, capsys, caplog, monkeypatch):
    words = tiny_settings(tmp_path, stages="auto", hours=10, monolingual=tiny_pairs)
    caplog.set_level("INFO")
    main([*words, "--explain"])
    assert "stages: plain, since nothing was measured" in caplog.text
    assert capsys.readouterr().out.partition("\n")[0] != "stages"
    monkeypatch.setattr("glossa.train.stages.chain.best", lambda *_: MEASURED[1])
    main([*words, "--explain"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["1", "both", "4"]
    assert lines[1].endswith("anki-10k, 1 h: both, back, +2.1 chrF++")
