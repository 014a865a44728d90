"""The page in a real browser: typing, swapping, history, corrections, explanations, narrow and dark, without network.

If GLOSSA_PAGE_MODEL is set to SOURCE-TARGET=RUN, the page translates with that run, and the screenshots are saved in
docs/images.
"""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from running_server import until

from glossa.translate.translator import Translator

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")

GIVEN = os.environ.get("GLOSSA_PAGE_MODEL")
FIRST, SECOND = (
    ("A man sleeps on a bench in the park.", "The referee whistles at the keeper.") if GIVEN else ("a k.", "b l.")
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = Path(__file__).parents[3] / "docs/images" if GIVEN else tmp_path_factory.mktemp("images")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def service(learned_run, tmp_path_factory):
    from glossa.apps.server.corrections import Corrections
    from glossa.apps.server.models import Models
    from glossa.apps.server.service import Service

    names = [GIVEN] if GIVEN else [f"en-fr={learned_run}", f"fr-en={learned_run}"]
    corrections = Corrections(tmp_path_factory.mktemp("saved") / "corrections.jsonl")
    return Service(Models(names), corrections=corrections)


@pytest.fixture
def page(page, url):
    """The page of the server; requests to other hosts end the test."""
    others = []
    page.on("request", lambda request: request.url.startswith((url, "data:")) or others.append(request.url))
    page.goto(url)
    page.locator("#target option").first.wait_for(state="attached")
    yield page
    assert not others


def translated(page, text):
    page.fill("#text", text)
    last = max(row for row, line in enumerate(text.split("\n")) if line.strip())
    page.wait_for_timeout(400)
    page.locator(f"#output:not(.old) .word[data-row='{last}']").first.wait_for()
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
        "**/translate_stream",
        lambda route: held.append(route) if FIRST in route.request.post_data else route.continue_(),
    )
    page.fill("#text", FIRST)
    page.wait_for_timeout(600)
    assert len(held) == 1
    page.fill("#text", SECOND)
    page.wait_for_timeout(600)
    late = {"text": 0, "before": "", "source": FIRST, "translatedText": "too late"}
    held[0].fulfill(body=f'{{"sentences": 1}}\n{json.dumps(late)}\n')
    page.wait_for_timeout(300)
    assert page.locator("#output").inner_text() == newest


def answer(route, *sentences):
    """Answer a request of the page: pairs of a translation and its confidence, for each text one or several."""
    rows = [
        {
            "text": number, "before": " " if place else "", "source": "x", "translatedText": text, "confidence": share,
            "words": [[word, 0.5 - 0.25 * index] for index, word in enumerate(text.split())],
        }
        for number, own in enumerate(sentences)
        for place, (text, share) in enumerate(own)
    ]  # fmt: skip
    lines = [{"sentences": len(rows)}, *rows]
    route.fulfill(body="".join(f"{json.dumps(line)}\n" for line in lines))


def test_sentences_are_shown_as_they_finish(page, service, monkeypatch):
    """The first of twenty is there while the queue holds back the second; leaving cancels the rest."""
    calls, go, free = [], threading.Event(), 1
    translate_now = Translator.translate_segments

    def translate(translator, sentences):
        calls.append(len(sentences))
        number = len(calls)
        while number > free and not go.is_set():
            time.sleep(0.01)
        return translate_now(translator, sentences)

    monkeypatch.setattr(Translator, "translate_segments", translate)
    page.fill("#text", "\n".join(f"{first} {second}." for first in "abcd" for second in "klmno"))
    playwright.expect(page.locator("#output [data-sentence]")).to_have_count(1)
    until(lambda: len(calls) == 2)
    assert page.locator("#status").inner_text() == "Translating …"
    page.evaluate("first = document.querySelector('#output [data-sentence]')")
    go.set()
    playwright.expect(page.locator("#output [data-sentence]")).to_have_count(20)
    assert len(page.locator("#output").inner_text().split("\n")) == 20
    assert page.evaluate("first.isConnected")  # what was read aloud is not read again
    playwright.expect(page.locator("#status")).to_have_text("")
    assert calls == [1, 1, 2, 4, 8, 4]  # each piece has as many as there are before it
    go.clear()
    free = 7
    page.fill("#text", "\n".join(f"{first} {second}." for first in "efgh" for second in "klmno"))
    playwright.expect(page.locator("#output [data-sentence]")).to_have_count(1)
    until(lambda: len(calls) == 8)
    page.fill("#text", SECOND)
    until(lambda: any(job.canceled for job in service.queue.jobs))
    go.set()
    playwright.expect(page.locator("#output [data-sentence]")).to_have_count(1)
    page.wait_for_timeout(1000)
    assert calls[6:] == [1, 1]  # of the nineteen that waited only the one that had begun; SECOND is known


def test_only_new_lines_are_sent(page):
    sent = []
    page.on("request", lambda one: sent.append(one.post_data_json) if "translate_stream" in one.url else None)
    first = translated(page, f"{FIRST}\n\n{SECOND}")
    assert translated(page, f"{SECOND}\n{FIRST}\n\n{SECOND}").split("\n")[1:] == first.split("\n")
    translated(page, f"{FIRST} {FIRST}\n{SECOND}")
    assert [one["q"] for one in sent] == [[FIRST, SECOND], [f"{FIRST} {FIRST}"]]


