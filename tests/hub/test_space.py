"""The Space in a real browser: translations, beams, selection, empty and very long input, wide and narrow screens.

If GLOSSA_SPACE_RUN is set to a finished run, the Space uses that run and saves the screenshots in docs/images.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glossa.hub.facts import Run
from glossa.hub.push import stage, stage_space
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.plan.arguments import parse_settings
from glossa.training.run import train

pytestmark = pytest.mark.slow
pytest.importorskip("gradio", reason="the Space needs gradio: pip install -e .[dev]")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("the browser test needs Debian's chromium package", allow_module_level=True)

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tiny_settings, tmp_path_factory):
    """A run trained long enough that translations end."""
    if given := os.environ.get("GLOSSA_SPACE_RUN"):
        return Path(given)
    settings = {"num_train_epochs": 30, "learning_rate": 0.01, "d_model": 32, "encoder_ffn_dim": 64}
    settings |= {"decoder_ffn_dim": 64, "eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": "no"}
    return train(parse_settings(tiny_settings(tmp_path_factory.mktemp("runs") / "learned", **settings)))


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = ROOT / "docs/images" if os.environ.get("GLOSSA_SPACE_RUN") else tmp_path_factory.mktemp("images")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def url(run, tmp_path_factory):
    """The address of the Space, staged as for a push and running in its own process."""
    folder = tmp_path_factory.mktemp("space")
    stage(run, "someone/en-fr", folder / "model")
    stage_space("someone/en-fr", run, folder / "space", publish_samples=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"MODEL_ID": str(folder / "model"), "GRADIO_SERVER_PORT": str(port)}
    environment |= {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log,
        )  # fmt: skip
    for _ in range(240):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.5)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, url):
    """The loaded page; the test fails if the page raises an error."""
    errors = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: errors.append(error))
    page.goto(url)
    page.wait_for_selector("#text textarea")
    yield page
    page.close()
    assert not errors


@pytest.fixture(scope="module")
def sentence(run):
    return Run(run).sources(1)[0]


@pytest.fixture(scope="module")
def translations(run, sentence):
    """The expected translations by number of beams."""
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))

    def best(beams, count):
        found = Translator(model, tokenizer, num_beams=beams, num_return_sequences=count).translate([sentence])[0]
        return list(dict.fromkeys(one.text for one in found))

    return best


def translate(page, text):
    page.fill("#text textarea", text)
    page.click("#translate")


def shown(page):
    return [label.split(" ", 1)[1].strip() for label in page.locator("#choices label").all_inner_texts()]


def test_translates_with_the_selected_beams(page, sentence, translations, images):
    assert page.title() == "Translate English to French"
    page.locator("#component-0, button", has_text=sentence).first.wait_for(state="attached")  # among the examples
    translate(page, sentence)
    page.wait_for_selector("#heat table")
    assert page.input_value("#result textarea") == translations(4, 3)[0]
    assert shown(page) == [text.strip() for text in translations(4, 3)]
    page.screenshot(path=images / "space-wide.png", full_page=True)
    page.locator("#beams input[type=number]").fill("2")
    page.locator("#beams input[type=number]").press("Tab")
    page.click("#translate")
    wanted = [text.strip() for text in translations(2, 2)]
    page.wait_for_function(f"document.querySelectorAll('#choices label').length == {len(wanted)}")
    assert shown(page) == wanted


def test_selecting_a_translation_shows_its_attention(page, sentence, translations):
    translate(page, sentence)
    page.wait_for_selector("#heat table")
    second, drawn = translations(4, 3)[1], page.inner_html("#heat")
    page.locator("#choices label").nth(1).click()
    page.wait_for_function(
        "text => document.querySelector('#result textarea').value === text", arg=second, timeout=30_000
    )
    page.wait_for_function("drawn => document.querySelector('#heat').innerHTML !== drawn", arg=drawn)
    page.wait_for_selector("#heat table")
    cells = page.locator("#heat tbody tr").first.locator("td").count()
    columns = page.locator("#heat thead th").count() - 1
    assert cells == columns > 1
    weights = page.eval_on_selector_all(
        "#heat tbody tr:first-child td", "cells => cells.map(cell => parseFloat(cell.title.match(/(\\d+)%$/)[1]))"
    )
    assert sum(weights) == pytest.approx(100, abs=columns)  # attention sums to 1; each weight is rounded


def test_empty_and_very_long_input(page):
    translate(page, "   ")
    page.wait_for_selector("#message >> text=Type some text first.")
    assert page.input_value("#result textarea") == ""
    translate(page, "word " * 1000)
    page.wait_for_function("document.querySelector('#result textarea').value.length > 0")
    page.wait_for_selector("#heat >> text=Attention is shown for text of up to 60 tokens.")
    translate(page, "x" * 20_001)
    page.wait_for_selector("#message >> text=inputs have 20,001 characters in total; at most 20,000 are allowed.")
    assert page.input_value("#result textarea") == ""


def test_narrow_dark_screen_and_keyboard(browser, url, sentence, images):
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.set_default_timeout(60_000)
    page.goto(url)
    page.wait_for_selector("#text textarea")
    page.locator("#text textarea").focus()
    page.keyboard.type(sentence)
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("#heat table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390  # no horizontal overflow
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = (int(part) for part in background.removeprefix("rgb(").rstrip(")").split(",")[:3])
    assert max(red, green, blue) < 64
    page.locator("#text textarea").focus()
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('[id]:not([id^=component])')?.id || ''"))
    assert {"translate", "beams", "count"} <= {name.split("-")[0] for name in reached} | reached
    page.screenshot(path=images / "space-narrow.png", full_page=True)
    page.close()
