"""An exported page in headless Chromium: `python -m benchmarks web RUN...`.

For each run: the files by size, seconds to a usable page and to the first translated sentence, words a second, and
milliseconds from a letter to new text.
"""

import argparse
import functools
import http.server
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy

from glossa.apps.web.graphs import PRECISIONS
from glossa.apps.web.site import export_site
from glossa.base.run_folder import RunFolder
from glossa.train.hub.space import page_facts

from .timing import table

BEAMS = (1, 4)
TIMED = 100  # sentences for the speed
TYPED = " A woman reads."  # letters that are typed after a first sentence
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
SPEED = """async ([texts, options]) => {
  const { load } = await import("./browser/glossa.js");
  const translator = await load("./");
  await translator.translate(texts.slice(0, 8), options);
  const start = performance.now();
  await translator.translate(texts, options);
  const seconds = (performance.now() - start) / 1000;
  translator.close();
  return seconds;
}"""
TYPE = """async (letters) => {
  const text = document.querySelector("#text");
  const output = document.querySelector("#output");
  const times = [];
  for (const letter of letters) {
    const start = performance.now();
    text.value += letter;
    text.dispatchEvent(new Event("input"));
    while (output.classList.contains("old")) await new Promise((resolve) => setTimeout(resolve, 1));
    times.push(performance.now() - start);
  }
  return times;
}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, with their held-out test pairs")
    parser.add_argument("--precision", default="auto", choices=["auto", *PRECISIONS], help="of the weights")
    parser.add_argument("--runtime", type=Path, help="folder with the npm archives of the runtime")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="default: Debian's")


def run(arguments: argparse.Namespace) -> None:
    rows = []
    for name in arguments.runs:
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder) / "page"
            lines = export_site(str(name), site, page_facts(name), arguments.precision, arguments.runtime)
            print(f"{name}\n" + "\n".join(lines))
            for file in sorted(site.rglob("*.gz"), key=lambda path: -path.stat().st_size):
                print(f"{file.stat().st_size:12,} {file.relative_to(site)}")
            rows.append({"run": name.name} | measure(site, name, arguments))
    print(f"\n{table(rows)}")


def measure(site: Path, name: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    description = json.loads((site / "model.json").read_text(encoding="utf-8"))
    language = description["target"] if description["tagged"] else None
    sources = list(RunFolder(name).load_held_out("test", language)["source"])[:TIMED]
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    row: dict[str, Any] = {"parameters": f"{description['parameters']:,}", "MB": f"{size / 1e6:.1f}"}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=arguments.chromium, args=FLAGS)
        with files_at(site) as address:
            row |= visits(browser, address, sources[0])
            row |= speed(browser, address, sources)
        browser.close()
    return row


def visits(browser: Any, address: str, text: str, rounds: int = 5) -> dict[str, str]:
    """Seconds to a usable page and to the first translation, and milliseconds from a letter to new text."""
    usable, first, typed = [], [], []
    for _ in range(rounds):
        context = browser.new_context(service_workers="block")
        page = context.new_page()
        page.goto(f"{address}#text={text}")
        page.locator("#target option").first.wait_for(state="attached")
        usable.append(page.evaluate("performance.now()") / 1000)
        page.wait_for_function("document.querySelector('#output').textContent !== ''")
        first.append(page.evaluate("performance.now()") / 1000)
        page.wait_for_function("!document.querySelector('#output').classList.contains('old')")
        typed += page.evaluate(TYPE, TYPED)
        context.close()
    return {
        "s to usable": f"{numpy.median(usable):.2f}",
        "s to first": f"{numpy.median(first):.2f}",
        "ms a letter, p50 p95": "{:.0f} {:.0f}".format(*numpy.quantile(typed, (0.5, 0.95))),
    }


def speed(browser: Any, address: str, sources: list[str]) -> dict[str, str]:
    page = browser.new_page()
    page.goto(address)
    words = sum(len(text.split()) for text in sources)
    row = {
        f"words/s, {beams} beams": f"{words / page.evaluate(SPEED, [sources, {'num_beams': beams}]):,.0f}"
        for beams in BEAMS
    }
    page.close()
    return row


@contextmanager
def files_at(folder: Path) -> Iterator[str]:
    """The address of a plain file server."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
