"""Commands in processes that are forked from one that has imported the libraries, which is most of a short command.

`Zygote` makes a folder for `PATH` with a `glossa` and a `python` that ask for such a process. It has their arguments,
folder, environment and streams, and its status is theirs; it imports Glossa itself, as usual. Other programs of Python
start as usual, and so do commands with other settings that libraries read when they are imported.

A killed command goes on. Tests of signals, threads and what a start imports need commands that start as usual.
"""

import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

LIBRARIES = (
    "torch", "transformers", "accelerate", "datasets", "evaluate", "matplotlib.pyplot", "peft", "sacrebleu",
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto", "transformers.pipelines",
    "transformers.masking_utils", "transformers.trainer_seq2seq",
)  # fmt: skip
READ_BY_IMPORTS = ("HF_", "HUGGINGFACE", "TRANSFORMERS_", "TORCH", "OMP_", "GOMP_", "PYTHON", "CUDA", "MPL")
# What `glossa` sets before it imports the libraries, if its messages go to a file.
QUIET = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "GOMP_SPINCOUNT": "2000"}
CLIENT = """#!{python} -IS
import json, os, socket, sys
name, *words = os.path.basename(sys.argv[0]), *sys.argv[1:]
imported = {{name: value for name, value in os.environ.items() if name.startswith({prefixes})}}
if imported != {imported} or (name == "python" and words[:2] != ["-m", "benchmarks"]):
    os.execv(os.path.join({binaries!r}, name), [name, *words])
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    socket.send_fds(connection, [b"-"], [0, 1, 2])
    connection.sendall(json.dumps([name, words, os.getcwd(), dict(os.environ)]).encode())
    connection.shutdown(socket.SHUT_WR)
    sys.exit(int(connection.recv(9) or b"1"))
"""


class Zygote:
    """The process, for commands with the variables of `environment`; it runs until `end`."""

    def __init__(self, binaries: Path, environment: dict[str, str]):
        self.folder = tempfile.TemporaryDirectory()  # a short path, as addresses of sockets must be
        self.path, address = Path(self.folder.name), f"{self.folder.name}/socket"
        imported = {name: value for name, value in environment.items() if name.startswith(READ_BY_IMPORTS)}
        known = {"python": binaries / "python", "prefixes": READ_BY_IMPORTS, "imported": imported}
        for name in ("glossa", "python"):
            (self.path / name).write_text(CLIENT.format(**known, binaries=str(binaries), address=address))
            (self.path / name).chmod(0o755)
        command = [binaries / "python", __file__, binaries, address]
        self.process = subprocess.Popen(command, env=QUIET | environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate()
        self.folder.cleanup()


def serve(binaries: Path, server: socket.socket) -> None:
    """Fork for each command, and return only in the process that runs it."""
    signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, 0))
    while True:
        connection, _ = server.accept()
        if not os.fork():
            server.close()
            break
        connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as request:
        command, words, folder, environment = json.load(request)
    if pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(str(status if status >= 0 else 128 - status).encode())
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        errors = getattr(sys, name).errors
        stream = open(number, mode, 1 if name == "stderr" else -1, "utf-8", errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [command, *words]


def main() -> None:
    binaries, address = Path(sys.argv[1]), sys.argv[2]
    del sys.path[0]  # the tests
    for name in LIBRARIES:
        import_module(name)
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    # The only one that knows what to do when its process is copied is Arrow's.
    assert [name for name in threads if name != "jemalloc_bg_thd"] == ["python"], threads
    gc.freeze()  # what is imported stays as it is, in memory that all share
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        serve(binaries, server)
    if sys.argv[0] == "python":
        sys.argv[:3] = ["-m"]
        sys.path.insert(0, os.getcwd())
        runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(str(binaries / "glossa"), run_name="__main__")


if __name__ == "__main__":
    main()
