"""How probable it is that a translation needs no correction."""

import json
import math

import numpy
import pytest
from small_models import knows

from glossa.base.errors import GlossaError
from glossa.cli.translate import main
from glossa.model.profile_glossa import TextProfile
from glossa.translate.confidence import FEATURES, UNCERTAIN, WITH_MATCH, confidence, features, learn
from glossa.translate.interface import Checks, Engine, Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

WEIGHTS = {"token_score": 2.0, "pieces": -0.25, "length": -1.0, "intercept": 3.0}


def test_features():
    found = features("The dog.", "Der Hund!!", -0.5, 5, 1.25)
    assert found == pytest.approx([-0.5, 2.5, 0.0, 0.0])
    assert features("ab cd", "x", -1.0, 4, None)[2] == pytest.approx(math.log(5))
    assert features("The dog.", "Der Hund!!", -0.5, 5, 1.25, 88)[3] == 0.88 and len(found) == len(WITH_MATCH)


def test_confidence_is_the_logistic_function():
    values = [-0.5, 2.5, 0.5, 0.9]  # these weights are of a model without memory
    logit = 3.0 - 1.0 - 0.625 - 0.5
    assert confidence(WEIGHTS, values) == pytest.approx(1 / (1 + math.exp(-logit)))
    assert confidence(WEIGHTS, [-1e9, 0, 0, 0]) < 1e-12 and confidence(WEIGHTS, [1e9, 0, 0, 0]) == 1
    assert confidence(WEIGHTS | {"match": 2.0}, values) == pytest.approx(1 / (1 + math.exp(-logit - 1.8)))


def test_learned_weights_are_those_of_newtons_method():
    generator = numpy.random.default_rng(0)
    rows = generator.normal(size=(600, 3)) * [0.3, 1, 0.2] + [-0.5, 1.5, 0.1]
    right = generator.random(600) < 1 / (1 + numpy.exp(-(rows @ [4, 0, -2] + 2)))
    found = learn(rows.tolist(), right.tolist(), FEATURES)
    inputs = numpy.column_stack([numpy.ones(600), (rows - rows.mean(0)) / rows.std(0)])
    weights, ridge = numpy.zeros(4), numpy.diag([0, 1, 1, 1])
    for _ in range(20):
        shares = 1 / (1 + numpy.exp(-inputs @ weights))
        hessian = (inputs * (shares * (1 - shares))[:, None]).T @ inputs + ridge
        weights -= numpy.linalg.solve(hessian, inputs.T @ (shares - right) + ridge @ weights)
    mine = [confidence(found, row, FEATURES) for row in rows]
    assert mine == pytest.approx((1 / (1 + numpy.exp(-inputs @ weights))).tolist(), abs=1e-3)
    assert json.loads(json.dumps(found)) == found and all(type(value) is float for value in found.values())


def test_too_few_translations_teach_nothing():
    rows = [[0.0] * 4] * 200
    assert learn(rows[:99], [True, False] * 49 + [True]) is None
    assert learn(rows, [True] * 181 + [False] * 19) is None and learn(rows, [True] * 19 + [False] * 181) is None
    assert learn([], []) is None
    constant = learn(rows, [True] * 50 + [False] * 150)  # features that never differ say nothing
    assert confidence(constant, rows[0]) == pytest.approx(0.25, abs=1e-3) and "match" not in constant
    assert "match" in learn([[0.0] * 3 + [0.01 * row] for row in range(200)], [True] * 50 + [False] * 150)


class Known(Engine):
    """Translates to upper case with a log-probability of -0.5 for each token of the source."""

    num_beams = 1
    profile = TextProfile(confidence=WEIGHTS)

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def translate(self, sources, search):
        texts = self.tokenizer.batch_decode(sources, skip_special_tokens=True)
        return [Translation(text.upper(), -0.5 * len(ids)) for text, ids in zip(texts, sources, strict=True)]


def one(tokenizer, text):
    """The confidence in the translation of one sentence, by hand."""
    pieces, tokens = len(tokenizer(text)["input_ids"]), len(tokenizer(text_target=text.upper())["input_ids"])
    logit = 3 + 2 * (-0.5 * pieces / tokens) - 0.25 * pieces / len(text.split())
    return 1 / (1 + math.exp(-logit))


def test_a_line_is_right_if_all_of_its_sentences_are(tiny_run):
    tokenizer = load_tokenizer(str(tiny_run))
    translator = Translator(Known(tokenizer), tokenizer, checks=Checks(confident=True))
    lines = ["Le chat.", "Le chat. Il dort.", "42", ""]
    found = [translations[0].confidence for translations in translator.translate(lines)]
    each = [one(tokenizer, text) for text in ("Le chat.", "Il dort.")]
    assert found == pytest.approx([each[0], each[0] * each[1], 1.0, 1.0])
    plain = Translator(Known(tokenizer), tokenizer)
    assert all(translations[0].confidence is None for translations in plain.translate(lines))


def test_translations_below_the_limit_are_uncertain(tiny_run):
    tokenizer = load_tokenizer(str(tiny_run))
    lines = ["Le chat.", "Le chat. Il dort."]
    limit = one(tokenizer, "Le chat.") - 1e-6
    found = Translator(Known(tokenizer), tokenizer, checks=Checks(min_confidence=limit)).translate(lines)
    assert [translations[0].problem for translations in found] == ["", UNCERTAIN]


def test_a_model_that_has_not_learned_it_says_so(tiny_run, tmp_path):
    (tmp_path / "in").write_text("le chat.\n")
    with pytest.raises(GlossaError, match="has not learned a confidence"):
        main([str(tiny_run), "--input", str(tmp_path / "in"), "--engine", "torch", "--confidence"])
    with pytest.raises(GlossaError, match="one model without --rerank"):
        main([str(tiny_run), str(tiny_run), "--input", str(tmp_path / "in"), "--min_confidence", "0.5"])


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_command_prints_it(tiny_run, tmp_path, capsys, engine):
    from glossa.translate.export.ctranslate2_model import export_ctranslate2

    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    knows(model.config, confidence=WEIGHTS, trained_length=None)
    folder = tmp_path / "model"
    if engine == "torch":
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    else:
        export_ctranslate2(model, tokenizer, folder)
    (tmp_path / "in").write_text("Le chat dort.\n\nOù est le chat ?\n")
    options = ["--input", str(tmp_path / "in"), "--engine", engine, "--scores", "--confidence"]
    main([str(folder), *options, "--min_confidence", "1", "--report", str(tmp_path / "report.jsonl")])
    lines = [line.split("\t") for line in capsys.readouterr().out.split("\n")]
    report = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert lines[1] == ["0.0000", "1.0000", ""]
    for source, (score, value, text) in zip(("Le chat dort.", "Où est le chat ?"), lines[:3:2], strict=True):
        tokens, pieces = len(tokenizer(text_target=text)["input_ids"]), len(tokenizer(source)["input_ids"])
        values = features(source, text, float(score) / tokens, pieces, TextProfile.of(model.config).length_ratio)
        assert text and float(value) == pytest.approx(confidence(WEIGHTS, values), abs=2e-4)
    assert {row["line"] for row in report} == {1, 3}
    assert [row["confidence"] for row in sorted(report, key=lambda row: row["line"])] == [
        float(lines[0][1]),
        float(lines[2][1]),
    ]
