"""Lists of several translations: what the pipeline asks of the search, and what fills a list that is too short."""

import pytest
from small_models import build, special, words
from transformers import PreTrainedTokenizerFast

from glossa import TranslationPipeline
from glossa.model.pipeline_glossa import LOWEST_SCORE


@pytest.fixture
def translate():
    return TranslationPipeline(build(), PreTrainedTokenizerFast(tokenizer_object=words(40), **special()))


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"num_beams": 3}, [(3, None)]), ({"num_beams": 3, "num_return_sequences": 2}, [(3, 3)]),
        ({"num_beams": 1, "num_return_sequences": 2, "do_sample": True}, [(1, 2)]),
    ],
    ids=["best", "n-best", "samples"],
)  # fmt: skip
def test_only_n_best_lists_of_beam_search_ask_for_every_beam(translate, monkeypatch, settings, asked):
    found, generate = [], translate.model.generate

    def watched(**given):
        found.append((given["num_beams"], given.get("num_return_sequences")))
        return generate(**given)

    monkeypatch.setattr(translate.model, "generate", watched)
    translate(["w5 w6"], **settings)
    assert found == asked


@pytest.mark.parametrize("scores", [True, False])
def test_a_list_with_too_few_texts_is_filled_with_blanks(translate, monkeypatch, scores):
    beams = []

    def search(sources, num_beams, **settings):
        beams.append(num_beams)
        return [{"translation_text": "w7"} | ({"score": -1.5} if scores else {})] * num_beams

    monkeypatch.setattr(translate, "_search", search)
    (found,) = translate(["w5 w6"], num_beams=3, num_return_sequences=2, return_scores=scores)
    assert beams == [3, 12]
    assert [one["translation_text"] for one in found] == ["w7", ""]
    assert [one.get("score") for one in found] == ([-1.5, LOWEST_SCORE] if scores else [None, None])
