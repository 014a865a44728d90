"""Translations that cannot be right."""

import gzip
from pathlib import Path

import pytest

from glossa.inference.plausibility import find_problem, improbable_score, rates

SENTENCE = "A man in a blue shirt is standing on a ladder."


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (SENTENCE, "Ein Mann in einem blauen Hemd steht auf einer Leiter.", ""),
        (SENTENCE, "", "empty"),
        ("...", "", ""),
        (SENTENCE, SENTENCE.upper(), "copied"),
        ("Arnold Schwarzenegger", "Arnold Schwarzenegger", ""),
        (SENTENCE, "Ein Mann, ein Mann, ein Mann, ein Mann, ein Mann, ein Mann", "repetitive"),
        ("No no no no no no no no no!", "Nein nein nein nein nein nein nein nein nein!", ""),
        ("And so on ............", "Und so weiter ............", ""),
        ("Call 1000000000 now", "Ruf 1000000000 an", ""),
        (SENTENCE * 2, "Ein Mann.", "too short"),
        ("Thanks.", "Ich danke dir.", ""),
        ("Thanks.", "Ich danke dir von ganzem Herzen fuer alles.", "too long"),
        ("It costs $1,299.50 now.", "Es kostet jetzt 1.299,50 $.", ""),
        ("It costs $1,299.50 now.", "Es kostet jetzt 1.299,05 $.", "different in numbers"),
        ("It ships on 2024-05-17.", "Es kommt am 17.5.2024.", ""),
        ("It ships on 2024-05-27.", "Es kommt am 2024 im Mai.", "different in numbers"),
        ("The train goes at 9:45 p.m.", "Der Zug geht um 21.45 Uhr.", ""),
        ("The train goes at 21:45.", "Le train part à 9 h 45 du soir.", ""),
        ("I have 2 dogs.", "Ich habe zwei Hunde.", ""),
        ("I have two dogs.", "Ich habe 1990 Hunde.", "different in numbers"),
        ("See https://example.org/a, please.", "Siehe bitte https://example.org/a.", ""),
        ("See https://example.org/a, please.", "Siehe bitte https://example.org/ab.", "different in addresses"),
        ("Hello {name}, %d of <b>you</b>", "Hallo {name}, %d von <b>euch</b>", ""),
        ("Hello {name}, %d of <b>you</b>", "Hallo {name}, %d von <b>euch<b>", "different in placeholders"),
        ("Hello {{name}}", "Hallo {{Name}}", "different in placeholders"),
        ("50% discount", "50 % Rabatt", ""),
    ],
)
def test_each_kind(source, translation, expected):
    assert find_problem(source, translation, 1.1) == expected


def test_the_length_ratio_of_the_training_data_counts():
    chinese = "一个穿蓝色衬衫的男人站在梯子上。"
    assert find_problem(SENTENCE * 2, chinese, 1.1) == "too short"
    assert find_problem(SENTENCE * 2, chinese, 0.35) == ""
    assert find_problem(SENTENCE * 2, chinese) == "", "three bytes for each character"
    assert find_problem(SENTENCE * 2, "A") == "too short"


def test_an_improbable_translation():
    german = "Ein Mann in einem blauen Hemd steht auf einer Leiter."
    assert find_problem(SENTENCE, german, 1.1, -1.2) == ""
    assert find_problem(SENTENCE, german, 1.1, -1.3) == "improbable"
    assert find_problem(SENTENCE, "", 1.1, -1.3) == "empty"
    assert find_problem(SENTENCE, german, 1.1, -0.2, improbable_score=-0.1) == "improbable"
    assert find_problem(SENTENCE, german, 1.1, -1.3, improbable_score=-1.4) == ""


def test_one_translation_in_a_hundred_is_below_the_learned_limit():
    scores = [-0.01 * number for number in range(101)]
    assert improbable_score(scores) == -0.99 and sum(score < -0.99 for score in scores) == 1
    assert improbable_score(scores[:100]) is not None and improbable_score(scores[:99]) is None


def test_rates_are_shares_of_all_translations():
    assert rates(["", "empty", "copied", "empty"], 8) == {"empty": 0.25, "copied": 0.125}


@pytest.mark.parametrize("language", ["de", "fr"])
def test_translations_by_people_are_plausible(language):
    folder = Path(__file__).parents[3] / "shared" / "data" / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing")
    sides = []
    for side in ("en", language):
        with gzip.open(folder / f"val.{side}.gz", "rt", encoding="utf-8") as file:
            sides.append(file.read().split("\n"))
    found = [source for source, target in zip(*sides, strict=True) if find_problem(source, target, 1.15)]
    converted = [source for source in found if "4' in diameter" in source]  # 120 cm in German
    assert found == converted
