"""What MkDocs generates: the settings reference, the API reference, the notebook, and the pages from the root."""

import ast
import dataclasses
import re
import types
import typing
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "modeling/glossa"


def on_files(files, config):
    """Called by MkDocs: add the generated pages to those in docs/."""
    from mkdocs.structure.files import File

    notebook, pictures = notebook_page()
    pages = {"notebook.md": notebook} | settings_pages() | api_pages()
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        # Links from the root become links from docs/.
        pages[name.lower()] = text.replace("](docs/", "](").replace("](CHANGELOG.md", "](changelog.md")
    for path, content in (pages | pictures).items():
        files.append(File.generated(config, path, content=content))
    return files


def settings_pages() -> dict[str, str]:
    """Every setting of a run: the most common ones, and a page for each group, read from the dataclasses."""
    from glossa.cli.train import COMMON
    from glossa.train.data.arguments import DataArguments
    from glossa.train.plan.catalog import settings
    from glossa.train.plan.settings import GROUPS

    pages, common, known = {}, {}, settings()
    for group in GROUPS:
        name = re.sub(r" \(.*", "", group._argument_group_name)
        entries = [entry for entry in dataclasses.fields(group) if entry.init]
        common |= {entry.name: entry for entry in entries if entry.name in COMMON}
        own = [entry for entry in entries if not known[entry.name].inherited]
        inherited = [entry for entry in entries if known[entry.name].inherited]
        text = f"# Settings: {name}\n\n{_settings_table(own)}"
        if group is DataArguments:
            text += f"\n## Filters\n\n{_filters_table()}"
        if inherited:
            text += f"\n## Inherited from Seq2SeqTrainingArguments\n\n{_settings_table(inherited)}"
        pages[f"settings-{name}.md"] = text
    links = "\n".join(f"- [{path.removesuffix('.md').partition('-')[2]}]({path})" for path in pages)
    pages["settings.md"] = (
        "# Settings\n\nThe settings that people change most, as keys of a recipe or as flags `--name value`. All "
        f"others are in groups:\n\n{links}\n\n{_settings_table([common[name] for name in COMMON])}\n"
        "The pages are generated from the dataclasses that read the settings.\n"
    )
    return pages


def _filters_table() -> str:
    from glossa.train.data.filters import FILTERS, PREFIX

    rows = ["| filter | type | default | drops from training |", "| --- | --- | --- | --- |"]
    for one in FILTERS.values():
        cells = (f"`{PREFIX}{one.name}`", f"`{one.kind.__name__}`", _default(one.default), one.meaning)
        rows.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(rows) + "\n"


def _settings_table(entries: list[dataclasses.Field]) -> str:
    rows = ["| setting | type | default | meaning |", "| --- | --- | --- | --- |"]
    for entry in entries:
        factory = entry.default_factory
        default = entry.default if factory is dataclasses.MISSING else factory()
        cells = (f"`{entry.name}`", f"`{type_name(entry.type)}`", _default(default), entry.metadata.get("help", ""))
        rows.append(f"| {' | '.join(_cell(text) for text in cells)} |")
    return "\n".join(rows) + "\n"


def type_name(annotation: typing.Any) -> str:
    """A type as users write it: `int`, `int or None`, `"last" or "best"`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join(type_name(part) for part in typing.get_args(annotation))
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(f'"{value}"' for value in typing.get_args(annotation))
    if annotation is type(None):
        return "None"
    return annotation.__name__ if type(annotation) is type else str(annotation).replace("typing.", "")


def _default(value: typing.Any) -> str:
    value = getattr(value, "value", value)  # of an enumeration
    return "" if value in (None, [], {}, "") else f"`{value}`"


def _cell(text: str) -> str:
    """Text that stays in one cell of a table."""
    return " ".join(text.replace("%%", "%").replace("|", "\\|").replace("<", "&lt;").split())


def api_pages() -> dict[str, str]:
    """One page of the API reference for each room, and for each room inside of a room."""
    pages = {}
    for path in sorted([*PACKAGE.glob("*/__init__.py"), *PACKAGE.glob("*/*/__init__.py")]):
        room = path.parent.relative_to(PACKAGE)
        inside = room.parent != Path()
        files = path.parent.rglob("*.py") if inside else path.parent.glob("*.py")
        modules = [".".join(file.relative_to(PACKAGE).with_suffix("").parts) for file in files if file != path]
        modules = sorted(modules, key=lambda name: (name.count("."), name))
        entries = "\n".join(f"::: glossa.{module}\n" for module in modules if not module.endswith("__init__"))
        name = ".".join(room.parts)
        face = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        pages[f"api/{name}.md"] = f"# glossa.{name}\n\n{face}\n\n{entries}"
    return pages


def notebook_page() -> tuple[str, dict[str, bytes]]:
    """The notebook as a page with its outputs, and the pictures in them by file name."""
    from nbconvert import MarkdownExporter

    text, resources = MarkdownExporter().from_filename(str(ROOT / "docs/notebook.ipynb"))
    pictures = {f"notebook-{name}": picture for name, picture in resources["outputs"].items()}
    for name in resources["outputs"]:
        text = text.replace(f"]({name})", f"](notebook-{name})").replace("![png]", "![Loss and BLEU of the run]")
    # Outputs are indented blocks, which would look like diagrams and not wrap.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    parts[::2] = [re.sub(r"(?:^    .*\n(?:\n(?=    ))?)+", _fenced, part, flags=re.M) for part in parts[::2]]
    return "".join(parts), pictures


def _fenced(block: re.Match) -> str:
    lines = "\n".join(line.removeprefix("    ") for line in block[0].rstrip().split("\n"))
    return f"```console\n{lines}\n```\n" if lines.strip() else ""


try:
    import griffe
except ImportError:  # the pages above need only MkDocs
    pass
else:

    class PlainReferences(griffe.Extension):
        """Docstrings write [`Name`], as in transformers; a page shows `Name`."""

        def on_object(self, *, obj, **kwargs) -> None:
            if obj.docstring is not None:
                obj.docstring.value = re.sub(r"\[(`[^`\n]+`)\](?!\()", r"\1", obj.docstring.value)
