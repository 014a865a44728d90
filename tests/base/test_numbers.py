"""Numbers as figures and as words, and whether two texts have the same ones."""

import time

import pytest
from babel.numbers import format_decimal
from hypothesis import given, settings
from hypothesis import strategies as some

from glossa.base.number_words import number_words
from glossa.base.numbers import find_numbers
from glossa.base.same_numbers import same_numbers

SAME = [
    ("The train leaves at 5 p.m.", "Le train part à 17 h.", "en", "fr"),
    ("the 21st century", "le XXIe siècle", "en", "fr"), ("the 1980s", "les années 80", "en", "fr"),
    ("the 1970s", "les années soixante-dix", "en", "fr"), ("the 1930s", "20 世纪 30 年代", "en", "zh"),
    ("1,234.5 km", "1.234,5 km", "en", "de"), ("1,234.5 km", "1 234,5 km", "en", "fr"),
    ("500,000 people", "5 लाख लोग", "en", "hi"), ("500,000 people", "5 lakh people", "en", "en"),
    ("200 million", "20 crore", "en", "en"), ("150,000 yen", "15万円", "en", "ja"),
    ("300 million people", "3亿人", "en", "zh"), ("over 200,000 students", "20多万名学生", "en", "zh"),
    ("2 million", "2 000 000", "en", "fr"), ("2 million people", "watu milioni 2", "en", "sw"),
    ("He is 42.", "वह ४२ का है।", "en", "hi"), ("He is 42.", "عمره ٤٢.", "en", "ar"),
    ("in 2020", "２０２０年に", "en", "ja"), ("On 3 March", "3月3日", "en", "ja"),
    ("Half of it", "1/2 davon", "en", "de"),
    ("twice a day", "2 fois par jour", "en", "fr"), ("zweimal", "2 times", "de", "en"),
    ("the first attempt", "der 1. Versuch", "en", "de"), ("12 cats", "douze chats", "en", "fr"),
    ("1 cat", "un chat", "en", "fr"), ("21 cats", "vingt et un chats", "en", "fr"),
    ("99 cats", "quatre-vingt-dix-neuf chats", "en", "fr"), ("250 cats", "zweihundertfünfzig Katzen", "en", "de"),
    ("2,500 cats", "two thousand five hundred cats", "en", "en"),
    ("1,820 cats", "mille huit cent vingt chats", "en", "fr"), ("35 cats", "тридцати пяти кошек", "en", "ru"),
    ("2,000 cats", "paka elfu mbili", "en", "sw"), ("45 people", "สี่สิบห้าคน", "en", "th"),
    ("2 or 3", "two or three", "en", "en"), ("the 2019–20 season", "a temporada de 2019-2020", "en", "pt"),
    ("at 10:00", "às 10 horas", "en", "pt"), ("by COVID-19", "durch Covid", "en", "de"),
    ("90-degree bends", "rechtwinklige Knicke", "en", "de"),
    ("press HEX2BIN", "HEXINBIN drücken", "en", "de"), ("0.08%", ".08 %", "en", "en"),
    ("=TRUNC(0.664,2)", "=KÜRZEN(0,664;2)", "en", "de"), ("50 percent", "cinquante pour cent", "en", "fr"),
    ("80 cents", "80 cents", "en", "fr"),
]  # fmt: skip
DIFFERENT = [
    ("12 cats", "deux chats", "en", "fr"), ("14 cats", "les chats", "en", "fr"),
    ("ten cats", "les chats", "en", "fr"), ("5 cats", "17 chats", "en", "fr"),
    ("2.5 percent", "25 pour cent", "en", "fr"), ("at 5 p.m.", "à 18 h", "en", "fr"),
    ("2 million", "2 milliards", "en", "fr"), ("pages 3/4", "pages 4/3", "en", "fr"),
    ("the 2019–20 season", "a temporada 2020-2019", "en", "pt"), ("the 1980s", "les années 90", "en", "fr"),
    ("150,000 yen", "16万円", "en", "ja"), ("On 3 March", "2月3日", "en", "ja"),
    ("90-degree bends", "Knicke von 80 Grad", "en", "de"), ("2D shapes", "3D-Formen", "en", "de"),
    ("press F5", "F6 drücken", "en", "de"), ("COVID-19", "COVID-91", "en", "de"),
    ("two hundred cats", "300 Katzen", "en", "de"),
    ("version 1.5", "Version 15", None, None), ("page 5", "page 5 5", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "first", "second"), SAME)
