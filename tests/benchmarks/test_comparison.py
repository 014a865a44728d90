"""The comparisons: turns, ratios, operations, contenders, and every command once."""

import gzip
import json
from itertools import product
from random import Random

import pytest
import torch
from datasets import Dataset
from torch.utils.flop_counter import FlopCounterMode
from transformers import MarianMTModel
from wide_corpus import write_wide_corpus

from benchmarks import sizes
from benchmarks.__main__ import main
from benchmarks.contenders import NAMES, Contender, ContenderBuilder, Work, equal_budget
from benchmarks.decoding import Decoded, _compare, decoding_rows
from benchmarks.sizes import forward_flops, marian_config
from benchmarks.timing import alternate, ratios, spread
from benchmarks.training import SHARED, shared_processes, together
from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.base.batching import TokenBatchSampler
from glossa.base.errors import GlossaError
from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.train.data.encoding.vocabulary import train_tokenizer

SENTENCES = ["a b c d", "b c", "c d e a b", "e e e", "a", "d c b a e", "b", "c c d"]
SHAPES = {"vocab_size": 50, "d_model": 16, "encoder_layers": 2, "decoder_layers": 3}
SHAPES |= {"encoder_ffn_dim": 24, "decoder_ffn_dim": 40}


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(SENTENCES * 4, 262)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """`--data` of a folder of the form of Multi30k with a few hundred pairs, which are prepared faster than those of
    the package. For commands that measure in their own process."""
    monkeypatch.setattr("benchmarks.corpus.VOCABULARY", 300)
    nouns = ["the cat|le chat", "my dog|mon chien", "a bird|un oiseau", "this boy|ce garçon", "your sister|votre sœur"]
    nouns += ["the king|le roi", "one friend|un ami", "our doctor|notre médecin", "that lion|ce lion"]
    verbs = ["sees|voit", "finds|trouve", "wants|veut", "likes|aime", "follows|suit", "calls|appelle"]
    pairs = [
        [f"{' '.join(words)}." for words in zip(*(part.split("|") for part in (a, verb, b)), strict=True)]
        for a, verb, b in product(nouns, verbs, nouns)
        if a != b
    ]
    Random(1).shuffle(pairs)
    for name, rows in {"train": pairs[:-40], "val": pairs[-40:-20], "test_2016_flickr": pairs[-20:]}.items():
        for language, sentences in zip(("en", "fr"), zip(*rows, strict=True), strict=True):
            (tmp_path / f"{name}.{language}.gz").write_bytes(gzip.compress("\n".join(sentences).encode()))
    return ["--data", str(tmp_path)]


@pytest.fixture
def builder(tokenizer, monkeypatch):
    """Contenders of a very small size on eight pairs, in batches of two."""
    monkeypatch.setattr("benchmarks.contenders.SENTENCES", 2)
    monkeypatch.setitem(sizes.SIZES, "mini", (16, 32, 2, 2))
    ids = tokenizer(SENTENCES, text_target=SENTENCES[::-1])
    lengths = {"source_length": list(map(len, ids["input_ids"])), "target_length": list(map(len, ids["labels"]))}
    rows = Dataset.from_dict({"input_ids": ids["input_ids"], "labels": ids["labels"]} | lengths)
    return ContenderBuilder(rows, tokenizer, "mini")


def test_each_contender_has_a_turn_in_each_round_and_the_first_turn_moves_on():
    turns = []
    found = alternate({name: lambda name=name: turns.append(name) or len(turns) for name in "abc"}, rounds=4)
    assert "".join(turns) == "abc" + "abc" + "bca" + "cab" + "abc"
    assert found["b"] == [5, 7, 12, 14]


def test_ratios_are_taken_within_rounds():
    assert ratios([4, 9, 10], [2, 3, 10]) == {"median": 2, "low": 1, "high": 3}
    assert spread([5, 1, 2, 4]) == {"median": 3, "low": 1, "high": 5}
    with pytest.raises(ValueError):
        ratios([1, 2], [1])


@pytest.mark.parametrize(
    "settings",
    [
        PUBLISHED_2017, {"num_key_value_heads": 1}, {"num_key_value_heads": 2, "head_dim": 6},
        {"num_key_value_heads": 2, "decoder_attention_heads": 2},
        {"num_key_value_heads": 1, "encoder_attention_heads": 2, "head_dim": 4},
    ],
)  # fmt: skip
def test_operations_equal_those_that_torch_counts(settings):
    config = GlossaConfig(**SHAPES, **settings)
    model = GlossaForConditionalGeneration(config).train()
    model.set_attn_implementation("eager")
    source, target = torch.randint(4, 50, (3, 5)), torch.randint(4, 50, (3, 7))
    with FlopCounterMode(display=False) as counter:
        model(input_ids=source, decoder_input_ids=target, use_cache=False)
    assert forward_flops(config, 3, 5, 7) == counter.get_total_flops()


def test_marian_has_the_same_size():
    config = GlossaConfig(**SHAPES, **PUBLISHED_2017)
    marian = MarianMTModel(marian_config(config))
    trained = sum(weight.numel() for weight in marian.parameters() if weight.requires_grad)
    assert trained == GlossaForConditionalGeneration(config).num_parameters()


