"""`glossa train --explain`: where each value of a plan comes from."""

import json
import re

import pytest
import torch
import yaml

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli.train import OPTIONS, main
from glossa.train.plan import catalog, explain
from glossa.train.plan.arguments import Origin, parse_settings
from glossa.train.plan.explain import decide
from glossa.train.run import train


@pytest.fixture
def few(tiny_pairs):
    """Settings of a run without a recipe on pairs that are here."""
    return ["--dataset", "files", "--data_path", str(tiny_pairs), "--validation_size", "20", "--test_size", "20",
            "--trust_data", "true"]  # fmt: skip


def rows(text):
    """The lines of a plan as name: [value, origin]."""
    found = [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line.startswith("  ")]
    return {name: words for name, *words in found}


@pytest.fixture(autouse=True)
def no_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.fixture(autouse=True)
def plain_cpu(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"cpu_name": "EPYC"})


@pytest.mark.parametrize("name", [name for name in catalog.recipes() if name != "quickstart-adapter"])
def test_a_recipe_decides_all_that_it_names(name, monkeypatch):
    monkeypatch.setattr(explain, "prepare_pairs", lambda *_: pytest.fail("pairs are read, though nothing is chosen"))
    settings = parse_settings([name])
    plan, unknown = decide(settings)
    named = {key for key, value in catalog.read_recipe(name).items()}
    assert {key for key, origin in plan.origins.items() if origin == Origin("recipe", name)} == named
    assert unknown.keys() <= {"cpu_threads", "cpu_processes"} and plan.recipe() == settings.recipe()
    again = yaml.safe_load(explain.explain(settings, "yaml"))
    assert again.keys() == (named - unknown.keys()) | {"bf16"}  # which follows from the CPU


DATA = ("dataset", "dataset_config", "source_language", "target_language", "sources")


@pytest.mark.parametrize("name", [name for name in catalog.recipes() if name != "quickstart-adapter"])
def test_a_recipe_that_names_only_its_data_is_enough(name, tmp_path):
    short = {key: value for key, value in catalog.read_recipe(name).items() if key in DATA}
    assert len(short) <= 4
    (tmp_path / "short.yaml").write_text(json.dumps(short))
    settings = parse_settings([str(tmp_path / "short.yaml")])
    plan, unknown = decide(settings)
    assert {key for key, origin in plan.origins.items() if origin.kind == "recipe"} == short.keys()
    sizes = ("vocab_size", "d_model", "encoder_layers", "dropout", "num_train_epochs", "learning_rate")
    chosen = {key for key, origin in plan.origins.items() if origin.kind == "chosen"}
    assert set(sizes) <= chosen | unknown.keys()


def test_a_plan_as_a_recipe_gives_the_same_run(tmp_path, few):
    argv = [*few, "--seed", "7", "--dropout", "0.25", "--cpu_threads", "1", "--filters.digits", "true"]
    settings = parse_settings(argv)
    (tmp_path / "plan.yaml").write_text(text := explain.explain(settings, "yaml"))
    assert '\nfilters: {"digits": true, "length_ratio": 3.0}  # flag\n' in text
    plan, _ = decide(settings)
    assert parse_settings([str(tmp_path / "plan.yaml")]).recipe() == plan.recipe()


def test_each_value_has_the_origin_that_decided_it(tmp_path, few):
    recipe = tmp_path / "own.yaml"
    recipe.write_text("d_model: 64\nlearning_rate: 1e-3\nseed: 5\n")
    plan, unknown = decide(parse_settings([str(recipe), *few, "--seed", "7", "--cpu_threads", "1"]))
    kinds = {name: plan.origins[name].kind for name in ("d_model", "learning_rate", "seed", "data_path", "vocab_size")}
    assert kinds == {"d_model": "recipe", "learning_rate": "recipe", "seed": "flag", "data_path": "flag",
                     "vocab_size": "chosen"}  # fmt: skip
    assert plan.origins["dropout"].reason == "for 160 training pairs on a CPU"
    # The other sizes of the model, and the other settings of the schedule, are not chosen either.
    assert plan.origins.keys().isdisjoint({"encoder_layers", "warmup_steps", "muon_learning_rate"}) and not unknown
    assert (plan.training.seed, plan.model.d_model, plan.training.warmup_steps) == (7, 64, 0.1)


