"""Terms, beginnings and forbidden words in translations of the Python API."""

import re
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from small_models import build, knows, special, words
from transformers import PreTrainedTokenizerFast
from translating import Answers

from glossa.base.errors import GlossaError
from glossa.model.profile_glossa import TextProfile
from glossa.model.spans_glossa import SENTINELS
from glossa.translate.build import keeps_sentinels, torch_model
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Execution, Search, Translation
from glossa.translate.search.constrained import ConstrainedEngine
from glossa.translate.search.constraints import Constraints, TermTokens, Vocabulary, tokens_of
from glossa.translate.search.terms import Term, Terms, begins, count, summary
from glossa.translate.translator import Translator


@pytest.fixture(scope="module")
def tokenizer():
    return PreTrainedTokenizerFast(tokenizer_object=words(40), **special())


@pytest.fixture(scope="module")
def model():
    return build()


class Words:
    """A glossary of single words."""

    def __init__(self, **targets):
        self.targets = targets

    def find(self, text):
        found = [(each[0], each.span()) for each in re.finditer(r"\S+", text) if each[0] in self.targets]
        return [Term(word, self.targets[word], self.targets[word], (place,)) for word, place in found]

    def has(self, term, translation):
        return bool(set(term.targets) & set(translation.split()))


SOURCES = ["w5 w6 w7", "w8 w9", "w10 w5", ""]


def translator(model, tokenizer, glossary=None, forbidden=(), split_sentences=False, **search):
    terms = Terms(lambda: ConstrainedEngine(model, tokenizer), glossary, forbidden)
    search = Search(**{"num_beams": 3} | search)
    return Translator(model, tokenizer, search, terms=terms, execution=Execution(split_sentences=split_sentences))


def test_translations_get_their_terms_and_others_stay(model, tokenizer):
    plain = Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=False)).best(SOURCES)
    glossary = Words(w5=("w30", "w31"), w10=("w32",))
    found = [each[0] for each in translator(model, tokenizer, glossary).translate(SOURCES)]
    texts = [set(each.text.split()) for each in found]
    assert {"w30", "w31"} & texts[0] and {"w30", "w31"} & texts[2] and "w32" in texts[2]
    assert [found[1].text, found[3].text] == [plain[1], plain[3]]
    assert found[2].terms == (("w10", "w32", "placed"), ("w5", "w30 / w31", "placed")) and not found[1].terms
    assert count(found) == Counter(placed=3)


def test_what_the_first_search_finds_stays(model, tokenizer):
    plain = Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=False)).best(SOURCES[:1])

    def load():
        raise AssertionError("there is nothing to search again")

    terms = Terms(load, Words(w5=(plain[0].split()[0],)))
    ((found,),) = Translator(
        model, tokenizer, Search(3), execution=Execution(split_sentences=False), terms=terms
    ).translate(SOURCES[:1])
    assert found.text == plain[0] and found.terms[0][2] == "used"


def test_beginnings_of_translations(model, tokenizer):
    asked = translator(model, tokenizer, Words(w5=("w30",)))
    found = [each[0].text for each in asked.translate(SOURCES[:3], prefixes=["w20 w21", "", "w22"])]
    assert found[0].startswith("w20 w21") and found[2].startswith("w22") and "w30" in found[0] and "w30" in found[2]
    assert (
        found[1]
        == Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=False)).best(SOURCES[1:2])[0]
    )
    with pytest.raises(GlossaError, match="give the Translator `terms`"):
        Translator(model, tokenizer).translate(SOURCES[:1], prefixes=["w20"])


def test_equal_sentences_with_different_beginnings(model, tokenizer):
    asked = translator(model, tokenizer)
    found = [each[0].text for each in asked.translate(["w5 w6"] * 2, prefixes=["w20", "w21"])]
    assert found[0].startswith("w20") and found[1].startswith("w21")


def test_only_the_first_sentence_has_the_beginning(model, tokenizer):
    text = "w5 w6. W8 w9."
    terms = Terms(lambda: ConstrainedEngine(model, tokenizer))
    asked = Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=True), terms=terms)
    assert len(asked.plan([text])[0].sentences) == 2
    (((found),),) = asked.translate([text], prefixes=["w20"])
    assert found.text.startswith("w20")
    assert found.text.endswith(asked.best(["W8 w9."])[0])


