"""Constrained search against all sequences of a small vocabulary, and by hand."""

import itertools
import re
from copy import deepcopy

import pytest
import torch
from small_models import build
from transformers import DynamicCache, EncoderDecoderCache

from glossa.translate.search.constrained import ConstrainedSearch, Settings
from glossa.translate.search.constraints import Constraints, Forbidden, TermTokens, Vocabulary

PAD, END, START = 0, 1, 2
TEXTS = [" p", "", " s", " a", " b", "c", " A"]  # "c" goes on with the word before it
VOCABULARY = Vocabulary(TEXTS)
WORDS = [token for token in range(len(TEXTS)) if token != END]
LIMIT = 4
MANY = 60  # translations that are compared
SOURCE, MASK = torch.tensor([[9, 8, 7, END]]), torch.ones(1, 4, dtype=torch.long)


@pytest.fixture(scope="module")
def model():
    return build(decoder_vocab_size=len(TEXTS), share_encoder_decoder_embeddings=False)


def text_of(tokens):
    return "".join(TEXTS[token] for token in tokens)


@pytest.fixture(scope="module")
def everything(model):
    """(log-probability, tokens) of all translations: those that end, and those that are cut."""
    batches = [[(*tokens, END) for tokens in itertools.product(WORDS, repeat=length)] for length in range(LIMIT)]
    batches.append(list(itertools.product(WORDS, repeat=LIMIT)))
    found = []
    for batch in batches:
        labels = torch.tensor(batch)
        inputs = torch.cat([torch.full((len(batch), 1), START), labels[:, :-1]], dim=1)
        source, mask = SOURCE.expand(len(batch), -1), MASK.expand(len(batch), -1)
        with torch.no_grad():
            logits = model(input_ids=source, attention_mask=mask, decoder_input_ids=inputs).logits
        log_probs = logits.double().log_softmax(-1).gather(-1, labels[..., None])  # [batch, length, 1]
        found += zip(log_probs.sum((1, 2)).tolist(), batch, strict=True)
    return found


def search(model, *constraints, beams, wanted=MANY, penalty=1.0):
    """The translations that the search finds for the source with each of the constraints."""
    rows = len(constraints)
    running = ConstrainedSearch(constraints, [LIMIT] * rows, Settings(beams, wanted, START, [END], PAD, penalty))
    source, mask = SOURCE.expand(rows, -1), MASK.expand(rows, -1)
    with torch.no_grad():
        states = model.get_encoder()(input_ids=source, attention_mask=mask)
        cache = EncoderDecoderCache(*(DynamicCache(config=model.config) for _ in range(2)))
        return model._search(running, running.next_tokens, None, states, mask, past_key_values=cache)


def term(*forms, first=None):
    return TermTokens(forms, forms if first is None else first)


CASES = {
    "nothing": ({}, r""),
    "one token": ({"terms": [term((4,))]}, r"(?= b\b).*|.* b(?!\w)"),
    "a word of two tokens": ({"terms": [term((3, 5))]}, r".* ac(?!\w)"),
    "not inside of a longer word": ({"terms": [term((3,))]}, r".* a(?!\w)"),
    "two words": ({"terms": [term((4, 3))]}, r".* b a(?!\w)"),
    "one of two forms": ({"terms": [term((3, 5), (4, 5, 5))]}, r".*( ac(?!\w)| bcc(?!\w))"),
    "two terms": ({"terms": [term((4,)), term((3, 5))]}, r"(?=.* b(?!\w))(?=.* ac(?!\w))"),
    "terms that overlap": ({"terms": [term((4, 3)), term((3, 4))]}, r"(?=.* b a(?!\w))(?=.* a b(?!\w))"),
    "another form at the beginning": ({"terms": [term((3, 4), first=((6, 4),))]}, r" A b(?!\w)|.+ a b(?!\w)"),
    "a beginning": ({"prefix": [4, 5]}, r" bc"),
    "a token once, and another one never": ({"terms": [term((4,))], "once": [3, 4]}, r"(?!.* a)(?!.* b.* b).* b"),
    "two tokens once": ({"terms": [term((3,)), term((4,))], "once": [3, 4]}, r"(?!.* ([ab]).* \1)(?=.* a)(?=.* b)"),
    "a beginning and a term": ({"prefix": [4], "terms": [term((3,))]}, r" b.* a(?!\w)"),
}


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("name", CASES)
def test_the_best_of_all_translations_with_what_is_asked_for(model, everything, name, penalty):
    given, pattern = CASES[name]
    fitting = [
        (score / len(tokens) ** penalty, tokens) for score, tokens in everything if re.match(pattern, text_of(tokens))
    ]
    expected = sorted(fitting, reverse=True)[:MANY]
    (found,) = search(model, Constraints(VOCABULARY, **given), beams=300, penalty=penalty)
    found = [one for one in found if not one.lacking]
    assert [one.tokens for one in found] == [tokens for _, tokens in expected]
    assert [one.worth for one in found] == pytest.approx([worth for worth, _ in expected], abs=1e-4)


