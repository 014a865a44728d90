"""Placeholders as tokens: vocabularies and segments with them, and translations that lose them."""

import re

import pytest
from tokenizers import Tokenizer
from translating import Characters, Function

from glossa.model.profile_glossa import TextProfile
from glossa.model.segments_glossa import join_segments, model_texts, segment_text
from glossa.model.spans_glossa import MARK, SENTINELS, find_spans
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair
from glossa.translate.loading import load_tokenizer
from glossa.translate.texts.spans import MOVED
from glossa.translate.texts.tags import Part, take_tags
from glossa.translate.translator import Translator

ONE, TWO, THREE = SENTINELS[:3]
TEXTS = ["Open the file, then close it (or not).", "The old man sleeps.", "Die alten Hunde schlafen nicht."] * 30


def tokenizer_of(model: str, sides: int = 1, kept: str = SENTINELS):
    size = 300 if model == "bpe" else 80
    options = TokenizerArguments(
        tokenizer_model=model, vocab_size=size, target_vocab_size=size if sides == 2 else None
    )
    if sides == 2:
        return train_tokenizer_pair(TEXTS, TEXTS, options, added=AddedTokens(kept=kept))
    return train_tokenizer(TEXTS, size, options=options, exact=False, added=AddedTokens(kept=kept))


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("model", ["bpe", "unigram", "wordpiece", "word", "character"])
def test_sentinels_are_tokens_wherever_they_stand_and_come_back(model, sides, tmp_path):
    tokenizer_of(model, sides).save_pretrained(tmp_path)
    tokenizer = load_tokenizer(str(tmp_path))
    glued = [] if model in ("wordpiece", "word") else [f"the {ONE}{TWO}file"]  # they write spaces between words
    for text in (f"Open {TWO}, then close it ({ONE}).", f"{THREE} sleeps", "The old man sleeps.", *glued):
        ids = tokenizer(text_target=text)["input_ids"]
        tokens = getattr(tokenizer, "target_tokenizer", tokenizer.backend_tokenizer).encode(text).tokens
        assert [token for token in tokens if token in SENTINELS] == [letter for letter in text if letter in SENTINELS]
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_the_size_of_the_vocabulary_includes_them_and_other_texts_have_the_same_tokens():
    plain, own = (tokenizer_of("bpe", kept=kept) for kept in ("", SENTINELS))
    assert len(own) == len(plain) == 300
    large = train_tokenizer(TEXTS, 300 + len(SENTINELS), added=AddedTokens(kept=SENTINELS))
    for text in TEXTS[:3]:
        assert large.tokenize(text) == plain.tokenize(text)
    assert isinstance(own.backend_tokenizer, Tokenizer)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Save {name} in /etc/hosts.", f"Save {ONE} in {TWO}."),
        ("{0} and {0} weigh 5 km.", f"{ONE} and {TWO} weigh {THREE}."),
        ("Nothing is held.", "Nothing is held."),
        (f"Press {TWO} now.", f"Press {ONE} now."),  # as a text may have it
        (" ".join("%s" * 10) + " words.", " ".join("%s" * 10) + " words."),
    ],
)
def test_what_is_held_is_read_as_sentinels(text, read):
    segments = segment_text(text, TextProfile(keeps_placeholders=True), spans=find_spans(text))
    assert model_texts(segments) == [read]
    assert join_segments(segments, [read]) == text


def rule(function, learned=True):
    """An engine that has learned sentinels, if `learned`."""
    return Function(function, lower_capitals=True, mask_items=True, keeps_placeholders=learned)


def test_placeholders_are_sentinels_and_come_back_in_another_order():
    engine = rule(lambda text: " ".join(reversed(text.split())))
    (best,) = Translator(engine, Characters()).best(["Copy report.pdf or {a} to /tmp/x now"])
    assert engine.asked == [f"Copy {ONE} or {TWO} to {THREE} now"]
    assert best == "now /tmp/x to {a} or report.pdf Copy"