def test_forbidden_words(model, tokenizer):
    plain = Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=False)).best(SOURCES[:1])[0]
    word = plain.split()[0]
    found = translator(model, tokenizer, forbidden=[word]).best(SOURCES[:1])[0]
    assert found and word not in found.split()


def test_several_translations_and_scores(model, tokenizer):
    asked = translator(model, tokenizer, Words(w5=("w30",)), num_return_sequences=3, scores=True)
    ((*found,),) = asked.translate(SOURCES[:1])
    assert len({each.text for each in found}) == 3 and all("w30" in each.text.split() for each in found)
    assert all(each.score < 0 for each in found)


def test_the_score_is_the_log_probability_of_the_model(model, tokenizer):
    engine = ConstrainedEngine(model, tokenizer)
    source = tokenizer(SOURCES[0])["input_ids"]
    constraints = Constraints(engine.vocabulary, [TermTokens(((30,),), ((30,),))])
    ((best, *_),) = engine.find([source], [constraints], 3, 3)
    inputs = torch.tensor([[2, *best.tokens[:-1]]])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0]
    expected = logits.log_softmax(-1)[range(len(best.tokens)), best.tokens].sum().item()
    assert best.score == pytest.approx(expected, abs=1e-3) and 30 in best.tokens


def test_a_term_that_the_vocabulary_cannot_write_is_reported(model, tokenizer):
    ((found,),) = translator(model, tokenizer, Words(w5=("Öl",))).translate(SOURCES[:1])
    assert found.terms == (("w5", "Öl", "missing"),)
    assert (
        found.text
        == Translator(model, tokenizer, Search(3), execution=Execution(split_sentences=False)).best(SOURCES[:1])[0]
    )
    assert found.problem


def test_the_engine_goes_on_with_the_other_sentences(model, tokenizer):
    engine = Answers("w11 w12")
    knows(engine, split_sentences=False)
    terms = Terms(lambda: ConstrainedEngine(model, tokenizer), Words(w5=("w30",)))
    found = Translator(engine, tokenizer, terms=terms).best(SOURCES[:2])
    assert "w30" in found[0].split() and found[1] == "w11 w12"


def test_a_term_of_the_first_search_stays_with_those_of_the_second(model, tokenizer):
    terms = Terms(lambda: ConstrainedEngine(model, tokenizer), Words(w5=("w30",), w6=("w31",)))
    found = terms.translate_again(["w5 w6"], [""], [[Translation("w30 w12")]], Search(1), 4096, None)
    assert {"w30", "w31"} <= set(found[0].translations[0].text.split())


def test_a_term_next_to_the_own_word_of_the_model_is_not_used():
    terms = Terms(lambda: None, Words(w5=("w30",)))
    states = []
    for text in ("w30 Katze", "w30 Hund.", "Katze"):
        translation = Translation(text)
        terms.describe("w5", "", translation, "Hund Katze", {"hund": {("w30",)}})
        states.append((translation.terms[0][2], bool(translation.problem)))
    assert states == [("placed", False), ("both", True), ("missing", True)]
    several, translation = Terms(lambda: None, Words(w5=("w30",), w6=("w31",))), Translation("w30 w31 Hund")
    several.describe("w5 w6", "", translation, "Hund", {"hund": {("w31",)}, "katze": {("w30",)}})
    assert [state for *_, state in translation.terms] == ["placed", "both"]


def test_a_model_of_another_family():
    from transformers import MarianConfig, MarianMTModel

    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    other = MarianMTModel(MarianConfig(vocab_size=20, pad_token_id=0, decoder_start_token_id=0, **sizes, **heads))
    with pytest.raises(GlossaError, match=r"a marian model\. Terms, beginnings and forbidden words need"):
        ConstrainedEngine(other, None)


