"""Settings from recipes and the command line."""

from pathlib import Path

import pytest
import torch
import yaml
from small_models import command_line
from transformers import get_scheduler

from glossa import GlossaConfig
from glossa.base.errors import GlossaError
from glossa.cli.train import main
from glossa.train.plan import catalog
from glossa.train.plan.arguments import Origin, parse_settings

CONFIGURATION = Path(__file__).parents[3] / "configuration"
RECIPES = sorted(CONFIGURATION.glob("*.yaml"))


def write(folder, text):
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_recipe_values_are_parsed_as_written(tmp_path):
    recipe = write(
        tmp_path,
        "learning_rate: 1e-4\neval_strategy: no\nsave_strategy: no\nload_best_model_at_end: no\n"
        "kv_lora_rank: null\nnum_key_value_heads: null\ndata_path: [a.en, b.fr]\n"
        "lr_scheduler_kwargs: {num_cycles: 0.25}\n",
    )
    settings = parse_settings([recipe])
    assert settings.training.learning_rate == 0.0001  # plain YAML reads 1e-4 as a string
    assert settings.training.eval_strategy.value == "no"  # ... and no as false
    assert settings.training.load_best_model_at_end is False
    assert settings.model.num_key_value_heads is None
    assert settings.data.data_path == ["a.en", "b.fr"]
    assert settings.training.lr_scheduler_kwargs == {"num_cycles": 0.25}


def test_null_reports_nowhere(tmp_path):
    assert parse_settings([write(tmp_path, "report_to: null\n")]).training.report_to == []


def rates(arguments, steps, *recipe):
    """The learning rate of each optimizer step, from the schedule that the Trainer creates for the settings."""
    training = parse_settings([*recipe, *command_line(arguments)]).training
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=training.learning_rate)
    schedule = get_scheduler(
        training.lr_scheduler_type, optimizer, num_warmup_steps=training.get_warmup_steps(steps),
        num_training_steps=steps, scheduler_specific_kwargs=training.lr_scheduler_kwargs,
    )  # fmt: skip
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def test_schedule_of_the_paper_with_a_factor():
    """factor x d^-0.5 x min(step^-0.5, step x warmup^-1.5); the first step of transformers' schedules is step 0."""
    arguments = {"learning_rate_factor": 0.1, "warmup_steps": 30, "d_model": 512}
    found = rates(arguments, 90)
    formula = [0.1 * 512**-0.5 * min(max(step, 1) ** -0.5, step * 30**-1.5) for step in range(90)]
    assert found == pytest.approx(formula, rel=1e-6)
    assert max(found) == found[30] == pytest.approx(0.1 / (512 * 30) ** 0.5)


def test_the_peak_of_the_paper_follows_a_width_that_is_set_later():
    schedule = ["--learning_rate_factor", "1", "--warmup_steps", "400", "--d_model", "256"]
    settings = parse_settings(schedule)
    assert settings.training.learning_rate == pytest.approx(0.003125)  # (256 x 400) ** -0.5
    wider = settings.with_values({"d_model": 64}, Origin("chosen"))
    assert wider.training.learning_rate == pytest.approx(0.00625)
    assert settings.training.learning_rate == pytest.approx(0.003125)


def test_linear_warm_up_then_cosine_to_zero():
    found = rates({"warmup_steps": 100}, 300, str(CONFIGURATION / "anki-en-fr-modern.yaml"))
    assert found[0] == pytest.approx(0.00005) and found[99] == pytest.approx(0.005)
    assert found[1] - found[0] == pytest.approx(found[99] - found[98]), "a straight line"
    assert found[199] == pytest.approx(0.0025, rel=0.02), "half-way down, half the peak"
    assert found[-1] == pytest.approx(0.0, abs=1e-6)


