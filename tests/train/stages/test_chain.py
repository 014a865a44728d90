"""A training in stages: what it leaves, what a kill changes, and what is done when time or a stage is lost."""

import json
import logging
import shutil

import pytest
import torch
from refusals import refused
from small_models import QUIET, same_weights, weights

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.model.profile_glossa import TextProfile
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import fingerprints, prepare_pairs
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.train.stages import chain, pairs, table
from glossa.train.stages.chain import train_in_stages
from glossa.train.stages.state import State
from glossa.train.trainer import GlossaTrainer
from glossa.translate.build import build_translator
from glossa.translate.corpora import distillation
from glossa.translate.languages import Languages
from glossa.translate.loading import load_tokenizer

SHORT = {
    "num_train_epochs": None, "max_steps": 8, "eval_steps": 4, "save_steps": 4, "max_new_tokens": 2,
    "max_validation_samples": 4, "max_test_samples": 4,
}  # fmt: skip
LEARNED = {
    "num_train_epochs": None, "max_steps": 250, "learning_rate": 0.01, "d_model": 32, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_new_tokens": 12, "eval_steps": 125, "save_steps": 125,
}  # fmt: skip
ALL = "both,diversify,back"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Text in the target language, of which a part is not in the pairs."""
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text("".join(f"{b} {a}!\n" for a in "abcEF" for b in "klmnopqrst"))
    return file


@pytest.fixture(scope="module")
def in_stages(tiny_settings, text):
    """Trains in stages; `start` replaces the training of a stage."""

    def run(folder, stages=ALL, start=None, **changes):
        given = {"monolingual": text} if "back" in stages else {}
        words = tiny_settings(folder, stages=stages, **given | changes)
        train_in_stages(catalog.parse(words), start or (lambda given: train(parse_settings(given))))
        return folder

    return run


def invent(teacher, rows, counts, *_):
    """Translations that are always the same, and no pairs of the training."""
    for source, target in rows:
        counts.texts += 1
        counts.pairs += 1
        yield {"source": source or f"{target} r.", "target": target or f"{source} f!", "origin": ""}


@pytest.fixture(autouse=True)
def quick_chunks(monkeypatch):
    monkeypatch.setattr(pairs, "SIZE", 40)


def read(run):
    return json.loads((run / "stages" / "stages.json").read_text())


def bare(side):
    """A side as overlap compares it: without case and punctuation."""
    return side.lower().rstrip(".!")


def right(model, texts, wanted):
    """How many translations of texts are as wanted."""
    return sum(map(str.__eq__, build_translator([str(model)], "torch").best(texts), wanted))


@pytest.fixture(scope="module")
def learned(tmp_path_factory, in_stages):
    """A finished chain whose models have learned to translate."""
    return in_stages(tmp_path_factory.mktemp("runs") / "learned", **LEARNED)


def test_a_chain_ends_in_an_ordinary_run(learned, text, tiny_pairs):
    """The model of both directions translates both ways, and the last one has the scores of the folder."""
    state, run = read(learned), RunFolder(learned)
    assert [record["stage"] for record in state["done"]] == ["both", "diversify", "back", "last"]
    assert state["done"][0]["pairs"] == 320 and state["done"][2]["pairs"] == 50
    assert not any(record["dropped"] for record in state["done"])
    first, last = state["done"][0]["score"], state["done"][-1]["score"]
    assert 70 < first <= last == run.metrics["validation"]["greedy"]["scores"]["single"]["chrf"]["score"]
    both = learned / "stages" / "1-both"
    rows = [line.split("\t") for line in tiny_pairs.read_text().splitlines()]
    sources, targets = ([row[side] for row in rows] for side in (0, 1))
    assert right(learned, sources, targets) > 180
    assert right(both, sources, targets) > 140 and right(both / "reverse", targets, sources) > 140
    assert set(run.metrics["test"]) == {"greedy"} and "test" not in RunFolder(both).metrics


def test_the_folder_has_the_pairs_of_plain_training_and_counts_further_ones(learned):
    """`glossa distill RUN` reads the training pairs again and refuses other ones."""
    run = RunFolder(learned)
    again = prepare_pairs(DataArguments.of_run(run.recipe))[0]
    assert run.changed_data(fingerprints(again)) == [] and len(again["train"]) == 160
    made = [json.loads(line) for file in sorted(run.stages.glob("*.jsonl")) for line in file.read_text().splitlines()]
    known = {(row["source"], row["target"]) for row in again["train"]}
    held_out = {bare(row[side]) for name in ("validation", "test") for row in again[name] for side in row}
    new = [row for row in made if not held_out & {bare(row["source"]), bare(row["target"])}]
    expected = [row for row in new if (row["source"], row["target"]) not in known]
    counts = run.data_report["splits"]["replay"]
    assert counts["read"] == len(made) and counts["overlap"] == len(made) - len(new)
    assert counts["kept"] == len(expected) > 10


def test_the_recipe_repeats_the_plan(learned, text, tiny_settings):
    given = catalog.parse([str(learned / "recipe.yaml")])
    assert given.values["stages"] == ALL and given.values["monolingual"] == [str(text)]
    assert given.values["max_steps"] == 250 and "init_from" not in given.values
    assert RunFolder(learned).recipe["init_from"] == str(learned / "stages" / "1-both")


def test_a_finished_chain_does_not_train_again(learned, in_stages, caplog):
    before = (learned / "model.safetensors").stat().st_mtime_ns
    with caplog.at_level(logging.INFO):
        in_stages(learned, **LEARNED, resume_from_checkpoint=True)
    assert "is finished. There is nothing to resume" in caplog.text
    assert (learned / "model.safetensors").stat().st_mtime_ns == before


def test_a_model_of_both_directions_knows_the_lengths_and_languages_of_each(tmp_path, tiny_train):
    """Targets have six characters for four of their sources."""
    rows = [f"{a} {b}.\t{b}{b} {a}{a}!\n" for a in "abcdefghij" for b in "klmnopqrst"]
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    run = tiny_train(tmp_path / "run", data_path=tmp_path / "pairs.tsv", both_directions=True, **QUIET)
    reverse = pairs.make_reverse(run)
    profiles = [TextProfile.of(json.loads((folder / "config.json").read_text())) for folder in (run, reverse)]
    assert [profile.length_ratio for profile in profiles] == pytest.approx([6 / 4, 4 / 6], abs=1e-3)
    assert [Languages.of(str(folder)).pair for folder in (run, reverse)] == [("en", "fr"), ("fr", "en")]
    assert Languages.of_tokenizer(load_tokenizer(str(reverse))).pair == ("fr", "en")
    assert same_weights(run, reverse) and not list(reverse.glob("checkpoint-*"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, in_stages):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distillation, "new_pairs", invent)
        patch.setattr(pairs, "SIZE", 40)
        return in_stages(tmp_path_factory.mktemp("runs") / "undisturbed", **SHORT)


def kill(monkeypatch, owner, name, number):
    """The call of this number of a function ends with a signal."""
    real, calls = getattr(owner, name), []

    def counted(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize(
    ("owner", "name", "number", "done"),
    [
        (GlossaTrainer, "training_step", 6, 0),  # in the first training, after its first checkpoint
        (State, "finish", 1, 0),  # between the first training and its record
        (pairs, "make_reverse", 1, 1),
        (distillation, "new_pairs", 3, 1),  # in the third of four chunks of sources
        (State, "finish", 2, 1),
        (distillation, "new_pairs", 10, 2),  # in monolingual text
        (GlossaTrainer, "training_step", 14, 3),  # in the last training, after its first checkpoint
        (State, "finish", 4, 3),
    ],
)
def test_a_killed_chain_ends_as_an_undisturbed_one(
    owner, name, number, done, tmp_path, in_stages, undisturbed, monkeypatch, caplog
):
    monkeypatch.setattr(distillation, "new_pairs", invent)
    with monkeypatch.context() as patch:
        kill(patch, owner, name, number)
        with pytest.raises(KeyboardInterrupt):
            in_stages(tmp_path / "run", **SHORT)
    assert len(read(tmp_path / "run")["done"]) == done
    run = in_stages(tmp_path / "run", **SHORT, resume_from_checkpoint=True)
    assert same_weights(run, undisturbed)
    assert same_weights(run / "stages" / "1-both", undisturbed / "stages" / "1-both")
    for file in ("2-diversify.jsonl", "2-diversify-reverse.jsonl", "3-back.jsonl"):
        assert (run / "stages" / file).read_bytes() == (undisturbed / "stages" / file).read_bytes()
    scores = [
        [(each["stage"], each["pairs"], each["score"]) for each in read(one)["done"]] for one in (run, undisturbed)
    ]
    assert scores[0] == scores[1] and scores[0][-1][1] == 160 + 160 + 160 + 50 - overlap_of(undisturbed)


def overlap_of(run):
    return RunFolder(run).data_report["splits"]["replay"]["overlap"]


def test_a_stage_that_fails_says_so_and_goes_on_later(tmp_path, in_stages, monkeypatch, caplog):
    def fail(given):
        if given.values["stages" if "stages" in given.values else "both_directions"] == "both":
            raise GlossaError("The disk is full.")
        return train(parse_settings(given))

    with caplog.at_level(logging.INFO):
        refused("The disk is full", in_stages, tmp_path / "run", "both", fail, **SHORT)
    assert "Stage 2 of 2, last" in caplog.text
    assert "has not ended. The same command with --resume_from_checkpoint true continues it." in caplog.text
    assert [each["stage"] for each in read(tmp_path / "run")["done"]] == ["both"]
    run = in_stages(tmp_path / "run", "both", **SHORT, resume_from_checkpoint=True)
    assert [each["stage"] for each in read(run)["done"]] == ["both", "last"] and RunFolder(run).is_complete()


def test_a_last_training_that_makes_it_worse_is_dropped(tmp_path, in_stages, caplog):
    def spoil(given):
        last = "stages" in given.values
        return train(parse_settings(given.with_flag("learning_rate", 3.0) if last else given))

    changes = LEARNED | {"max_steps": 120}
    run = in_stages(tmp_path / "run", "plain,diversify", spoil, **changes)
    first, _, last = read(run)["done"]
    assert last["dropped"] and last["score"] == pytest.approx(first["score"], abs=0.01) and last["score"] > 20
    before, after = weights(run / "stages" / "1-plain"), weights(run)
    assert all(torch.equal(weight, after[name]) for name, weight in before.items())
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    (line,) = [line for line in lines if "is dropped" in line]
    assert line.startswith("Stage 3 of 3, last") and "The weights from before it are kept" in line
    assert RunFolder(run).metrics["blend"]["share"] == 0


def test_hours_that_are_used_up_leave_a_finished_run(tmp_path, in_stages, caplog, capsys):
    """A ten thousandth of an hour is over before the first stage ends: nothing is translated, and one step trained."""
    times = {"num_train_epochs": None, "hours": 1e-4, "eval_strategy": "no", "save_strategy": "no"}
    with caplog.at_level(logging.INFO):
        run = in_stages(tmp_path / "run", **QUIET | times)
    records = read(run)["done"]
    assert [record["stage"] for record in records] == ["both", "diversify", "back", "last"]
    assert [record["dropped"] for record in records] == [False, True, True, False]
    assert records[-1]["pairs"] == 160 and RunFolder(run).is_complete()
    assert "0 of 160 texts are translated" in caplog.text and "is dropped: it made no pairs" in caplog.text
    assert RunFolder(run).recipe["hours_share"] == 0.01  # in spite of the stages before
    assert catalog.parse([str(run / "recipe.yaml")]).values["hours"] == 1e-4
    assert sum(record["seconds"] for record in records) > 0.36
    printed = capsys.readouterr().out  # what the first stage can do alone is not of interest
    assert printed.count("Saved in") == 2 and printed.count("Verdict:") == printed.count("Try it:") == 1


def test_translating_stops_in_its_part_of_the_time(tmp_path, undisturbed, monkeypatch):
    """A chunk takes ten seconds. Of 40 seconds that are left, half are for each direction, so two chunks."""
    shutil.copytree(undisturbed, tmp_path / "run")
    run, now = RunFolder(tmp_path / "run"), [0.0]
    for file in run.stages.glob("*.jsonl"):
        file.unlink()

    def slow(*arguments):
        now[0] += 10
        yield from invent(*arguments)

    monkeypatch.setattr(distillation, "new_pairs", slow)
    state = State(run.state, ["both"], [], [{"stage": "both", "seconds": 100.0}], clock=lambda: now[0])
    count, files = pairs.make_pairs(run, state, 2, "diversify", until=140.0)
    assert count == 160 and now[0] == 40.0
    assert [len((run.stages / file).read_text().splitlines()) for file in files] == [80, 80]
    assert read(run.path)["unfinished"] >= 20


def test_time_before_a_kill_counts(tmp_path):
    now = [5.0]
    state = State(tmp_path / "stages.json", ["both"], [], [{"stage": "both", "seconds": 100.0}], 30.0, lambda: now[0])
    now[0] += 7
    assert (state.stage_seconds, state.seconds) == (37.0, 137.0)
    state.finish("last", state.stage_seconds, score=1.0)
    assert state.finished_seconds == 137.0 and state.stage_seconds == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": "both", "resume_from_checkpoint": True}, "stages was both,diversify,back .* and is both"),
        ({"resume_from_checkpoint": "no"}, "already holds a run"), ({}, "already holds a run"),
        ({"resume_from_checkpoint": "some/checkpoint-4"}, "continues in its own place"),
    ],
)  # fmt: skip
def test_a_folder_with_another_chain_is_refused(changes, message, in_stages, undisturbed):
    refused(message, in_stages, undisturbed, **SHORT | changes)


def test_other_monolingual_text_is_refused(in_stages, undisturbed, tmp_path):
    (tmp_path / "other.txt").write_text("k l!\n")
    changes = SHORT | {"monolingual": tmp_path / "other.txt", "resume_from_checkpoint": True}
    refused(r"monolingual was .*text.txt in .* and is .*other.txt", in_stages, undisturbed, **changes)


def test_a_table_as_monolingual_text_is_refused_at_once(in_stages, tmp_path, tiny_pairs):
    refused("pairs.tsv, which is a table", in_stages, tmp_path / "run", monolingual=tiny_pairs, **SHORT)
    assert not (tmp_path / "run").exists()


def test_monolingual_text_of_the_source_language_is_refused_at_once(in_stages, tmp_path, caplog):
    """The target language of the small pairs is French."""
    said = "The train to the city leaves at {} in the morning, and we have not bought our tickets yet."
    (tmp_path / "english.txt").write_text("".join(f"{said.format(number)}\n" for number in range(30)))
    changes = SHORT | {"monolingual": tmp_path / "english.txt"}
    refused("english.txt, which is not in 'fr', such as 'The train", in_stages, tmp_path / "run", **changes)

    def stop(given):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_stages(tmp_path / "run", start=stop, trust_data="language", **changes)
    assert "which is not in 'fr'" in caplog.text


def test_empty_monolingual_text_is_refused_at_once(in_stages, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    refused("empty.txt, which has no texts", in_stages, tmp_path / "run", monolingual=tmp_path / "empty.txt", **SHORT)
    assert not (tmp_path / "run").exists()


def test_processes_of_a_launcher_are_refused(in_stages, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused("a launcher has started several processes", in_stages, tmp_path / "run", "both", **SHORT)


def test_an_account_that_is_missing_is_refused_at_once(in_stages, tmp_path, monkeypatch):
    monkeypatch.setattr("glossa.train.hub.push.get_token", lambda: None)
    refused("No token", in_stages, tmp_path / "run", "both", push_to_hub=True, hub_model_id="user/model", **SHORT)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_a_plain_run_is_refused(in_stages, tiny_run):
    refused("without stages", in_stages, tiny_run, resume_from_checkpoint=True, **SHORT)
    assert not (tiny_run / "stages").exists()


@pytest.mark.parametrize("content", ["[]", "{", '{"stages": ["both"], "monolingual": [], "done": 3}'])
def test_a_damaged_state_is_refused(content, tmp_path):
    run = RunFolder(tmp_path)
    run.stages.mkdir()
    run.state.write_text(content)
    refused("stages.json is damaged", State.read, run)


def test_the_last_training_needs_the_stages_before_it(tmp_path, tiny_settings):
    given = parse_settings(tiny_settings(tmp_path / "run", stages="both", max_steps=4, num_train_epochs=None))
    refused("has no such finished stages", train, given)


@pytest.mark.parametrize(
    ("cell", "stages"),
    [("plain,diversify", "plain,diversify"), ("both,back", "plain"), (None, "plain")],
)
def test_auto_takes_what_was_measured(cell, stages, tiny_settings, tmp_path, monkeypatch):
    """Of 160 pairs and 8 hours; back is not taken without text."""
    cells = (table.Measured(100, 10, cell, "row"),) if cell else ()
    monkeypatch.setattr(chain, "best", lambda pairs, hours: table.best(pairs, hours, cells))
    started = []

    def start(given):
        started.append(given)
        raise KeyboardInterrupt

    words = tiny_settings(tmp_path / "run", stages="auto", hours=8)
    with pytest.raises(KeyboardInterrupt):
        train_in_stages(catalog.parse(words), start)
    if stages == "plain":
        assert started[0].values["stages"] == "plain" and not (tmp_path / "run").exists()
    else:
        assert started[0].values["output_dir"] == str(tmp_path / "run" / "stages" / "1-plain")
        assert read(tmp_path / "run")["stages"] == stages.split(",")
