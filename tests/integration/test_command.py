"""The command: what it answers without the libraries, and how it starts one process for each device."""

import logging
import os
import re
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest

from glossa.cli import COMMANDS, run
from glossa.cli.processes import launch, local_devices
from glossa.cli.train import COMMON
from glossa.train.data.filters import FILTERS
from glossa.train.plan import catalog

WITHOUT_LIBRARIES = """
import sys
for name in ("torch", "datasets", "accelerate", "huggingface_hub", "tokenizers"):
    sys.modules[name] = None  # importing it fails
import glossa_command
sys.argv = ["glossa", *sys.argv[1:]]
try:
    glossa_command.main()
finally:
    assert "transformers" not in sys.modules
"""


def answer(*arguments):
    """Exit status, output and errors of `glossa` where no library can be imported."""
    command = [sys.executable, "-c", WITHOUT_LIBRARIES, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


WITHOUT_TRANSFORMERS = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *package: None if name == "transformers" else find(name, *package)
sys.modules["transformers"] = None
import glossa_command
glossa_command.main("train")
"""


def test_help_of_train_without_transformers_says_what_is_missing():
    found = {}
    for words in (["--help"], ["--help", "all"], ["--help", "dropout"], ["--d_modle", "64"]):
        command = [sys.executable, "-c", WITHOUT_TRANSFORMERS, *words]
        found[words[-1]] = subprocess.run(command, capture_output=True, text=True)
        assert found[words[-1]].returncode == ("modle" in words[0]) and "Traceback" not in found[words[-1]].stderr
    assert "--d_model " in found["--help"].stdout and "--max_steps " not in found["all"].stdout
    assert found["all"].stdout.count("--") > 100 and "--dropout " in found["dropout"].stdout
    assert all(found[name].stdout.count("transformers is not installed") == 1 for name in ("--help", "all", "dropout"))
    assert "Did you mean `d_model`?" in found["64"].stderr


IMPORT_TORCH = """
import os, sys
import glossa_command, glossa.cli
glossa.cli.main = lambda *arguments: __import__("torch")
glossa_command.main("train")
print(os.environ.get("GOMP_SPINCOUNT"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "value"), [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, None)]
)
def test_waiting_threads_sleep_early_unless_the_user_says_otherwise(own, value):
    environment = {
        name: text for name, text in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    environment |= own | {"OMP_DISPLAY_ENV": "VERBOSE"}  # libgomp prints what it has read
    done = subprocess.run([sys.executable, "-c", IMPORT_TORCH], capture_output=True, text=True, env=environment)
    assert done.stdout == f"{value}\n"
    read = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)  # nothing for other libraries of threads
    assert set(read) <= {value or "0"}


@pytest.mark.slow
def test_few_kernels_are_kept_unless_the_user_says_otherwise():
    names = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    code = IMPORT_TORCH.replace('os.environ.get("GOMP_SPINCOUNT")', f"*map(os.environ.get, {names})")
    environment = {name: text for name, text in os.environ.items() if name not in names}
    for own, printed in (({}, "64 64\n"), ({names[0]: "9"}, "9 64\n"), ({names[1]: "0"}, "64 0\n")):
        command = [sys.executable, "-c", code]
        assert subprocess.run(command, capture_output=True, text=True, env=environment | own).stdout == printed


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_needs_no_library(command):
    status, output, errors = answer(*filter(None, [command]), "--help")
    assert status == 0 and len(output) > 250 and not errors


def test_the_overview_names_every_command():
    status, output, _ = answer()
    assert status == 0 and all(f"\n  {name} " in output for name in COMMANDS)
    status, output, _ = answer("--version")
    assert output.startswith("glossa 0.")


def test_it_warns_of_the_other_project_named_glossa(tmp_path):
    command = [sys.executable, "-m", "glossa_command", "--version"]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.stdout.startswith("glossa 0.") and not alone.stderr
    metadata = tmp_path / "glossa-0.1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: glossa\nVersion: 0.1.0\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    both = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    assert both.stdout == alone.stdout
    assert both.stderr.count("\n") == 1 and "pip uninstall --yes glossa &&" in both.stderr


def test_help_of_train_has_the_common_settings_or_all():
    _, few, _ = answer("train", "--help")
    _, every, _ = answer("train", "--help", "all")
    assert len(COMMON) == 21
    assert [few.count(f"--{name} ") for name in COMMON] == [1] * len(COMMON)
    _, further, _ = answer("train", "--help", "trainer")
    known = catalog.settings()
    inherited = {name for name in known if known[name].inherited}
    assert {"max_steps", "adam_beta1"} <= inherited and inherited.isdisjoint({"seed", "d_model", "hours"})
    for name in known:
        refused = name in catalog.REFUSED
        assert (f"  --{name} " in every) == (name not in inherited and not refused), name
        assert (f"  --{name} " in further) == (name in inherited and not refused), name
    lines = [line for line in every.splitlines() if line.startswith("  --")]
    assert len(every.splitlines()) < len(lines) + 25 and 100 < len(lines) < 145  # a line each
    _, one, _ = answer("train", "--help", "dropout")
    assert "embeddings and of each sublayer's output" in " ".join(one.split()) and one.count("  --") == 1
    assert all(recipe in few for recipe in catalog.recipes())


