"""Scores compared with sacreBLEU's corpus functions and with values by hand."""

import math

import pytest
import sacrebleu
from refusals import refused

from glossa.base.metrics import bleu_tokenizer, paired_bootstrap, score
from glossa.train.evaluation.translation_metric import TranslationMetric

HYPOTHESES = ["the cat sat on the mat", "there is a dog here", "hello world"]
REFERENCES = [
    ["the cat sat on a mat", "the cat sat on the mat"], ["there is a dog there"],
    ["hello world", "hi world", "hello everyone"],
]  # fmt: skip


def test_scores_by_hand():
    # One sentence, one reference: 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 fours; no brevity penalty.
    result = score(["the cat sat on the mat"], [["the cat sat on a mat"]])
    by_hand = 100 * math.exp((math.log(5 / 6) + math.log(3 / 5) + math.log(2 / 4) + math.log(1 / 3)) / 4)
    assert result["bleu"]["score"] == pytest.approx(by_hand)
    assert result["ter"]["score"] == pytest.approx(100 / 6)  # one substitution in six reference words


def test_text_that_is_already_tokenized_is_warned_of_unless_it_should_be(caplog):
    sentences = ["a b c d ."] * 101
    assert score(sentences, [[text] for text in sentences], tokenize="none")["bleu"]["score"] == pytest.approx(100)
    assert not caplog.records
    score(sentences, [[text] for text in sentences])
    assert "forgot to detokenize" in caplog.text


def test_single_uses_the_first_reference_and_multi_all_of_them():
    result = TranslationMetric().compute(predictions=HYPOTHESES, references=REFERENCES)
    first = [[refs[0] for refs in REFERENCES]]
    padded = [[refs[i] if i < len(refs) else None for refs in REFERENCES] for i in range(3)]
    assert result["single"]["bleu"]["score"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, first).score)
    assert result["multi"]["bleu"]["score"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, padded).score)
    assert result["multi"]["chrf"]["score"] == pytest.approx(
        sacrebleu.corpus_chrf(HYPOTHESES, padded, word_order=2).score
    )
    assert result["multi"]["bleu"]["score"] > result["single"]["bleu"]["score"]


