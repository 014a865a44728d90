"""Evaluation in pieces: the same sums and rows as in one batch, within a budget of tokens."""

import pytest
import torch

from glossa.train.pieces import join_batches, loss_sums, split_batch


def batch(lengths, generator):
    """Rows of random tokens above 3 with these lengths of source and target; padding is 0 and -100."""
    wide = [max(side) for side in zip(*lengths, strict=True)]
    ids, labels = torch.zeros(len(lengths), wide[0], dtype=torch.long), torch.full((len(lengths), wide[1]), -100)
    for row, (source, target) in enumerate(lengths):
        ids[row, :source] = torch.randint(4, 30, (source,), generator=generator)
        labels[row, :target] = torch.randint(4, 30, (target,), generator=generator)
    shifted = torch.cat([torch.full((len(lengths), 1), 2), labels[:, :-1]], 1).clamp(min=0)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels, "decoder_input_ids": shifted}


LENGTHS = [(3, 2), (2, 9), (7, 7), (1, 1), (12, 3), (2, 2)]


def test_pieces_hold_all_rows_in_order_within_the_budget():
    whole = batch(LENGTHS, torch.Generator().manual_seed(0))
    parts = list(split_batch(whole, 0, 18))
    # Rows times the longest of both sides: 2 x 9, 1 x 7 (with the next two it were 3 x 12), 1 x 1 ...
    assert [tuple(part["input_ids"].shape) for part in parts] == [(2, 3), (2, 7), (1, 12), (1, 2)]
    assert [tuple(part["labels"].shape) for part in parts] == [(2, 9), (2, 7), (1, 3), (1, 2)]
    assert all(part["decoder_input_ids"].shape == part["labels"].shape for part in parts)
    assert torch.equal(join_batches([part["input_ids"] for part in parts], 0), whole["input_ids"])
    assert torch.equal(join_batches([part["labels"] for part in parts], -100), whole["labels"])


def test_labels_of_source_tokens_keep_their_places():
    """As when masked tokens are filled in: the last tokens of a row have no label."""
    ids = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0], [11, 12, 13, 0]])
    labels = torch.tensor([[-100, 6, -100, -100], [9, -100, -100, -100], [-100, -100, 13, -100]])
    parts = list(split_batch({"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}, 0, 6))
    assert [part["input_ids"].tolist() for part in parts] == [[[5, 6, 7, 8]], [[9, 10, 0], [11, 12, 13]]]
    assert all(part["labels"].shape == part["input_ids"].shape for part in parts)


def test_the_loss_of_pieces_is_that_of_the_batch(tiny_model):
    model = tiny_model(vocab_size=30)
    whole = batch(LENGTHS, torch.Generator().manual_seed(1))
    expected = model(**whole)
    tokens = sum(target for _, target in LENGTHS)
    right = (expected.logits.argmax(-1) == whole["labels"]).sum()
    sums = loss_sums(model, split_batch(whole, 0, 10))
    assert sums.tolist() == pytest.approx([expected.loss.item() * tokens, right.item(), tokens], rel=1e-9)
    assert sums.tolist() == pytest.approx(loss_sums(model, [whole]).tolist(), rel=1e-9)
