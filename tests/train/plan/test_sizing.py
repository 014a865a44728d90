"""Settings by the amount of data, for runs without a recipe, and passes by the time allowed."""

import logging
import math
from dataclasses import replace

import pytest
import torch
import yaml
from small_corpus import dataset_of
from small_models import command_line
from transformers import MarianConfig

from glossa import GlossaConfig
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.model.profile_glossa import TextProfile
from glossa.train import trial
from glossa.train.data.augmentation.shares import STANDARD
from glossa.train.data.cleaning.report import DataReport
from glossa.train.plan import catalog, sizing
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.sizing import adopt_choices, choose_settings
from glossa.train.run import train
from glossa.translate.loading import load_config

LONG = sizing.ON_CPU[0].dropout
NAMES = ("vocab_size", "d_model", "encoder_layers", "num_train_epochs", "learning_rate")


def chosen(pairs, *argv, device="cpu", texts=()):
    settings = parse_settings(list(argv))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(settings.training), "device", property(lambda self: torch.device(device)))
        return choose_settings(settings, pairs, texts)


def values(settings, names=NAMES):
    recipe = settings.recipe()
    return [recipe.get(name) for name in names]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (70, [8_000, 128, 4, 4_286, 4e-3]),  # 300,000 pairs in all passes
        (2_500, [8_000, 128, 4, 120, 4e-3]),
        (5_000, [8_000, 128, 4, 60, 4e-3]),
        (10_000, [8_000, 128, 4, 60, 4e-3]),  # 600,000 pairs
        (15_000, [8_000, 128, 4, 40, 4e-3]),
        (20_000, [8_000, 128, 4, 30, 4e-3]),
        (60_000, [8_000, 128, 4, 30, 4e-3]),
        (60_001, [8_000, 256, 4, 12, 1e-3]),
        (165_000, [8_000, 256, 4, 12, 1e-3]),
        (1_000_000, [16_000, 256, 4, 4, 1e-3]),
        (10_000_000, [16_000, 256, 4, 1, 1e-3]),
    ],
)
def test_size_follows_the_number_of_pairs(pairs, expected):
    assert values(chosen(pairs)) == expected


def test_pairs_in_both_directions_count_once(monkeypatch):
    """60,000 rows of 30,000 pairs: the size is that for the pairs, and the time that for the rows."""
    rows, asked = dataset_of(*[("a b", "c d")] * 6), []
    monkeypatch.setattr(sizing, "choose_settings", lambda settings, pairs, some: asked.append((pairs, len(some))))
    for both in ("false", "true"):
        sizing.choose_for_pairs(parse_settings(["--both_directions", both]), rows, DataReport())
    assert asked == [(6, 6), (3, 6)]
    monkeypatch.undo()
    monkeypatch.setattr(sizing, "size_for_hours", lambda settings, sizes, tokens: asked.append(tokens) or sizes[-1])
    for both in ("false", "true"):
        chosen(1000, "--hours", "1", "--both_directions", both, texts=["eight ch"])
    assert asked[2:] == [2000, 4000]  # of about four characters each


def test_the_last_of_several_stages_has_the_passes_and_rates_of_a_new_model(start):
    """Of a new model for 20,000 pairs; a translator is tuned in four passes at its own rate."""
    given = ["--init_from", start(GlossaConfig(), objective="translation")]
    names = ("num_train_epochs", "learning_rate", "muon_learning_rate")
    assert values(chosen(20_000, *given), names) == [4, 5e-4, None]
    assert values(chosen(20_000, *given, "--stages", "both"), names) == [30, 4e-3, 2e-2]


def test_few_pairs_are_trained_with_muon():
    names = ("learning_rate", "muon_learning_rate", "warmup_steps")
    assert values(chosen(29_000), names) == [4e-3, 2e-2, 0.1]
    assert values(chosen(165_000), names) == [1e-3, None, 0.1]
    assert values(chosen(29_000, "--optim", "adamw_torch"), names)[1] is None


def test_a_gpu_trains_the_base_model_on_many_pairs():
    assert values(chosen(29_000, device="cuda"))[:3] == [8_000, 128, 4]
    assert values(chosen(1_000_000, device="cuda")) == [16_000, 512, 6, 12, 1e-3]
    assert values(chosen(10_000_000, device="cuda")) == [32_000, 512, 6, 4, 1e-3]