def test_batches_hold_the_wanted_number_of_sentences_on_average(builder):
    lengths = builder.rows["source_length"], builder.rows["target_length"]
    # Two sentences a step are two batches of one.
    assert len(TokenBatchSampler(*lengths, builder.batch_tokens)) == len(builder.rows) == 2 * 4
    budget = equal_budget(builder.rows, 1)
    assert len(TokenBatchSampler(*lengths, budget)) == 8 > len(TokenBatchSampler(*lengths, budget + 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_contender_continues_where_it_stopped_and_counts_its_tokens(builder, name):
    contender = builder.build(name)
    before = [weight.clone() for weight in contender.model.parameters() if weight.requires_grad]
    try:
        works = [contender.train(4), contender.train(3), contender.train(1)]
    finally:
        contender.close()
    assert any(
        not torch.equal(old, new)
        for old, new in zip(before, (w for w in contender.model.parameters() if w.requires_grad), strict=True)
    )
    source, target = sum(builder.rows["source_length"]), sum(builder.rows["target_length"])
    for work in (works[0], works[1:]):  # each four steps are an epoch
        work = work if isinstance(work, list) else [work]
        assert sum(part.steps for part in work) == 4
        assert sum(part.target_tokens for part in work) == target
        assert sum(part.tokens for part in work) == source + target
        assert all(part.padded_tokens >= part.tokens and part.seconds > 0 and part.flops > 0 for part in work)


def test_an_error_in_the_training_thread_is_raised_by_train(builder):
    contender = builder.build("Glossa")
    contender.trainer.data_collator = lambda rows: {}["missing"]
    with pytest.raises(KeyError, match="missing"):
        contender.train(1)
    Contender.close(contender)


def test_a_folder_without_pairs_is_refused(tmp_path):
    with pytest.raises(GlossaError, match="neither Multi30k"):
        main(["train", "--data", str(tmp_path)])
    with pytest.raises(GlossaError, match="--rounds is 0"):
        main(["decode", "--rounds", "0"])


@pytest.mark.slow
def test_train_prints_a_row_for_each_contender(tmp_path, capsys):
    contenders = list(NAMES[:2])
    command = ["train", "--rounds", "1", "--steps", "1", "--threads", "1"]
    command += ["--data", str(write_wide_corpus(tmp_path / "corpus"))]
    main([*command, "--contenders", *contenders, "--output", str(tmp_path / "report.json")])
    printed = capsys.readouterr().out
    assert all(f"\n| {name} | " in printed for name in contenders) and "GFLOP/s" in printed
    found = json.loads((tmp_path / "report.json").read_text())["results"]["contenders"]
    assert set(found) == set(contenders)
    assert found["Glossa"]["padding"] < found["MarianMT, Seq2SeqTrainer"]["padding"]
    assert found["Glossa"]["share"]["median"] > 0 and found["Glossa"]["memory"] > 2**20


@pytest.mark.slow
def test_processes_that_share_a_step_train_on_the_batches_of_one(tmp_path, capsys):
    command = ["train", "--rounds", "2", "--steps", "1", "--threads", "2"]
    command += ["--data", str(write_wide_corpus(tmp_path / "corpus")), "--contenders", SHARED, NAMES[0]]
    main([*command, "--output", str(tmp_path / "report.json")])
    assert f"\n| {SHARED} | " in capsys.readouterr().out
    found = json.loads((tmp_path / "report.json").read_text())["results"]["contenders"]
    shared, alone = found[SHARED], found[NAMES[0]]
    for count in ("target_tokens", "flops"):
        assert [work[count] for work in shared["rounds"]] == [work[count] for work in alone["rounds"]]
    assert shared["parameters"] == alone["parameters"]


def test_work_of_processes_counts_together():
    first, second = Work(2.0, 3, 10, 20, 30, 40), Work(2.5, 3, 1, 2, 3, 4)
    assert together([first, second]) == Work(2.5, 3, 11, 22, 33, 44)
    assert [shared_processes(threads) for threads in (1, 2, 3, 8)] == [1, 2, 2, 2]  # a step has two batches


@pytest.mark.slow
def test_decode_compares_translations_of_equal_length(folder, capsys):
    command = ["decode", "--rounds", "1", "--threads", "1", "--length", "3", "--beams", "1", "2", *folder]
    main([*command, "--batches", "2", "--sentences", "8"])
    printed = capsys.readouterr().out
    assert printed.count("MarianMT generate") == 2 and "3 tokens" in printed


@pytest.mark.slow
def test_decode_with_the_same_weights_gives_the_same_translations(tokenizer, tmp_path, tiny_config, folder, capsys):
    torch.manual_seed(0)
    model = GlossaForConditionalGeneration(
        tiny_config(vocab_size=len(tokenizer), max_target_positions=128, **PUBLISHED_2017)
    )
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    command = ["decode", "--model", str(tmp_path), "--rounds", "1", "--threads", "1", "--beams", "1", *folder]
    main([*command, "--batches", "4", "--sentences", "8"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if "batch 4" in line]
    assert len(rows) == 2 and all("100.0%" in row for row in rows)


def test_speed_and_latency_by_hand():
    """Batches of two sentences that take 1 to 101 milliseconds, and another decoder that takes twice as long."""
    first = [Decoded(milliseconds / 1000, ["a", "b"]) for milliseconds in range(1, 102)]
    second = [Decoded(2 * decoded.seconds, ["a", "c"]) for decoded in first]
    rows = decoding_rows("greedy", _compare({"one": first, "two": second}, None))
    assert [(row["ms p50"], row["ms p99"]) for row in rows] == [("51.0", "100.0"), ("102.0", "200.0")]
    assert [row["sentences/s"] for row in rows] == ["39.22", "19.61"]  # 2 / 0.051, 2 / 0.102
    assert [row["Glossa is faster"] for row in rows] == ["1", "2.00 [2.00, 2.00]"]
    assert [row["identical"] for row in rows] == ["100.0%", "50.0%"]