def test_the_same_numbers_in_another_form(source, target, first, second):
    assert same_numbers(source, target, (first, second))
    assert same_numbers(target, source, (second, first))


@pytest.mark.parametrize(("source", "target", "first", "second"), DIFFERENT)
def test_other_numbers(source, target, first, second):
    assert not same_numbers(source, target, (first, second))
    assert not same_numbers(target, source, (second, first))


@pytest.mark.parametrize(
    ("source", "target"),
    # The cases numbers-spelled, numbers-small-lost and small-numbers-unreported.
    [
        ("Tom has 15 books and 3 cats.", "Tom a vingt livres et trois chats."),
        ("I have 3 dogs and 12 cats.", "J'ai 3 chiens et 1 chats."), ("I have 12 cats.", "J'ai deux chats."),
        ("I have 14 cats.", "J'ai les chats."), ("Take 2 pills.", "Prenez 12 comprimés."),
        ("I paid 3/4 of it.", "J'ai payé 34 de cela."),
        ("Growth is 2.5 percent.", "La croissance est de 25 pour cent."), ("Page 5", "Page 5 5"),
    ],
)  # fmt: skip
def test_small_changes_that_were_not_found(source, target):
    assert not same_numbers(source, target, ("en", "fr"))


def test_small_figures_may_be_words_of_an_unknown_language():
    assert same_numbers("I have 12 dogs.", "Nginezinja eziyishumi nambili.", ("en", "zu"))
    assert same_numbers("I have 12 dogs.", "J'ai douze chiens.")
    assert not same_numbers("I have 12 dogs.", "J'ai 13 chiens.")
    assert not same_numbers("I have 120 dogs.", "J'ai des chiens.")


@pytest.mark.parametrize("code", ["en", "de_DE", "pt-BR", "nb", "zh_CN"])
def test_a_region_changes_no_words(code):
    assert number_words(code) is not None
    assert number_words("xx") is None and number_words(None) is None


def test_every_number_to_a_hundred_is_read_in_every_language_of_the_table():
    """The words that CLDR's rules give for a number have this value, also in a sentence."""
    spelled = {"de": "siebenundsiebzig", "es": "setenta y siete", "fr": "soixante-dix-sept", "hi": "सतहत्तर"}
    spelled |= {"it": "settantasette", "nl": "zevenenzeventig", "pt": "setenta e sete", "ru": "семьдесят семь"}
    spelled |= {"pl": "siedemdziesiąt siedem", "sv": "sjuttiosju", "tr": "yetmiş yedi", "vi": "bảy mươi bảy"}
    for code, phrase in spelled.items():
        assert find_numbers(f"({phrase}!)", code).words["77"] == 1, code


def test_words_are_read_in_the_longest_way():
    assert find_numbers("mille neuf cent cinquante-sept", "fr").words == {"1957": 1}
    assert find_numbers("le quatre octobre mille neuf cent", "fr").words == {"4": 1, "1900": 1}
    assert find_numbers("five six", "en").words == {"5": 1, "6": 1}
    assert find_numbers("zweizeilig", "de").words == {"2": 1} and not find_numbers("zweizeilig", "de").clear


@pytest.mark.parametrize("code", [None, "de", "ja"])
@pytest.mark.parametrize(
    "piece", ["1", "1,", "1 ", "1 000 ", "two hundred and ", "zwei", "ein", "三十", "1万", "a", " ", "X"]
)
def test_the_time_is_linear_in_the_length(piece, code):
    def seconds(length):
        text = piece * (length // len(piece))
        started = time.process_time()
        same_numbers(text, text + "7", (code, code))
        return time.process_time() - started

    assert min(seconds(10_000) for _ in range(3)) < 0.05 + 3 * min(seconds(5000) for _ in range(3))


@settings(max_examples=200, deadline=None)
@given(some.decimals(0, 10**9, places=2), some.sampled_from(["en", "de", "fr", "pt_BR", "hi", "ru", "sw", "ja", "it"]))
def test_a_number_in_the_format_of_a_language_is_the_same(number, code):
    source, target = (format_decimal(number, locale=one) for one in ("en", code))
    assert same_numbers(f"It is {source} m.", f"( {target} )", ("en", code))
    assert not same_numbers(f"It is {source} m.", f"( {format_decimal(number + 1, locale=code)} )", ("en", code))
