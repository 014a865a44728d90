"""Continuing a run: only with its own settings and data, and safely as the only command of an automatic restart."""

import json
import shutil
from pathlib import Path
from shutil import rmtree

import pytest
from datasets import Dataset, DatasetDict
from refusals import refused
from small_models import QUIET, UNSCORED, same_weights, weights

from glossa.base.checkpoints import find_damage
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder, without_secrets
from glossa.train import run as training_run
from glossa.train.data.pairs import fingerprints
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.resume import _check_step, _fixed_part
from glossa.train.run import train

QUICK = QUIET | {"save_steps": 2, "logging_steps": 1}


@pytest.fixture(scope="module")
def four_steps(tmp_path_factory, tiny_train):
    """The folder of a run of four steps, for copies."""
    return tiny_train(tmp_path_factory.mktemp("four") / "run", max_steps=4, **QUICK)


@pytest.fixture
def resume(tmp_path, tiny_train, tiny_pairs, four_steps):
    """A copy of a run of four steps, which a call continues with other settings."""
    data = tmp_path / "data.tsv"
    data.write_text(tiny_pairs.read_text())
    arguments = {"data_path": data, **QUICK}
    shutil.copytree(four_steps, tmp_path / "run")

    def again(**changes):
        changes = {"max_steps": 6, "resume_from_checkpoint": "true"} | arguments | changes
        return tiny_train(tmp_path / "run", **changes)

    return again


def test_every_setting_that_differs_is_listed(resume):
    with pytest.raises(GlossaError) as error:
        resume(vocab_size=300, learning_rate=0.5, d_model=32, num_train_epochs=9, logging_steps=3)
    message = str(error.value)
    assert "vocab_size was 280 and is 300" in message and "learning_rate was 0.001 and is 0.5" in message
    assert "d_model was 16 and is 32" in message
    assert "num_train_epochs" not in message and "logging_steps" not in message


@pytest.mark.parametrize("changes", [{"split_seed": 7}, {"max_train_samples": 100}, {"test_size": 10}])
def test_another_split_is_refused(resume, changes):
    ((name, value),) = changes.items()
    refused(rf"{name} was .* and is {value}", resume, **changes)


def saved_by(run, processes):
    """Let the checkpoints look as if that many processes had saved them."""
    for checkpoint in RunFolder(run).checkpoints():
        state = checkpoint / "rng_state.pth"
        for rank in range(processes):
            (checkpoint / f"rng_state_{rank}.pth").write_bytes(state.read_bytes())
        state.unlink()


@pytest.mark.parametrize(
    ("processes", "accumulation", "message"),
    [
        (2, 1, r"with 2 batches a step .* with 1 .*\. Set gradient_accumulation_steps to 2\."),
        (2, 4, r"with 2 batches a step .* with 4 .*\. Set gradient_accumulation_steps to 2\."),
        (1, 2, r"with 1 batches a step .* with 2 .*\. Set gradient_accumulation_steps to 1\."),
    ],
)
def test_a_step_keeps_its_number_of_batches(resume, tmp_path, processes, accumulation, message):
    if processes > 1:
        saved_by(tmp_path / "run", processes)
    refused(message, resume, gradient_accumulation_steps=accumulation)


def test_the_advice_where_the_batches_cannot_be_divided(resume, tmp_path, monkeypatch):
    monkeypatch.setattr("glossa.train.plan.settings.GlossaTrainingArguments.world_size", 2)
    settings = parse_settings(
        ["--gradient_accumulation_steps", "1", "--output_dir", str(tmp_path / "run"), "--report_to", "none"]
    )
    with pytest.raises(GlossaError, match=r"Continue with 1 and gradient_accumulation_steps 1\.$"):
        _check_step(tmp_path / "run" / "checkpoint-4", {"gradient_accumulation_steps": 1}, settings)


