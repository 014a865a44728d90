"""Lists of several translations: what the pipeline asks of the search, and what fills a list that is too short."""

import pytest
from small_models import build, special, words
from transformers import PreTrainedTokenizerFast

from glossa import TranslationPipeline
from glossa.model.pipeline_glossa import LOWEST_SCORE


@pytest.fixture
def translate():
    return TranslationPipeline(build(), PreTrainedTokenizerFast(tokenizer_object=words(40), **special()))


@pytest.mark.parametrize("scores", [True, False])
def test_a_list_with_too_few_texts_is_filled_with_blanks(monkeypatch, scores):
    translate = TranslationPipeline(build(), PreTrainedTokenizerFast(tokenizer_object=words(40), **special()))
    beams = []

    def search(sources, num_beams, **settings):
        beams.append(num_beams)
        return [{"translation_text": "w7"} | ({"score": -1.5} if scores else {})] * num_beams

    monkeypatch.setattr(translate, "_search", search)
    (found,) = translate(["w5 w6"], num_beams=3, num_return_sequences=2, return_scores=scores)
    assert beams == [3, 12]
    assert [one["translation_text"] for one in found] == ["w7", ""]
    assert [one.get("score") for one in found] == ([-1.5, LOWEST_SCORE] if scores else [None, None])
