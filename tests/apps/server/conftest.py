"""A server in this process, with a model that was trained for a few steps."""

import json
import shutil

import pytest
from running_server import running

pytest.importorskip("uvicorn", reason="the server needs uvicorn: pip install -e .[dev]")


@pytest.fixture(scope="module")
def corrections(tmp_path_factory):
    return tmp_path_factory.mktemp("corrections") / "corrections.jsonl"


@pytest.fixture(scope="module")
def service(learned_run, corrections, tmp_path_factory):
    """Models between English, French and German; all are one model, since only the languages matter here."""
    from glossa.apps.server.corrections import Corrections
    from glossa.apps.server.models import Models
    from glossa.apps.server.service import Service

    names = [f"{pair}={learned_run}" for pair in ("en-fr", "fr-en", "fr-de")]
    return Service(Models(names), corrections=Corrections(corrections), folder=tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def url(service):
    from glossa.apps.server.app import build_app

    with running(lambda: build_app(service)) as address:
        yield address


@pytest.fixture(scope="module")
def expected(learned_run):
    """The translations of the model, from the function that `glossa translate` uses."""
    from glossa.translate.build import build_translator
    from glossa.translate.interface import Checks

    return build_translator([str(learned_run)], "auto", checks=Checks("blank"))


@pytest.fixture(scope="session")
def confident_run(learned_run, tmp_path_factory):
    """The same model with a confidence, which its run was too small to learn."""
    folder = tmp_path_factory.mktemp("runs") / "confident"
    shutil.copytree(learned_run, folder)
    config = json.loads((folder / "config.json").read_text())
    config["text_profile"]["confidence"] = {"token_score": 2.0, "pieces": -0.25, "length": -1.0, "intercept": 1.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def own_service(learned_run, confident_run, tmp_path_factory):
    """From English and to German with a confidence, back to English without."""
    from glossa.apps.server.models import Models
    from glossa.apps.server.service import Service

    names = [f"en-fr={confident_run}", f"fr-en={learned_run}", f"fr-de={confident_run}"]
    return Service(Models(names), folder=tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def own_url(own_service):
    from glossa.apps.server.app import build_app

    with running(lambda: build_app(own_service)) as address:
        yield address
