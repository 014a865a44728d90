"""Settings parsed from source code: equal to the real dataclasses, with errors for invalid values."""

import dataclasses
import math
import re

import pytest
from refusals import refused

from glossa import GlossaConfig
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.base.values import interval_problem
from glossa.cli.train import main as command
from glossa.train.data.filters import nest_filters
from glossa.train.plan import catalog
from glossa.train.plan.arguments import Origin, parse_settings
from glossa.train.plan.settings import GROUPS
from glossa.train.plan.table import ModelArguments


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_settings_match_the_dataclasses(group):
    names = dict(zip([real.__name__ for real in GROUPS], catalog.GROUPS, strict=True))
    found = {name: setting for name, setting in catalog.settings().items() if setting.group == names[group.__name__]}
    real = {field.name: field for field in dataclasses.fields(group) if field.init}
    assert found.keys() == real.keys()
    for name, setting in found.items():
        default = real[name].default
        if isinstance(default, int | float | str) and setting.default is not None:
            assert setting.default == default and type(setting.default) is type(default), name
        if real[name].metadata.get("help") and setting.meaning:
            assert setting.meaning == " ".join(real[name].metadata["help"].split()), name
    assert sum(bool(setting.meaning) for setting in found.values()) > 0.9 * len(found)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("vocab_size", ["1", "8_000"], ["abc", "1.5", "", "-3", "0"]),
        ("learning_rate", ["1e-3", ".5", "3", "1_0.5"], ["fast", "1e", "0,5", "inf", "nan", "-1e-3"]),
        ("bf16", ["true", "No", "1"], ["maybe", "2"]),
        ("objective", ["translation", "causal_lm"], ["Translation", "other"]),
        ("save_total_limit", ["3"], ["three"]), ("output_dir", ["anything", "3"], []),
    ],
)  # fmt: skip
def test_valid_and_invalid_values(name, good, bad):
    setting = catalog.settings()[name]
    assert [setting.problem(value) for value in good] == [None] * len(good)
    assert all(setting.problem(value) for value in bad)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--vocab_sise", "3"], r"Command line: there is no setting `vocab_sise`\. Did you mean `vocab_size`\?"),
        (["--vocab-size=abc"], r"Command line: vocab_size is 'abc'; it must be a whole number"),
        (["quickstrat"], r"quickstrat: there is no such recipe\. Did you mean quickstart\?"),
        (["quickstart", "--bf16", "perhaps"], "bf16 is 'perhaps'; it must be true or false"),
        (["--objective", "x"], "objective is 'x'; it must be one of translation, span_corruption"),
    ],
)
def test_errors_on_the_command_line(argv, message):
    refused(message, catalog.parse, argv)


