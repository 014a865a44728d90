"""Formats of documents.

A format is a module of this package that declares a [`Format`] in its tuple `FORMATS`, and a line in `MODULES`.
"""

# The module that declares each format, in the order of `--format`. `glossa translate --help` reads only this table.
MODULES = {
    "html": "html",
    "markdown": "markdown",
    "srt": "subtitles",
    "vtt": "subtitles",
    "po": "po",
    "json": "json",
    "yaml": "yaml",
    "properties": "properties",
    "xliff": "xliff",
    "tmx": "tmx",
    "android": "android",
    "resx": "resx",
    "strings": "apple_strings",
    "stringsdict": "stringsdict",
    "xcstrings": "xcstrings",
    "ts": "qt",
    "fluent": "fluent",
    "table": "table",
    "ini": "ini",
    "toml": "toml",
    "asciidoc": "asciidoc",
    "ipynb": "notebook",
    "lrc": "lyrics",
    "ass": "substation",
    "docx": "packages",
    "pptx": "packages",
    "xlsx": "packages",
    "odt": "packages",
    "odp": "packages",
    "ods": "packages",
    "epub": "packages",
    "paragraphs": "plain",
    "lines": "plain",
}
LINES = "lines"  # `--format` of a text whose lines are translated one by one, without the rules of documents
