"""Runs with augmentation: streams, several processes and workers, the vocabulary, and what is shown."""

import json

import pyarrow
import pyarrow.parquet
import pytest
from small_models import QUIET, same_weights

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.model.spans_glossa import MARK, SENTINELS
from glossa.train.building import build_tokenizer
from glossa.train.data.augmentation.shares import STANDARD
from glossa.train.data.pairs import prepare_pairs
from glossa.train.plan.arguments import parse_settings
from glossa.translate.loading import load_tokenizer

SHARES = {"items": 0.3, "typing_errors": 0.2, "joined": 0.2}
AUGMENTED = QUIET | {"augmentation": json.dumps(SHARES), "placeholder_augmentation": 0.1}


@pytest.fixture
def stream(tmp_path):
    """Training pairs in Parquet files of several blocks, and validation pairs."""
    rows = [{"en": f"{a} {b}.", "fr": f"{b} {a}!"} for a in "abcdefghij" for b in "klmnopqrst"]
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), tmp_path / "train.parquet", row_group_size=10)
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows[:5]}), tmp_path / "val.parquet")
    files = {"data_path": tmp_path / "train.parquet", "validation_path": tmp_path / "val.parquet"}
    return files | {"validation_size": 0, "test_size": 0, "streaming": True, "keep_overlap": True}


def test_the_setting_changes_what_is_learned(tmp_path, tiny_train):
    changed = tiny_train(tmp_path / "changed", max_steps=5, **AUGMENTED)
    plain = AUGMENTED | {"augmentation": "null", "placeholder_augmentation": 0}
    assert not same_weights(changed, tiny_train(tmp_path / "plain", max_steps=5, **plain))


@pytest.mark.slow
def test_a_resumed_stream_is_exact(tmp_path, tiny_train, stream):
    changes = AUGMENTED | stream
    whole = tiny_train(tmp_path / "whole", max_steps=30, **changes)
    part = tmp_path / "part"
    middle = whole / "checkpoint-20"
    tiny_train(part, max_steps=30, resume_from_checkpoint=middle, **changes)
    assert same_weights(whole, part)


def test_a_resumed_run_keeps_its_shares(tmp_path, tiny_train):
    run = tiny_train(tmp_path / "run", max_steps=5, **AUGMENTED)
    assert RunFolder(run).recipe["augmentation"] == SHARES
    changes = AUGMENTED | {"augmentation": "standard", "resume_from_checkpoint": "true"}
    with pytest.raises(GlossaError, match="augmentation"):
        tiny_train(run, max_steps=9, **changes)
    again = parse_settings([str(run / "recipe.yaml")])
    assert again.data.augmentation == SHARES


def test_counts_and_examples_are_shown_before_training(tmp_path, tiny_train, capsys):
    tiny_train(tmp_path / "run", max_steps=1, **AUGMENTED)
    lines = capsys.readouterr().out.split("\n")
    (first,) = [number for number, line in enumerate(lines) if line.startswith("Augmented in a pass: ")]
    counts = {}
    for line in lines[first + 1 : first + 5]:
        head, _, example = line.partition(": ")
        kind, count = head.split()
        counts[kind] = int(count)
        source, target = example.split(" -> ")
        assert source and target
        assert ("<ph" in source) is ("<ph" in target) is (kind == "placeholders")
    shares = SHARES | {"placeholders": 0.1}
    assert counts.keys() == shares.keys()
    assert lines[first].startswith(f"Augmented in a pass: {sum(counts.values())} of 160 pairs, in 0.")
    for kind, count in counts.items():
        assert count == pytest.approx(160 * shares[kind], abs=25)


def test_the_vocabulary_has_a_piece_for_the_mark_and_none_for_typing_errors(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"the old house {number}.\tdas alte haus {number}.\n" for number in range(100)))
    words = ["--data_path", str(file), "--validation_size", "0", "--test_size", "0", "--vocab_size", "290"]
    pieces = {}
    for value in ("null", '{"typing_errors": 0.9}', '{"items": 0.9}'):
        settings = parse_settings([*words, "--dataset", "files", "--augmentation", value])
        pieces[value] = build_tokenizer(settings, prepare_pairs(settings.data)[0])
    plain, mistyped, marked = pieces.values()
    assert plain.get_vocab() == mistyped.get_vocab()
    assert len(marked.tokenize(f"the {MARK}")) < len(plain.tokenize(f"the {MARK}"))


@pytest.mark.parametrize(
    ("shares", "expected"), [("null", False), (json.dumps(SHARES), True), ('{"joined": 0.1}', False)]
)
def test_the_model_says_whether_it_has_learned_the_mark(tmp_path, tiny_train, shares, expected):
    run = tiny_train(tmp_path / "run", max_steps=1, **AUGMENTED | {"augmentation": shares})
    config = json.loads((run / "config.json").read_text())
    assert config["text_profile"]["mask_items"] is expected and config["text_profile"]["lower_capitals"]


def test_workers_that_stay_are_refused(tmp_path, tiny_settings):
    changes = AUGMENTED | {"dataloader_persistent_workers": True, "dataloader_num_workers": 1}
    with pytest.raises(GlossaError, match="but augmentation or memory changes the rows in each epoch"):
        parse_settings(tiny_settings(tmp_path / "run", **changes))


def test_the_vocabulary_of_a_run_has_sentinels_if_the_setting_asks_for_them(tmp_path, tiny_settings, tiny_train):
    plain = tiny_train(tmp_path / "plain", max_steps=1, **AUGMENTED | {"placeholder_augmentation": 0})
    own = tiny_train(tmp_path / "own", max_steps=1, keep="@@.*?@@", **AUGMENTED)
    known = [set(SENTINELS) <= load_tokenizer(str(run)).get_vocab().keys() for run in (plain, own)]
    assert known == [False, True]
    for name in ("init_from", "tokenizer"):
        message = f"placeholder_augmentation is 0.1, but {name} is .*, whose vocabulary has no tokens for it"
        with pytest.raises(GlossaError, match=message):
            tiny_train(tmp_path / name, **AUGMENTED, **{name: plain, "vocab_size": None})
    again = tiny_train(tmp_path / "again", max_steps=1, init_from=own, **AUGMENTED)
    assert load_tokenizer(str(again)).get_vocab() == load_tokenizer(str(own)).get_vocab()
    unmarked = AUGMENTED | {"placeholder_augmentation": 0, "tokenizer": own, "vocab_size": None}
    other = tiny_train(tmp_path / "other", max_steps=1, **unmarked)
    profiles = [json.loads((run / "config.json").read_text())["text_profile"] for run in (own, again, other)]
    learned = [profile["keeps_placeholders"] for profile in profiles]
    assert learned == [True, True, False], "it has the tokens, but was not trained with them"
    assert [profile["keep"] for profile in profiles] == [["@@.*?@@"], ["@@.*?@@"], []]


def test_pretraining_is_refused(tmp_path, tiny_settings):
    with pytest.raises(GlossaError, match=r"augmentation is set, but objective is masked_lm: it changes pairs"):
        parse_settings(tiny_settings(tmp_path / "run", objective="masked_lm", augmentation="standard"))
    assert STANDARD.keys() > SHARES.keys()
    with pytest.raises(GlossaError, match=r"placeholder_augmentation is set, but objective is masked_lm"):
        parse_settings(tiny_settings(tmp_path / "run", objective="masked_lm", placeholder_augmentation=0.1))