def test_the_texts_of_tokens(tokenizer):
    from glossa.train.data.encoding.vocabulary import train_tokenizer

    trained = train_tokenizer([["The dog sees a cat.", "Dogs see cats."] * 5], vocab_size=275, max_length=40)
    vocabulary = Vocabulary.of(trained, len(trained))
    ids = tokens_of(trained, "dogs.")
    assert "".join(vocabulary.texts[token] for token in ids) == " dogs."
    assert vocabulary.texts[trained.eos_token_id] == ""
    assert [vocabulary.inside[token] for token in ids][:1] == [False]
    assert ids[-1] in vocabulary.ends and ids[0] not in vocabulary.ends
    assert all(vocabulary.inside[token] for token in ids[1:-1])


def test_words_for_the_user():
    assert summary(Counter(used=2, placed=1, missing=1)) == "4 terms found: 3 used (1 by a second search), 1 not used."
    assert summary(Counter(used=2, both=1)) == "3 terms found: 2 used, 1 next to the model's own word, 0 not used."
    assert begins("A  b c.", " A b ") and not begins("A c b", "A b") and begins("x", "")


def test_an_exported_folder_has_no_search_for_terms(tmp_path):
    (tmp_path / "model.bin").touch()
    with pytest.raises(GlossaError, match=r"is an exported model, and CTranslate2 has no search for terms"):
        torch_model([str(tmp_path)], None, None)


@pytest.fixture(scope="module")
def with_sentinels():
    """A model that keeps sentinels, and its tokenizer."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(40), **special())
    tokenizer.add_tokens(list(SENTINELS))
    return build(vocab_size=50, keeps_placeholders=True), tokenizer


@pytest.mark.parametrize("before", ["w12", f"w12 {SENTINELS[0]} {SENTINELS[0]} {SENTINELS[1]}", SENTINELS[::-1]])
def test_sentinels_are_searched_again_and_come_once_each_beside_terms(with_sentinels, before):
    model, tokenizer = with_sentinels
    one, two, _ = SENTINELS[:3]
    terms = Terms(lambda: ConstrainedEngine(model, tokenizer), Words(w5=("w30",)), sentinels=True)
    texts = [f"w5 {one} w6 {two}", f"w7 {one}", "w8 w9"]
    first = [[Translation(before)], [Translation(f"w12 {one}")], [Translation("w13")]]
    found = terms.translate_again(texts, [""] * 3, first, Search(1), 100, None)
    (((best,), own),) = found.values()
    assert list(found) == [0] and "w30" in best.text.split()
    assert sorted(filter(SENTINELS.__contains__, best.text)) == [one, two]
    for text, translation in zip(texts, [best, *first[1], *first[2]], strict=True) if before == "w12" else ():
        terms.describe(text, "", translation, before, own)
        assert not translation.problem and len(translation.terms) == ("w5" in text), "a sentinel is no term of anybody"


def test_translations_of_lines_keep_their_placeholders_by_the_second_search(with_sentinels):
    model, tokenizer = with_sentinels
    asked = []

    def load():
        asked.append(True)
        return ConstrainedEngine(model, tokenizer)

    text = "w5 {a} w6 v1.2"
    without, own = (
        Translator(model, tokenizer, execution=Execution(split_sentences=False), terms=terms).best([text])[0]
        for terms in (None, Terms(load, sentinels=True))
    )
    assert asked and without != own and own.count("{a}") == own.count("v1.2") == 1
    assert not set(SENTINELS) & set(own)


def test_a_model_that_knows_sentinels_gets_the_search_unless_it_is_exported_alone(with_sentinels, tmp_path):
    model, tokenizer = with_sentinels
    generates = GenerateEngine(model, tokenizer)
    assert keeps_sentinels(str(tmp_path), generates)
    assert not keeps_sentinels(str(tmp_path), GenerateEngine(build(vocab_size=50), tokenizer)), "only its tokenizer"
    exported = SimpleNamespace(profile=TextProfile(keeps_placeholders=True))
    assert keeps_sentinels(str(tmp_path), exported), "an export next to its run"
    (tmp_path / "model.bin").touch()
    assert not keeps_sentinels(str(tmp_path), exported)
