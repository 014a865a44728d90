"""Pushes to the local Hub of the tests, by the script or from this process."""

import subprocess
from pathlib import Path

from huggingface_hub import HfApi

from glossa.train.hub.changes import Destination
from glossa.train.hub.push import push

ROOT = Path(__file__).parents[1]
NAME, TOKEN = "someone/tiny-en-fr", "hf_secretsecretsecret"


def start(arguments, environment, tmp_path, python):
    return subprocess.run(
        [str(python), *map(str, arguments)], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def run_script(early, hub, run, tmp_path, *arguments, token=TOKEN, name=NAME):
    process = start(
        [ROOT / "scripts/push_to_hub.py", run, "--repo_id", name, *arguments],
        hub.environment(tmp_path / "home", token), tmp_path, early.path / "python",
    )  # fmt: skip
    if token:
        assert token not in process.stdout + process.stderr
    return process


def upload(hub, folder, fault=None, name=NAME, token=TOKEN, **settings):
    """Push a prepared folder from this process, which is faster than the script."""
    hub.faults[:] = [fault] if fault else []
    api = HfApi(endpoint=hub.url, token=token)
    return push(folder, Destination(name, **settings), "Push the translator", api)