def test_errors_in_a_recipe(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("dropuot: 0.1\n")
    refused(rf"{re.escape(str(recipe))}: there is no setting `dropuot`.*`dropout`", catalog.parse, [str(recipe)])
    recipe.write_text("dropout: much\nvocab_size: 300\n")
    refused(r"recipe\.yaml: dropout is 'much'; it must be a number", catalog.parse, [str(recipe)])
    recipe.write_text("- a\n- b\n")
    refused("a recipe must consist of lines", catalog.parse, [str(recipe)])


def test_values_are_converted_and_the_command_line_overrides_the_recipe(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("dropout: 0\nvocab_size: 300\ndata_path: [a, b]\nbf16: no\ndata_seed: null\noutput_dir: '7'\n")
    given = catalog.parse([str(recipe), "--vocab-size=400", "--bf16", "--normalization", "nfkc", "lowercase"])
    assert given.values == {
        "dropout": 0.0, "vocab_size": 400, "data_path": ["a", "b"], "bf16": True, "output_dir": "7",
        "normalization": ["nfkc", "lowercase"], "data_seed": None,
    }  # fmt: skip
    assert given.recipe == str(recipe) and given.flags == {"vocab_size", "bf16", "normalization"}
    assert type(given.values["dropout"]) is float and catalog.parse(["--bf16", "False"]).values == {"bf16": False}


def test_null_on_the_command_line_is_none_where_a_setting_can_be(tmp_path):
    argv = ["--save_total_limit", "null", "--dataset", "null", "--kv-lora-rank=null", "--dropout", "0"]
    expected = {"save_total_limit": None, "dataset": "null", "kv_lora_rank": None, "dropout": 0.0}
    assert catalog.parse(argv).values == expected
    assert catalog.parse(["--kv_lora_rank", "8", "--kv_lora_rank", "null"]).values == {"kv_lora_rank": None}
    assert catalog.parse(["--kv_lora_rank", "null", "--kv_lora_rank", "8"]).values == {"kv_lora_rank": 8}
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("max_train_samples: 7\n")
    assert catalog.parse([str(recipe), "--max_train_samples", "null"]).values == {"max_train_samples": None}
    for name, words in (("vocab_size", "a whole number"), ("normalization", "a list")):
        refused(f"Command line: {name} is '?null'?; it must be {words}", catalog.parse, [f"--{name}", "null"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["quickstart", "stray", "--dropout", "0"], "there is no setting `stray`"),
        (["--dropout", "0", "1"], "dropout takes one value, not 2: 0, 1"),
        (["--filters.digit", "true"], "there is no filter `digit`. Did you mean `digits`"),
        (["--filters.digits", "maybe"], "filters.digits is 'maybe'; give true or false"),
        (["--filter_digits", "maybe"], "filters.digits is 'maybe'; give true or false"),
        (["--filters.length_ratio", "0.5"], "filters.length_ratio is 0.5; it must be at least 1"),
    ],
)
def test_words_that_are_not_understood(argv, message):
    refused(f"Command line: {re.escape(message)}", catalog.parse, argv)


def test_filters_have_one_name_everywhere_and_their_old_ones(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "filters: {digits: yes, characters: 9, exclude: a.tsv}\nfilter_html: true\nmax_length_ratio: 4\n"
    )
    argv = [
        str(recipe), "--filters.digits", "false", "--max_punctuation", "0.5", "--filters.copied", "--filter-script",
    ]  # fmt: skip
    given = catalog.parse([*argv, "--filters.exclude", "b.tsv", "c.tsv"])
    assert given.values["filters"] == {
        "exclude": ["b.tsv", "c.tsv"], "characters": 9, "html": True, "digits": False, "copied": True,
        "punctuation": 0.5, "script": True, "length_ratio": 4.0,
    }  # fmt: skip
    assert given.flags == {"filters"} and given.place("filters.digits is 3.") == "Command line: "
    settings = parse_settings(given)
    assert "digits" not in settings.data.filters and settings.data.filters["length_ratio"] == 4.0
    assert settings.recipe()["filters"] == settings.data.filters and "filter_html" not in settings.recipe()


@pytest.mark.parametrize(
    ("once", "value", "name"),
    [
        ("drop_identical", True, "identical"), ("exclude", ["t.tsv"], "exclude"), ("max_characters", 90, "characters"),
        ("max_character_ratio", 2.5, "character_ratio"), ("filter_html", True, "html"),
        ("filter_digits", True, "digits"), ("filter_copied", True, "copied"), ("max_punctuation", 0.5, "punctuation"),
        ("filter_script", True, "script"), ("filter_language", True, "language"),
        ("near_duplicates", True, "near_duplicates"), ("filter_alignment", True, "alignment"),
        ("max_length_ratio", 4.0, "length_ratio"),
    ],
)  # fmt: skip
def test_settings_of_earlier_versions_are_filters(tmp_path, once, value, name):
    recipe, folder = tmp_path / "recipe.yaml", tmp_path / "run"
    folder.mkdir()
    for file in (recipe, folder / "recipe.yaml"):
        file.write_text(f"{once}: {str(value).replace('True', 'true')}\n")
    assert catalog.parse([str(recipe)]).values == {"filters": {name: value}}
    words = value if isinstance(value, list) else [str(value)]
    assert catalog.parse([f"--{once}", *words]).values == {"filters": {name: value}}
    assert nest_filters(RunFolder(folder).recipe) == {"filters": {name: value}}


def test_errors_say_where_the_value_comes_from(tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("vocab_size: 10\nd_model: 64\n")
    message = "vocab_size is 10; it must be at least 11."
    assert catalog.parse([str(recipe)]).place(message) == f"{recipe}: "
    assert catalog.parse([str(recipe), "--vocab-size=9"]).place(message) == "Command line: "
    assert catalog.parse(["--vocab_size", "9"]).place(message) == "Command line: "
    assert catalog.parse([str(recipe)]).place("max_length is 1; it must be at least 2.") == "", "a default"
    assert catalog.parse([str(recipe)]).place("The disk is full.") == ""
    recipe.write_text("vocab_size: 0\n")
    refused(r"mine.yaml: vocab_size is 0; it must be at least 1", command, [str(recipe)])


def test_every_number_has_a_range():
    numbers = {
        name
        for name, setting in catalog.settings().items()
        if {kind.strip() for kind in setting.type.split("|")} & {"int", "float"}
    }
    known = catalog.settings()
    assert numbers == {name for name, setting in known.items() if setting.interval}
    for name in numbers:
        default = known[name].default
        assert default is None or interval_problem(known[name].interval, default) is None, name


def test_the_table_of_the_model_has_the_fields_of_its_configuration():
    """Both are written by hand, since the configuration travels with a model, and the table needs no library."""
    config = {field.name: field for field in dataclasses.fields(GlossaConfig)}
    left_out = {name for name in GlossaConfig.__annotations__ if name.endswith("token_id")} | {
        # Other settings, the tokenizer or the data determine these.
        "vocab_size", "decoder_vocab_size", "use_cache", "is_encoder_decoder", "source_language",
        "target_language", "text_profile", "alignment_layer",
        # No recipe has set these to another value; Python can.
        "rotary_cross_attention", "embedding_norm", "init_std", "initialization", "rotary_base", "head_dim",
    }  # fmt: skip
    table = {field.name: field for field in dataclasses.fields(ModelArguments)}
    assert table.keys() == GlossaConfig.__annotations__.keys() - left_out
    for name, field in table.items():
        assert field.default == config[name].default, name
        wanted = GlossaConfig.__annotations__[name]
        assert field.type == (float if wanted == float | int else wanted), name


@pytest.mark.parametrize(
    ("name", "good", "bad", "words"),
    [
        ("dropout", [0, 0.999], [1, -0.1], "it must be at least 0 and below 1"),
        ("placeholder_augmentation", [0, 1], [1.01], "it must be at least 0 and at most 1"),
        ("seed", [0, 2**32 - 1], [-1, 2**32], "it must be at least 0 and at most 4294967295"),
        ("decoder_ffn_dim", [1, 2**24], [0, 2**24 + 1], "it must be at least 1 and at most 16777216"),
        ("hours", [0.001], [0, -1], "it must be above 0"),
        ("length_penalty", [-2, 0, 9], [], "it must be a finite number"),
    ],
)
def test_the_ends_of_ranges(name, good, bad, words):
    interval = catalog.settings()[name].interval
    assert [interval_problem(interval, value) for value in good] == [None] * len(good)
    assert [interval_problem(interval, value) for value in [*bad, math.nan, math.inf]] == [words] * (len(bad) + 2)


@pytest.mark.parametrize("name", ["length_penalty", "sampling_temperature", "max_grad_norm", "norm_eps"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_setting_from_python_has_the_same_range(name, value):
    with pytest.raises(GlossaError, match=f"{name} is {value}; it must be"):
        for group in GROUPS:
            if name in {field.name for field in dataclasses.fields(group)}:
                group(**{name: value})  # the settings of the model and the decoding are checked with the others
        parse_settings([]).with_values({name: value}, Origin("flag"))


def test_settings_do_not_change():
    settings = parse_settings(["--learning_rate_factor", "1", "--warmup_steps", "400"])
    for group in (settings, settings.data, settings.tokenizer, settings.model, settings.translator, settings.training):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(group, next(field.name for field in dataclasses.fields(group)), None)
    other = settings.with_values({"seed": 7, "bf16": True, "max_length": 50}, Origin("flag"))
    assert (settings.training.seed, settings.data.max_length, settings.training.bf16) == (1, 128, False)
    assert (other.training.seed, other.data.max_length, other.training.mixed_precision) == (7, 50, "bf16")
    own = other.training.for_trainer()
    own.seed = 9
    assert other.training.seed == 7


def test_a_setting_that_is_gone_may_stand_in_a_recipe_where_it_was_off(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    for value in ("0.0", "0", "null"):
        recipe.write_text(f"seed: 3\nr_drop_alpha: {value}\n")
        assert catalog.read_recipe(str(recipe)) == {"seed": 3}
    recipe.write_text("seed: 3\nema_decay: null\nbpe_dropout: 0.0\n")
    assert catalog.read_recipe(str(recipe)) == {"seed": 3}
    recipe.write_text("ema_decay: 0.999\n")
    refused("`ema_decay` is no setting any more", catalog.read_recipe, str(recipe))
    recipe.write_text("r_drop_alpha: 5.0\n")
    refused("`r_drop_alpha` is no setting any more", catalog.read_recipe, str(recipe))
    recipe.write_text("head_dim: null\naverage_by: last\nrotary_base: 1e4\nembedding_norm: false\nseed: 3\n")
    assert catalog.read_recipe(str(recipe)) == {"seed": 3}
    recipe.write_text("embedding_norm: true\n")
    refused("`embedding_norm` is no setting any more", catalog.read_recipe, str(recipe))
    refused(r"Command line: `r_drop_alpha` is no setting any more", catalog.parse, ["--r_drop_alpha", "5"])


def test_null_is_for_settings_that_can_be_empty(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    for name in ("max_source_positions", "dropout", "streaming", "tokenizer_model", "normalization"):
        for value in ("null", "~", ""):
            recipe.write_text(f"{name}: {value}\n")
            refused(f"recipe.yaml: {name} is null; it must be ", catalog.read_recipe, str(recipe))
    recipe.write_text("kv_lora_rank: null\nmuon_learning_rate: ~\n")
    assert catalog.read_recipe(str(recipe)) == {"kv_lora_rank": None, "muon_learning_rate": None}
