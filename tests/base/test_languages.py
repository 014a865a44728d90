import pytest

from glossa.base.languages import LANGUAGES, language_code, language_name, normalized_code, same_language


@pytest.mark.parametrize("name", ["de", "DE", " German ", "ger", "deu", "deu_Latn", "de-AT", "de_Latn_AT", "Deutsch"])
def test_names_of_one_language(name):
    assert language_code(name) == "de"


@pytest.mark.parametrize("name", ["", "xx", "germ", "de_", "de fr", "id_column", "source", "deutsche"])
def test_other_words_are_no_language(name):
    assert language_code(name) is None


def test_a_setting_becomes_a_code_but_keeps_a_region_and_what_is_unknown():
    names = {
        "eng": "en", "Chinese": "zh", "cmn": "zh", "pt_BR": "pt_BR", "fr": "fr", "xx": "xx", "bairisch": "bairisch",
    }  # fmt: skip
    assert {name: normalized_code(name) for name in names} == names


def test_no_name_stands_for_two_languages():
    names = [name for code, others in LANGUAGES.items() for name in {code, *others.split()}]
    doubled = {name for name in names if names.count(name) > 1}
    assert doubled == set()


@pytest.mark.parametrize(
    ("code", "name"),
    [("en", "English"), ("pt_BR", "Portuguese (BR)"), ("zh-Hans-CN", "Chinese (Hans-CN)"), ("lo", "Lao"),
     ("deu", "German"), ("tlh", "tlh"), ("xx_YY", "xx_YY")],
)  # fmt: skip
def test_the_name_of_a_code(code, name):
    assert language_name(code) == name


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pt", "pt_BR", True), ("pt_PT", "pt-BR", True), ("de", "deu_Latn", True), ("xx", "xx", True),
        ("zh", "zh_Hans", True), ("zh", "cmn_Hans", True), ("zh_TW", "zh_Hant", True), ("zh_HK", "zh_TW", True),
        ("zh_CN", "zh_TW", False), ("zh_Hans", "zh_Hant", False), ("sr", "sr_Latn", False), ("sr", "sr_Cyrl", True),
        ("de", "nl", False), ("no such", "nothing", False),
    ],
)  # fmt: skip
def test_a_language_in_another_script_is_another_language(one, other, same):
    assert same_language(one, other) == same_language(other, one) == same