def test_a_lost_connection_is_said(page):
    def lose(route):
        first = {"text": 0, "before": "", "source": FIRST, "translatedText": "one", "confidence": None}
        route.fulfill(body=f'{{"sentences": 2}}\n{json.dumps(first)}\n')

    page.route("**/translate_stream", lose)
    page.fill("#text", FIRST)
    playwright.expect(page.locator("#error")).to_contain_text("The connection was lost")
    assert page.locator("#output").inner_text() == "one"
    page.unroute("**/translate_stream")
    page.route("**/translate_stream", lambda route: route.fulfill(body='{"sentences": 1}\n{"error": "busy"}\n'))
    page.fill("#text", SECOND)
    playwright.expect(page.locator("#error")).to_have_text("busy")


def doubted(page):
    """A text with one sentence that may need a correction, after one that does not and before unknown ones."""
    shares = [[("Bonne phrase.", 0.3), ("Mauvaise phrase.", 0.1234)], [("Inconnue.", None), ("Nulle.", 0.001)]]
    page.route("**/translate_stream", lambda route: answer(route, *shares))
    page.fill("#text", f"{FIRST}\n{SECOND}")
    page.locator("#output .doubtful").first.wait_for()


def test_doubtful_sentences_are_underlined(page):
    doubted(page)
    marks, said = page.locator("#output mark"), page.locator("#doubt")
    assert marks.all_inner_texts() == ["Mauvaise phrase.", "Nulle."]
    assert page.locator("#output").inner_text() == "Bonne phrase. Mauvaise phrase.\nInconnue. Nulle."
    assert "underline" in marks.first.evaluate("one => getComputedStyle(one).textDecorationLine")
    playwright.expect(said).to_have_text("Underlined sentences may need a correction.")
    note = "This sentence may need a correction: the probability that it needs none is 12%. "
    note += "The model hesitated at: phrase (25%)."
    described = "one => document.getElementById(one.getAttribute('aria-describedby')).textContent"
    assert marks.first.evaluate(described) == note
    marks.first.hover()
    playwright.expect(said).to_have_text(note)
    page.hover("#count")
    playwright.expect(said).to_have_text("Underlined sentences may need a correction.")
    page.focus("#output")
    page.keyboard.press("Tab")
    playwright.expect(said).to_have_text(note)
    page.keyboard.press("Tab")
    playwright.expect(said).to_contain_text("less than 1%")
    page.unroute("**/translate_stream")
    translated(page, f"{SECOND} {FIRST}")  # by a model without a confidence
    playwright.expect(marks).to_have_count(0)
    playwright.expect(said).to_be_hidden()


TERM = "bench => Sofa" if GIVEN else "a => q"


def test_a_glossary(page):
    plain = translated(page, FIRST)
    page.click("#terms summary")
    page.fill("#glossary", f"{TERM}\n\nnothing\tnichts\n")
    target = TERM.split(" => ")[1]
    playwright.expect(page.locator("#output")).to_contain_text(target)
    assert target not in plain and page.locator("#terms summary").inner_text() == "Glossary: 2 terms"
    playwright.expect(page.locator("#missing")).to_be_hidden()
    page.click("#output .word >> nth=0")
    playwright.expect(page.locator("#unbound")).to_be_visible()
    page.reload()
    translated(page, FIRST)
    playwright.expect(page.locator("#output")).to_contain_text(target)
    assert page.input_value("#glossary") == f"{TERM}\n\nnothing\tnichts\n"
    page.click("#terms summary")
    page.fill("#glossary", f"{TERM}\nnothing")
    playwright.expect(page.locator("#error")).to_have_text(
        "Glossary, line 2: write a term, => or a tab, and its translation."
    )
    page.fill("#glossary", "")
    playwright.expect(page.locator("#output")).to_have_text(plain)
    assert page.locator("#terms summary").inner_text() == "Glossary"


def test_terms_that_are_missing_are_said(page):
    late = {"text": 0, "before": "", "source": FIRST, "translatedText": "one", "missingTerms": ["a -> b", "c -> d"]}
    page.route("**/translate_stream", lambda route: route.fulfill(body=f'{{"sentences": 1}}\n{json.dumps(late)}\n'))
    page.fill("#text", FIRST)
    playwright.expect(page.locator("#missing")).to_have_text("Terms that the translation lacks: a -> b, c -> d")


def test_errors_are_shown(page, images):
    page.route("**/translate_stream", lambda route: route.fulfill(status=429, json={"error": "The server is busy."}))
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
    page.click("#history summary")
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


@pytest.mark.parametrize("doubts", [True, False])
@pytest.mark.parametrize(("width", "theme"), [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")])
def test_all_of_it_can_be_read_and_used(page, images, width, theme, doubts):
    """No violation of axe's rules, nothing wider than the screen.

    Once with an explanation, and once with underlined sentences, one of which has the focus, and an open glossary.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 800})
    if theme == "dark":
        page.click("#theme")
    if doubts:
        page.click("#terms summary")
        page.fill("#glossary", "good => bonne\nsentence => phrase")
        doubted(page)
        page.focus("#output mark")
    else:
        translated(page, FIRST)
        page.click("#explain")
        page.locator("#choices li").first.wait_for()
    saved(page, images, f"{'doubt-' if doubts else ''}{width}-{theme}", full_page=True)
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
    assert [cell.split("\t")[:3] for cell in first.locator("tbody tr").all_inner_texts()][1:3] == [
        ["source", "string", '"auto"'], ["target", "string", "required"],
    ]  # fmt: skip
    command = first.locator("code").inner_text()
    assert command.startswith(f"curl {url}/translate -H") and '{"q":"Good morning.","target":"fr"}' in command
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []
    page.screenshot(path=images / f"page-requests-{theme}.png")


def test_the_page_is_small():
    from glossa.apps.server.app import PAGE

    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 150_000
