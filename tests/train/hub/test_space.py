"""Spaces: a static page that translates in the browser, a server in Docker, and Spaces that somebody lives in."""

import json
import re
import subprocess
import sys

import pytest
from huggingface_hub import RepoCard
from pushing import NAME, upload
from refusals import refused

from glossa.apps.web.site import export_site
from glossa.base.errors import GlossaError
from glossa.cli import push as command
from glossa.train.hub.changes import RECORD
from glossa.train.hub.push import requirements, stage
from glossa.train.hub.space import page_facts, stage_page, stage_server
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

LIVED_IN = """---
title: My translator
emoji: 🦊
sdk: {sdk}
app_port: 7860
pinned: true
---
What I wrote.
"""


@pytest.fixture(scope="module")
def page(learned_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "space"
    try:
        lines = export_site(str(learned_run), folder, page_facts(learned_run, "mit"))
        stage_page(learned_run, NAME, folder, "mit")
    except GlossaError as error:
        pytest.skip(f"this test needs the packages of runtime.json: {error}")
    assert re.match(r"weights +megabytes +identical +BLEU +chrF\+\+", lines[0])
    return folder


def pushed(hub, folder, name=NAME, **settings):
    return upload(hub, folder, name=name, repo_type="space", **settings)


@pytest.mark.slow
def test_a_static_space_translates_in_a_browser(hub, page, learned_run, browser):
    pushed(hub, page)
    card = RepoCard(hub.files(NAME, kind="spaces")["README.md"].decode())
    assert (card.data.sdk, card.data.models, card.data.license) == ("static", [NAME], "mit")
    shown = browser.new_page()
    shown.goto(f"{hub.url}/static/{NAME}/index.html#text=a%20k.")
    shown.wait_for_function("document.querySelector('#output').textContent !== ''")
    text, isolated = shown.locator("#output").text_content(), shown.evaluate("self.crossOriginIsolated")
    model, tokenizer = load_model(str(learned_run)), load_tokenizer(str(learned_run))
    assert text == Translator(model, tokenizer).best(["a k."])[0]
    assert isolated, "the headers of the card allow threads"


@pytest.mark.slow
def test_a_lived_in_space_keeps_what_somebody_wrote(hub, page):
    hub.add(NAME, {"README.md": LIVED_IN.format(sdk="static").encode(), "fox.txt": b"fox"}, "spaces")
    pushed(hub, page)
    files = hub.files(NAME, kind="spaces")
    card = RepoCard(files["README.md"].decode())
    assert card.text.strip() == "What I wrote." and files["fox.txt"] == b"fox"
    assert (card.data.title, card.data.emoji, card.data.pinned) == ("My translator", "🦊", True)
    assert (card.data.sdk, card.data.models) == ("static", [NAME])
    assert "cross-origin-opener-policy" in card.data.custom_headers and "app_port" not in card.data


@pytest.mark.slow
def test_a_space_of_another_kind_is_not_changed_unasked(hub, page):
    hub.add(NAME, {"README.md": LIVED_IN.format(sdk="docker").encode(), "Dockerfile": b"FROM x"}, "spaces")
    before = hub.files(NAME, kind="spaces")
    refused("has the SDK docker, and this push would change it to static", pushed, hub, page)
    assert hub.files(NAME, kind="spaces") == before
    pushed(hub, page, replace_card=True)
    files = hub.files(NAME, kind="spaces")
    assert RepoCard(files["README.md"].decode()).data.sdk == "static" and files["Dockerfile"] == b"FROM x"


@pytest.mark.slow
def test_a_space_becomes_private_only_if_it_is_new(hub, page):
    hub.add(NAME, {"README.md": LIVED_IN.format(sdk="static").encode()}, "spaces")
    refused("is public", pushed, hub, page, private=True)
    pushed(hub, page, "someone/new", private=True)
    assert hub.repositories["spaces", "someone/new"].private


def test_a_server_in_docker_has_this_package(hub, tmp_path):
    hub.paying.add("someone")
    stage_server(NAME, tmp_path / "space", requirements("serve", "engine"))
    pushed(hub, tmp_path / "space")
    files = hub.files(NAME, kind="spaces")
    own = {name for name in files if not name.startswith("glossa/")}
    assert own == {"Dockerfile", "README.md", "glossa_command.py", "requirements.txt", ".gitattributes", RECORD}
    assert {"glossa/apps/web/page/index.html", "glossa/model_card/handler.py"} <= set(files)
    start = json.loads(files["Dockerfile"].decode().splitlines()[-1].removeprefix("CMD "))
    assert start[2:] == ["glossa_command", "serve", NAME, "--host", "0.0.0.0", "--port", "7860"]
    needed = {re.match(r"[\w.-]+", line)[0] for line in files["requirements.txt"].decode().splitlines()}
    assert {"torch", "transformers", "fastapi", "uvicorn", "ctranslate2"} <= needed and "pytest" not in needed
    card = RepoCard(files["README.md"].decode())
    assert (card.data.sdk, card.data.app_port, card.data.models) == ("docker", 7860, [NAME])
    program = [sys.executable, "-m", *start[2:4], "--help"]
    shown = subprocess.run(program, cwd=tmp_path / "space", capture_output=True, text=True, check=True)
    assert "usage: glossa serve" in shown.stdout


def test_a_server_in_docker_needs_an_account_that_pays(hub, tmp_path):
    stage_server(NAME, tmp_path / "space", requirements("serve"))
    refused(r"only for paying accounts: Static.*pushes a free static page", pushed, hub, tmp_path / "space")
    assert ("spaces", NAME) not in hub.repositories


def test_a_page_says_what_its_model_is(learned_run):
    first, *others = page_facts(learned_run, "mit")["note"]
    assert first == "A Glossa model, English to French."
    assert others[0].startswith("On sentences of its test set, with ") and "BLEU" in others[0]
    assert others[-1] == "License of the weights: mit."


def test_the_card_links_to_the_page_and_shows_it(tiny_run, tmp_path):
    stage(tiny_run, NAME, tmp_path / "with", space=True)
    text = (tmp_path / "with" / "README.md").read_text()
    assert f"[![The page](page.png)](https://huggingface.co/spaces/{NAME})" in text
    assert (tmp_path / "with" / "page.png").read_bytes().startswith(b"\x89PNG")
    stage(tiny_run, NAME, tmp_path / "without")
    assert "spaces/" not in (tmp_path / "without" / "README.md").read_text()
    assert not (tmp_path / "without" / "page.png").exists()


def test_the_command_knows_two_kinds_of_spaces():
    given = ["run", "--repo_id", NAME]
    assert command.parse(given).space is None
    assert command.parse([*given, "--space"]).space == "static"
    assert command.parse([*given, "--space", "docker"]).space == "docker"
