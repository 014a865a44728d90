"""Corruption: exact values by hand, invariants, and the distribution of random choices."""

from itertools import pairwise

import numpy
import pytest
import torch

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding import corruption
from glossa.train.data.encoding.corruption import (
    PretrainingCollator,
    corrupt_spans,
    count_noise,
    draw_replacements,
    draw_spans,
    mask_tokens,
    special_tokens,
)
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair

TEXTS = ["one two three four five six seven eight nine ten"] * 2
EOS = 1


def tokenizer_for(objective, max_length=64, **options):
    special = special_tokens(objective, max_length)
    return train_tokenizer(TEXTS, 280, options=TokenizerArguments(**options), added=AddedTokens(special))


def test_spans_are_replaced_by_sentinels():
    text = [10, 11, 12, 13, 14, 15, 16, 17]
    inputs, targets = corrupt_spans(text, [(1, 3), (6, 7)], sentinels=[4, 5, 6])
    assert inputs == [10, 4, 13, 14, 15, 5, 17]
    assert targets == [4, 11, 12, 5, 16]
    assert corrupt_spans(text[:2], [(0, 2)], [4]) == ([4], [4, 10, 11])
    with pytest.raises(ValueError):
        corrupt_spans(text, [(1, 3), (6, 7)], sentinels=[4])


@pytest.mark.parametrize(
    "length, noise, spans", [(1, 1, 1), (9, 1, 1), (10, 2, 1), (20, 3, 1), (30, 4, 1), (40, 6, 2), (100, 15, 5)]
)
def test_noise_is_15_percent_in_spans_of_three(length, noise, spans):
    """0.15 x 10 = 1.5 and 0.15 x 30 = 4.5 are rounded to even."""
    assert count_noise(length) == (noise, spans)


def test_spans_are_sorted_and_not_adjacent():
    generator = numpy.random.default_rng(0)
    for length in [*range(1, 60), 200, 511]:
        for _ in range(20):
            spans = draw_spans(length, generator)
            noise, count = count_noise(length)
            assert len(spans) == count and sum(end - start for start, end in spans) == noise
            flat = [-1, *(bound for span in spans for bound in span), length + 1]
            assert all(a < b for a, b in pairwise(flat)), "in order, not empty, not adjacent"


def test_spans_are_uniformly_distributed():
    """Two spans with six of 40 tokens: 5 pairs of sizes times C(35, 2) of positions are 2,975 equally likely draws."""
    generator = numpy.random.default_rng(0)
    draws = [tuple(draw_spans(40, generator)) for _ in range(20_000)]
    assert len(set(draws)) == pytest.approx(2975, abs=10)
    covered = numpy.zeros(40)
    for spans in draws:
        for start, end in spans:
            covered[start:end] += 1
    covered /= len(draws)
    assert covered.sum() == pytest.approx(6)
    # The first token is noise in 34 of the C(35, 2) pairs of positions, and so is the last.
    assert covered[[0, -1]] == pytest.approx(34 / 595, abs=0.005) and covered.max() < 0.18
    first = numpy.bincount([spans[0][1] - spans[0][0] for spans in draws], minlength=6)[1:] / len(draws)
    numpy.testing.assert_allclose(first, 0.2, atol=0.01)


def test_inputs_and_targets_restore_the_text():
    generator = numpy.random.default_rng(0)
    sentinels = list(range(100, 200))
    for length in (1, 2, 7, 50, 300):
        text = list(range(1000, 1000 + length))
        inputs, targets = corrupt_spans(text, draw_spans(length, generator), sentinels)
        spans, restored = {}, []
        for token in targets:
            if token in sentinels:
                spans[token] = current = []
            else:
                current.append(token)
        for token in inputs:
            restored += spans.pop(token, [token])
        assert restored == text and not spans
        assert [token for token in inputs if token in sentinels] == sentinels[: count_noise(length)[1]]


def test_masked_tokens_are_the_labels():
    assert mask_tokens([10, 11, 12, 13], {1: 5, 3: 13}) == ([10, 5, 12, 13], [-100, 11, -100, 13])


def test_masking_has_the_probabilities_of_the_paper():
    generator = numpy.random.default_rng(0)
    ordinary = numpy.ones(200, dtype=bool)
    ordinary[:10] = False
    text = generator.integers(10, 200, size=200).tolist()
    text[7] = 3
    chosen = numpy.zeros(200)
    kinds = {"mask": 0, "other": 0, "same": 0}
    drawn = set()
    for _ in range(2000):
        replacements = draw_replacements(text, 4, ordinary, generator)
        assert len(replacements) == 30 and replacements.keys() <= set(range(200)) - {7}
        for position, token in replacements.items():
            chosen[position] += 1
            kinds["mask" if token == 4 else "same" if token == text[position] else "other"] += 1
            drawn.add(token)
    shares = {kind: count / 60_000 for kind, count in kinds.items()}
    assert shares == pytest.approx({"mask": 0.8, "other": 0.1, "same": 0.1}, abs=0.01)
    assert drawn == {4, *range(10, 200)}, "any ordinary token, but no special token"
    assert chosen[7] == 0
    numpy.testing.assert_allclose(numpy.delete(chosen, 7) / 2000, 30 / 199, atol=0.04)


def test_a_text_of_unknown_words_has_nothing_to_mask():
    assert draw_replacements([3, 3], 4, numpy.arange(20) > 4, numpy.random.default_rng(0)) == {}


