"""`glossa serve` and `glossa demo` in processes of their own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import requests
from refusals import refused

from glossa.cli import demo, serve

pytestmark = pytest.mark.slow


@pytest.fixture
def started(tmp_path):
    """Starts a command; the process, and the address that it prints."""
    processes = []

    def start(*command, **variables):
        process = subprocess.Popen(
            [sys.executable, "-m", "glossa_command", *command], cwd=tmp_path, text=True, stderr=subprocess.PIPE,
            env=os.environ | {"HF_HOME": str(tmp_path / "home")} | variables,
        )  # fmt: skip
        processes.append(process)
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        for _ in range(300):
            try:
                requests.get(f"{found[0]}/health", timeout=60)
                return process, found[0]
            except requests.ConnectionError:
                time.sleep(0.1)
        raise AssertionError("does not answer")

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_server_starts_reloads_and_ends_cleanly(learned_run, started, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, url = started("serve", f"en-fr={learned_run}", "--port", "5999", "--engine", "torch")
    fields = {"q": "a k.", "source": "en", "target": "fr"}
    first = requests.post(f"{url}/translate", json=fields, timeout=120).json()
    process.send_signal(signal.SIGHUP)
    assert requests.post(f"{url}/translate", json=fields, timeout=120).json() == first
    for line in process.stderr:
        if "was reloaded" in line:
            break
    requests.post(f"{url}/translate_file", files={"file": ("a.txt", b"a k.")}, data=fields, timeout=120)
    (folder,) = tmp_path.glob("glossa-serve-*")
    assert list(folder.rglob("*.fr.txt"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0 and not folder.exists(), "no text of anybody stays behind"


def test_an_address_in_use_is_refused_before_a_model_is_loaded():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(rf"127\.0\.0\.1, port {port}, cannot be used: Address already in use", serve.main, [
            "en-fr=nothing", "--port", str(port),
        ])  # fmt: skip


def test_demo_takes_the_first_free_port(learned_run, started, monkeypatch):
    _, url = started("demo", f"en-fr={learned_run}")
    assert "<title>Translate</title>" in requests.get(url, timeout=60).text
    monkeypatch.setattr(demo, "PORTS", range(int(url.rsplit(":", 1)[1]), int(url.rsplit(":", 1)[1]) + 1))
    refused("are in use", demo.free_port)


def test_starting_needs_neither_torch_nor_transformers(learned_run, tmp_path):
    code = (
        "import glossa_command, sys\nfrom glossa.cli.serve import import_serving\n"
        f"import_serving().models.Models(['en-fr={learned_run}'])\n"
        "from glossa.translate.languages import Languages\n"
        f"Languages.of({str(learned_run)!r})\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout == "[]\n"


def test_a_key_is_made_and_printed_once(tmp_path, capsys):
    file = tmp_path / "keys"
    serve.main(["--keys", str(file), "--new_key", "Ann"])
    (key,) = capsys.readouterr().out.split()
    assert len(key) >= 43 and key not in file.read_text() and file.read_text().startswith("Ann ")
    refused("needs a file of keys", serve.main, ["--new_key", "Ann"])


def test_what_is_missing_is_named(monkeypatch):
    refused("Give the models to serve", serve.main, [])
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in [name for name in sys.modules if name.startswith("glossa.apps.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("glossa.apps.server", raising=False)
    refused(r"needs fastapi\. Install it: pip install 'glossa-mt\[serve\]'", serve.main, ["x"])


def test_other_machines_need_a_reason(monkeypatch, caplog, learned_run):
    monkeypatch.setattr(serve, "run", lambda *arguments: None)
    serve.main([f"en-fr={learned_run}", "--host", "0.0.0.0"])
    assert "Anyone who can reach 0.0.0.0 can use this server" in caplog.text
