"""The documentation: generated pages hold what they must, links lead somewhere, and the site builds."""

import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
import yaml

from glossa.cli.train import COMMON
from glossa.train.data.filters import FILTERS
from glossa.train.plan.settings import GROUPS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
GENERATED = {"settings.md", "notebook.md", "contributing.md", "changelog.md"}
GENERATED |= {f"settings-{group}.md" for group in ("data", "tokenizer", "model", "translator", "training")}


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs/hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_settings_pages_have_every_setting_once_with_a_meaning(hooks):
    pages = hooks.settings_pages()
    common = pages.pop("settings.md")
    rows = [line.split(" | ") for page in pages.values() for line in page.splitlines() if line.startswith("| `")]
    names = [row[0].strip("| `") for row in rows]
    settings = [entry.name for group in GROUPS for entry in dataclasses.fields(group) if entry.init]
    assert sorted(names) == sorted([*settings, *(f"filters.{name}" for name in FILTERS)])
    assert all(len(row) == 4 and row[3].strip(" |") for row in rows)
    cells = dict(zip(names, rows, strict=True))
    assert cells["vocab_size"][1:3] == ["`int`", "`8000`"]
    training = pages["settings-training.md"]
    assert training.index("`batch_tokens`") < training.index("Inherited from") < training.index("`max_grad_norm`")
    assert all(f"]({page})" in common for page in pages)
    assert [line.split("`")[1] for line in common.splitlines() if line.startswith("| `")] == list(COMMON)


def test_the_notebook_page_has_outputs_and_their_picture(hooks):
    pytest.importorskip("nbconvert", reason="comes with the docs extra")
    text, pictures = hooks.notebook_page()
    assert "validation loss" in text and "BLEU" in text and "test, 100 pairs" in text
    (name,) = pictures
    assert f"]({name})" in text and pictures[name][:4] == b"\x89PNG"
    assert "/site-packages/" not in text


def test_types_read_as_a_user_writes_them(hooks):
    assert hooks.type_name(int | None) == "int or None"
    assert hooks.type_name(Literal["last", "best"]) == '"last" or "best"'
    assert hooks.type_name(list[str]) == "list[str]"


def test_the_reference_has_every_module_of_the_package(hooks):
    listed = re.findall(r"^::: glossa\.(\S+)$", "\n".join(hooks.api_pages().values()), re.M)
    package = ROOT / "modeling/glossa"
    modules = [path.relative_to(package).with_suffix("") for path in package.rglob("*.py")]
    expected = [".".join(path.parts) for path in modules if path.stem not in ("__init__", "registration")]
    assert sorted(listed) == sorted(expected)


def test_every_page_is_in_the_navigation(hooks):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": (\S+\.md)$", text, re.M))
    written = {path.name for path in ROOT.glob("docs/*.md")} | {"model-card/README.md"}
    assert listed == written | GENERATED | set(hooks.api_pages())
    assert yaml.safe_load(text)["strict"] is True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        # Only the front page of the site links to generated pages; the others are also read in the repository.
        if "://" not in link and not (page.name == "index.md" and link in GENERATED):
            assert (page.parent / link).exists(), link


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("material", "mkdocstrings", "jupytext"):
        pytest.importorskip(package, reason="comes with the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "modeling")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    assert "glossa.translate.translator.Translator" in (tmp_path / "site/api/translate/index.html").read_text()


def repeated(texts):
    """The paragraphs of 20 words and more that stand twice in pages, without blocks of code and tables."""
    plain = (re.sub(r"```.*?```", "", text, flags=re.DOTALL) for text in texts)
    paragraphs = [" ".join(part.split()) for text in plain for part in re.split(r"\n\s*\n", text)]
    long = [part for part in paragraphs if len(part.split()) >= 20 and not part.startswith("|")]
    return {part for part in long if long.count(part) > 1}


def test_no_paragraph_stands_twice():
    """As three paragraphs on augmentation once did (docs-augmentation-twice)."""
    paragraph = "A paragraph of some length. " * 5
    assert len(repeated([f"{paragraph}\n\nother text\n", f"# Title\n\n{paragraph}"])) == 1
    assert repeated(page.read_text(encoding="utf-8") for page in PAGES) == set()
