"""The data settings: what is refused, and where they are read from."""

import pytest

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import CHECKS, DataArguments
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation_size": -1}, "validation_size is -1; it must be at least 0"),
        ({"validation_size": "1e-2"}, "validation_size is '1e-2'; give a number"),
        ({"target_language": False}, "target_language is False; give a code in quotes"),
        ({"test_size": 1.5}, "test_size is 1.5; give a share"),
        ({"max_train_samples": 0}, "max_train_samples is 0; it must be at least 1"),
        ({"target_language": "en"}, "both 'en'"),
        ({"source_language": "English", "target_language": "eng"}, "both 'en'"),
        ({"source_column": "a"}, "target_column is None"), ({"dataset": "files"}, "data_path is empty"),
    ],
)  # fmt: skip
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(GlossaError, match=message):
        DataArguments(**settings)


def test_one_file_needs_no_list():
    assert DataArguments(data_path="a.tsv").data_path == ["a.tsv"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [(True, CHECKS), (False, []), ("true", CHECKS), (["false"], []), ("length", ["length"]), ([], []),
     (["start", "equal"], ["equal", "start"])],
)  # fmt: skip
def test_the_checks_that_are_turned_off(given, expected):
    assert DataArguments(trust_data=given).trust_data == expected


@pytest.mark.parametrize("given", ["lenght", ["true", "equal"], "everything"])
def test_unknown_checks_are_refused(given):
    with pytest.raises(
        GlossaError, match=r"trust_data has .*Allowed are malformed, equal, length, language, start, or"
    ):
        DataArguments(trust_data=given)


def test_trust_data_on_the_command_line_and_in_recipes(tmp_path, caplog):
    (tmp_path / "r.yaml").write_text("trust_data: [length, equal]\n")
    (tmp_path / "old.yaml").write_text("trust_data: true\n")
    for argv, expected in (
        (["--trust_data", "length", "equal"], ["equal", "length"]),
        ([str(tmp_path / "r.yaml")], ["equal", "length"]),
        (["--trust_data", "false"], []),
    ):
        assert parse_settings(argv).data.trust_data == expected
        catalog.parse(argv)
    assert not caplog.records
    for argv in (
        ["--trust_data"],
        ["--trust_data", "true"],
        [str(tmp_path / "old.yaml")],
        ["--trust_data", "--strict"],
    ):
        assert parse_settings(argv).data.trust_data == CHECKS
        assert DataArguments(trust_data=catalog.parse(argv).values["trust_data"]).trust_data == CHECKS
    assert [record.getMessage()[:44] for record in caplog.records] == [
        "trust_data turns off all checks of the data."
    ] * 4


def test_the_pairs_of_a_run_are_read_again_once_each():
    sources = [{"name": "a", "dataset": "anki", "weight": 2.0, "tag": "<bt> "}, {"name": "b", "data_path": ["b.tsv"]}]
    recipe = {"d_model": 8, "target_language": "de", "sources": sources, "sampling_temperature": 5.0}
    data = DataArguments.of_run(recipe)
    assert data.sources == [{"name": "a", "dataset": "anki"}, {"name": "b", "data_path": ["b.tsv"]}]
    assert (data.target_language, data.sampling_temperature, data.trust_data) == ("de", None, CHECKS)


def test_languages_are_understood_by_name_and_longer_code():
    arguments = DataArguments(source_language="ger", target_language="Chinese")
    assert (arguments.source_language, arguments.target_language) == ("de", "zh")
    assert DataArguments(target_language="pt_BR").target_language == "pt_BR"
