"""The translator: order, blank lines, batches, n-best lists, scores and long lines."""

import pytest
import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.data.vocabulary import train_tokenizer
from glossa.errors import GlossaError
from glossa.inference.translator import Translator
from glossa.pipeline_glossa import clean_text, split_text

TEXT = [
    f"The {noun} {verb} a {other}."
    for noun in ("cat", "dog")
    for verb in ("sees", "eats")
    for other in ("mouse", "bird")
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([TEXT * 3], vocab_size=280, max_length=40)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(11)
    config = GlossaConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        initialization="normal",
        init_std=0.4,
    )
    return GlossaForConditionalGeneration(config).eval()


SENTENCES = ["The dog eats a bird.", "cat", "", "The cat sees a mouse, and the dog sees a bird.", "   ", "A"]


def test_one_translation_per_line_in_order(model, tokenizer):
    together = Translator(model, tokenizer, num_beams=2).best(SENTENCES)
    one_by_one = [Translator(model, tokenizer, num_beams=2).best([sentence])[0] for sentence in SENTENCES]
    assert together == one_by_one
    assert len(set(together)) > 3, "translations must differ for the order to be tested"


def test_batch_size_does_not_change_translations(model, tokenizer):
    assert Translator(model, tokenizer, batch_tokens=1).best(SENTENCES) == Translator(model, tokenizer).best(SENTENCES)


def test_blank_lines_have_blank_translations(model, tokenizer):
    results = Translator(model, tokenizer, num_beams=3, num_return_sequences=3).translate(SENTENCES)
    assert [len(translations) for translations in results] == [3] * len(SENTENCES)
    assert [t.text for t in results[2] + results[4]] == [""] * 6


def test_scores_are_log_probabilities_best_first(model, tokenizer):
    sentence = SENTENCES[0]
    translator = Translator(model, tokenizer, num_beams=1, scores=True)
    translation = translator.translate([sentence])[0][0]
    source = tokenizer([sentence], return_tensors="pt")
    output = model.generate(**source, num_beams=1, max_new_tokens=2 * source.input_ids.shape[1] + 50)
    with torch.no_grad():
        log_probabilities = model(**source, decoder_input_ids=output[:, :-1]).logits.log_softmax(-1)
    by_forward_pass = log_probabilities.gather(-1, output[:, 1:, None]).sum().item()
    assert translation.score == pytest.approx(by_forward_pass, abs=1e-3)

    nbest = Translator(model, tokenizer, num_beams=4, num_return_sequences=4, scores=True).translate([sentence])[0]
    assert all(translation.score < 0 for translation in nbest)
    assert len({translation.text for translation in nbest}) > 1


def test_lines_before_a_too_long_line_are_translated(model, tokenizer):
    lines = ["cat", "dog", "The cat sees. " * 50, "bird"]
    done = []
    with pytest.raises(GlossaError, match=r"Line 3: .* tokens; the model takes 40"):
        for translations in Translator(model, tokenizer).stream(lines):
            done.append(translations)
    assert len(done) == 2


def test_long_input_is_read_in_chunks(model, tokenizer):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield "cat"

    stream = Translator(model, tokenizer).stream(endless(), chunk=5)
    first = next(stream)
    assert len(taken) == 5
    assert first[0].text == Translator(model, tokenizer).best(["cat"])[0]


def test_more_translations_than_beams_are_refused(model, tokenizer):
    with pytest.raises(GlossaError, match=r"num_return_sequences is 3 and num_beams 2"):
        Translator(model, tokenizer, num_beams=2, num_return_sequences=3)


def test_every_sentence_of_a_line_is_translated(model, tokenizer):
    one, two = "The cat sees a mouse.", "The dog eats a bird."
    found = Translator(model, tokenizer, split_sentences=True).best([f"{one}  {two}", one, "", two])
    first, second = Translator(model, tokenizer).best([one, two])
    assert found == [f"{first}  {second}", first, "", second]


def test_n_best_of_a_line_joins_ranks_and_adds_scores(model, tokenizer):
    one, two = "The cat sees a mouse.", "The dog eats a bird."
    settings = {"num_beams": 3, "num_return_sequences": 2, "scores": True}
    (found,) = Translator(model, tokenizer, split_sentences=True, **settings).translate([f"{one} {two}"])
    first, second = Translator(model, tokenizer, **settings).translate([one, two])
    assert [one.text for one in found] == [f"{a.text} {b.text}" for a, b in zip(first, second, strict=True)]
    assert [one.score for one in found] == pytest.approx(
        [a.score + b.score for a, b in zip(first, second, strict=True)]
    )


def test_a_line_beyond_the_model_is_cut_and_translated_whole(model, tokenizer):
    line = "The cat sees a mouse, " * 30
    (found,) = Translator(model, tokenizer, split_sentences=True).best([line])
    pieces, between = split_text(clean_text(line), lambda text: len(tokenizer(text)["input_ids"]) <= 40)
    expected = Translator(model, tokenizer).best(pieces)
    assert len(pieces) > 5 and found == "".join(a + b for a, b in zip(expected, between, strict=True))
