"""Spaces for a model: a static page that translates in the visitor's browser, or a Docker server."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import HfApi, RepoCard

from ...base.errors import GlossaError
from ...base.shipped import PACKAGE, shipped
from .changes import CARD, Destination, RemoteState
from .facts import Run

EXTRAS = shipped("model_card")  # the endpoint handler and the Space in Docker
# With these headers, a page is isolated and may use several threads.
HEADERS = {
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "cross-origin",
}
PAGE_TEXT = """
{direction}, by [{repo_id}](https://huggingface.co/{repo_id}) in the visitor's browser: no server, and no text leaves
it. Other sites may use these files as well.
"""
SCORES = {"bleu": "BLEU", "chrf": "chrF++"}


def page_facts(run: Path, license: str | None = None) -> dict[str, Any]:
    """Facts about the model of a run for a page: a `note` as a list of paragraphs, and the license."""
    facts = Run(run)
    paragraphs = [f"A Glossa model, {facts.direction}." if facts.direction else "A Glossa model."]
    for row in facts.results[:1]:
        scores = row["scores"]
        shown = ", ".join(f"{name} {scores[key]['score']:.1f}" for key, name in SCORES.items() if key in scores)
        paragraphs.append(f"On sentences of its {row['split']} set, with {row['decoding']} search: {shown}.")
    paragraphs.append("It translates text like its training data best, and can be wrong.")
    paragraphs.append("The text stays in this browser.")
    if license:
        paragraphs.append(f"License of the weights: {license}.")
    return {"note": paragraphs, "license": license}


def stage_page(run: Path, repo_id: str, folder: Path, license: str | None = None) -> None:
    """Write the card that makes the page of a run in `folder` a static Space."""
    header = {
        "title": repo_id.split("/")[-1],
        "emoji": "🗨️",
        "colorFrom": "indigo",
        "colorTo": "yellow",
        "sdk": "static",
        "pinned": False,
        "models": [repo_id],
        "custom_headers": HEADERS,
        **({"license": license} if license else {}),
    }
    card = RepoCard(f"---\n{yaml.safe_dump(header, allow_unicode=True, sort_keys=False)}---\n")
    card.text = PAGE_TEXT.format(direction=Run(run).direction or "Translations", repo_id=repo_id)
    card.save(folder / CARD)


def stage_server(repo_id: str, folder: Path, requirements: list[str]) -> None:
    """Write a Docker Space that serves the model `repo_id` to `folder`, including this package."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(EXTRAS / "space", folder, dirs_exist_ok=True, ignore=skipped)
    shutil.copytree(PACKAGE, folder / "glossa", ignore=skipped)
    shutil.copytree(EXTRAS, folder / "glossa" / EXTRAS.name, ignore=skipped, dirs_exist_ok=True)
    shutil.copyfile(PACKAGE.parent / "glossa_command.py", folder / "glossa_command.py")
    (folder / "requirements.txt").write_text("".join(f"{one}\n" for one in requirements))
    start = folder / "Dockerfile"
    start.write_text(start.read_text(encoding="utf-8").replace('"MODEL"', json.dumps(repo_id)), encoding="utf-8")
    card = RepoCard.load(folder / CARD)
    card.data.title = repo_id.split("/")[-1]
    card.data.models = [repo_id]
    card.save(folder / CARD)


def keep_header(api: HfApi, destination: Destination, remote: RemoteState, folder: Path) -> None:
    """Keep the edited README of an existing Space, and update only the header fields that the new page needs.

    Raises `GlossaError` if the Space is of another kind, unless `replace_card` is set.
    """
    if CARD not in remote.files or CARD in remote.own:
        return
    with tempfile.TemporaryDirectory() as cache:
        name = destination.repo_id
        file = api.hf_hub_download(name, CARD, repo_type="space", revision=remote.commit, cache_dir=cache)
        card = RepoCard.load(file)
    new = RepoCard.load(folder / CARD)
    old_kind, kind = card.data.get("sdk"), new.data.get("sdk")
    if old_kind not in (None, kind) and not destination.replace_card:
        raise GlossaError(
            f"The Space {destination.repo_id} has the SDK {old_kind}, and this push would change it to {kind}, which "
            "hides its current content. Give another --repo_id, or --replace_card to change it."
        )
    for name in ("sdk", "app_port", "app_file", "models", "custom_headers", "license"):
        value = new.data.get(name)
        if value is not None:
            setattr(card.data, name, value)
        elif name in ("app_port", "app_file"):
            card.data.pop(name, None)
    card.save(folder / CARD)
