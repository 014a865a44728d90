"""Replay: which pairs are mixed into tuning, how many of them a pass has, and what is refused."""

import json

import pytest
from datasets import Dataset, DatasetDict
from small_models import QUIET, UNSIZED

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.train.data.matching import with_matches
from glossa.train.inputs import load_inputs
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.preflight import check_before_data
from glossa.train.plan.start import adopt_start
from glossa.train.run import train
from glossa.train.trainer import GlossaTrainer
from glossa.translate.corpora import distillation

OWN = "".join(f"{a}{b} q.\tq {b}{a}!\n" for a in "abcdefghij" for b in "klmnopqrst")  # 100 pairs


@pytest.fixture
def settings(tmp_path, tiny_settings, tiny_run):
    """The settings of a run that is tuned on 100 pairs, of which two each are held out."""
    (tmp_path / "own.tsv").write_text(OWN)

    def of(**changes):
        given = UNSIZED | {"data_path": tmp_path / "own.tsv", "init_from": tiny_run, "validation_size": 2}
        given |= {"test_size": 2, "num_train_epochs": 3} | changes
        return adopt_start(parse_settings(tiny_settings(tmp_path / "run", **given)))

    return of


def inputs(settings):
    found = load_inputs(settings)
    return found.splits, found.report.splits.get("replay")


def pairs(dataset):
    return set(zip(dataset["source"], dataset["target"], strict=True))


def write(path, rows):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return path


def test_a_run_stands_for_its_training_pairs(settings, tiny_run, tiny_pairs):
    splits, counts = inputs(settings(replay=tiny_run))
    everything = {tuple(line.split("\t")) for line in tiny_pairs.read_text().splitlines()}
    held_out = [RunFolder(tiny_run).load_held_out(name) for name in ("validation", "test")]
    assert pairs(splits["replay"]) == everything - pairs(held_out[0]) - pairs(held_out[1])
    assert counts == {"read": 200, "overlap": 40, "not_drawn": 0, "kept": 160}
    assert len(splits["train"]) == 96 and not pairs(splits["train"]) & everything


def test_a_watched_run_is_replayed_by_itself(settings, tiny_run):
    splits, counts = inputs(settings(watch=tiny_run))
    assert counts["kept"] == 160 and len(splits["watch"]) == len(splits["watch_test"]) == 20
    assert pairs(splits["watch"]) == pairs(RunFolder(tiny_run).load_held_out("validation"))
    assert pairs(splits["watch_test"]) == pairs(RunFolder(tiny_run).load_held_out("test"))


def test_only_what_all_passes_need_is_drawn(settings, tmp_path):
    """The 96 training pairs have 480 characters in their sources, as 69 replayed pairs of 7 characters have."""
    rows = [(f"a{number:03} z.", f"z a{number:03}!") for number in range(400)]
    _, counts = inputs(settings(replay=write(tmp_path / "general.tsv", rows)))
    assert counts == {"read": 400, "overlap": 0, "not_drawn": 400 - 3 * 69, "kept": 3 * 69}
    _, counts = inputs(settings(replay=tmp_path / "general.tsv", replay_size=40))
    assert counts["kept"] == 120
    _, counts = inputs(settings(replay=tmp_path / "general.tsv", replay_size=40, num_train_epochs=None))
    assert counts["kept"] == 400  # fifteen passes for so few pairs: 600 are needed


def test_held_out_sentences_are_not_replayed(settings, tmp_path):
    rows = [(f"a{number} z.", f"z a{number}!") for number in range(150)]
    watched = write(tmp_path / "watched.tsv", rows[:40])
    own = [line.split("\t") for line in OWN.splitlines()]
    splits, counts = inputs(settings(replay=write(tmp_path / "general.tsv", rows + own), watch=watched))
    held_out = [pairs(splits[name]) for name in ("validation", "test", "watch", "watch_test")]
    assert counts["overlap"] == 2 + 2 + 40 and not any(pairs(splits["replay"]) & found for found in held_out)