@pytest.mark.parametrize(
    ("value", "threads"), [("3", 3), (" 5 ", 5), ("4,2", 4), ("0", None), ("-1", None), ("many", None), ("", None)]
)
def test_the_environment_gives_the_number_of_threads(few, monkeypatch, value, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    settings = parse_settings(few)
    assert settings.training.cpu_threads == threads
    row = rows(explain.explain(settings))["cpu_threads"]
    assert row == ([str(threads), "environment OMP_NUM_THREADS"] if threads else ["by a trial at the start"])
    named = parse_settings([*few, "--cpu_threads", "7"])
    assert named.training.cpu_threads == 7 and named.origins["cpu_threads"] == Origin("flag")


def test_what_a_run_finds_out_is_named(few):
    _, unknown = decide(parse_settings([*few, "--hours", "2", "--num_train_epochs", "6"]))
    assert unknown == {
        "num_train_epochs": "at most 6, by a trial at the start", "cpu_threads": "by a trial at the start",
        "cpu_processes": "by cores and memory at the start",
        "augmentation": "standard if 4 passes fit, by a trial at the start",
    }  # fmt: skip


@pytest.mark.parametrize(
    "argv",
    [
        ["--data_path", "https://127.0.0.1:9/pairs.tsv"], ["--data_path", "opus:Books/v1"], ["--dataset", "anki"],
        ["--dataset", "someone/pairs"],
    ],
)  # fmt: skip
def test_nothing_is_downloaded_for_a_plan(monkeypatch, argv):
    monkeypatch.setattr(explain, "prepare_pairs", lambda *_: pytest.fail("pairs are read"))
    found = rows(explain.explain(parse_settings([*argv, "--dropout", "0.2"])))
    assert found["vocab_size"] == found["num_train_epochs"] == ["by the number of pairs"]
    assert found["dropout"] == ["0.2", "flag"] and found["seed"] == ["1", "default"]


def test_a_start_and_a_resumed_run_decide(tmp_path, tiny_run, few):
    begun = ["--init_from", str(tiny_run), *few, "--max_steps", "2", "--output_dir", str(tmp_path / "run")]
    plan, _ = decide(parse_settings(begun))
    assert plan.origins["d_model"] == plan.origins["vocab_size"] == Origin("start", str(tiny_run))
    assert (plan.model.d_model, plan.origins["learning_rate"].kind) == (16, "chosen")
    other, unknown = decide(parse_settings([*begun, "--init_from", "someone/model"]))
    assert unknown["d_model"] == "by someone/model, which is not on this machine" and other.model.d_model == 256
    changes = ["--report_to", "none", "--cpu_threads", "1", "--max_new_tokens", "8", "--learning_rate", "1e-3"]
    train(parse_settings([*begun, *changes, "--save_strategy", "steps", "--save_steps", "1"]))
    chosen = RunFolder(tmp_path / "run").recipe["dropout"]
    plan, _ = decide(parse_settings([*begun, *changes, "--resume_from_checkpoint", "true", "--dropout", "0.5"]))
    assert (plan.model.dropout, plan.origins["dropout"]) == (0.5, Origin("flag"))
    assert chosen == RunFolder(tiny_run).recipe["dropout"]


def test_a_resumed_choice_comes_from_its_run(tmp_path, few):
    (tmp_path / "recipe.yaml").write_text("vocab_size: 777\nnum_train_epochs: 3.5\n")
    plan, _ = decide(parse_settings([*few, "--output_dir", str(tmp_path), "--resume_from_checkpoint", "true"]))
    assert plan.tokenizer.vocab_size == 777 and plan.origins["vocab_size"] == Origin("resumed", str(tmp_path))


def test_the_command_prints_the_plan_and_stops(tmp_path, monkeypatch, capsys, few):
    monkeypatch.chdir(tmp_path)
    main([*few, "--explain", "--cpu_threads", "1"])
    text = capsys.readouterr().out
    assert rows(text)["cpu_threads"] == ["1", "flag"] and not list(tmp_path.iterdir())
    assert re.search(r"^\d+ other settings of transformers' Trainer have their defaults\.$", text, re.M)


@pytest.mark.parametrize(
    ("argv", "form"),
    [
        (["quickstart", "--explain", "yaml", "--seed", "3"], "yaml"),
        (["--explain", "quickstart", "--seed", "3"], "text"),
        (["quickstart", "--seed", "3", "--explain=text"], "text"), (["quickstart", "--seed", "3"], None),
    ],
)  # fmt: skip
def test_an_option_that_is_not_a_setting_is_parsed_with_the_settings(argv, form):
    given = catalog.parse(argv, OPTIONS)
    assert (given.recipe, given.values["seed"], given.options.get("explain")) == ("quickstart", 3, form)


def test_another_form_of_the_plan_is_refused():
    with pytest.raises(GlossaError, match="--explain is json; it must be text or yaml"):
        catalog.parse(["quickstart", "--explain=json"], OPTIONS)
