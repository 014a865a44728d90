"""A page with a model in it, which translates in the browser: its files, its graphs, its runtime."""

from pathlib import Path

PAGE = Path(__file__).with_name("page")  # the files of the page, which the server shows too
