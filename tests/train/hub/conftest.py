"""A local Hub, and a folder to push to it."""

import pytest
from hub_server import Hub
from huggingface_hub import constants
from pushing import TOKEN


@pytest.fixture
def hub(monkeypatch):
    with Hub({TOKEN: "someone", "hf_other": "other"}) as server:
        # The client reads these from the environment when imported; tests in this process need them patched.
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield server


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in {"model.safetensors": b"w" * 5000, "curves.png": b"p" * 10, "config.json": b"{}"}.items():
        (folder / name).write_bytes(content)
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\n")
    return folder
