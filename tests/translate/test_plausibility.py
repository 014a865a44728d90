"""Translations that cannot be right."""

import gzip
from pathlib import Path

import pytest

from glossa.translate.plausibility import find_problem, improbable_score, rates

SENTENCE = "A man in a blue shirt is standing on a ladder."


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (SENTENCE, "Ein Mann in einem blauen Hemd steht auf einer Leiter.", ""), (SENTENCE, "", "empty"),
        # The case `wordless-translations`.
        (SENTENCE, "« » « » ». »", "empty"), (SENTENCE, "♪", "empty"), ("♪ ...", "« »", ""), ("Six.", "6", ""),
        ("...", "", ""), (SENTENCE, SENTENCE.upper(), "copied"),
        ("Arnold Schwarzenegger", "Arnold Schwarzenegger", ""),
        (SENTENCE, "Ein Mann, ein Mann, ein Mann, ein Mann, ein Mann, ein Mann", "repetitive"),
        ("No no no no no no no no no!", "Nein nein nein nein nein nein nein nein nein!", ""),
        ("And so on ............", "Und so weiter ............", ""),
        ("Call 1000000000 now", "Ruf 1000000000 an", ""), (SENTENCE * 2, "Ein Mann.", "too short"),
        ("Thanks.", "Ich danke dir.", ""), ("Thanks.", "Ich danke dir von ganzem Herzen fuer alles.", "too long"),
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
        ("Hello {{name}}", "Hallo {{Name}}", "different in placeholders"), ("50% discount", "50 % Rabatt", ""),
    ],
)  # fmt: skip
def test_each_kind(source, translation, expected):
    assert find_problem(source, translation, 1.1) == expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        # Digits of other scripts, and of full width.
        ("He is 42 years old.", "वह ४२ साल का है।", ""),
        ("He is 42 years old.", "वह ४३ साल का है।", "different in numbers"),
        ("There are 1,234 dogs.", "هناك ١٬٢٣٤ كلبا.", ""),
        ("We met in 2020.", "２０２０年に会いました。", ""),
        # Marks between the thousands of India: 1,00,000 is a hundred thousand.
        ("It costs 100,000 rupees.", "इसकी कीमत 1,00,000 रुपये है।", ""),
        ("It costs 12,345,678 rupees.", "इसकी कीमत 1,23,45,678 रुपये है।", ""),
        ("It costs 100,000 rupees.", "इसकी कीमत 2,00,000 रुपये है।", "different in numbers"),
        # Words for ten thousand and more behind digits.
        ("It costs 150,000 yen.", "それは15万円です。", ""),
        ("それは１５万円です。", "It costs 150,000 yen.", ""),
        ("It costs 150,000 yen.", "それは16万円です。", "different in numbers"),
        ("1,716,000,000 people", "17.16亿人", ""),
        ("3 billion, or 3,000,000,000", "30億", ""),
        ("It was 25,300 yen.", "2万5300円でした。", ""),
        # Numbers of Chinese characters.
        ("We met in 2020.", "二〇二〇年に会いました。", ""),
        ("He is 30.", "三十歳だ。", ""),
        ("There were 120 people.", "百二十人いた。", ""),
        ("There were 1,025 people.", "有一千零二十五人。", ""),
        ("There were 120 people.", "百三十人いた。", "different in numbers"),
        ("They ate together.", "一緒に食べた。", ""),
        # Addresses and places without spaces around them.
        ("See https://example.org/a now.", "今すぐhttps://example.org/aを見てください。", ""),
        ("See https://example.org/a now.", "请看https://example.org/a。", ""),
        ("See https://example.org/a now.", "请看https://example.org/b。", "different in addresses"),
        ("Write to me.x@example.org now.", "今すぐme.x@example.orgに書いてください。", ""),
        ("Press %s now.", "今%sを押す。", ""),
        ("100%savings", "100%savings", ""),
    ],
)
def test_numbers_and_addresses_in_other_scripts(source, translation, expected):
    assert find_problem(source, translation, len(translation) / len(source)) == expected


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
