"""The report of where translations go wrong."""

import json
from collections import Counter

import pytest
from sacrebleu.metrics import BLEU, CHRF

from benchmarks import errors
from benchmarks.__main__ import main
from glossa.cli import score

ROWS = [
    ("One two.", ["un deux", "tu un"], "un deux"),
    ("One two three, four five!", ["un deux trois quatre cinq"], "un deux trois quatre six"),
    ("", ["vous"], "tu"),
]


def cells(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]


def test_sources_are_grouped_by_their_length():
    lines = cells(
        errors.by_group("words", ROWS, lambda source: len(errors.words(source)), (2, 3), BLEU(tokenize="none"))
    )
    assert lines[0] == ["words", "sources", "BLEU", "chrF++"]
    assert [line[:2] for line in lines[2:]] == [["0 to 2", "2"], ["4 or more", "1"]]  # no source has three words
    # Of 5, 4, 3 and 2 n-grams 4, 3, 2 and 1 are right; lengths are equal.
    assert float(lines[3][2]) == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25, abs=0.01)


def test_the_rarest_word_decides():
    counts = Counter({"one": 7, "two": 3})
    assert errors.rarest("One, TWO", counts) == 3
    assert errors.rarest("one unknown", counts) == 0
    assert errors.rarest("?!", counts) > max(errors.FREQUENCIES)


def test_numbers_and_names_are_kept_if_the_reference_has_them():
    rows = [
        ("Paul has 12 dogs, Ann 7.", ["Paul a 12 chiens, Ann 7."], "Il a 12 chiens, Anne 8."),
        ("We saw Rome at 9:30.", ["Nous étions à Rome à 9 h 30."], "Nous étions à Rome."),
    ]
    # 12, not 7; 9:30 is not in the reference. Rome, not Ann; Paul is the first word.
    assert cells(errors.by_copy(rows))[2:] == [["numbers", "2", "50.0%"], ["names", "2", "50.0%"]]
    assert errors.by_copy([("no", ["non"], "non")]) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As-tu faim ?", "tu"),
        ("Je t'aime, et toi ?", "tu"),
        ("Voici votre clé.", "vous"),
        ("Tu sais que vous mentez.", "both"),
        ("Il tue le temps.", "nobody"),
        ("L'est de la ville.", "nobody"),
    ],
)
def test_how_a_sentence_addresses_somebody(text, expected):
    assert errors.address([text]) == expected


def test_addresses_are_counted_by_those_of_all_references():
    lines = {line[0]: line[1:] for line in cells(errors.by_address(ROWS))[2:]}
    assert lines == {
        "tu": ["0", "0", "0", "1"],
        "vous": ["1", "0", "0", "0"],
        "both": ["0", "0", "0", "0"],
        "nobody": ["0", "0", "0", "1"],
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J'ai faim.", [("je + verb", True)]),
        ("Je l’ont vu.", [("je + verb", False)]),
        ("Tu ne me vois pas, je crois.", [("tu + verb", True), ("je + verb", True)]),
        ("Tu peut rester.", [("tu + verb", False)]),
        ("As-tu fini ?", []),  # the verb comes first
        ("Elles n'y vont pas.", [("elles + verb", True)]),
        ("Ils te mange.", [("ils + verb", False)]),
        ("Ils sont fatigués.", [("ils + verb", True), ("ils + participle", True)]),
        ("Elle n'est pas arrivé.", [("elle + participle", False)]),
        ("Elle était déjà née.", [("elle + participle", True)]),
        ("Elle s'est cassé le bras.", []),  # rightly without agreement
        ("Il est tard.", []),
    ],
)
def test_verbs_and_participles_agree_with_their_pronoun(text, expected):
    assert errors.agreements(text) == expected


def test_agreement_is_counted_beside_that_of_the_references():
    rows = [("", ["Je suis là.", "Je es là."], "Je es là. Je êtes là. Je sont là."), ("", ["Ils ont."], "Non.")]
    lines = cells(errors.by_pronoun(rows))
    assert lines[2:] == [["ils + verb", "0", "0", "1", "0"], ["je + verb", "3", "1", "1", "0"]]
    assert errors.by_pronoun([("", ["Non."], "Si.")]) == ""


def test_the_worst_come_first():
    lines = cells(errors.worst(ROWS, 2))[2:]
    assert [line[0] for line in lines] == ["", "One two three, four five!"]
    assert lines[0][1:3] == ["vous", "tu"] and float(lines[0][3]) < float(lines[1][3])


@pytest.mark.slow
def test_a_report_of_a_run(tiny_run, tmp_path, capsys):
    file = tmp_path / "scores.json"
    score.main([str(tiny_run), "--num_beams", "1", "--n_bootstrap", "0", "--output", str(file)])
    main(["errors", str(tiny_run), str(file), "--worst", "1"])
    printed = capsys.readouterr().out
    result = json.loads(file.read_text())["results"]["greedy"]
    chrf = CHRF(word_order=0).corpus_score(result["translations"], [[found[0] for found in result["references"]]])
    sources = f"{len(result['sources']):,} sources"
    assert f"{sources}, greedy, against the first reference, chrF {chrf.score:.2f}\n" in printed
    assert "words in the source" in printed and "training sentences with the rarest word" in printed
