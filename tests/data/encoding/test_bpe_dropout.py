"""BPE dropout: equal to `tokenizers` without dropout, the published algorithm with it, exact by seed and epoch."""

import random
from collections import Counter

import pytest
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import DataCollatorForSeq2Seq

from glossa.data.arguments import TokenizerArguments
from glossa.data.encoding.bpe_dropout import BpeDropout, DropoutCollator
from glossa.data.encoding.vocabulary import train_tokenizer, train_tokenizer_pair
from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.run import train

TEXTS = [
    "The cat sat on the mat.",
    "L’été, il n'a pas “mangé” ses 3 pommes !",
    "日本語と emoji 😀",
    "don't ''t  x",
    "a",
]
CORPUS = TEXTS * 3 + ["the cats sit on mats", "that hat", "des étés"] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(CORPUS, 300)


def test_without_dropout_the_splits_are_those_of_tokenizers(tokenizer):
    same = BpeDropout(tokenizer.backend_tokenizer, 0.0)
    generator = random.Random(0)
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        assert same.split_again(ids, generator) == ids
    lower = train_tokenizer(CORPUS, 300, options=TokenizerArguments(normalization=["nfkc", "lowercase"]))
    ids = lower("The ＣＡＴ")["input_ids"]
    assert BpeDropout(lower.backend_tokenizer, 0.0).split_again(ids, generator) == ids


def test_with_dropout_the_text_and_the_special_tokens_stay():
    options = TokenizerArguments(source_special_tokens="start_end")
    tokenizer = train_tokenizer(CORPUS, 300, options=options)
    dropout = BpeDropout(tokenizer.backend_tokenizer, 0.5)
    for seed, text in enumerate(TEXTS):
        ids = tokenizer(text)["input_ids"]
        new = dropout.split_again(ids, random.Random(seed))
        assert (new[0], new[-1]) == (ids[0], ids[-1]) == (2, 1)
        assert tokenizer.decode(new, skip_special_tokens=True) == tokenizer.decode(ids, skip_special_tokens=True)
        assert len(new) >= len(ids)
    everything = BpeDropout(tokenizer.backend_tokenizer, 0.999999999)
    assert everything.split("Ġcat", random.Random(0)) == ["Ġ", "c", "a", "t"]


def test_the_splits_have_the_probabilities_of_the_algorithm():
    """Merges ab (first), bc, then ab+c. With dropout 1/2, worked out by hand for the word abc.

    The first step has the merges ab and bc. Neither is left (1/4): a b c. ab is left (1/2): ab c, then abc with 1/2.
    Only bc is left (1/4): a bc, for which there is no merge.
    """
    model = models.BPE({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}, [("a", "b"), ("b", "c"), ("ab", "c")])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    dropout, generator = BpeDropout(tokenizer, 0.5), random.Random(0)
    counts = Counter(" ".join(dropout.split("abc", generator)) for _ in range(8000))
    assert set(counts) == {"a b c", "ab c", "a bc", "abc"}
    for count in counts.values():
        assert abs(count / 8000 - 0.25) < 0.025  # five standard deviations


def test_a_row_is_split_by_seed_and_epoch(tokenizer):
    ids = tokenizer(" ".join(TEXTS))["input_ids"]
    row = {"input_ids": ids, "labels": ids[5:]}

    def collator(seed, max_length=1000):
        return DropoutCollator(tokenizer, DataCollatorForSeq2Seq(tokenizer), 0.5, max_length, seed)

    first = collator(1)
    splits = [first.split_again(row)["input_ids"]]
    first.set_epoch(1)
    splits.append(first.split_again(row)["input_ids"])
    splits.append(collator(2).split_again(row)["input_ids"])
    assert len({tuple(split) for split in splits}) == 3
    first.set_epoch(0)
    assert first.split_again(row)["input_ids"] == splits[0]
    batch = first([row, row | {"labels": ids}])
    assert batch["input_ids"][0].tolist()[: len(splits[0])] == splits[0]
    # A side that would be too long stays.
    assert collator(1, max_length=len(ids)).split_again(row)["input_ids"] == ids
    assert first.growth([row]) == pytest.approx(sum(map(len, first.split_again(row).values())) / (2 * len(ids) - 5))


def test_two_vocabularies_have_their_own_merges():
    options = TokenizerArguments(vocab_size=280, target_vocab_size=290)
    tokenizer = train_tokenizer_pair(CORPUS, [text.upper() for text in CORPUS], options)
    encoded = tokenizer("the cat sat", text_target="THE CAT SAT")
    row = {"input_ids": encoded["input_ids"], "labels": encoded["labels"]}
    new = DropoutCollator(tokenizer, lambda rows: rows, 0.5, 100, 1)([row])[0]
    assert tokenizer.decode(new["labels"], skip_special_tokens=True) == "THE CAT SAT"
    assert tokenizer.backend_tokenizer.decode(new["input_ids"]) == "the cat sat"


def test_other_tokenizers_are_refused(tmp_path, tiny_settings, documented):
    with pytest.raises(GlossaError, match=r"bpe_dropout is 0\.1, but tokenizer_model is unigram") as error:
        parse_settings(tiny_settings(tmp_path / "run", bpe_dropout=0.1, tokenizer_model="unigram"))
    documented("Settings", error.value)
    with pytest.raises(GlossaError, match=r"bpe_dropout is 1\.0; it must be at least 0 and below 1") as error:
        parse_settings(tiny_settings(tmp_path / "run", bpe_dropout=1))
    documented("Settings", error.value)
    unigram = train_tokenizer(CORPUS, 60, options=TokenizerArguments(tokenizer_model="unigram"))
    with pytest.raises(GlossaError, match="the tokenizer is Unigram") as error:
        BpeDropout(unigram.backend_tokenizer, 0.1)
    documented("Settings", error.value)


def test_a_run_with_bpe_dropout_resumes_exactly(tmp_path, tiny_settings):
    changes = {
        "bpe_dropout": 0.5,
        "save_steps": 3,
        "eval_steps": 3,
        "vocab_size": 285,
        "load_best_model_at_end": False,
    }
    whole = train(parse_settings(tiny_settings(tmp_path / "whole", max_steps=8, **changes)))
    train(parse_settings(tiny_settings(tmp_path / "part", max_steps=3, **changes)))
    resumed = changes | {"resume_from_checkpoint": "true"}
    part = train(parse_settings(tiny_settings(tmp_path / "part", max_steps=8, **resumed)))
    plain = train(parse_settings(tiny_settings(tmp_path / "plain", max_steps=8, **changes | {"bpe_dropout": 0})))
    first, second, third = (load_file(run / "model.safetensors") for run in (whole, part, plain))
    assert all(first[name].equal(second[name]) for name in first)
    assert any(not first[name].equal(third[name]) for name in first)


def test_evaluation_has_no_dropout(tmp_path, tiny_settings):
    changes = {"vocab_size": 285, "learning_rate": 1e-30, "max_steps": 5}  # the weights stay as they were drawn
    losses = []
    for rate in (0.0, 0.5):
        run = train(parse_settings(tiny_settings(tmp_path / str(rate), bpe_dropout=rate, **changes)))
        losses += [entry["eval_loss"] for entry in RunFolder(run).history if "eval_loss" in entry]
    assert losses[0] == losses[1]
