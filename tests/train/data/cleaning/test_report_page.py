"""The page of the data report in a browser: it fits a telephone, and wide tables scroll in themselves."""

import pytest

from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.report_page import report_page
from glossa.train.data.pairs import prepare_pairs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sources", [1, 8])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_the_screen(browser, tmp_path, sources, width):
    entries = []
    for number in range(sources):
        path = tmp_path / f"a-corpus-with-a-long-name-{number}.tsv"
        rows = [f"text {number} {row} {'word' * 30}\tune phrase bien plus longue {number} {row}" for row in range(40)]
        path.write_text("\n".join([*rows, *rows[:5], "no tab " * 40, "<b>x</b>\ty"]) + "\n")
        entries.append({"data_path": str(path)})
    settings = {"sources": entries} if sources > 1 else entries[0] | {"data_path": [entries[0]["data_path"]]}
    pairs, report = prepare_pairs(DataArguments(**settings, filters={"html": True}, trust_data=["malformed"]))
    page = browser.new_page(viewport={"width": width, "height": 844}, java_script_enabled=True)
    (tmp_path / "data.html").write_text(report_page("Data of recipes/multi30k-en-de", report, pairs["train"]))
    page.goto((tmp_path / "data.html").as_uri())
    assert page.title() == "Data of recipes/multi30k-en-de"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll("h1, h2, h3, p, td, th, .bars")].filter(element =>
        !element.closest(".wide") && element.getBoundingClientRect().right > innerWidth).length"""
    assert page.evaluate(outside) == 0
    if sources == 1:
        inside = '[...document.querySelectorAll(".wide")].filter(box => box.scrollWidth > box.clientWidth).length'
        assert page.evaluate(inside) == 0, "no table needs to scroll"
    page.screenshot(path=tmp_path / f"page-{width}.png", full_page=True)
    page.close()