@pytest.mark.parametrize(
    ("pairs", "hours", "expected"),
    [
        # 165,000 pairs of 40 characters, 10 tokens: 1.3 times 1.65 million tokens in a second a thousand are 2,145
        # seconds a pass, and ten times that with the width of 256.
        (165_000, 12, [8_000, 256, 4, 12, 1e-3]),
        (165_000, 11.9, [8_000, 128, 4, 12, 4e-3]),  # not quite two passes with the width of 256
        (165_000, 0.1, [8_000, 128, 4, 12, 4e-3]),  # the smallest, of which less than two passes fit
        (10_000_000, 180.6, [16_000, 256, 4, 1, 1e-3]),  # half a pass is enough where one is wanted
        (10_000_000, 180.5, [8_000, 128, 4, 1, 4e-3]),
    ],
)
def test_a_smaller_model_where_time_is_short(monkeypatch, pairs, hours, expected):
    monkeypatch.setattr(sizing, "seconds_per_token", lambda settings, size: 1e-3 * (10 if size.width == 256 else 1))
    settings = chosen(pairs, "--hours", str(hours), texts=["x" * 30, "x" * 50])
    assert values(settings) == expected


@pytest.mark.parametrize(
    ("pairs", "hours", "argv", "dropout"),
    [
        # 29,000 pairs of 10 tokens, 1.3 times 290,000 tokens in a second a thousand, are 377 seconds a pass: 12 of 30
        # passes fit into 1.257 hours.
        (29_000, 1.256, [], 0.1),
        (29_000, 1.258, [], LONG),
        (29_000, 1.256, ["--dropout", "0.25"], 0.25),
        # The first of several stages: the hours of all count, and both directions of a pair.
        (29_000, 1.256, ["--hours_share", "0.35", "--both_directions", "true"], 0.1),
        (29_000, 1.258, ["--hours_share", "0.35", "--both_directions", "true"], LONG),
        (2_500, 0.433, [], 0.1),  # 48 passes of 120
        (2_500, 0.434, [], LONG),
        (10_000, 0.433, [], 0.1),  # 12 passes, as with 29,000 pairs, though there are 60
        (10_000, 0.434, [], LONG),
        (165_000, 2.8, [], 0.1),  # 4.7 of 12 passes
        (165_000, 2.9, [], 0.15),
        (10_000_000, 12, [], 0.1),
    ],
)
def test_short_runs_have_less_dropout(monkeypatch, pairs, hours, argv, dropout):
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: 1e-3)
    assert chosen(pairs, "--hours", str(hours), *argv, texts=["x" * 40]).model.dropout == dropout


def test_the_hours_of_all_stages_choose_the_model(monkeypatch):
    """A pass over both directions of 165,000 pairs of 10 tokens takes 1.19 hours with the width of 256."""
    monkeypatch.setattr(sizing, "seconds_per_token", lambda settings, size: 1e-3 if size.width == 256 else 1e-4)
    stage = ["--hours_share", "0.35", "--both_directions", "true", "--hours"]
    widths = [chosen(165_000, *stage, hours, texts=["x" * 40]).model.d_model for hours in ("2.3", "2.5")]
    assert widths == [128, 256]  # two passes fit into 2.5 hours


def test_a_model_smaller_than_the_pairs_ask_for_has_their_dropout(monkeypatch):
    """Half of the four passes fit with the width of 128, and less than a pass with 256."""
    monkeypatch.setattr(sizing, "seconds_per_token", lambda settings, size: 1e-3 * (10 if size.width == 256 else 1))
    monkeypatch.setattr(sizing, "ON_CPU", (sizing.ON_CPU[0], replace(sizing.ON_CPU[1], passes=4, dropout=0.2)))
    settings = chosen(165_000, "--hours", "1.2", texts=["x" * 40])
    assert (settings.model.d_model, settings.model.dropout) == (128, 0.2)


@pytest.mark.parametrize(
    ("hours", "share"), [(None, 0.05), (10, 0.05), (2, 0.05), (1, 0.1), (0.5, 0.2), (0.2, 0.5), (0.01, 0.5)]
)
def test_short_runs_are_evaluated_ten_times_an_hour(monkeypatch, hours, share):
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: 1e-3)
    settings = chosen(29_000, *([] if hours is None else ["--hours", str(hours)]), texts=["x"])
    assert values(settings, ("eval_steps", "save_steps")) == [share, share]


