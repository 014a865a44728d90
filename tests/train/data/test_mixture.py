"""The sources of a recipe: what is refused, and how often their rows are seen."""

import json

import numpy
import pytest

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.splitting import repeated
from glossa.train.data.mixture import common_source, sources_of, target_languages, weights, without_mixing


def test_a_source_has_the_settings_of_the_recipe_and_its_own():
    arguments = DataArguments(
        target_language="de",
        filters={"html": True},
        max_train_samples=9,
        sources=[
            {"data_path": "data/a.tsv.gz", "weight": "2", "tag": "<bt> ", "filters": {"html": "no"}},
            {"dataset": "wmt/wmt14", "dataset_config": "de-en", "name": "wmt", "target_language": "German"},
            {"data_path": ["x.en", "x.de"], "max_train_samples": "5", "source_column": 2, "target_column": "3"},
            {"data_path": "opus:Books/v1", "filters": {"exclude": "t.tsv"}},
            {"data_path": "https://example.org/c/pairs.jsonl?raw=1"},
        ],
    )
    first, wmt, third, opus, remote = sources_of(arguments)
    assert (first.name, first.weight, first.tag, first.settings.filters) == ("a", 2.0, "<bt> ", {"length_ratio": 3.0})
    assert first.settings.dataset == "files" and first.settings.data_path == ["data/a.tsv.gz"]
    assert (wmt.name, wmt.weight, wmt.tag, wmt.settings.filters["html"]) == ("wmt", 1.0, "", True)
    assert wmt.settings.dataset_config == "de-en" and wmt.settings.target_language == "de"
    assert third.settings.max_train_samples == 5 and wmt.settings.max_train_samples == 9
    assert third.settings.source_column == "2" and third.settings.data_path == ["x.en", "x.de"]
    assert [source.name for source in (third, opus, remote)] == ["x", "Books", "pairs"]
    assert opus.settings.filters["exclude"] == ["t.tsv"] and arguments.dataset == "sources"
    assert arguments.sources[0]["weight"] == 2.0 and arguments.sources[0]["filters"] == {"html": False}


def test_another_source_language_or_variant_is_allowed():
    languages = [{"source_language": "nl"}, {"target_language": "fr_CA"}]
    one, other = sources_of(DataArguments(sources=[A | languages[0], B | languages[1]]))
    assert one.settings.source_language == "nl" and other.settings.target_language == "fr_CA"
    DataArguments(sources=[A | {"target_language": "it"}], trust_data=True)


def test_several_target_languages():
    def languages(*targets, **settings):
        entries = [{"data_path": f"{number}.tsv", "target_language": code} for number, code in enumerate(targets)]
        return target_languages(DataArguments(sources=entries, **settings))

    assert languages("German", "fr", "de_AT", "nl") == ["de", "fr", "nl"]
    assert languages("fr", "fr_CA") == target_languages(DataArguments()) == []
    assert languages("zh_CN", "zh_TW", "zh_Hant", "zh") == ["zh_CN", "zh_TW"]
    settings = DataArguments(sources=[A, B | {"target_language": "de_AT"}])
    assert [source.language for source in sources_of(settings)] == ["fr", "de_AT"]
    assert common_source(settings) == common_source(DataArguments()) == "en"
    turned = {"source_language": "de", "target_language": "en"}
    assert common_source(DataArguments(sources=[A, B | turned])) is None


def test_flat_settings_are_one_source():
    (source,) = sources_of(DataArguments(data_path=["data/fra-eng.zip"]))
    assert (source.name, source.weight, source.tag) == ("fra-eng", 1.0, "")
    assert sources_of(DataArguments(dataset="anki"))[0].name == "anki"


def test_the_command_line_gives_json_as_one_list_or_as_words():
    entries = [{"data_path": ["a.tsv"], "weight": 2}, {"data_path": "b.tsv"}]
    expected = [{"data_path": ["a.tsv"], "weight": 2.0}, {"data_path": ["b.tsv"]}]
    for words in ([json.dumps(entries)], list(map(json.dumps, entries)), entries):
        assert DataArguments(sources=words).sources == expected


