"""The page in a real browser: typing, swapping, history, corrections, explanations, narrow and dark, without network.

If GLOSSA_PAGE_MODEL is set to SOURCE-TARGET=RUN, the page translates with that run, and the screenshots are saved in
docs/images.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
from running_server import running

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("the browser test needs Debian's chromium package", allow_module_level=True)

GIVEN = os.environ.get("GLOSSA_PAGE_MODEL")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
FIRST, SECOND = ("A man sleeps on a bench in the park.", "Two dogs run.") if GIVEN else ("a k.", "b l.")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = Path(__file__).parents[2] / "docs/images" if GIVEN else tmp_path_factory.mktemp("images")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def url(learned_run, tmp_path_factory):
    from glossa.serving.app import build_app
    from glossa.serving.corrections import Corrections
    from glossa.serving.models import Models
    from glossa.serving.service import Service

    names = [GIVEN] if GIVEN else [f"en-fr={learned_run}", f"fr-en={learned_run}"]
    corrections = Corrections(tmp_path_factory.mktemp("saved") / "corrections.jsonl")
    service = Service(Models(names), corrections=corrections)
    with running(lambda: build_app(service)) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, url):
    """A new page; its errors, and requests to other hosts, end the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: request.url.startswith((url, "data:")) or faults.append(request.url))
    page.goto(url)
    page.locator("#target option").first.wait_for(state="attached")
    yield page
    assert not faults
    context.close()


def translated(page, text):
    page.fill("#text", text)
    words = sum(len(line.split()) > 0 for line in text.split("\n"))
    page.wait_for_timeout(400)
    page.locator(f"#output:not(.old) .word[data-row='{words - 1}']").first.wait_for()
    page.wait_for_timeout(100)
    return page.locator("#output").inner_text()


def saved(page, images, name, **options):
    if not GIVEN or name in ("translation", "explain"):  # those in the documentation
        page.screenshot(path=images / f"page-{name}.png", **options)


def test_text_is_translated_while_typing(page, images):
    saved(page, images, "empty")
    first = translated(page, FIRST)
    both = translated(page, f"{FIRST}\n{SECOND}")
    assert both.splitlines()[0] == first and len(both.splitlines()) == 2
    saved(page, images, "translation")
    assert page.locator("#count").inner_text() == f"{len(FIRST) + len(SECOND) + 1} / 20,000"
    page.click("#clear")
    playwright.expect(page.locator("#output")).to_be_empty()
    playwright.expect(page.locator("#copy")).to_be_disabled()


def test_an_older_answer_never_replaces_a_newer_one(page):
    newest = translated(page, SECOND)
    held = []
    page.route(
        "**/translate", lambda route: held.append(route) if FIRST in route.request.post_data else route.continue_()
    )
    page.fill("#text", FIRST)
    page.wait_for_timeout(600)
    assert len(held) == 1
    page.fill("#text", SECOND)
    page.wait_for_timeout(600)
    held[0].fulfill(json={"translatedText": "too late"})
    page.wait_for_timeout(300)
    assert page.locator("#output").inner_text() == newest


def test_errors_are_shown(page, images):
    page.route("**/translate", lambda route: route.fulfill(status=429, json={"error": "The server is busy."}))
    page.fill("#text", FIRST)
    playwright.expect(page.locator("#error")).to_have_text("The server is busy.")
    saved(page, images, "error")
    page.fill("#text", "x" * 20_001)
    playwright.expect(page.locator("#error")).to_contain_text("The text has 20,001 characters; 20,000 are allowed.")


@pytest.mark.skipif(GIVEN is not None, reason="needs both directions")
def test_languages_are_swapped_with_the_texts(page):
    found = translated(page, FIRST)
    page.click("#swap")
    assert (page.input_value("#source"), page.input_value("#target")) == ("fr", "en")
    assert page.input_value("#text") == found


def test_the_history_stays_in_this_browser(page, url):
    found = translated(page, FIRST)
    page.reload()
    page.click("summary")
    page.click("#past button")
    page.locator("#output .word").first.wait_for()
    assert (page.input_value("#text"), page.locator("#output").inner_text()) == (FIRST, found)
    page.click("#forget")
    playwright.expect(page.locator("#history")).to_be_hidden()


def test_an_explanation(page, images):
    translated(page, FIRST)
    page.click("#output .word >> nth=0")
    page.locator("#choices li").first.wait_for()
    assert page.locator("#target-pieces [aria-checked=true]").count() == 1
    steps = int(page.get_attribute("#step", "max"))
    assert page.locator("#step-number").inner_text() == f"{steps} of {steps}"
    rows = page.locator("#attention tbody tr").count()
    assert rows == page.locator("#target-pieces .piece").count()
    saved(page, images, "explain", full_page=True)
    other = page.locator("#choices button >> nth=1 >> span >> nth=1").inner_text()
    page.click("#choices button >> nth=1")
    playwright.expect(page.locator("#changed")).to_be_visible()
    assert page.locator("#target-pieces [aria-checked=true]").inner_text().strip() == other.strip()
    page.click("#back")
    playwright.expect(page.locator("#changed")).to_be_hidden()
    page.focus("#target-pieces .piece")
    page.keyboard.press("ArrowRight")
    playwright.expect(page.locator("#target-pieces .piece >> nth=1")).to_have_attribute("aria-checked", "true")


def test_a_correction_is_saved(page, images):
    translated(page, FIRST)
    page.click("#improve")
    page.fill("#better", "A better one.")
    saved(page, images, "improve")
    page.click("#save")
    playwright.expect(page.locator("#status")).to_have_text("Saved. Thank you.")
    playwright.expect(page.locator("#better")).to_be_hidden()


@pytest.mark.parametrize(("width", "theme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_all_of_it_can_be_read_and_used(page, images, width, theme):
    """No violation of axe's rules, nothing wider than the screen."""
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 800})
    if theme == "dark":
        page.click("#theme")
    translated(page, FIRST)
    page.click("#explain")
    page.locator("#choices li").first.wait_for()
    saved(page, images, f"{width}-{theme}", full_page=True)
    found = Axe().run(page).response["violations"]
    assert not found, json.dumps(found, indent=1)[:2000]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "theme"), [(1200, "light"), (380, "dark")])
def test_the_page_of_requests(page, url, images, width, theme):
    """Every path of the specification with its fields, and commands that the server answers."""
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    page.evaluate(f"localStorage.setItem('glossa-theme', '{theme}')")
    page.goto(f"{url}/docs")
    page.locator(".request").first.wait_for()
    paths = page.request.get(f"{url}/spec").json()["paths"]
    shown = [title.split()[1] for title in page.locator("h2").all_inner_texts()]
    assert shown == list(paths)
    first = page.locator(".request").first
    assert [cell.split("\t")[:3] for cell in first.locator("tbody tr").all_inner_texts()][1:4] == [
        ["source", "string", '"auto"'], ["target", "string", "required"], ["format", "text or html", '"text"'],
    ]  # fmt: skip
    command = first.locator("code").inner_text()
    assert command.startswith(f"curl {url}/translate -H") and '{"q":"Good morning.","target":"fr"}' in command
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []
    page.screenshot(path=images / f"page-requests-{theme}.png")


def test_the_page_is_small():
    from glossa.serving.app import PAGE

    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 150_000