def test_signatures_describe_the_scores():
    result = TranslationMetric().compute(predictions=HYPOTHESES, references=REFERENCES)
    assert result["single"]["bleu"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert result["multi"]["bleu"]["signature"].startswith("nrefs:var|")
    assert "nw:2" in result["single"]["chrf"]["signature"]


def test_the_interval_contains_the_score_and_narrows_with_more_sentences():
    few = score(HYPOTHESES * 5, [refs[:1] for refs in REFERENCES] * 5, n_bootstrap=200)["bleu"]
    many = score(HYPOTHESES * 80, [refs[:1] for refs in REFERENCES] * 80, n_bootstrap=200)["bleu"]
    assert few["low"] < few["score"] < few["high"]
    assert many["high"] - many["low"] < few["high"] - few["low"]


def test_paired_bootstrap_detects_only_real_differences():
    references = [[refs[0]] for refs in REFERENCES] * 30
    good, bad = [refs[0] for refs in references], ["the dog" for _ in references]
    different = paired_bootstrap(bad, good, references, n_samples=200)["bleu"]
    assert different["system"] == pytest.approx(100)
    assert different["baseline"] == pytest.approx(score(bad, references)["bleu"]["score"])
    assert different["p_value"] < 0.05
    half = [g if i % 2 else b for i, (g, b) in enumerate(zip(good, bad, strict=True))]
    other_half = [b if i % 2 else g for i, (g, b) in enumerate(zip(good, bad, strict=True))]
    assert paired_bootstrap(half, other_half, references, n_samples=200)["ter"]["p_value"] > 0.05
    equal = paired_bootstrap(half, half, references, n_samples=20)
    assert [found["p_value"] for found in equal.values()] == [1.0, 1.0, 1.0]


def test_the_paired_test_draws_a_thousand_samples():
    # No sample is as different by chance: p is (0 + 1) / (samples + 1).
    result = paired_bootstrap(["the dog"] * 9, ["a cat sat here"] * 9, [["a cat sat here"]] * 9)
    assert result["bleu"]["p_value"] == pytest.approx(1 / 1001)


def test_scores_of_zero_have_an_interval():
    result = score(["x"] * 8, [["a b c d e"]] * 8, n_bootstrap=20)
    assert result["bleu"]["score"] == result["bleu"]["low"] == result["bleu"]["high"] == 0


def test_the_score_is_the_same_with_and_without_an_interval():
    plain = score(HYPOTHESES, REFERENCES)
    resampled = score(HYPOTHESES, REFERENCES, n_bootstrap=10)
    for name in ("bleu", "chrf", "ter"):
        assert resampled[name]["score"] == pytest.approx(plain[name]["score"])
        assert resampled[name].keys() - plain[name].keys() == {"low", "high"}
    assert "|bs:10|seed:12345|" in resampled["bleu"]["signature"]


THAI = ["วันนี้อากาศดีมาก", "เขาสอนวิชาเคมี", "ฉันคิดว่าแพงเกินไป"]


def test_a_perfect_thai_system_has_a_bleu_of_100():
    references = [[sentence] for sentence in THAI]
    assert score(THAI, references)["bleu"]["score"] == 0, "13a sees one word per sentence"
    result = score(THAI, references, tokenize=bleu_tokenizer("th"))["bleu"]
    assert result["score"] == pytest.approx(100) and "tok:char" in result["signature"]


@pytest.mark.parametrize(
    ("language", "expected"),
    [("fr", "13a"), ("", "13a"), ("zh-CN", "zh"), ("zho", "zh"), ("yue", "zh"), ("TH", "char")]
    + [(language, "char") for language in ("lo", "km", "my", "bo", "dz")],
)
def test_the_tokenizer_follows_the_target_language(language, expected):
    assert bleu_tokenizer(language) == expected
    assert bleu_tokenizer(language, "intl") == "intl"


def test_chinese_words_count():
    # 13a sees one word; by character, 4 of 5 unigrams, 3 of 4 pairs, 2 of 3 triples and 1 of 2 fours match.
    result = score(["我爱北京城"], [["我爱北京市"]], tokenize=bleu_tokenizer("zh"))
    by_hand = 100 * math.exp((math.log(4 / 5) + math.log(3 / 4) + math.log(2 / 3) + math.log(1 / 2)) / 4)
    assert result["bleu"]["score"] == pytest.approx(by_hand)


JAPANESE, KOREAN = "今日は天気がとてもいいですね。", "오늘은 날씨가 아주 좋네요."


@pytest.mark.parametrize(("language", "sentence"), [("ja", JAPANESE), ("ko", KOREAN)], ids=["ja", "ko"])
def test_japanese_and_korean_need_their_library(language, sentence, monkeypatch):
    name = bleu_tokenizer(language)
    assert score([sentence], [[sentence]], tokenize=name)["bleu"]["score"] == pytest.approx(100)
    monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{language}_mecab.MeCab", None, raising=False)
    monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{language}_mecab.mecab_ko", None, raising=False)
    refused(r"pip install 'glossa-mt\[mecab\]'", bleu_tokenizer, language)


@pytest.mark.parametrize(
    ("language", "translation", "reference", "errors"),
    [
        ("ja", "すしをたべた", "すしをたべる", 100 / 6),  # one of six kana
        ("zh", "我爱北京城", "我爱北京市", 100 / 5),
        ("ko", "나는 학교에 간다", "나는 학교에 갔다", 100 / 7),  # one of seven syllables; spaces do not count
        ("th", "แมวดำ", "แมวดี", 100 / 5),
        ("fr", "le chat noir", "le chat blanc", 100 / 3),  # words
    ],
)
def test_ter_compares_characters_where_words_are_not_separated(language, translation, reference, errors):
    found = score([translation], [[reference]], tokenize=bleu_tokenizer(language))["ter"]
    assert found["score"] == pytest.approx(errors)
    assert f"tok:{'tercom' if language == 'fr' else 'char'}" in found["signature"]


def test_an_unknown_tokenizer_is_refused_by_name():
    refused(r"bleu_tokenizer is 13b, which sacreBLEU .*Did you mean 13a\?", bleu_tokenizer, "de", "13b")
    refused(r"is nosuch, .* Allowed are auto, 13a, char, ", bleu_tokenizer, "de", "nosuch")