def test_texts_are_translated_by_the_start_once(settings, tmp_path, learned_run, monkeypatch, caplog):
    words = [f"{a} {b}." for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"]
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in words))
    given = settings(replay=tmp_path / "texts.txt", init_from=learned_run)
    splits, counts = inputs(given)
    (file,) = (tmp_path / "run").glob("replayed-*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert counts["kept"] == len(splits["replay"]) >= 190 and counts["implausible"] == 200 - len(rows)
    right = {(text, f"{text[2]} {text[0]}!") for text in words}
    assert len(pairs(splits["replay"]) & right) >= 180
    monkeypatch.setattr("glossa.train.translating.load_teacher", None)  # a second start does not translate again
    assert pairs(inputs(given)[0]["replay"]) == pairs(splits["replay"])


def test_a_stopped_translation_of_texts_continues(settings, tmp_path, tiny_run, monkeypatch):
    monkeypatch.setattr(distillation, "CHUNK", 60)
    (tmp_path / "texts.txt").write_text("".join(f"a{number} z.\n" for number in range(150)))
    given, asked = settings(replay=tmp_path / "texts.txt"), []

    def stop_in_second(teacher, rows, *others):
        asked.append(len(rows))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ({"source": source, "target": f"{source} x", "origin": ""} for source, _ in rows)

    monkeypatch.setattr(distillation, "new_pairs", stop_in_second)
    with pytest.raises(KeyboardInterrupt):
        inputs(given)
    splits, _ = inputs(given)
    assert asked == [60, 60, 60, 30] and len(splits["replay"]) == 150


def test_a_pass_has_the_training_pairs_and_a_part_of_the_replay(tmp_path, settings):
    rows = [(f"a{number} z.", f"z a{number}!") for number in range(400)]
    given = {"replay": write(tmp_path / "general.tsv", rows), "replay_size": 100, "num_train_epochs": 2}
    seen = []

    class Seen(GlossaTrainer):
        def training_step(self, model, batch, *others):
            seen.extend(self.processing_class.batch_decode(batch["input_ids"], skip_special_tokens=True))
            return super().training_step(model, batch, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glossa.train.building.GlossaTrainer", Seen)
        train(settings(**QUIET | given, save_strategy="no"))
    general = [text for text in seen if " z" in text]
    assert len(general) == len(set(general)) == 200 and len(seen) - len(general) == 2 * 96


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"init_from": None}, "replay is .*one.tsv, but init_from is empty"),
        ({"streaming": True, "dataset": "x/y", "data_path": None}, "streaming is true, and its pairs are mixed into"),
    ],
)
def test_replay_needs_a_start_and_pairs_that_are_copied(tmp_path, settings, changes, message):
    write(tmp_path / "one.tsv", [("a z.", "z a!")])
    with pytest.raises(GlossaError, match=message):
        check_before_data(settings(replay=tmp_path / "one.tsv", **changes))


def test_settings_of_replay_alone_are_refused(settings):
    for name, value in (("replay_size", 9), ("watch_loss", 1.5)):
        with pytest.raises(GlossaError, match=f"{name} is {value}, but watch and replay are empty. Leave {name} out"):
            check_before_data(settings(**{name: value}))


def test_replay_of_one_line_is_refused(tmp_path, settings):
    write(tmp_path / "one.tsv", [("a z.", "z a!")])
    with pytest.raises(GlossaError, match=r"replay is .*one.tsv, of which 1 of 1 pairs can be used. At least 50"):
        load_inputs(settings(replay=tmp_path / "one.tsv"))
    (tmp_path / "one.txt").write_text("a z.\n")
    with pytest.raises(GlossaError, match=r"1 of 1 texts can be used. At least 50 are needed, and best 360"):
        load_inputs(settings(replay=tmp_path / "one.txt"))
    with pytest.raises(GlossaError, match=r"replay has texts \(.*one.txt\) and pairs \(.*one.tsv\)"):
        load_inputs(parse_settings(["--init_from", "x", "--replay", *map(str, tmp_path.glob("one.*"))]))


def test_a_run_in_other_languages_is_refused(settings, tiny_run):
    for name in ("replay", "watch"):
        with pytest.raises(GlossaError, match=rf"{name} is .*tiny, a run from en to fr, but the data are en to de"):
            load_inputs(settings(target_language="de", **{name: tiny_run}))


def test_a_run_without_its_data_is_refused(settings, tmp_path, tiny_run):
    run = tmp_path / "other"
    run.mkdir()
    for name in ("config.json", "recipe.yaml", "tokenizer.json", "tokenizer_config.json"):
        text = (tiny_run / name).read_text()
        (run / name).write_text(text.replace("pairs.tsv", "gone.tsv"))
    with pytest.raises(
        GlossaError, match=r"whose training pairs cannot be read: .*gone.tsv.* Restore them, or give a"
    ):
        load_inputs(settings(replay=run))


def test_replayed_pairs_have_matches_too():
    texts = ["the old house is very big", "the old house is very small"]
    replay = Dataset.from_dict({"source": texts, "target": ["a", "b"]})
    train = Dataset.from_dict({"source": ["nobody knows"], "target": ["c"]})
    found = with_matches(DatasetDict(train=train, replay=replay))
    assert found["replay"]["match_source"][:] == texts[::-1] and found["train"]["match_source"][:] == [""]