def test_fsdp_and_no_fsdp_do_not_continue_each_other(resume, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    refused("saved by a training without FSDP and would be continued with it", resume)
    monkeypatch.delenv("ACCELERATE_USE_FSDP")
    for checkpoint in RunFolder(tmp_path / "run").checkpoints():
        (checkpoint / "optimizer.pt").rename(checkpoint / "optimizer.bin")
        assert find_damage(checkpoint) == "pytorch_model_fsdp.bin is missing"
        (checkpoint / "pytorch_model_fsdp.bin").write_bytes((checkpoint / "optimizer.bin").read_bytes())
        assert find_damage(checkpoint) == ""
    refused("saved by a training with FSDP and would be continued without it", resume)


def test_a_checkpoint_of_deepspeed_has_its_own_optimizer(resume, tmp_path):
    checkpoint = RunFolder(tmp_path / "run").checkpoints()[-1]
    (checkpoint / "optimizer.pt").unlink()
    assert find_damage(checkpoint) == "optimizer.pt is missing"
    (checkpoint / "latest").write_text("global_step4")
    assert find_damage(checkpoint) == ""


def test_other_pairs_under_the_same_name_are_refused(resume, tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text(data.read_text().replace("a k.", "a k!", 1))
    refused(r"data are not those that .*run was trained with", resume)


def test_the_same_pairs_in_another_place_and_more_steps_are_accepted(resume, tmp_path, monkeypatch):
    moved = tmp_path / "data.tsv"
    moved = moved.rename(tmp_path / "moved.tsv")
    monkeypatch.setattr("glossa.train.building.new_vocabulary", lambda *_: pytest.fail("it is that of the run"))
    run = RunFolder(resume(data_path=moved))
    assert run.metrics["steps"] == 6
    assert [entry["step"] for entry in run.history if "loss" in entry] == list(range(1, 7))


def test_true_starts_continues_and_ends(tmp_path, tiny_settings, monkeypatch):
    arguments = tiny_settings(tmp_path / "run", max_steps=4, resume_from_checkpoint="true", **QUICK)
    run = RunFolder(train(parse_settings(arguments)))
    assert run.metrics["steps"] == 4
    started = []
    monkeypatch.setattr(training_run, "build_trainer", lambda *args: started.append(args))
    train(parse_settings(arguments))
    other = tiny_settings(tmp_path / "run", max_steps=4, resume_from_checkpoint="true", **QUICK | {"dropout": 0.4})
    refused(r"run was trained with other settings: dropout was .* and is 0\.4", train, parse_settings(other))
    assert not started, "a finished run is left alone"
    monkeypatch.undo()
    # As after a kill between the last step of a longer run and its scores.
    longer = tiny_settings(tmp_path / "run", max_steps=7, resume_from_checkpoint="true", **QUICK)
    monkeypatch.setattr(training_run, "finish", lambda *args: None)
    train(parse_settings(longer))
    assert run.metrics == {}, "a run that goes on is not finished"
    monkeypatch.undo()
    train(parse_settings(longer))
    assert run.metrics["steps"] == 7
    assert same_weights(run.path / "checkpoint-7", run.path)


def test_a_finished_model_without_checkpoints_is_not_overwritten(tmp_path, tiny_train):
    model = tmp_path / "run" / "model.safetensors"
    model.parent.mkdir()
    model.write_bytes(b"precious")
    with pytest.raises(GlossaError, match="contains a finished model, but no checkpoint"):
        tiny_train(tmp_path / "run", resume_from_checkpoint="true")
    assert model.read_bytes() == b"precious"


def test_a_folder_that_is_missing_is_named(tmp_path, tiny_train):
    refused("'nowhere', which is not a folder", tiny_train, tmp_path / "run", resume_from_checkpoint="nowhere")


def test_fingerprints_depend_on_every_text_and_their_order():
    rows = {"source": ["a", "b"], "target": ["c", "d"]}
    variants = [rows, {"source": ["b", "a"], "target": ["c", "d"]}, {"source": ["a", "b"], "target": ["c", "e"]}]
    variants += [{"source": ["ab", ""], "target": ["c", "d"]}, {"source": ["a"], "target": ["c"]}]
    found = [fingerprints(DatasetDict(train=Dataset.from_dict(one)))["train"] for one in variants]
    assert len(set(found)) == len(variants)
    assert found[0] == fingerprints(DatasetDict(train=Dataset.from_dict(rows)))["train"]


def cut(path):
    """Remove the second half of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip(path):
    """Change one bit in the middle of a file, which any reader still takes."""
    content = bytearray(path.read_bytes())
    content[-len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGED = [
    ("model.safetensors", flip), ("optimizer.pt", flip),
    ("model.safetensors", cut), ("optimizer.pt", cut), ("scheduler.pt", cut), ("config.json", cut),
    ("rng_state.pth", lambda path: path.write_bytes(b"")), ("trainer_state.json", cut),
    ("optimizer.pt", Path.unlink), ("scheduler.pt", Path.unlink), ("rng_state.pth", Path.unlink),
    ("tokenizer.json", Path.unlink),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage"), DAMAGED, ids=[f"{name}-{damage.__name__}" for name, damage in DAMAGED])
def test_a_damaged_checkpoint_is_not_continued(resume, tmp_path, name, damage):
    run = RunFolder(tmp_path / "run")
    _, newest = run.checkpoints()
    assert find_damage(newest) == ""
    damage(newest / name)
    refused(rf"cannot be continued: {name} is (damaged|missing)", resume, resume_from_checkpoint=newest)


def test_the_run_goes_on_from_the_checkpoint_before_a_damaged_one(resume, tmp_path, caplog):
    run = RunFolder(tmp_path / "run")
    _, newest = run.checkpoints()
    flip(newest / "optimizer.pt")
    resume()
    assert f"{newest} cannot be continued: optimizer.pt is" in caplog.text
    steps = [entry["step"] for entry in run.history if "loss" in entry]
    assert steps == [1, 2, 3, 4, 5, 6], "from step 2 on"
    assert find_damage(run.checkpoints()[-1]) == ""


def test_a_run_that_lost_its_weights_or_is_asked_for_an_average_is_not_finished(resume, tmp_path, caplog):
    run = RunFolder(resume())
    caplog.clear()
    with caplog.at_level("INFO"):
        resume()
    assert "There is nothing to resume" in caplog.text
    whole = weights(run.path)
    (run.path / "model.safetensors").unlink()
    again = weights(resume())
    assert all(again[name].equal(weight) for name, weight in whole.items())
    averaged = weights(resume(average_checkpoints=2, save_total_limit=3))
    assert any(not averaged[name].equal(weight) for name, weight in whole.items())
    assert run.recipe["average_checkpoints"] == 2


def test_the_mean_loss_of_a_resumed_run_is_that_of_all_steps(tmp_path, tiny_train):
    quiet = QUIET | {"logging_steps": 1, "save_steps": 3}
    whole = RunFolder(tiny_train(tmp_path / "whole", max_steps=6, **quiet))
    tiny_train(tmp_path / "part", max_steps=3, **quiet)
    part = RunFolder(tiny_train(tmp_path / "part", max_steps=6, resume_from_checkpoint="true", **quiet))
    losses = [entry["loss"] for entry in part.history if "loss" in entry]
    assert len(losses) == 6
    for run in (whole, part):
        assert run.history[-1]["train_loss"] == pytest.approx(sum(losses) / 6, abs=1e-5)


def test_a_run_without_a_usable_checkpoint_says_so(resume, tmp_path):
    for checkpoint in RunFolder(tmp_path / "run").checkpoints():
        (checkpoint / "optimizer.pt").unlink()
    refused(r"No checkpoint in .* can be continued", resume)


def test_a_run_that_was_killed_while_it_saved_its_first_checkpoint_starts_again(resume, tmp_path, caplog):
    run = RunFolder(tmp_path / "run")
    whole = weights(resume())
    for file in run.path.glob("*.*"):
        if file.name != "recipe.yaml":
            file.unlink()
    first, *others = run.checkpoints()
    for checkpoint in others:
        rmtree(checkpoint)
    cut(first / "trainer_state.json")
    again = weights(resume())
    assert f"{first}, the only checkpoint, is incomplete. The run starts again." in caplog.text
    assert all(again[name].equal(weight) for name, weight in whole.items())
    assert find_damage(run.checkpoints()[-1]) == ""


def test_checkpoints_that_were_cut_short_are_removed(resume, tmp_path, caplog):
    partial = tmp_path / "run" / "checkpoint-5"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"x")
    resume()
    assert f"{partial} is incomplete and is removed." in caplog.text and not partial.exists()


# BLEU is 0 at every evaluation, so the first one is the best.
HOPELESS = UNSCORED | {"learning_rate": 1e-12, "eval_steps": 1, "save_steps": 1, "logging_steps": 1, "warmup_steps": 0}


def evaluations(run):
    return [entry["step"] for entry in RunFolder(run).history if "eval_bleu" in entry]


@pytest.mark.slow
def test_the_patience_goes_on(tmp_path, tiny_settings, tiny_train):
    patient = HOPELESS | {"early_stopping_patience": 3}
    whole = tiny_train(tmp_path / "whole", max_steps=10, **patient)
    assert evaluations(whole) == [1, 2, 3, 4]
    tiny_train(tmp_path / "part", max_steps=3, **patient)
    settings = tiny_settings(tmp_path / "part", max_steps=10, resume_from_checkpoint="true", **patient)
    assert evaluations(train(parse_settings(settings))) == [1, 2, 3, 4]


def test_a_damaged_checkpoint_is_replaced_as_a_whole(tmp_path, four_steps, tiny_train):
    """A checkpoint from which a run cannot be continued is saved again when the run reaches its step."""
    run = RunFolder(shutil.copytree(four_steps, tmp_path / "run"))
    last = run.checkpoints()[-1]
    for name in ("model.safetensors", "tokenizer.json"):
        (last / name).unlink()
        (last / name).mkdir()
    (last / "old.bin").touch()
    (run.path / "metrics.json").unlink()
    assert same_weights(tiny_train(tmp_path / "run", max_steps=4, resume_from_checkpoint="true", **QUICK), four_steps)
    assert (last / "tokenizer.json").is_file() and not (last / "old.bin").exists()


@pytest.mark.slow
def test_patience_can_be_added_and_changed(tmp_path, tiny_settings, tiny_train):
    tiny_train(tmp_path / "run", max_steps=2, **HOPELESS)
    again = {"resume_from_checkpoint": "true"} | HOPELESS
    assert evaluations(tiny_train(tmp_path / "run", max_steps=4, early_stopping_patience=5, **again)) == [1, 2, 3, 4]
    # Steps 3 and 4 were counted; the third without a better score is step 5.
    settings = tiny_settings(tmp_path / "run", max_steps=9, early_stopping_patience=3, **again)
    assert evaluations(train(parse_settings(settings))) == [1, 2, 3, 4, 5]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2, 3], ids=["no step left", "a step left"])
def test_time_and_energy_before_the_checkpoint_count(tmp_path, tiny_settings, tiny_train, steps):
    run = RunFolder(tiny_train(tmp_path / "run", max_steps=2, **HOPELESS))
    state = run.checkpoints()[-1] / "trainer_state.json"
    saved = json.loads(state.read_text())
    time = saved["stateful_callbacks"]["TrainingTime"]["attributes"]
    assert 0 < time["before"] < run.metrics["training_seconds"] + 0.1
    time["before"] = 5000.0
    saved["stateful_callbacks"]["EnergyMeter"]["attributes"]["joules"] = 3.6e6
    state.write_text(json.dumps(saved))
    (state.parent / "checksums.json").unlink()
    (run.path / "metrics.json").unlink()  # as after a kill before the scores
    settings = tiny_settings(tmp_path / "run", max_steps=steps, resume_from_checkpoint="true", **HOPELESS)
    metrics = RunFolder(train(parse_settings(settings))).metrics
    assert 5000 <= metrics["training_seconds"] < 6000
    assert metrics.get("energy_kwh", 1) >= 1  # absent on machines without counters


def test_a_checkpoint_of_an_older_version_knows_no_time(tmp_path, tiny_settings, tiny_train):
    run = RunFolder(tiny_train(tmp_path / "run", max_steps=2, **HOPELESS))
    for checkpoint in run.checkpoints():
        state = json.loads((checkpoint / "trainer_state.json").read_text())
        del state["stateful_callbacks"]["TrainingTime"], state["stateful_callbacks"]["EnergyMeter"]
        (checkpoint / "trainer_state.json").write_text(json.dumps(state))
        (checkpoint / "checksums.json").unlink()
    settings = tiny_settings(tmp_path / "run", max_steps=3, resume_from_checkpoint="true", **HOPELESS)
    assert RunFolder(train(parse_settings(settings))).metrics["steps"] == 3


def test_a_run_from_an_address_with_a_key_is_continued_with_the_same_address():
    """The recipe of the run has it without the key."""
    entry = {
        "name": "a", "data_path": ["https://h/a.tsv?token=abc"], "test_path": ["https://me:pw@h/t.tsv"],
        "weight": 2.0,
    }  # fmt: skip
    saved = without_secrets({"sources": [entry]})
    assert saved["sources"][0]["test_path"] == ["https://***@h/t.tsv"]
    assert _fixed_part("sources", saved["sources"]) == _fixed_part("sources", [entry])
    other = entry | {"test_path": ["https://me:pw@h/other.tsv"]}
    assert _fixed_part("sources", saved["sources"]) != _fixed_part("sources", [other])