@pytest.mark.parametrize("usual", [1, 2, 3])
def test_more_words_than_usual_are_no_gain(model, everything, usual):
    constraints = Constraints(VOCABULARY, [term((4,))], usual_length=usual)
    fitting = [(score, tokens) for score, tokens in everything if re.match(r".* b(?!\w)", text_of(tokens))]
    expected = sorted(((score / min(len(tokens), usual), tokens) for score, tokens in fitting), reverse=True)
    (found,) = search(model, constraints, beams=300)
    assert [one.tokens for one in found] == [tokens for _, tokens in expected[:MANY]]


def test_a_term_does_not_break_off_a_word():
    running = ConstrainedSearch([Constraints(VOCABULARY, [term((4,))])], [LIMIT], Settings(4, 1, START, [END], PAD))
    chances = torch.full((4, len(TEXTS)), 1e-6)
    chances[:, 3] = 0.9
    running.advance(chances.log())
    begun = [each.tokens for each in running.open[0].running]
    assert (3,) in begun and (4,) in begun, "at the beginning there is no word"
    for share, expected in ((0.89, True), (0.95, False)):
        other = deepcopy(running)
        chances = torch.full((4, len(TEXTS)), 1e-6)
        chances[:, 5], chances[:, 4] = share, 1 - share
        other.advance(chances.log())
        assert ((3, 4) in [each.tokens for each in other.open[0].running]) is expected


def test_a_sentence_does_not_end_without_its_terms(model):
    texts = [*TEXTS[:3], ".", *TEXTS[4:]]
    constraints = Constraints(Vocabulary(texts), [term((4,))])
    (found,) = search(model, constraints, beams=300, wanted=500)
    assert all(3 not in one.tokens or one.tokens.index(4) < one.tokens.index(3) for one in found if not one.lacking)
    assert any(3 in one.tokens for one in found)


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (["a"], r"(?i) a(?!\w)"),  # small letters forbid capitals too
        (["A"], r" A(?!\w)"),
        (["ac"], r"(?i) ac(?!\w)"),
        (["b a", "bc"], r"(?i) (b a|bc)(?!\w)"),
    ],
)
def test_the_best_of_all_translations_without_what_is_forbidden(model, everything, words, pattern):
    constraints = Constraints(VOCABULARY, forbidden=Forbidden(VOCABULARY, words))
    fitting = [
        (score / len(tokens), tokens)
        for score, tokens in everything
        if not any(re.search(pattern, text_of(tokens[:length])) for length in range(LIMIT + 1))
    ]
    (found,) = search(model, constraints, beams=300)
    assert [one.tokens for one in found] == [tokens for _, tokens in sorted(fitting, reverse=True)[:MANY]]


@pytest.mark.parametrize("beams", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_few_beams_meet_constraints_too(model, name, beams):
    given, pattern = CASES[name]
    (found,) = search(model, Constraints(VOCABULARY, **given), beams=beams, wanted=1)
    assert re.match(pattern, text_of(found[0].tokens))


def test_a_term_longer_than_the_translation_may_be_is_not_met(model):
    (found,) = search(model, Constraints(VOCABULARY, [term((3, 4, 3, 4, 3))]), beams=8)
    assert found and all(one.lacking for one in found)


def test_sources_of_a_batch_are_searched_as_if_alone(model):
    one, other = (Constraints(VOCABULARY, [term(form)]) for form in ((4,), (3, 5)))
    alone = [search(model, each, beams=4)[0] for each in (one, other)]
    together = search(model, one, other, beams=4)
    assert [[each.tokens for each in found] for found in together] == [
        [each.tokens for each in found] for found in alone
    ]


@pytest.mark.parametrize("beams", [2, 5])
def test_without_constraints_it_is_the_beam_search_of_generate(model, beams):
    expected = model.generate(
        SOURCE, attention_mask=MASK, num_beams=beams, max_new_tokens=LIMIT, num_return_sequences=beams,
        eos_token_id=END, pad_token_id=PAD, decoder_start_token_id=START, length_penalty=1.0,
    )  # fmt: skip
    (found,) = search(model, Constraints(VOCABULARY), beams=beams, wanted=beams)
    rows = [tuple(row[1 : row.index(END, 1) + 1] if END in row[1:] else row[1:]) for row in expected.tolist()]
    assert [one.tokens for one in found] == rows
