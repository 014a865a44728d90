"""Settings parsed from source code: equal to the real dataclasses, with errors for invalid values."""

import dataclasses
import math
import re

import pytest

from glossa.cli.train import main as command
from glossa.data.arguments import RANGES, range_problem
from glossa.errors import GlossaError
from glossa.plan import catalog
from glossa.plan.arguments import Settings, parse_settings
from glossa.plan.settings import GROUPS


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
        ("save_total_limit", ["3"], ["three"]),
        ("output_dir", ["anything", "3"], []),
    ],
)
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
    with pytest.raises(GlossaError, match=message):
        catalog.check(argv)


def test_errors_in_a_recipe(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("dropuot: 0.1\n")
    with pytest.raises(GlossaError, match=rf"{re.escape(str(recipe))}: there is no setting `dropuot`.*`dropout`"):
        catalog.check([str(recipe)])
    recipe.write_text("dropout: much\nvocab_size: 300\n")
    with pytest.raises(GlossaError, match=r"recipe\.yaml: dropout is 'much'; it must be a number"):
        catalog.check([str(recipe)])
    recipe.write_text("- a\n- b\n")
    with pytest.raises(GlossaError, match="a recipe must consist of lines"):
        catalog.check([str(recipe)])


@pytest.mark.parametrize("recipe", catalog.recipes())
def test_every_recipe_is_valid(recipe):
    catalog.check(
        [recipe, "--bf16", "--data_path", "a", "b", "--length_penalty", "-1", "--source-special-tokens", "none"]
    )


def test_values_are_converted_and_the_command_line_overrides_the_recipe(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("dropout: 0\nvocab_size: 300\ndata_path: [a, b]\nbf16: no\ndata_seed: null\noutput_dir: '7'\n")
    given = catalog.check([str(recipe), "--vocab-size=400", "--bf16", "--normalization", "nfkc", "lowercase"])
    assert given == {
        "dropout": 0.0, "vocab_size": 400, "data_path": ["a", "b"], "bf16": True, "output_dir": "7",
        "normalization": ["nfkc", "lowercase"],
    }  # fmt: skip
    assert type(given["dropout"]) is float and catalog.check(["--bf16", "False"]) == {"bf16": False}


def test_null_on_the_command_line_is_none_where_a_setting_can_be(tmp_path):
    argv = ["--save_total_limit", "null", "--dataset", "null", "--seed=null", "--head-dim=null", "--dropout", "0"]
    rest = ["--dataset", "null", "--seed=null", "--dropout", "0"]
    assert catalog.take_nulls(argv) == (rest, ["save_total_limit", "head_dim"])
    assert catalog.take_nulls(["--head_dim", "8", "--head_dim", "null"]) == ([], ["head_dim"])
    assert catalog.take_nulls(["--head_dim", "null", "--head_dim", "8"]) == (["--head_dim", "8"], [])
    assert catalog.take_nulls(["stray", "--head_dim", "8"]) == (["stray", "--head_dim", "8"], [])
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("max_train_samples: 7\n")
    assert catalog.check([str(recipe), "--max_train_samples", "null"]) == {"max_train_samples": None}
    with pytest.raises(GlossaError, match="Command line: vocab_size is 'null'; it must be a whole number"):
        catalog.check(["--vocab_size", "null"])


def test_errors_say_where_the_value_comes_from(tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("vocab_size: 0\nd_model: 64\n")
    message = "vocab_size is 0; it must be at least 1."
    assert catalog.origin(message, [str(recipe)]) == f"{recipe}: "
    assert catalog.origin(message, [str(recipe), "--vocab-size=0"]) == "Command line: "
    assert catalog.origin(message, ["--vocab_size", "0"]) == "Command line: "
    assert catalog.origin("max_length is 1; it must be at least 2.", [str(recipe)]) == "", "a default"
    assert catalog.origin("The disk is full.", [str(recipe)]) == ""
    with pytest.raises(GlossaError, match=r"mine.yaml: vocab_size is 0; it must be at least 1"):
        command([str(recipe)])


def test_every_number_has_a_range():
    numbers = {
        name
        for name, setting in catalog.settings().items()
        if {kind.strip() for kind in setting.type.split("|")} & {"int", "float"}
    }
    assert numbers == RANGES.keys()
    for name in numbers:
        default = catalog.settings()[name].default
        assert default is None or range_problem(name, default) is None, name


@pytest.mark.parametrize(
    ("name", "good", "bad", "words"),
    [
        ("dropout", [0, 0.999], [1, -0.1], "it must be at least 0 and below 1"),
        ("max_punctuation", [0, 1], [1.01], "it must be at least 0 and at most 1"),
        ("seed", [0, 2**32 - 1], [-1, 2**32], "it must be at least 0 and at most 4294967295"),
        ("decoder_ffn_dim", [1, 2**24], [0, 2**24 + 1], "it must be at least 1 and at most 16777216"),
        ("hours", [0.001], [0, -1], "it must be above 0"),
        ("length_penalty", [-2, 0, 9], [], "it must be a finite number"),
    ],
)
def test_the_ends_of_ranges(name, good, bad, words):
    assert [range_problem(name, value) for value in good] == [None] * len(good)
    assert [range_problem(name, value) for value in [*bad, math.nan, math.inf]] == [words] * (len(bad) + 2)


@pytest.mark.parametrize("name", ["length_penalty", "max_character_ratio", "max_grad_norm", "rotary_base"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_setting_from_python_has_the_same_range(name, value):
    with pytest.raises(GlossaError, match=f"{name} is {value}; it must be"):
        for group in GROUPS:
            if name in {field.name for field in dataclasses.fields(group)}:
                settings = parse_settings([])
                setattr(next(own for own in vars(settings).values() if isinstance(own, group)), name, value)
                groups = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
                for own in (settings.data, settings.tokenizer, settings.training):
                    own.__post_init__()
                Settings(**groups)


def test_a_setting_that_is_gone_may_stand_in_a_recipe_where_it_was_off(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    for value in ("0.0", "0", "null"):
        recipe.write_text(f"seed: 3\nr_drop_alpha: {value}\n")
        assert catalog.read_recipe(str(recipe)) == {"seed": "3"}
    recipe.write_text("seed: 3\nema_decay: null\nbpe_dropout: 0.0\n")
    assert catalog.read_recipe(str(recipe)) == {"seed": "3"}
    recipe.write_text("ema_decay: 0.999\n")
    with pytest.raises(GlossaError, match="`ema_decay` is no setting any more"):
        catalog.read_recipe(str(recipe))
    recipe.write_text("r_drop_alpha: 5.0\n")
    with pytest.raises(GlossaError, match="`r_drop_alpha` is no setting any more, since it made translations worse"):
        catalog.read_recipe(str(recipe))
    with pytest.raises(GlossaError, match=r"Command line: `r_drop_alpha` is no setting any more"):
        catalog.check(["--r_drop_alpha", "5"])


def test_null_is_for_settings_that_can_be_empty(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    for name in ("max_source_positions", "dropout", "streaming", "tokenizer_model", "normalization"):
        for value in ("null", "~", ""):
            recipe.write_text(f"{name}: {value}\n")
            with pytest.raises(GlossaError, match=f"recipe.yaml: {name} is null; it must be "):
                catalog.read_recipe(str(recipe))
    recipe.write_text("head_dim: null\nmuon_learning_rate: ~\n")
    assert catalog.read_recipe(str(recipe)) == {"head_dim": "null", "muon_learning_rate": "~"}
