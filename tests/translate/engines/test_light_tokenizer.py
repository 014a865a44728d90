"""The tokenizer of an exported model without transformers: the same ids and texts as with it."""

import pytest
from small_models import special, words
from transformers import PreTrainedTokenizerFast

from glossa import GlossaTokenizer
from glossa.base.errors import GlossaError
from glossa.model.batches_glossa import encode_texts, fits
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair
from glossa.translate.engines.light_tokenizer import UNLIMITED, LightTokenizer
from glossa.translate.languages import Languages

TEXTS = [
    "The cat sleeps.", "Où est-ce qu’il l'a posé ?", "", "</s> is text, and so is <2de>", "ﬁ 42\u2009km <pad>", "日本",
]  # fmt: skip
KINDS = ("bpe", "unigram", "wordpiece", "word", "character")


def same(folder, tokenizer, texts=TEXTS):
    tokenizer.save_pretrained(folder)
    light = LightTokenizer(folder)
    ids = tokenizer(texts)["input_ids"]
    assert light(texts)["input_ids"] == ids and light(texts[0], verbose=False)["input_ids"] == ids[0]
    assert light.model_max_length == tokenizer.model_max_length
    assert [light.convert_ids_to_tokens(row) for row in ids] == [tokenizer.convert_ids_to_tokens(row) for row in ids]
    targets = [tokenizer(text_target=text)["input_ids"] for text in texts]
    assert [light(text_target=text)["input_ids"] for text in texts] == targets
    for skipped in (True, False):
        decoded = tokenizer.batch_decode(targets, skip_special_tokens=skipped)
        assert light.batch_decode(targets, skip_special_tokens=skipped) == decoded
    assert [fits(light, 8, text) for text in texts] == [fits(tokenizer, 8, text) for text in texts]
    assert Languages.of_tokenizer(light) == Languages.of_tokenizer(tokenizer)
    return light


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("specials", ["end", "start_end", "none"])
def test_one_vocabulary(tmp_path, kind, specials):
    options = TokenizerArguments(tokenizer_model=kind, source_special_tokens=specials, normalization=["nfkc"])
    light = same(tmp_path, train_tokenizer(TEXTS * 4, 290, 64, options, exact=False))
    assert light.model_max_length == 64 and light.target_languages == []
    assert encode_texts(light, ["  ", "cat"])[0] == []


def test_two_vocabularies(tmp_path):
    given = {"src_lang": "en", "tgt_lang": "fr"}
    targets = words(25, "v")
    light = same(
        tmp_path, GlossaTokenizer(tokenizer_object=words(40), target_tokenizer_object=targets, **special(), **given)
    )
    assert light(["w4"])["input_ids"] != [light(text_target="w4")["input_ids"]]
    assert light.batch_decode([[4, 5, 1]], skip_special_tokens=True) == ["v4 v5"]
    assert (light.src_lang, light.tgt_lang) == ("en", "fr")


def test_several_target_languages(tmp_path):
    tokenizer = train_tokenizer_pair(
        TEXTS * 4,
        TEXTS * 4,
        TokenizerArguments(vocab_size=290, target_vocab_size=280),
        64,
        AddedTokens(languages=["de", "fr"]),
    )
    tokenizer.tgt_lang = tokenizer.init_kwargs["tgt_lang"] = "fr"
    light = same(tmp_path, tokenizer)
    assert light.target_languages == ["de", "fr"] and light.tgt_lang == "fr"
    into = light.into("de")(TEXTS)["input_ids"]
    assert into == tokenizer.into("de")(TEXTS)["input_ids"] != light(TEXTS)["input_ids"]
    with pytest.raises(GlossaError, match="The target language is it; give one of de, fr"):
        light.into("it")(TEXTS)


def test_a_limit_that_is_not_said(tmp_path):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words(37), **special(length=None))
    tokenizer.save_pretrained(tmp_path)
    assert LightTokenizer(tmp_path).model_max_length >= UNLIMITED


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
def test_missing_and_damaged_files_are_named(tmp_path, file):
    PreTrainedTokenizerFast(tokenizer_object=words(37), **special()).save_pretrained(tmp_path)
    (tmp_path / file).write_text('{"version"')
    with pytest.raises(GlossaError, match=r"does not load: .*Export the model again"):
        LightTokenizer(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(GlossaError, match=file.replace(".", r"\.")):
        LightTokenizer(tmp_path)
