"""ROUGE, character and word error rate: by hand, and compared with the library's own function."""

import sys

import pytest

from glossa.base.errors import GlossaError
from glossa.cli import score as score_command
from glossa.train.evaluation.further_metrics import check_packages, choose_scores
from glossa.train.evaluation.scoring import distinct_kinds
from glossa.train.evaluation.translation_metric import TranslationMetric

TRANSLATIONS = ["the cat sat on the mat", "There is a dog here", "hello world"]
REFERENCES = [
    ["the cat sat on a mat", "the cat sat on the mat"], ["there is a dog there"],
    ["hello word", "hi all", "hello everyone"],
]  # fmt: skip


def results(translations=TRANSLATIONS, references=REFERENCES):
    scores = TranslationMetric().compute(predictions=translations, references=references)
    return {"greedy": {"translations": translations, "references": references, "scores": scores, "num_beams": 1}}


def chosen(*metrics, n_bootstrap=0, tokenize="13a", **texts):
    return choose_scores(results(**texts), metrics, tokenize, n_bootstrap)["greedy"]["scores"]


@pytest.fixture
def jiwer():
    return pytest.importorskip("jiwer", reason="CER and WER need jiwer: pip install -e .[metrics]")


@pytest.fixture
def rouge():
    return pytest.importorskip("rouge_score.rouge_scorer", reason="ROUGE needs rouge-score: pip install -e .[metrics]")


def test_error_rates_by_hand(jiwer):
    scores = chosen("cer", "wer")
    # Words: the -> a; There -> there and here -> there; world -> word. 4 of 6 + 5 + 2.
    assert scores["single"]["wer"]["score"] == pytest.approx(100 * 4 / 13)
    # Of all references: the first sentence has none wrong, the others are nearest to their first reference.
    assert scores["multi"]["wer"]["score"] == pytest.approx(100 * 3 / 13)
    # Characters: "the" -> "a" takes 3; T -> t 1; "here" -> "there" 1; the l of "world" 1. 6 of 20 + 20 + 10.
    assert scores["single"]["cer"]["score"] == pytest.approx(100 * 6 / 50)
    assert scores["single"]["cer"]["signature"].startswith("nrefs:1|case:mixed|jiwer:")
    assert scores["multi"]["wer"]["signature"].startswith("nrefs:var|")


def test_words_end_at_any_white_space(jiwer):
    scores = chosen("wer", translations=["q", "Ça va\u00a0?"], references=[["A\u00a0B\u202fC\u00a0D"], ["Ça va ?"]])
    assert scores["single"]["wer"]["score"] == pytest.approx(100 * 4 / 7)  # all four words of the first, no other


def test_marks_are_parts_of_words(rouge):
    scores = chosen("rouge", translations=["मैं पानी पिता है"], references=[["मैं पानी पीता हूँ"]])["single"]
    assert scores["rouge1"]["score"] == pytest.approx(50)  # two words of four; their letters without vowels are equal


def test_empty_texts_count(jiwer):
    scores = chosen("cer", "wer", translations=["", "a b"], references=[["one two"], [""]])["single"]
    assert scores["wer"]["score"] == 100 * (2 + 2) / 2 and scores["cer"]["score"] == pytest.approx(100 * (7 + 3) / 7)


def test_rouge_by_hand(rouge):
    scores = chosen("rouge", translations=["A big cat, sleeping"], references=[["the cat is sleeping", "a small cat"]])
    # Against the first: "cat" and "sleeping" of 4 and 4 words. Against the second: "a" and "cat" of 4 and 3.
    assert scores["single"]["rouge1"]["score"] == scores["single"]["rougeL"]["score"] == 50
    assert scores["multi"]["rouge1"]["score"] == pytest.approx(100 * 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))
    assert scores["single"]["rouge2"]["score"] == 0


def test_rouge_is_that_of_the_library_for_english(rouge):
    scorer = rouge.RougeScorer(["rouge1", "rouge2", "rougeL"])
    pairs = list(zip(TRANSLATIONS, REFERENCES, strict=True))
    for kind, count in (("single", 1), ("multi", None)):
        found = [scorer.score_multi(targets[:count], text) for text, targets in pairs]
        for name, score in chosen("rouge")[kind].items():
            assert score["score"] == pytest.approx(100 * sum(one[name].fmeasure for one in found) / len(found))


@pytest.mark.parametrize(
    ("text", "tokenize"), [("Où est l'été ?", "13a"), ("这是一只猫。", "zh"), ("Где кот?", "13a"), ("แมว", "char")]
)
def test_rouge_knows_the_words_of_all_scripts(rouge, text, tokenize):
    """The library's own tokenizer drops all letters but a to z."""
    scores = chosen("rouge", tokenize=tokenize, translations=[text], references=[[text]])
    assert scores["single"]["rouge1"]["score"] == 100


def test_intervals_hold_the_score_and_repeat(jiwer):
    translations, references = ["a b c d"] * 20 + ["a x y d"] * 20, [["a b c d"]] * 40
    first = chosen("wer", n_bootstrap=200, translations=translations, references=references)["single"]["wer"]
    assert first == chosen("wer", n_bootstrap=200, translations=translations, references=references)["single"]["wer"]
    assert first["score"] == 25
    # The share of wrong sentences, one half, has a standard deviation of 0.5 / sqrt(40); 1.96 of them are 0.155.
    assert first["low"] == pytest.approx(25 - 7.75, abs=2) and first["high"] == pytest.approx(25 + 7.75, abs=2)


def test_the_table_has_the_metrics_in_the_order_of_the_choice(jiwer):
    found = choose_scores(results(), ["wer", "chrf"], n_bootstrap=0)
    assert list(found["greedy"]["scores"]["single"]) == ["wer", "chrf"]
    assert distinct_kinds(found["greedy"]["scores"]) == ["single", "multi"]


def test_a_missing_package_is_named_before_anything_is_loaded(tiny_run, monkeypatch):
    for module, metric in (("jiwer", "wer"), ("rouge_score", "rouge")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setattr("glossa.translate.build.load_engine", lambda *_: pytest.fail("a model was loaded"))
        with pytest.raises(GlossaError, match=f"The package {module} is missing"):
            score_command.main([str(tiny_run), "--metrics", "bleu", metric])
    check_packages(["bleu", "chrf", "ter"])


def test_the_command_prints_the_chosen_metrics(tiny_run, jiwer, rouge, capsys):
    arguments = ["--num_beams", "1", "--n_bootstrap", "10", "--metrics", "wer", "rouge", "bleu"]
    score_command.main([str(tiny_run), *arguments])
    header, row, *signatures = capsys.readouterr().out.splitlines()
    assert header.split() == ["WER", "ROUGE-1", "ROUGE-2", "ROUGE-L", "BLEU"]
    assert row.split()[0] == "greedy" and row.count("[") == 5
    assert [line.split(":")[0] for line in signatures] == header.split()
