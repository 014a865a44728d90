"""Scores of a translator on pairs, also against normalized references."""

import pytest
from datasets import Dataset

from glossa.cli.score import common
from glossa.data.arguments import TokenizerArguments
from glossa.data.vocabulary import train_tokenizer
from glossa.errors import GlossaError
from glossa.evaluation.scoring import score_table, score_translators
from glossa.inference.translator import Engine, Translation, Translator

PAIRS = Dataset.from_dict(
    {
        "source": ["One cat sees two dogs.", "One bird sees ten cats!", "One bird sees ten cats!"],
        "target": ["Une chatte voit deux chiens.", "Un oiseau voit dix chats !", "L'oiseau voit dix chats."],
    }
)


class Fixed(Engine):
    num_beams = 1

    def translate(self, sources, num_beams, num_return_sequences=1, scores=False, no_repeat_ngram_size=0):
        # The shortest source comes first, and both have as many tokens.
        texts = ["une chatte voit deux chiens", "un oiseau voit dix chats"]
        return [Translation(text) for text in texts[: len(sources)]]


def translator(normalization):
    options = TokenizerArguments(normalization=normalization, tokenizer_model="word", min_frequency=1)
    tokenizer = train_tokenizer([[*PAIRS["source"], *PAIRS["target"]]], 40, 60, options)
    return Translator(Fixed(), tokenizer)


def test_references_are_normalized_as_the_tokenizer_does():
    results = score_translators([translator(["lowercase", "strip_punctuation"])], PAIRS, n_bootstrap=0)
    assert list(results) == ["greedy", "greedy, normalized references"]
    cased, normalized = (found["scores"]["single"]["bleu"]["score"] for found in results.values())
    assert cased < 60 and normalized == pytest.approx(100)
    assert "100.00" in score_table(results) and "[" not in score_table(results)  # no resamples, no intervals
    with_intervals = score_translators([translator(["lowercase", "strip_punctuation"])], PAIRS, n_bootstrap=5)
    assert "greedy, normalized references" in score_table(with_intervals)


def test_references_of_other_models_stay_as_they_are():
    (result,) = score_translators([translator([])], PAIRS, n_bootstrap=0).values()
    assert result["sources"] == ["One cat sees two dogs.", "One bird sees ten cats!"]
    assert result["references"][1] == ["Un oiseau voit dix chats !", "L'oiseau voit dix chats."]
    assert result["implausible"] == {}
    assert result["length"] == round((27 + 24) / (28 + 26), 4)


def test_sources_that_cannot_be_translated_are_counted_and_left_out(caplog, documented):
    model = translator([])
    model.split_sentences = False
    model.tokenizer.model_max_length = 20
    pairs = Dataset.from_dict({"source": ["word " * 50, *PAIRS["source"]], "target": ["le " * 50, *PAIRS["target"]]})
    (result,) = score_translators([model], pairs, n_bootstrap=0).values()
    assert result["sources"] == ["One cat sees two dogs.", "One bird sees ten cats!"]
    assert len(result["references"]) == len(result["translations"]) == 2
    assert "1 of 3 sources are too long and left out." in caplog.text
    with pytest.raises(GlossaError) as error:
        score_translators([model], pairs.select([0]), n_bootstrap=0)
    documented("Translating and scoring", error.value)


def test_models_are_compared_on_the_sources_that_both_can_translate(caplog):
    def result(*sources):
        translations = [f"translation of {source}" for source in sources]
        return {
            "sources": list(sources),
            "translations": translations,
            "references": [[text] for text in translations],
        }

    both = ["translation of a", "translation of b"]
    assert common(result("a", "b"), result("a", "b")) == (both, both, [[text] for text in both])
    assert not caplog.messages
    baseline, own, references = common(result("b", "c", "d"), result("a", "b", "d"))
    assert baseline == own == ["translation of b", "translation of d"] and references == [[text] for text in own]
    assert caplog.messages == ["The models are compared on the 2 sources that both can translate."]
    with pytest.raises(GlossaError, match="No source is short enough for both models"):
        common(result("a"), result("b"))
