"""An exported page in a real browser: first visit, typing, offline, in a frame of another site, what goes wrong.

If GLOSSA_PAGE_MODEL is set to the folder of a run, the pictures of docs/browser.md are made of its page.
"""

import contextlib
import functools
import gzip
import http.server
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from glossa.apps.web.site import export_site
from glossa.train.hub.space import page_facts
from glossa.translate.interface import Search
from glossa.translate.translator import Translator

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
TEXT = "The man sleeps in the park."


@contextlib.contextmanager
def files_at(folder):
    """A plain file server; its address, and the paths that it was asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def shared(site):
    """A model, its tokenizer and its page under a path of a server."""
    model, tokenizer, folder = site("shared")
    with files_at(folder.parent) as (address, asked):
        yield model, tokenizer, f"{address}{folder.name}/", asked


def translation(page, text):
    """What the page shows for a text, when it is done."""
    page.locator("#text").fill(text)
    page.wait_for_function("document.querySelector('#output').classList.contains('old') === false")
    page.wait_for_function("document.querySelector('#status').textContent === ''")
    return shown(page)


def shown(page):
    """The translation on a page or in a frame, without its hidden notes."""
    return page.locator("#output").inner_text()


def opened(page, address):
    page.goto(address)
    page.locator("#target option").first.wait_for(state="attached")


def expected(shared, text):
    model, tokenizer, *_ = shared
    return Translator(model, tokenizer, Search()).best([text])[0]


def test_a_page_translates_and_asks_no_other_host(page, shared):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, shared[2])
    assert translation(page, TEXT) == expected(shared, TEXT)
    assert asked and all(url.startswith((shared[2], "blob:", "data:")) for url in asked)
    assert "A model of a test." in page.locator("#about").inner_text()
    for name in ("terms", "open", "improve", "requests", "swap", "loading"):
        assert not page.locator(f"#{name}").is_visible(), name


def test_a_text_in_the_address_is_translated_and_is_no_html(page, shared):
    text = "<img src=x onerror=alert(1)> sleeps."
    page.goto(f"{shared[2]}#text={text.replace(' ', '%20')}")
    page.wait_for_function("document.querySelector('#output').textContent !== ''")
    assert page.locator("#text").input_value() == text
    assert page.locator("img[src='x']").count() == 0


def test_the_newest_text_wins_and_a_long_one_can_be_stopped(page, shared):
    opened(page, shared[2])
    page.locator("#text").fill(" ".join([TEXT] * 400))
    page.locator("#stop").wait_for(state="visible")
    assert translation(page, TEXT) == expected(shared, TEXT)
    page.locator("#text").fill(" ".join([TEXT.replace("man", str(number)) for number in range(400)]))
    page.locator("#stop").click()
    page.locator("#stop").wait_for(state="hidden")
    assert page.locator("#text").input_value().startswith("The 0 sleeps"), "what was typed stays"
    assert translation(page, TEXT) == expected(shared, TEXT)


def test_a_translation_that_cannot_be_right_is_underlined(page, shared):
    """A random model writes far more than a short source can mean, or forgets its number."""
    model, tokenizer, address, _ = shared
    texts = ["No.", "The 4711 dogs run.", "The man sleeps 2,500 times in the house."]
    translations = Translator(model, tokenizer, Search()).translate(texts)
    text, found = next((text, each[0]) for text, each in zip(texts, translations, strict=True) if each[0].problem)
    opened(page, address)
    translation(page, text)
    page.locator("#output .doubtful").first.focus()
    assert page.locator("#doubt").inner_text() == f"This sentence may need a correction: {found.problem}."


def test_a_text_that_is_too_long_is_refused_in_one_line(page, shared):
    opened(page, shared[2])
    page.locator("#text").fill("a" * 100_001)
    page.wait_for_function("document.querySelector('#error').textContent !== ''")
    assert page.locator("#error").inner_text() == "The text has 100,001 characters; 100,000 are allowed."


def test_other_translations_are_shown_on_demand(page, shared):
    opened(page, shared[2])
    translation(page, TEXT)
    page.locator("#alternatives summary").click()
    page.locator("#others li").first.wait_for()
    model, tokenizer, *_ = shared
    found = Translator(model, tokenizer, Search(4, num_return_sequences=4)).translate([TEXT])[0]
    shown = page.evaluate("[...document.querySelectorAll('#others li')].map((one) => one.textContent)")
    assert shown == [one.text for one in found[1:] if one.text]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 360)])
def test_the_page_has_no_findings_of_axe(browser, shared, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="this test needs axe-playwright-python")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    opened(page, shared[2])
    translation(page, TEXT)
    page.locator("#alternatives summary").click()
    page.locator("#others li").first.wait_for()
    results = axe.Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.mark.skipif("GLOSSA_PAGE_MODEL" not in os.environ, reason="only to make the pictures of the documentation")
def test_pictures_of_the_documentation(browser, tmp_path):
    run, images = os.environ["GLOSSA_PAGE_MODEL"], Path(__file__).parents[3] / "docs" / "images"
    export_site(run, tmp_path / "page", page_facts(Path(run)))
    with files_at(tmp_path / "page") as (address, _):
        for name, width, height in (("light", 1200, 640), ("narrow", 390, 800)):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
            page = context.new_page()
            opened(page, address)
            translation(page, "A man sleeps on a bench in the park.")
            page.locator("#alternatives summary").click()
            page.locator("#others li").first.wait_for()
            page.screenshot(path=images / f"browser-{name}.png", full_page=True)
            context.close()
        page = browser.new_page(viewport={"width": 1200, "height": 640})
        page.route("**/weights.safetensors.gz", lambda route: None)
        page.goto(address)
        page.wait_for_function("document.querySelector('#loaded').value > 3e6")
        page.screenshot(path=images / "browser-first.png")
        page.close()


def test_the_first_visit_shows_how_much_has_come(page, shared):
    page.route("**/weights.safetensors.gz", lambda route: None)  # never answered
    page.goto(shared[2])
    page.wait_for_function(
        "/^Loading the model: [1-9][.0-9]* of [.0-9]+ MB$/.test(document.querySelector('#loaded-words').textContent)"
    )
    assert page.locator("#loaded").get_attribute("max")
    page.locator("#text").fill(TEXT)
    assert page.locator("#text").input_value() == TEXT, "one can type meanwhile"


def test_a_word_is_explained_with_a_graph_that_is_loaded_then(page, shared):
    *_, address, asked = shared
    asked.clear()
    opened(page, address)
    translation(page, TEXT)
    assert not any("attention.onnx" in path for path in asked)
    page.locator("#explain").click()
    page.locator("#attention table").wait_for()
    assert any("attention.onnx" in path for path in asked)
    assert page.locator("#source-pieces .piece").count() > 3
    page.locator("#choices button").nth(1).click()
    page.locator("#back").wait_for()


def test_the_page_works_without_a_connection_at_its_own_address(browser, site, tmp_path):
    shutil.copytree(site("shared")[2], tmp_path / "page")
    context = browser.new_context()
    page = context.new_page()
    with files_at(tmp_path / "page") as (address, _):
        opened(page, address)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        first = translation(page, TEXT)
        page.wait_for_function("caches.open('glossa-page').then((store) => store.match('model.json')).then(Boolean)")
    page.reload()
    page.locator("#target option").first.wait_for(state="attached")
    assert translation(page, TEXT) == first
    context.close()


def test_the_page_works_in_a_frame_of_another_site_without_storage(page, shared, tmp_path):
    (tmp_path / "index.html").write_text(
        f'<iframe src="{shared[2].replace("127.0.0.1", "localhost")}" sandbox="allow-scripts allow-same-origin" '
        'width="900" height="600"></iframe>'
    )
    page.context.add_init_script(
        "if (window.top !== window) for (const name of ['localStorage', 'caches']) "
        "Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });"
    )
    with files_at(tmp_path) as (address, _):
        page.goto(address)
        frame = page.frame_locator("iframe")
        frame.locator("#target option").first.wait_for(state="attached")
        frame.locator("#text").fill(TEXT)
        frame.locator("#output .word").first.wait_for()
        assert shown(frame) == expected(shared, TEXT)
        assert page.frames[1].evaluate("self.crossOriginIsolated") is False


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("weights.safetensors.gz", None, "weights.safetensors.gz did not load (status 404). Reload the page."),
        ("weights.safetensors.gz", b"\x1f\x8bno", "weights.safetensors is damaged."),
        ("decoder.onnx.gz", gzip.compress(b"short", mtime=0), "decoder.onnx is damaged."),
        ("model.json", b'{"version": 99, "files": {}}', "This folder is from another version of Glossa."),
    ],
)
def test_what_does_not_load_is_said_in_one_line(page, site, tmp_path, name, content, message):
    folder = tmp_path / "page"
    shutil.copytree(site("shared")[2], folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with files_at(folder) as (address, _):
        page.goto(address)
        page.wait_for_function("document.querySelector('#error').textContent !== ''")
        assert page.locator("#error").inner_text().startswith(message)


def test_an_old_browser_is_told_so(page, shared):
    page.add_init_script("delete window.DecompressionStream")
    page.goto(shared[2])
    page.wait_for_function("document.querySelector('#error').textContent !== ''")
    assert page.locator("#error").inner_text().startswith("This browser is too old for the model.")


def test_any_page_can_translate_with_three_lines(page, shared, site):
    folder = site("shared")[2]
    (folder.parent / "other.html").write_text("<!doctype html><title>Another page</title>")
    page.goto(f"{shared[2].removesuffix(folder.name + '/')}other.html")
    found = page.evaluate(
        """async ([folder, text]) => {
          const { load } = await import(`./${folder}/browser/glossa.js`);
          const translator = await load(`./${folder}/`);
          const plain = await translator.translate([text], { num_beams: 1 });
          const several = await translator.translate([text], { num_beams: 4, num_return_sequences: 2 });
          const stopped = new AbortController();
          stopped.abort();
          const late = await translator.translate([text], { signal: stopped.signal }).catch((error) => error.name);
          const wrong = await translator.translate([text], { target: "xx" }).catch((error) => error.message);
          translator.close();
          return { plain, several, late, wrong };
        }""",
        [folder.name, TEXT],
    )
    model, tokenizer, *_ = shared
    assert [one["text"] for one in found["plain"]] == Translator(model, tokenizer, Search(1)).best([TEXT])
    two = Translator(model, tokenizer, Search(4, num_return_sequences=2)).translate([TEXT])[0]
    assert [one["text"] for one in found["several"][0]] == [one.text for one in two]
    assert found["late"] == "AbortError"
    assert found["wrong"] == "target is xx; this model translates into fr."


def test_files_that_a_server_unpacks_itself_are_taken_too(page, site, tmp_path):
    folder = tmp_path / "page"
    shutil.copytree(site("shared")[2], folder)
    for file in folder.rglob("*.gz"):
        file.write_bytes(gzip.decompress(file.read_bytes()))
    with files_at(folder) as (address, _):
        opened(page, address)
        assert translation(page, TEXT)
    assert json.loads((folder / "model.json").read_text())["precision"] == "float32"