def test_help_names_no_default_that_a_run_would_not_have():
    """The case `memory-help`."""
    settings = ["learning_rate", "d_model", "num_train_epochs", "bf16", "resume_from_checkpoint", "num_beams"]
    _, text, _ = answer("train", "--help", *settings)
    shown = [" ".join(part.split()) for part in text.split("\n  --")[1:]]
    by_name = {part.split()[0]: part for part in shown}
    for name in settings[:3]:
        assert "(default: chosen by the pairs; --explain shows it)" in by_name[name]
    assert "(default" not in by_name["bf16"] and "Default: on an NVIDIA GPU" in by_name["bf16"]
    assert "true from the last whole checkpoint in output_dir" in by_name["resume_from_checkpoint"]
    assert "(default: 4)" in by_name["num_beams"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tranlsate"], "no command `tranlsate`. Did you mean `translate`?"),
        (["train", "quickstart-adapter", "--data_path", __file__], "init_from is runs/quickstart. There is no folder"),
        (["train", "--tokenizer", "runs/none", "--data_path", __file__], "tokenizer is runs/none. There is no folder"),
        (["train", "--no_such", "1"], "there is no setting `no_such`"),
        (["train", "nowhere.yaml"], "there is no such recipe"),
        (["train", "quickstart", "--vocab_size", "many"], "vocab_size is 'many'"),
        (["train", "quickstart", "--vocab_size", "0"], "vocab_size is 0; it must be at least 1"),
        (["train", "quickstart", "--test_size=-1"], "test_size is -1; it must be at least 0"),
        (["train", "anki-en-fr", "--data_path", "nowhere.tsv"], "nowhere.tsv does not exist"),
        (["score", "nowhere"], "There is no folder nowhere"),
        (["score", "x", "--n_bootstrap=-1"], "argument --n_bootstrap: got -1; it must be at least 0\n"),
        (["score", "x", "--sources", "a.en"], "unrecognized arguments: --sources a.en\n"),
        (["plot", "curves", "x", "--out", "a.png"], "unrecognized arguments: --out a.png\n"),
        (["translate", "nowhere"], "There is no folder nowhere"),
        (["translate", "x", "--num_beams", "0"], "argument --num_beams: got 0; it must be at least 1\n"),
        (["translate", "x", "--num_beams", "two"], "argument --num_beams: two is not a whole number\n"),
        (["translate", "x", "--length_penalty", "nan"], "argument --length_penalty: nan is not a finite number\n"),
        (["serve", "x", "--port", "99999"], "got 99999; it must be at least 1 and at most 65535\n"),
        (["plot", "attention", "nowhere", "--source", "x"], "There is no folder nowhere"),
        (["plot", "nothing"], "invalid choice"),
        (["export", "nowhere", "--to", "paper", "--output", "x"], "invalid choice: 'paper'"),
        (["export", "x", "--to", "ctranslate2", "--output", "y", "--quantization", "int4"], "invalid choice: 'int4'"),
        (["push", "nowhere"], "the following arguments are required: --repo_id"),
    ],
)
def test_refusals_need_no_library(arguments, words):
    status, output, errors = answer(*arguments)
    assert status in (1, 2) and words in errors and not output
    assert "Traceback" not in errors


@pytest.mark.slow
def test_importing_the_package_registers_it():
    program = "import glossa\nfrom transformers import AutoConfig\nprint(AutoConfig.for_model('glossa').model_type)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "glossa"


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_one_process_for_each_device_with_the_settings_as_they_were_parsed(monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "0")
    started, trained = [], []

    def start(options):
        started.append(options)
        monkeypatch.setattr(sys, "argv", [options.training_script, *options.training_script_args])
        runpy.run_module(options.training_script, run_name="__main__")

    monkeypatch.setattr("accelerate.commands.launch.launch_command", start)
    monkeypatch.setattr("glossa.train.run.train", trained.append)
    argv = ["quickstart", "--learning_rate", "1e-3", "--filters.length_ratio", "3", "--output_dir", str(tmp_path)]
    given = catalog.parse(argv)
    monkeypatch.setattr(catalog, "parse", None)
    launch(given, 8)
    ((options,), (settings,)) = started, trained
    assert (options.num_processes, options.num_machines, options.multi_gpu, options.module) == (8, 1, True, True)
    assert (settings.training.learning_rate, settings.data.filters) == (1e-3, {"length_ratio": 3.0})
    assert settings.named == given.values.keys() and given.recipe == "quickstart"
    assert settings.origins["learning_rate"].kind == "flag" and settings.origins["vocab_size"].kind == "recipe"


def test_devices_are_counted_unless_a_launcher_has(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(device_count=lambda: 4)))
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert local_devices() == 4
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert local_devices() == 0


@pytest.mark.parametrize(("environment", "level"), [({}, "INFO"), ({"RANK": "0"}, "INFO"), ({"RANK": "3"}, "WARNING")])
def test_one_of_several_processes_reports(monkeypatch, environment, level):
    monkeypatch.delenv("RANK", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    levels = []
    monkeypatch.setattr(logging, "basicConfig", lambda level, **_: levels.append(logging.getLevelName(level)))
    run(lambda arguments: None, [])
    assert levels == [level]


def test_help_of_data_has_the_settings_of_the_data():
    _, few, _ = answer("data", "--help")
    _, every, _ = answer("data", "--help", "all")
    own = {name for name, setting in catalog.settings().items() if setting.group == "data"}
    shown = {line.split()[0][2:] for line in few.split("\n") if line.startswith("  --")}
    filters = {f"filters.{name}" for name in FILTERS}
    assert filters | {"data_path", "test_path", "trust_data", "keep_overlap"} <= shown < own | filters
    assert {line.split()[0][2:] for line in every.split("\n") if line.startswith("  --")} == own | filters
    assert "--d_model" not in few + every and "--html FILE" in few
