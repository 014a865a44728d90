"""Fixtures shared by all tests: random seeds, tiny models and a tiny training run."""

import gc
import os
import shutil
import sys
from multiprocessing.context import BaseContext
from pathlib import Path

# Before torch is imported. For models this small, several threads are slower, also in the processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# Hundreds of processes import the package, which takes a second longer without byte code.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
import torch
from small_models import ARCHITECTURES, RUN, TINY, UNEXPORTED, command_line, write_pairs
from zygote import EARLY, Zygote

from glossa import GlossaConfig, GlossaForConditionalGeneration

gc.set_threshold(100_000, 20, 20)  # as the command does

# Minutes each. Whole files, since their tests share what is slow to set up.
LONGEST = ("tests/docs/test_blocks.py", "tests/benchmarks/test_gpu.py", "tests/train/test_learning.py",
           "tests/torture/test_kills.py", "tests/integration/test_folders.py")  # fmt: skip


def pytest_collection_modifyitems(items):
    """The longest tests come first, so that one of several processes is not left alone with them at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish():
    """What is imported by now stays: hundreds of trainings, and more tests, need not look for garbage there."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_start():
    """The seed of torch, which pytest-randomly does not set, its threads, and the environment, which commands change.

    Results do not depend on the order of the tests.
    """
    torch.manual_seed(0)
    threads, before = torch.get_num_threads(), dict(os.environ)
    yield
    torch.set_num_threads(threads)
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True, scope="session")
def engines(tmp_path_factory):
    """The folder of exported engines, which is in the user's cache otherwise."""
    from huggingface_hub import constants

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HOME", str(tmp_path_factory.mktemp("cache")))
        yield Path(constants.HF_HOME, "glossa", "engines")


@pytest.fixture(autouse=True, scope="session")
def fork_server():
    """The server of `multiprocessing`, which the first test that needs it starts, has what the later ones import."""
    give = BaseContext.set_forkserver_preload

    def give_more(context, modules):
        give(context, sorted({*modules, "glossa.train.run"}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseContext, "set_forkserver_preload", give_more)
        yield


@pytest.fixture(autouse=True, scope="session")
def drawing():
    """Trainings of tests draw no curves, which takes a third of a second each. Its value draws."""
    from glossa.base import plots

    draw = plots.draw_curves
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "draw_curves", lambda histories, file: file.touch())
        yield draw


@pytest.fixture(autouse=True, scope="session")
def resampling():
    """Scores of runs have intervals of 20 resamples instead of 1,000, which take a tenth of a second each.

    Its value computes them with as many as it is asked for.
    """
    from glossa.train.evaluation import scoring

    score = scoring.score_both

    def score_roughly(predictions, references, n_bootstrap=0, tokenize="13a"):
        return score(predictions, references, min(n_bootstrap, 20), tokenize)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "score_both", score_roughly)
        yield score


@pytest.fixture(scope="session")
def zygote(early):
    """Commands of this environment that start without importing the libraries once more."""
    process = Zygote(Path(sys.executable).parent, dict(os.environ), others=early.path)
    yield process
    process.end()


@pytest.fixture(scope="session")
def early():
    """The same with less imported: processes import transformers and Glossa themselves, with settings of their own."""
    process = Zygote(Path(sys.executable).parent, dict(os.environ), EARLY)
    yield process
    process.end()


@pytest.fixture
def tiny_config():
    return lambda **settings: GlossaConfig(**(TINY | settings))


@pytest.fixture
def tiny_model(tiny_config):
    def build(**settings):
        """A float64 model, for tight tolerances, with random biases and norms instead of 0 and 1."""
        torch.manual_seed(0)
        model = GlossaForConditionalGeneration(tiny_config(**settings)).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return model

    return build


@pytest.fixture(params=ARCHITECTURES | UNEXPORTED)
def architecture(request):
    return (ARCHITECTURES | UNEXPORTED)[request.param]


@pytest.fixture(scope="session")
def tiny_pairs(tmp_path_factory):
    """A file of 200 artificial pairs: "x y." and "y x!"."""
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv")


@pytest.fixture(scope="session")
def tiny_settings(tiny_pairs):
    """The command line of a very short run; keyword arguments change or add settings, or leave them out (None)."""

    def arguments(output_dir, **changes):
        settings = RUN | {"data_path": tiny_pairs, "output_dir": output_dir} | changes
        return command_line({name: value for name, value in settings.items() if value is not None})

    return arguments


@pytest.fixture(scope="session")
def tiny_train(tiny_settings):
    """Trains with the settings of `tiny_settings`; returns the folder of the run."""
    from glossa.train.plan.arguments import parse_settings
    from glossa.train.run import train

    return lambda output_dir, **changes: train(parse_settings(tiny_settings(output_dir, **changes)))


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory, tiny_train, drawing):
    """The folder of a finished, very short run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glossa.base.plots.draw_curves", drawing)
        return tiny_train(tmp_path_factory.mktemp("runs") / "tiny", num_beams=2, max_new_tokens=12)


@pytest.fixture(scope="session")
def learned_run(tiny_train, tmp_path_factory):
    """A run trained long enough that its translations have words."""
    settings = {"num_train_epochs": 30, "learning_rate": 0.01, "d_model": 32, "encoder_ffn_dim": 64, "num_beams": 2}
    settings |= {"decoder_ffn_dim": 64, "eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": "no"}
    settings |= {"max_new_tokens": 12}
    return tiny_train(tmp_path_factory.mktemp("runs") / "learned", **settings)


@pytest.fixture(scope="module")
def browser():
    """Chromium, without requests of its own."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("the browser test needs Debian's chromium package")
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A new page of the browser; an error in it ends the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert not faults