def test_constant_then_cosine():
    arguments = {"lr_scheduler_type": "warmup_stable_decay", "warmup_steps": 10, "learning_rate": 0.01}
    arguments["lr_scheduler_kwargs"] = '{"num_decay_steps": 40, "decay_type": "cosine"}'
    found = rates(arguments, 100)
    assert found[10:60] == [0.01] * 50
    assert found[80] == pytest.approx(0.005) and found[99] < 0.0001


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--norm_type", "batch"], ["norm_type", "batch", "rms", "layer"]),
        (["--batch_tokens", "0"], ["batch_tokens", "0", "at least 1"]),
        (["--average_checkpoints", "9"], ["average_checkpoints", "9", "save_total_limit"]),
        (["--average_checkpoints", "5", "--save_total_limit", "5"], ["save_total_limit is 5", "limit to 6"]),
        (["--max_length", "1"], ["max_length", "1", "at least 2"]),
        (["--tokenizer_model", "letters"], ["tokenizer_model", "letters", "unigram"]),
        (["--target_vocab_size", "500"], ["target_vocab_size", "500", "share_encoder_decoder_embeddings"]),
        (
            ["--learning_rate_factor", "1", "--lr_scheduler_type", "cosine"],
            ["learning_rate_factor", "cosine", "inverse_sqrt"],
        ),
    ],
)
def test_errors_name_the_problem_and_the_remedy(arguments, words):
    with pytest.raises(GlossaError) as error:
        parse_settings(arguments)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_saved_recipe_gives_the_same_settings(tmp_path):
    settings = parse_settings(
        ["--d_model", "64", "--num_key_value_heads", "1", "--learning_rate", "3e-5", "--dataset", "anki"]
    )
    again = parse_settings([write(tmp_path, yaml.safe_dump(settings.recipe()))])
    assert again.recipe() == settings.recipe()
    assert (again.model, again.data, again.translator) == (settings.model, settings.data, settings.translator)


def test_every_architecture_setting_has_default_and_help(capsys):
    settings = parse_settings([])
    names = list(vars(settings.model))
    with pytest.raises(SystemExit) as end:
        main([*names, "--help"])
    assert end.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for name in names:
        assert getattr(settings.model, name) == getattr(GlossaConfig, name)
        assert f"--{name}" in text
    assert "Width of the residual stream. (default: chosen by the pairs; --explain shows it)" in text


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_parses(recipe):
    own_pairs = ["--data_path", "mine.tsv"] if "dataset: files" in recipe.read_text() else []
    settings = parse_settings([str(recipe), *own_pairs])
    assert settings.training.output_dir == f"runs/{recipe.stem}"
    assert settings.config(vocab_size=100).d_model == settings.model.d_model


def test_a_saved_recipe_keeps_what_was_set_to_null(tmp_path):
    """With several key and value heads for each query head (the default), it would be another architecture."""
    names = [
        name
        for name, setting in catalog.settings().items()
        if setting.optional and setting.default is not None and name != "output_dir"
    ]
    assert {"num_key_value_heads", "save_total_limit"} <= set(names)
    settings = parse_settings([word for name in names for word in (f"--{name}", "null")])
    again = parse_settings([write(tmp_path, yaml.safe_dump(settings.recipe()))])
    assert (again.model.num_key_value_heads, again.training.save_total_limit) == (None, None)
    assert again.recipe() == settings.recipe()


@pytest.mark.parametrize(
    ("evaluates", "saves", "loads"),
    [("no", "steps", False), ("no", "no", False), ("epoch", "no", False), ("steps", "epoch", False),
     ("epoch", "epoch", True), ("epoch", "best", True)],
)  # fmt: skip
def test_the_best_checkpoint_is_loaded_where_there_can_be_one(evaluates, saves, loads):
    argv = ["--eval_strategy", evaluates, "--save_strategy", saves, "--eval_steps", "5", "--save_steps", "5"]
    assert parse_settings(argv).training.load_best_model_at_end is loads
    if not loads:
        with pytest.raises(GlossaError, match=rf"eval_strategy is {evaluates} and save_strategy {saves}: the best"):
            parse_settings([*argv, "--load_best_model_at_end", "true"])


def test_a_url_is_no_folder():
    with pytest.raises(GlossaError) as error:
        parse_settings(["quickstart", "--output_dir", "https://user:secret@example.org/run"])
    assert "secret" not in str(error.value)