@pytest.mark.parametrize(
    ("source", "translation", "whole"),
    [
        ("See {a} now.", f"Voir{ONE}maintenant.", "Voir {a} maintenant."),
        ("{a} is new.", f"Voici{ONE}.", "Voici {a}."),
        ("Give {a} and {b}.", f"Donnez {ONE}{TWO}.", "Donnez {a} {b}."),
        ("Give {a}{b}.", f"Donnez {ONE}{TWO}.", "Donnez {a}{b}."),
        ("The file-{a} and v{b}x.", f"Le fichier{ONE} et v{TWO}x.", "Le fichier {a} et v{b}x."),
        ("See {a}.", f"見て{ONE}を。", "見て{a}を。"), ("See {a}.", f"{ONE}을 보세요.", "{a}을 보세요."),
        ("See ({a}).", f"Voir ({ONE}).", "Voir ({a})."),
    ],
)  # fmt: skip
def test_a_placeholder_stands_at_a_word_only_if_it_does_in_the_source(source, translation, whole):
    (segment,) = segment_text(source, TextProfile(mask_items=True, keeps_placeholders=True), spans=find_spans(source))
    assert join_segments([segment], [translation]) == whole


def test_capitals_of_a_sentence_do_not_reach_placeholders():
    engine = rule(str.lower)
    assert Translator(engine, Characters()).best(["SAVE {Name} AS report.pdf"]) == ["SAVE {Name} AS report.pdf"]
    assert engine.asked == [f"save {ONE} as {TWO}"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(ONE, ""), lambda text: text.replace(ONE, ONE + ONE),
        lambda text: text.replace(ONE, TWO), lambda text: f"{text} {THREE}",
    ],
)  # fmt: skip
def test_a_translation_without_exactly_its_sentinels_is_made_as_by_other_models(change):
    engine = rule(lambda text: change(text) if ONE in text else text)
    texts = ["Put {a} here, v1.2", "Nothing is held"]
    assert Translator(engine, Characters()).best(texts) == texts
    assert sorted(engine.asked) == sorted([f"Put {ONE} here, {TWO}", "Nothing is held", f"Put {MARK} here, v1.2"])
    other = rule(str, learned=False)
    Translator(other, Characters()).best(texts)
    assert set(other.asked) == {f"Put {MARK} here, v1.2", "Nothing is held"}


def in_a_document(function, text):
    engine = rule(function)
    translator = Translator(engine, Characters())
    (planned,) = translator.plan([take_tags([Part("text", 0, len(text), text)])])
    translator.translate_segments(planned.sentences)
    (pieces,) = translator.join_tagged([planned])
    return engine.asked, "".join(pieces), [sentence.best.problem for sentence in planned.sentences]


def test_placeholders_of_documents_are_sentinels_too():
    text = "Save {name} in /etc/hosts now. Or send 5 km away"
    asked, done, problems = in_a_document(lambda text: " ".join(reversed(text.split())), text)
    assert sorted(asked) == [f"Or send {ONE} away", f"Save {ONE} in {TWO} now."]
    assert done == "now. /etc/hosts in {name} Save away 5 km send Or" and problems == ["", ""]


def test_what_a_document_loses_as_sentinel_and_as_text_is_put_back_and_reported():
    """The translation has other words in another order, so no place is certain."""
    asked, done, problems = in_a_document(
        lambda text: " ".join(reversed(re.sub(f"{ONE}|/etc/hosts|{MARK}|Tom|Mary|Max|X", "", text).upper().split())),
        "Keep all of /etc/hosts as it was",
    )
    tried = [ONE, "/etc/hosts", "", "Tom", "Mary", "Max", "X"]
    assert asked == [" ".join(f"Keep all of {each} as it was".split()) for each in tried]
    assert done.count("/etc/hosts") == 1 and problems == [MOVED]