A, B = {"data_path": "a.tsv"}, {"data_path": "b.tsv"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sources": [A], "data_path": ["c.tsv"]}, "sources and data_path are both given"),
        ({"sources": [A], "dataset": "anki"}, "sources and dataset are both given"),
        ({"sources": [A, B | {"weigt": 2}]}, r"sources, entry 2: a source has no setting `weigt`. Did you mean `w"),
        (
            {"sources": [A | {"vocab_size": 2}]},
            r"no setting `vocab_size`\. Allowed are name, weight, tag, filters, dataset",
        ),
        ({"sources": [{"weight": 2}]}, "sources, entry 1, has neither dataset nor data_path"),
        ({"sources": [A | {"weight": "much"}]}, "sources, entry 1: weight is 'much'; give a number"),
        ({"sources": [A | {"weight": 0}]}, r"sources, entry 1 \(a\): weight is 0.0; it must be above 0"),
        ({"sources": [A | {"filters": {"html": "maybe"}}]}, "filters.html is 'maybe'; give true or false"),
        ({"sources": [A | {"filters": {"characters": 2.5}}]}, "filters.characters is 2.5; give a whole number"),
        ({"sources": [A | {"tag": ["x"]}]}, r"tag is \['x'\]; give a text"),
        (
            {"sources": [A | {"filters": {"characters": 0}}]},
            r"entry 1: filters.characters is 0; it must be at least 1",
        ),
        ({"sources": ["a.tsv"]}, "sources, entry 1, is 'a.tsv'; give the settings of a source"),
        ({"sources": [A, {"data_path": "data/a.csv"}]}, "entries 1 and 2, are both named 'a'"),
        ({"sources": [A | {"weight": 1}, B], "sampling_temperature": 5}, "entry 1, has a weight, and sampling_temp"),
        (
            {"sources": [A | {"target_language": "de"}, B | {"target_language": "it"}], "test_path": ["t"]},
            "test_path has pairs of target_language, which is 'fr', but the sources have de, it",
        ),
        ({"sources": [A | {"target_language": "de"}]}, "'fr', but the target language of all sources is 'de'"),
        ({"dataset": "sources"}, "dataset is 'sources' but sources is empty"),
        ({"sampling_temperature": 5}, "there is one corpus"),
        ({"filters": {"punctuation": 50}}, "filters.punctuation is 50.0; it must be at least 0 and at most 1"),
    ],
)
def test_sources_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(GlossaError, match=message):
        DataArguments(**settings)


def test_weights_repeat_rows_and_draw_a_fixed_random_part():
    rows = numpy.arange(10, 110)
    assert repeated(rows, 1, (1, 0)).tolist() == rows.tolist()
    assert repeated(rows, 2, (1, 0)).tolist() == [row for row in rows for _ in range(2)]
    half = repeated(rows, 0.5, (1, 0)).tolist()
    assert len(half) == 50 and half == sorted(set(half)) and set(half) < set(rows)
    assert half == repeated(rows, 0.5, (1, 0)).tolist() != repeated(rows, 0.5, (2, 0)).tolist()
    assert half != list(range(10, 60)), "not the first ones"
    more = repeated(rows, 1.5, (1, 0)).tolist()
    assert len(more) == 150 and all(1 <= more.count(row) <= 2 for row in rows)
    assert len(repeated(rows, 0.001, (1, 0))) == 1 and len(repeated(rows[:0], 2, (1, 0))) == 0


def test_temperature_weights():
    """Sizes 100 and 10,000 with T = 2: shares 10 and 100; the largest is seen once, the smaller 1,000 times in 100."""
    sources = sources_of(DataArguments(sources=[A, B]))
    assert weights([100, 10_000], sources, 2.0) == pytest.approx([10.0, 1.0])
    assert weights([100, 10_000], sources, 1.0) == pytest.approx([1.0, 1.0])
    assert weights([0, 100], sources, 5.0) == [0.0, 1.0]
    assert weights([1, 2], sources_of(DataArguments(sources=[A | {"weight": 3}, B])), None) == [3.0, 1.0]


def test_unmixed_settings_see_every_row_once():
    settings = {"sources": [A | {"weight": 2.0, "tag": "<bt> "}, B], "sampling_temperature": 5.0, "test_size": 3}
    assert without_mixing(settings) == {"sources": [A, B], "test_size": 3}
    assert without_mixing({"dataset": "anki"}) == {"dataset": "anki"}