def test_a_batch_of_span_corruption():
    tokenizer = tokenizer_for("span_corruption")
    collator = PretrainingCollator("span_corruption", tokenizer, 64)
    sentinel = tokenizer.get_vocab()["<extra_id_0>"]
    texts = [[20, 21, 22, 23, 24, 25, 26, 27, 28, 29], [30, 31]]
    batch = collator([{"input_ids": ids} for ids in texts])
    assert batch["input_ids"].shape == (2, 10) and batch["labels"].shape == (2, 4)
    (start, end), *_ = [(i, i + 2) for i in range(9) if batch["labels"][0, 1:3].tolist() == texts[0][i : i + 2]]
    assert batch["input_ids"][0].tolist() == [*texts[0][:start], sentinel, *texts[0][end:], EOS]
    assert batch["labels"][0].tolist() == [sentinel, *texts[0][start:end], EOS]
    assert batch["input_ids"][1].tolist() in ([sentinel, 31, EOS] + [0] * 7, [30, sentinel, EOS] + [0] * 7)
    assert batch["attention_mask"][1].tolist() == [1] * 3 + [0] * 7
    assert batch["labels"][1].tolist() in ([sentinel, 30, EOS, -100], [sentinel, 31, EOS, -100])


def test_a_batch_of_masking():
    tokenizer = tokenizer_for("masked_lm", source_special_tokens="start_end")
    batch = PretrainingCollator("masked_lm", tokenizer, 64)([{"input_ids": list(range(20, 40))}, {"input_ids": [30]}])
    labels, inputs = batch["labels"], batch["input_ids"]
    assert inputs.shape == labels.shape == (2, 22)
    assert inputs[0, [0, -1]].tolist() == [2, EOS] and inputs[1, :3].tolist()[::2] == [2, EOS]
    assert (labels[0] != -100).sum() == 3 and labels[1].tolist() == [-100, 30] + [-100] * 20
    whole = torch.tensor([2, *range(20, 40), EOS])
    assert torch.where(labels[0] != -100, labels[0], inputs[0]).tolist() == whole.tolist()
    assert (labels[0] == whole)[labels[0] != -100].all()


def test_a_batch_of_causal_language_modeling():
    batch = PretrainingCollator("causal_lm", tokenizer_for("causal_lm"), 64)([{"input_ids": [20, 21]}])
    assert batch["labels"].tolist() == [[20, 21, EOS]]


def test_a_source_has_the_special_tokens_of_the_tokenizer():
    for setting, special in (("none", []), ("end", [EOS]), ("start_end", [2, EOS])):
        tokenizer = tokenizer_for("span_corruption", source_special_tokens=setting)
        row = PretrainingCollator("span_corruption", tokenizer, 64).corrupt([20])
        assert row["input_ids"] == [*special[:-1], 4, *special[-1:]] and row["labels"] == [4, 20, EOS]


def test_corruption_depends_only_on_text_epoch_and_seed():
    tokenizer, row, other = tokenizer_for("span_corruption"), {"input_ids": list(range(20, 60))}, {"input_ids": [20]}

    def first(collator, rows, epoch=0):
        collator.set_epoch(epoch)
        return collator(rows)["labels"][rows.index(row)].tolist()

    collator = PretrainingCollator("span_corruption", tokenizer, 64, seed=1)
    expected = first(collator, [row])
    torch.manual_seed(5)
    assert first(collator, [other, row]) == expected
    assert len({str(first(collator, [row], epoch)) for epoch in range(6)}) > 3
    assert first(collator, [row]) == expected
    assert first(PretrainingCollator("span_corruption", tokenizer, 64, seed=2), [row]) != expected
    places = {collator.corrupt(list(range(start, start + 40)))["input_ids"].index(4) for start in range(20, 30)}
    assert len(places) > 3, "texts of one length are corrupted at different positions"
    done = {"input_ids": [7], "labels": [8]}
    assert collator([done])["labels"].tolist() == [[8]], "corrupted rows stay unchanged"


def test_workers_of_a_data_loader_see_the_epoch():
    collator = PretrainingCollator("span_corruption", tokenizer_for("span_corruption"), 64)
    rows = [{"input_ids": list(range(20, 60))}]
    loader = torch.utils.data.DataLoader(rows, collate_fn=collator, num_workers=1, persistent_workers=True)
    seen = []
    for epoch in range(3):
        collator.set_epoch(epoch)
        seen += [batch["labels"].tolist() for batch in loader]
    collator.set_epoch(2)
    assert len({str(labels) for labels in seen}) > 1 and seen[2] == collator(rows)["labels"].tolist()


def test_special_tokens_of_each_objective():
    assert special_tokens("span_corruption", 40) == ["<extra_id_0>", "<extra_id_1>"]
    assert special_tokens("masked_lm", 40) == ["<mask>"] and special_tokens("causal_lm", 40) == []
    assert set(corruption.OBJECTIVES) == {"span_corruption", "masked_lm", "causal_lm"}


def test_an_unsuitable_tokenizer_is_refused():
    plain, short = tokenizer_for("causal_lm"), tokenizer_for("span_corruption", 40)
    with pytest.raises(GlossaError, match=r"the special tokens <extra_id_0> to <extra_id_2>; .* lacks <extra_id_2>"):
        PretrainingCollator("span_corruption", short, 64)
    PretrainingCollator("span_corruption", short, 40)
    with pytest.raises(GlossaError, match=r"takes the special token <mask>; .* lacks it"):
        PretrainingCollator("masked_lm", plain, 64)
    pair = train_tokenizer_pair(TEXTS, TEXTS, TokenizerArguments(vocab_size=280, target_vocab_size=270))
    with pytest.raises(GlossaError, match="separate vocabularies"):
        PretrainingCollator("causal_lm", pair, 64)
