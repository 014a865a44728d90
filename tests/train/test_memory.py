"""Runs with `memory: true`: what is saved and refused, and that a model learns to use a match."""

import random

import pytest
from small_models import QUIET, UNSIZED

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.model.spans_glossa import MEMORY
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.interface import Execution, Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.memory.store import Memory
from glossa.translate.texts.recall import Recall

READING = QUIET | {"memory": True, "max_steps": 12}


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_train):
    return tiny_train(tmp_path_factory.mktemp("memory") / "run", **READING)


def test_a_run_says_that_it_reads_a_memory(run, capsys):
    assert load_model(str(run)).config.text_profile["reads_memory"]
    tokenizer = load_tokenizer(str(run))
    ids = tokenizer(f"a k.{MEMORY} l b!").input_ids
    assert tokenizer.convert_ids_to_tokens(ids).count(MEMORY) == 1
    # What the match is written with are the tokens of a target.
    start = ids.index(tokenizer.convert_tokens_to_ids(MEMORY))
    assert ids[start + 1 :] == tokenizer(text_target="l b!").input_ids
    assert RunFolder(run).recipe["memory"] is True


def test_a_model_without_its_token_cannot_learn_it(tiny_run, tmp_path, tiny_train):
    with pytest.raises(GlossaError, match=r"memory is true, but init_from is .*whose vocabulary has no tokens for it"):
        tiny_train(tmp_path / "run", init_from=tiny_run, memory=True, **UNSIZED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_vocab_size": 280, "share_encoder_decoder_embeddings": False}, "both need one vocabulary"),
        ({"objective": "masked_lm"}, "memory is set, but objective is masked_lm"),
        ({"dataloader_persistent_workers": True, "dataloader_num_workers": 1}, "augmentation or memory changes"),
    ],
)
def test_settings_that_do_not_go_together(tmp_path, tiny_settings, changes, message):
    with pytest.raises(GlossaError, match=message):
        parse_settings(tiny_settings(tmp_path / "run", memory=True, **changes))


def test_a_stream_is_refused(tmp_path, tiny_settings):
    settings = parse_settings(tiny_settings(tmp_path / "run", memory=True, streaming=True))
    with pytest.raises(GlossaError, match="memory is true, but streaming is true, and matches are looked for in all"):
        train(settings)


def test_every_engine_reads_the_match(run):
    texts = [f"{first} {second}." for first in "abcd" for second in "klm"]
    found = {}
    with Memory.temporary([("a k.", "n h!"), ("c c l.", "d f!")]) as memory:
        for engine in ("torch", "auto"):
            for recall in (None, Recall([memory], 50)):
                translator = build_translator([str(run)], engine, search=Search(2, 2)).with_recall(recall)
                found[engine, recall is None] = [[one.text for one in own] for own in translator.translate(texts)]
    assert found["torch", False] == found["auto", False] and found["torch", True] == found["auto", True]
    assert found["torch", False] != found["torch", True]
    assert all(len(own) == 2 for own in found["torch", False])


def test_adapters_and_a_further_training_keep_it(run, tmp_path, tiny_train):
    new = tiny_train(tmp_path / "run", **UNSIZED, **READING | {"init_from": run, "lora_rank": 2, "max_steps": 3})
    assert load_model(str(new)).config.text_profile["reads_memory"]


@pytest.mark.slow
def test_a_model_learns_to_use_a_match(tmp_path, tiny_train):
    """Groups of similar pairs begin with a code. Of groups that it has never seen, it can only read the code."""
    generator = random.Random(0)
    groups = []
    for _ in range(540):
        known, code = " ".join(generator.sample([f"w{row}" for row in range(20)], 3)), f"z{generator.randrange(30)}"
        groups.append([(f"{known} {end}", f"{code} {end.upper()}") for end in generator.sample("abcdefgh", 4)])
    for name, rows in (("train", groups[:500]), ("held", groups[500:501])):
        pairs = [pair for group in rows for pair in group]
        (tmp_path / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    settings = QUIET | {
        "data_path": tmp_path / "train.tsv", "validation_path": tmp_path / "held.tsv", "vocab_size": 90,
        "tokenizer_model": "word", "validation_size": 0, "test_size": 0, "memory": True, "trust_data": True,
        "d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "save_strategy": "no", "batch_tokens": 1500,
        "num_train_epochs": 20, "keep_overlap": True, "learning_rate": 5e-3, "muon_learning_rate": 2e-2,
        "warmup_steps": 50,
    }  # fmt: skip
    run = tiny_train(tmp_path / "run", **settings)
    held = groups[500:]
    right, whole = [], Execution(split_sentences=False)
    with Memory.temporary([group[0] for group in held]) as memory:
        for recall in (Recall([memory]), None):
            translator = build_translator([str(run)], search=Search(1), execution=whole).with_recall(recall)
            found = translator.best([group[1][0] for group in held])
            right.append(sum(own == group[1][1] for own, group in zip(found, held, strict=True)))
    assert right[0] > 25 and right[1] < 6
