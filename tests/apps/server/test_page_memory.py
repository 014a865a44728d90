"""A translation memory on the page: a better translation counts at once, is shown with what differs, and goes again.

If GLOSSA_PAGE_MODEL is set to SOURCE-TARGET=RUN, with a run of `memory: true`, the screenshot is saved in docs/images.
"""

import os
from pathlib import Path

import pytest
from running_server import running

from glossa.apps.server.app import build_app
from glossa.apps.server.keys import Keys, add_key
from glossa.apps.server.memories import Memories
from glossa.apps.server.models import Models
from glossa.apps.server.service import Service
from glossa.translate.memory.store import Memory, Unit

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
GIVEN = os.environ.get("GLOSSA_PAGE_MODEL")
TEXT = "Click the Insert button to add a table." if GIVEN else "a b c d e f g h k l."
KNOWN = "Click the Insert button to add a new chart." if GIVEN else "a b c d e f g x k l."
BETTER = "Klicken Sie auf Einfügen, um ein neues Diagramm hinzuzufügen." if GIVEN else "x k b"


def test_a_better_translation_counts_at_once(page, learned_run, tmp_path):
    keys = tmp_path / "keys"
    secret = add_key(keys, "ann")
    models = Models([GIVEN or f"en-fr={learned_run}"])
    (pair,) = models.steps
    models.memories = Memories.opened(None, models.steps, tmp_path / "own", (), False)
    with running(lambda: build_app(Service(models, keys=Keys(keys)))) as url:
        page.goto(url)
        page.fill("#key", secret)
        page.locator("#key").blur()

        def translated(text):
            page.fill("#text", text)
            page.locator("#output:not(.old) .word").first.wait_for()
            page.wait_for_timeout(600)
            return page.locator("#output").inner_text()

        before = translated(TEXT)
        assert page.locator("#matches").is_hidden()
        page.click("#improve")
        page.fill("#better", BETTER)
        page.click("#save")
        playwright.expect(page.locator("#status")).to_have_text("Saved, and used from now on.")
        assert page.locator("#output").inner_text() == BETTER
        page.click("#matches summary")
        assert page.locator("#matched strong").inner_text() == "100% match"
        page.click("#undo")
        playwright.expect(page.locator("#status")).to_have_text("Taken back.")
        assert page.locator("#output").inner_text() == before and page.locator("#matches").is_hidden()

        # Of several lines those that are changed count.
        translated(f"{TEXT}\nb k l.")
        first, second = page.locator("#output").inner_text().split("\n")
        page.click("#improve")
        page.fill("#better", f"{first}\n{BETTER}\nmore")
        page.click("#save")
        playwright.expect(page.locator("#error")).to_contain_text("as many lines")
        page.fill("#better", f"{first}\n{BETTER}")
        page.click("#save")
        playwright.expect(page.locator("#status")).to_have_text("Saved, and used from now on.")
        assert page.locator("#output").inner_text() == f"{first}\n{BETTER}"
        assert page.locator("#matched strong", has_text="100% match").count() == 1
        page.click("#undo")
        playwright.expect(page.locator("#status")).to_have_text("Taken back.")
        assert page.locator("#output").inner_text() == f"{first}\n{second}"

        # What another process adds is used although the page has the sentence already.
        memory = models.memories.key_memory("ann", pair)
        with Memory.open(memory.path) as other:
            other.add([Unit(KNOWN, BETTER)])
            if not GIVEN:
                other.add([Unit(TEXT, "another")])
        translated(f"{TEXT} ")
        assert page.locator("#matches").is_visible()
        if GIVEN:
            page.locator("#matches[open]").wait_for()
            assert page.locator("#matched del").first.inner_text() and page.locator("#matched ins").first.inner_text()
            page.screenshot(path=Path(__file__).parents[3] / "docs/images/page-memory.png")
