"""What a push changes in a repository that exists: what Glossa did not write is not replaced or deleted unasked."""

import json

import pytest
from pushing import NAME, TOKEN, upload
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.cli.push import main
from glossa.train.hub.changes import RECORD, operations


def test_files_of_an_earlier_push_are_deleted_and_others_are_kept(hub, folder):
    """Weights and pickles, unless somebody has changed or written them."""
    for name in ("training_args.bin", "model-00001-of-00002.safetensors", "changed.bin"):
        (folder / name).write_bytes(b"old")
    upload(hub, folder)
    kept = {"notes.txt": b"own", "ctranslate2/model.bin": b"own", "pytorch_model.bin": b"own", "results.bin": b"own"}
    kept |= {"changed.bin": b"changed"}
    repository = hub.repositories["models", NAME]
    repository.commit("main", hub.files(NAME) | kept, "by hand", repository.branches["main"])
    for name in ("training_args.bin", "model-00001-of-00002.safetensors", "changed.bin"):
        (folder / name).unlink()
    upload(hub, folder)
    files = hub.files(NAME)
    assert files.keys() == {path.name for path in folder.iterdir()} | kept.keys() | {RECORD, ".gitattributes"}
    assert {name: files[name] for name in kept} == kept


def foreign(hub, folder, **files):
    """A repository of somebody else's hand, with a card."""
    hub.add(NAME, {"README.md": b"---\n---\n# Mine\n", **{name: text for name, text in files.items()}})
    (folder / "handler.py").write_text("ours")


def test_a_card_that_glossa_did_not_write_is_kept(hub, folder, caplog):
    foreign(hub, folder)
    for _ in range(2):
        upload(hub, folder)
        assert hub.files(NAME)["README.md"] == b"---\n---\n# Mine\n" and hub.files(NAME)["config.json"] == b"{}"
        assert "README.md" not in json.loads(hub.files(NAME)[RECORD])
    assert "kept, since Glossa did not write it: README.md" in caplog.text and "--replace_card" in caplog.text
    upload(hub, folder, replace_card=True)
    assert hub.files(NAME)["README.md"] == (folder / "README.md").read_bytes()
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\nnew\n")
    upload(hub, folder)
    assert hub.files(NAME)["README.md"].endswith(b"new\n"), "ours is replaced"
    repository = hub.repositories["models", NAME]
    repository.commit("main", hub.files(NAME) | {"README.md": b"---\n---\nown"}, "edit", repository.branches["main"])
    upload(hub, folder)
    assert hub.files(NAME)["README.md"] == b"---\n---\nown", "what was edited since is not ours"


@pytest.mark.parametrize("name", ["handler.py", "config.json", "model.safetensors"])
def test_files_that_glossa_did_not_write_are_replaced_only_if_asked(hub, folder, name):
    foreign(hub, folder, **{name: b"mine"})
    before = dict(hub.files(NAME))
    refused(rf"did not write: {name}\. .*--replace", upload, hub, folder)
    assert hub.files(NAME) == before
    upload(hub, folder, replace=True)
    assert hub.files(NAME)[name] == (folder / name).read_bytes()
    assert hub.files(NAME)["README.md"] == before["README.md"], "the card needs its own flag"


def test_what_others_write_during_a_push_is_not_replaced(hub, folder, monkeypatch):
    upload(hub, folder)
    (folder / "config.json").write_text("{}")

    def meanwhile(*arguments):
        hub.repositories["models", NAME].commit("main", hub.files(NAME) | {"config.json": b"by hand"}, "by hand")
        return operations(*arguments)

    monkeypatch.setattr("glossa.train.hub.push.operations", meanwhile)
    refused(f"{NAME} was changed during the push", upload, hub, folder)
    assert hub.files(NAME)["config.json"] == b"by hand"


def test_weights_that_would_be_loaded_instead_are_not_left_unasked(hub, folder):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    hub.add(NAME, {"model.safetensors": b"mine"})
    refused(r"Glossa did not write: model\.safetensors\.", upload, hub, folder)
    upload(hub, folder, replace=True)
    assert "model.safetensors" not in hub.files(NAME)


def test_a_repository_of_an_earlier_version_is_replaced(hub, folder):
    """It has no record; its card may have been edited, so it stays."""
    old = {"modeling_glossa.py": b"old", "config.json": b"old", "model.safetensors": b"old", "results.bin": b"mine"}
    hub.add(NAME, old | {"README.md": b"---\n---\nold"})
    upload(hub, folder)
    files = hub.files(NAME)
    assert files["config.json"] == b"{}" and files["README.md"] == b"---\n---\nold" and files["results.bin"] == b"mine"


@pytest.mark.parametrize("kind", ["model", "space"])
def test_private_is_refused_for_a_public_repository(hub, folder, kind):
    hub.add(NAME, {}, f"{kind}s")
    with pytest.raises(GlossaError, match=rf"{NAME} is public, and --private does not change it\. Nothing was pushed"):
        upload(hub, folder, private=True, repo_type=kind)
    assert not hub.files(NAME, kind=f"{kind}s") and not [one for one in hub.requests if one.startswith("POST")]
    hub.repositories[f"{kind}s", NAME].private = True
    upload(hub, folder, private=True, repo_type=kind)
    assert "config.json" in hub.files(NAME, kind=f"{kind}s")


def test_dry_run_says_what_would_be_replaced_and_deleted(hub, tiny_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("glossa.train.hub.push.check", lambda *_: "b a!")  # a fresh process translates in test_push.py
    monkeypatch.setenv("HF_TOKEN", TOKEN)

    def run(*options):
        main([str(tiny_run), "--repo_id", NAME, *options])
        return capsys.readouterr().out.split("\n")

    run()
    repository = hub.repositories["models", NAME]
    mine = {"README.md": b"---\n---\nmine", "handler.py": b"mine", "results.bin": b"mine", "config.json": b"{}"}
    files = hub.files(NAME) | mine
    repository.commit("main", files, "by hand", repository.branches["main"])
    before = dict(hub.files(NAME))
    assert any(f"{NAME} is public, and --private" in line for line in run("--dry_run", "--private"))
    lines = run("--dry_run")
    for name in ("config.json", "handler.py"):
        assert f"needs --replace, since Glossa did not write it: {name}" in lines
    for name in ("README.md", "results.bin"):
        assert f"kept, since Glossa did not write it: {name}" in lines
    assert hub.files(NAME) == before
    refused(r"Glossa did not write: config\.json, handler\.py\.", run)
    capsys.readouterr()
    lines = run("--dry_run", "--replace", "--replace_card")
    assert {"replaced: README.md", "replaced: config.json", "replaced: handler.py"} <= set(lines)
