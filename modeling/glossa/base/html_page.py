"""Self-contained HTML pages with tables."""

from collections.abc import Iterable
from html import escape

STYLE = """body { font: 15px/1.4 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse } td, th { padding: .15em .7em; text-align: right; border-bottom: 1px solid #ccc }
td:first-child, th:first-child { text-align: left } .text th, .text td { text-align: left; vertical-align: top }
h1, .text td { overflow-wrap: anywhere } .wide { overflow-x: auto }
@media (max-width: 40em) { body { margin: 1em auto } td, th { padding: .15em .35em }
.text tr:first-child { display: none } .text tr, .text td { display: block } .text tr { border-bottom: 1px solid #ccc }
.text td { border: 0; padding: .15em 0 } }"""


def html_page(title: str, body: str, style: str = "") -> str:
    """A page with this title, whose body is HTML; `style` are further rules of CSS."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>\n'
        f"<style>{STYLE}{style}</style>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</html>\n"
    )


def html_table(header: list[str], rows: Iterable[list[str]], kind: str = "") -> str:
    """A table of texts; `kind` is its class, `text` for sentences."""
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in header)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    rows_of_html = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table class="{kind}">{rows_of_html}</table></div>'