def test_evaluations_that_are_given_are_kept_in_short_runs(monkeypatch):
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: 1e-3)
    settings = chosen(29_000, "--hours", "0.5", "--eval_steps", "70", texts=["x"])
    assert settings.training.eval_steps == 70


def test_ideographs_are_more_tokens_than_letters(monkeypatch):
    """Seven ideographs, two halves and a letter: 7 x 3 + 2 + 1 characters are 6 tokens."""
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: 1e-3)
    given = []
    monkeypatch.setattr(sizing, "size_for_hours", lambda settings, sizes, tokens: given.append(tokens) or sizes[-1])
    chosen(1_000, "--hours", "1", texts=["我们在这里吃饭ｱｱa"])
    assert given == [6_000]


def test_the_size_is_not_chosen_by_time_where_a_part_of_it_is_given(monkeypatch):
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: pytest.fail("not needed"))
    assert values(chosen(165_000, "--hours", "0.1", "--d_model", "64", texts=["x"]))[:2] == [8_000, 64]
    assert values(chosen(165_000, texts=["x"]))[:2] == [8_000, 256]


def test_time_of_a_token_by_a_trial(monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr(sizing.time, "perf_counter", lambda: float(next(ticks)))  # every step takes one second
    before = torch.get_rng_state()
    settings = parse_settings(["--batch_tokens", "200"])
    tiny = sizing.Size(1_000, 290, 32, 48, 1, 2, 0.2, 3, 2e-3)
    assert sizing.seconds_per_token(settings, tiny) == 1 / 200
    assert torch.get_rng_state().equal(before)


def test_what_is_given_stays_and_what_belongs_to_it_too():
    settings = chosen(10_000, "--d_model", "64", "--learning_rate", "2e-3", "--dropout", "0.1")
    fixed = parse_settings(["--d_model", "64", "--learning_rate", "2e-3", "--dropout", "0.1"])
    names = ("d_model", "encoder_layers", "encoder_ffn_dim", "learning_rate", "warmup_steps", "dropout")
    assert values(settings, names) == values(fixed, names)
    assert settings.training.num_train_epochs == 60


@pytest.mark.slow
def test_the_choice_is_logged_as_options_that_give_the_same(caplog, tmp_path, tiny_settings):
    """Also for a text with fewer tokens than the size for its number of pairs has."""
    chosen = ("vocab_size", "warmup_steps", "eval_strategy", "eval_steps", "save_strategy", "save_steps")
    given = tiny_settings(tmp_path / "run", max_steps=2, trust_data=True, **dict.fromkeys(chosen))
    with caplog.at_level(logging.INFO):
        first = RunFolder(train(parse_settings(given))).recipe
    (line,) = [record.getMessage() for record in caplog.records if "Chosen" in record.getMessage()]
    beginning, flags = line.split(": ")
    assert beginning == "Chosen for 160 training pairs on a CPU"
    assert flags == (
        f"--dropout {LONG} --learning_rate 0.004 --muon_learning_rate 0.02 "
        "--warmup_steps 0.1 --lr_scheduler_type cosine --eval_steps 0.05 --save_steps 0.05 --eval_strategy steps "
        "--save_strategy steps"
    )
    given[given.index("--output_dir") + 1] = str(tmp_path / "again")
    again = RunFolder(train(parse_settings([*given, *flags.split()]))).recipe
    differing = {name for name in first if first[name] != again.get(name)}
    assert differing <= {"output_dir", "logging_dir"} and first["vocab_size"] < 8_000


def test_a_recipe_and_flags_follow_one_rule(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("d_model: 64\nhours: 3\n")
    flags, lines = chosen(29_000, "--d_model", "64", "--hours", "3"), chosen(29_000, str(recipe))
    assert flags.recipe() == lines.recipe()
    # The width was named, so the other sizes of the model are the defaults; the rest is that of 29,000 pairs.
    assert values(lines) == [8_000, 64, 4, 30, 4e-3]
    assert values(lines, ["encoder_ffn_dim", "dropout", "muon_learning_rate"]) == [704, LONG, 2e-2]


def test_sources_get_a_model_by_their_pairs(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("sources: [{data_path: a.tsv}, {data_path: b.tsv}]\n")
    assert values(chosen(29_000, str(recipe))) == values(chosen(29_000))


@pytest.fixture
def start(tmp_path):
    """Writes the config of a model, and the recipe of its run; returns the folder."""

    def write(config, **recipe):
        config.save_pretrained(tmp_path)
        (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
        return str(tmp_path)

    return write


def test_a_pretrained_model_keeps_its_sizes_and_gets_half_the_passes_and_rates(start):
    names = [*NAMES, "dropout", "muon_learning_rate", "warmup_steps"]
    plain = parse_settings([])
    folder = start(GlossaConfig(), objective="span_corruption")
    further = values(chosen(29_000, "--init_from", folder), names)
    assert further[:3] == values(plain)[:3] and further[5] == plain.model.dropout
    assert further[3:5] + further[6:] == [15, 2e-3, 1e-2, 0.1]


@pytest.mark.parametrize(("pairs", "passes"), [(100, 15), (2_000, 8), (10_000, 5), (100_000, 2), (100_000_000, 1)])
def test_a_translator_is_tuned_in_fewer_passes_of_more_pairs(start, pairs, passes):
    folder = start(GlossaConfig(), objective="translation")
    names = ["num_train_epochs", "learning_rate", "muon_learning_rate", "warmup_steps", "eval_steps"]
    assert values(chosen(pairs, "--init_from", folder), names) == [passes, 5e-4, None, 0.1, 0.1]
    assert chosen(2_000, "--init_from", folder).data.augmentation == STANDARD
    adapted = chosen(pairs, "--init_from", folder, "--lora_rank", "4")
    assert values(adapted, names) == [passes, 3e-3, None, 0.1, 0.1]


@pytest.mark.parametrize(("width", "rate"), [(512, 9.765625e-5), (1024, 4.8828125e-5)])
def test_a_wider_model_of_another_family_has_a_lower_rate(start, width, rate):
    folder = start(MarianConfig(d_model=width))
    settings = chosen(2_000, "--init_from", folder)
    assert values(settings, ["learning_rate", "muon_learning_rate", "augmentation"]) == [rate, None, None]


@pytest.mark.parametrize(
    ("argv", "augmented"),
    [
        ([], True),  # 12 passes
        (["--num_train_epochs", "4"], True),
        (["--num_train_epochs", "3.9"], False),
        (["--augmentation", "null"], False),
        (["--max_steps", "100"], False),
        (["--placeholder_augmentation", "0.1"], False),
        (["--streaming", "true", "--dataset", "x/y"], False),
        (["anki-en-fr"], False),  # which reproduces figures
    ],
)
def test_runs_of_four_passes_augment_their_pairs(argv, augmented):
    settings = chosen(100_000, *argv)
    assert (settings.data.augmentation == STANDARD) == augmented
    assert augmented or settings.data.augmentation is None


def test_pretraining_decides_everything():
    settings = parse_settings(["--objective", "masked_lm"])
    assert not sizing.choosable(settings) and sizing.choosable(parse_settings([]))


@pytest.mark.parametrize("name", catalog.recipes())
def test_the_recipes_of_the_package_name_all_that_would_be_chosen(name):
    data = ["--data_path", "a.tsv"] if name == "quickstart-adapter" else []
    assert not sizing.choosable(parse_settings([name, *data]))


@pytest.mark.parametrize("way", ["ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"])
def test_muon_is_not_chosen_where_matrices_are_split(monkeypatch, way):
    assert chosen(30_000).training.muon_learning_rate == 2e-2
    settings, short = parse_settings([]), parse_settings(["--hours", "0.1"])
    monkeypatch.setenv(way, "true")
    settings = choose_settings(settings, 30_000)
    assert (settings.training.muon_learning_rate, settings.training.learning_rate) == (None, 4e-3)
    # Nor with a smaller size, which fits into the hours.
    monkeypatch.setattr(sizing, "seconds_per_token", lambda settings, size: 1e-3 * size.width)
    short = choose_settings(short, 200_000, ["a text"])
    assert (short.model.d_model, short.training.muon_learning_rate) == (128, None)


def test_a_resumed_run_keeps_its_choice(tmp_path):
    (tmp_path / "recipe.yaml").write_text(
        yaml.safe_dump({"vocab_size": 777, "dropout": 0.25, "num_train_epochs": 3.5, "seed": 9, "hours": 2.0})
    )
    resumed = parse_settings(["--output_dir", str(tmp_path), "--resume_from_checkpoint", "true", "--dropout", "0.2"])
    resumed = adopt_choices(resumed)
    assert (resumed.tokenizer.vocab_size, resumed.training.num_train_epochs) == (777, 3.5)
    assert (resumed.model.dropout, resumed.training.seed) == (0.2, 1)  # given; not among the chosen
    started = parse_settings(["--output_dir", str(tmp_path)])
    assert adopt_choices(started).tokenizer.vocab_size == 8000


@pytest.mark.parametrize(("hours", "warned"), [(2.0, False), (3.0, True)])
def test_a_resumed_recipe_keeps_its_passes(tmp_path, caplog, hours, warned):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("num_train_epochs: 6\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.yaml").write_text("num_train_epochs: 3.5\nhours: 2.0\n")
    argv = [str(recipe), "--output_dir", str(tmp_path / "run"), "--resume_from_checkpoint", "true"]
    settings = parse_settings([*argv, "--hours", str(hours)])
    settings = adopt_choices(settings)
    assert settings.training.num_train_epochs == 3.5
    assert caplog.messages == warned * [
        "hours is 3, but it applies only to a new run. The resumed run keeps its 3.5 passes."
    ]


def test_a_vocabulary_that_the_text_made_smaller_is_no_option_of_another_run(caplog):
    named = {"d_model": 64, "num_train_epochs": 2, "learning_rate": 1e-3, "eval_strategy": "no"}
    settings = chosen(70, *command_line(named | {"save_strategy": "no"}))
    assert {name for name, origin in settings.origins.items() if origin.kind == "chosen"} == {"vocab_size", "dropout"}
    settings = sizing.resolve_vocabulary_size(settings, range(300))
    with caplog.at_level(logging.INFO):
        sizing.show_choices(settings)
    assert settings.tokenizer.vocab_size == 300
    assert caplog.messages == ["Chosen for 70 training pairs on a CPU: --dropout 0.2"]


def test_hours_must_be_positive_and_alone(tmp_path):
    with pytest.raises(GlossaError, match=r"hours is 0; it must be above 0"):
        parse_settings(["--hours", "0"])
    with pytest.raises(GlossaError, match=r"hours is 1\.0 and max_steps 5; set only one"):
        parse_settings(["--hours", "1", "--max_steps", "5"])


def test_a_run_without_a_recipe_trains_as_chosen_and_within_its_time(tmp_path, monkeypatch, tiny_pairs, capsys):
    tiny = sizing.Size(1_000, 8_000, 32, 48, 1, 2, 0.2, 3, 2e-3)
    for sizes in ("ON_CPU", "ON_GPU"):
        monkeypatch.setattr(sizing, sizes, (tiny,))
    # 30 seconds fit 1.5 of the 3 passes.
    monkeypatch.setattr(sizing, "seconds_per_token", lambda *_: 0.0)
    monkeypatch.setattr(trial, "seconds_per_pass", lambda trainer: 20 / 1.3)
    run = tmp_path / "run"
    argv = ["--dataset", "files", "--data_path", str(tiny_pairs), "--validation_size", "20", "--test_size", "20"]
    argv += ["--trust_data", "true", "--cpu_threads", "1", "--bf16", "false", "--report_to", "none"]
    argv += ["--output_dir", str(run)]
    argv += ["--hours", str(30 / 3600), "--batch_tokens", "100", "--gradient_accumulation_steps", "1"]
    argv += ["--num_beams", "1", "--max_new_tokens", "12"]
    train(parse_settings(argv))
    recipe, metrics = RunFolder(run).recipe, RunFolder(run).metrics
    assert (
        not recipe.get("augmentation") and "Augmented" not in capsys.readouterr().out
    )  # the case `hours-augmentation`
    assert not TextProfile.of(load_config(str(run))).mask_items
    assert [recipe[name] for name in ("d_model", "dropout", "learning_rate")] == [32, 0.2, 2e-3]
    # So little text has fewer than 8,000 pieces.
    with pytest.raises(GlossaError, match=f"supports only {recipe['vocab_size']} tokens"):
        train(parse_settings([*argv, "--output_dir", str(tmp_path / "exact"), "--vocab_size", "8000"]))
    evaluations = [entry["step"] for entry in RunFolder(run).history if "eval_bleu" in entry]
    assert evaluations == [math.ceil(metrics["steps"] / 2), metrics["steps"]]
    assert recipe["num_train_epochs"] == pytest.approx(1.5) and metrics["epochs"] == pytest.approx(1.5, abs=0.1)
    weights = (run / "model.safetensors").stat().st_mtime_ns
    train(parse_settings([*argv, "--resume_from_checkpoint", "true"]))  # has nothing left to do
    assert (run / "model.safetensors").stat().st_mtime_ns == weights
