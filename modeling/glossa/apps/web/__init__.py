"""Export of a model as a web page that translates in the browser."""

from pathlib import Path

PAGE = Path(__file__).with_name("page")  # the files of the page, which the server uses too
