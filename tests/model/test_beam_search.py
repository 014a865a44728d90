"""When beam search goes on, with values worked out by hand."""

import pytest
import torch
from transformers import GenerationConfig

from glossa.model.generation_glossa import _BeamSearch

PAD, EOS, START = 0, 1, 2


@pytest.mark.parametrize(
    ("early_stopping", "length_penalty", "worst", "improves"),
    [
        # A running hypothesis of 3 tokens and log-probability -3; it may still grow to 9 tokens.
        ("never", 1.0, -0.5, True),  # -3 / 9 = -1/3 at its longest
        (False, 1.0, -0.5, False),  # -3 / 3 = -1 as it is
        ("never", -1.0, -20.0, True),  # -3 x 3 = -9: with a penalty below 0 it is best as it is
        ("never", -1.0, -8.0, False),
        ("never", 0.0, -4.0, True),
        ("never", 0.0, -2.0, False),
        (True, 1.0, -20.0, False),  # enough hypotheses are finished
        (True, 1.0, -1e9, True),
    ],
)
def test_when_a_search_can_improve_by_hand(early_stopping, length_penalty, worst, improves):
    config = GenerationConfig(num_beams=2, max_length=10, early_stopping=early_stopping, length_penalty=length_penalty)
    config.eos_token_id, config.pad_token_id = EOS, PAD
    search = _BeamSearch(torch.tensor([[START], [START]]), config)
    search.running_sequences = torch.tensor([[[START, 5, 6, 7], [START, 5, 6, 8]]])
    search.running_scores = torch.tensor([[-3.0, -4.0]])
    search.finished_scores = torch.tensor([[max(worst, -0.1), worst]])
    assert search.can_improve().tolist() == [improves]
