"""Settings from recipes and the command line."""

from pathlib import Path

import pytest
import yaml

from glossa import GlossaConfig
from glossa.errors import GlossaError
from glossa.training.arguments import parse_settings

RECIPES = sorted((Path(__file__).parents[1] / "configuration").glob("*.yaml"))


def write(folder, text):
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_values_keep_the_meaning_they_were_written_with(tmp_path):
    recipe = write(
        tmp_path,
        "learning_rate: 1e-4\neval_strategy: no\nsave_strategy: no\nload_best_model_at_end: no\n"
        "head_dim: null\nkey_value_heads: null\ndata_path: [a.en, b.fr]\nlr_scheduler_kwargs: {num_cycles: 0.25}\n",
    )
    settings = parse_settings([recipe])
    assert settings.training.learning_rate == 0.0001  # YAML alone reads 1e-4 as a string
    assert settings.training.eval_strategy.value == "no"  # ... and no as false
    assert settings.training.load_best_model_at_end is False
    assert settings.model.key_value_heads is None
    assert settings.data.data_path == ["a.en", "b.fr"]
    assert settings.training.lr_scheduler_kwargs == {"num_cycles": 0.25}


def test_the_command_line_wins(tmp_path):
    settings = parse_settings([write(tmp_path, "d_model: 64\nseed: 5\n"), "--d_model", "128"])
    assert settings.model.d_model == 128
    assert settings.training.seed == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--d_modle", "64"], ["d_modle", "`d_model`"]),
        (["--lerning-rate", "1"], ["`learning_rate`"]),
        (["--d_model", "wide"], ["d_model", "wide", "int"]),
        (["--norm_type", "batch"], ["norm_type", "batch", "rms", "layer"]),
        (["--batch_tokens", "0"], ["batch_tokens", "0", "at least 1"]),
        (["--average_checkpoints", "9"], ["average_checkpoints", "9", "save_total_limit"]),
        (["missing.yaml"], ["missing.yaml", "no such recipe"]),
        (["--max_length", "1"], ["max_length", "1", "at least 2"]),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(arguments, words):
    with pytest.raises(GlossaError) as error:
        parse_settings(arguments)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_an_unknown_key_in_a_recipe_is_refused(tmp_path):
    with pytest.raises(GlossaError, match=r"recipe\.yaml.*`warmup_step`.*`warmup_steps`"):
        parse_settings([write(tmp_path, "warmup_step: 10\n")])


@pytest.mark.parametrize("text", ["a: [1\n", "- a\n- b\n", "just words\n"])
def test_a_recipe_that_is_not_settings_is_refused(tmp_path, text):
    with pytest.raises(GlossaError, match=r"recipe\.yaml"):
        parse_settings([write(tmp_path, text)])


def test_the_resolved_recipe_gives_the_same_settings_again(tmp_path):
    settings = parse_settings(
        ["--d_model", "64", "--key_value_heads", "1", "--learning_rate", "3e-5", "--dataset", "anki"]
    )
    again = parse_settings([write(tmp_path, yaml.safe_dump(settings.recipe()))])
    assert again.recipe() == settings.recipe()
    assert (again.model, again.data, again.translator) == (settings.model, settings.data, settings.translator)


def test_every_architecture_setting_has_its_default_and_its_meaning(capsys):
    with pytest.raises(SystemExit) as end:
        parse_settings(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    settings = parse_settings([])
    config = GlossaConfig()
    for name, value in vars(settings.model).items():
        assert value == getattr(config, name)
        assert f"--{name}" in text
    assert "Width of the residual stream. (default: 256)" in " ".join(text.split())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_parses(recipe):
    settings = parse_settings([str(recipe)])
    assert settings.training.output_dir == f"runs/{recipe.stem}"
    GlossaConfig(**settings.model_settings())
