"""Commands in processes that are forked from one that has imported the libraries, which is most of a short command.

`Zygote` makes a folder for `PATH` with commands that ask for such a process. It has their arguments, folder,
environment, streams and cores, and its status is theirs; it imports Glossa itself, as usual. So do the commands that
it starts. It gets the command's signals, and is killed if the command is. Programs that are not ours start as usual,
and so do commands with other settings that libraries read when they are imported. With `EARLY`, processes import
transformers themselves too, with any settings of the Hub.

The process is not a child of the command, nor in its group. Tests of that, of threads and of what a start imports need
commands that start as usual.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import util
from pathlib import Path

MODULES = ("benchmarks", "torture", "glossa_command", "torch.distributed.run", "accelerate.commands.launch")
PROGRAMS = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "scripts"), "scripts/")
LIBRARIES = (
    "torch", "transformers", "accelerate", "datasets", "evaluate", "ftfy", "langcodes.language_distance",
    "matplotlib.pyplot", "peft", "sacrebleu.metrics",
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto", "transformers.pipelines",
    "transformers.masking_utils", "transformers.trainer_seq2seq",
)  # fmt: skip
# What programs import that do not have Glossa.
BARE = (
    "torch", "transformers",
    *(name for name in LIBRARIES if name.startswith(("transformers.mod", "transformers.p"))),
)  # fmt: skip
# What transformers imports first, and half of its time, if it is installed; none of it reads settings of the Hub.
EARLY = (
    "torch", "torch._dynamo", "torch.distributed.tensor", "torch.export", "pandas", "scipy.optimize",
    "torchao.quantization",
)  # fmt: skip
COMMANDS = ("glossa", "accelerate", "python")
READ_BY_IMPORTS = ("TORCH", "OMP_", "GOMP_", "PYTHONHASHSEED", "PYTHONUTF8", "CUDA")
READ_BY_LATER_IMPORTS = ("HF_", "TRANSFORMERS_", "MPL")
READ_LATER = ("TORCHELASTIC_", "TORCH_NCCL_", "TORCH_DISABLE_SHARE_")  # by a launcher, and by what it starts
# What `glossa` sets before it imports the libraries, if its messages go to a file.
QUIET = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "GOMP_SPINCOUNT": "2000"}
QUIET |= {"LRU_CACHE_CAPACITY": "64", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
name, *words = os.path.basename(sys.argv[0]), *sys.argv[1:]
unbuffered = words[:1] == ["-u"]
words = words[unbuffered:]
module = words[1] if words[0] == "-m" else ""
ours = name != "python" or module.startswith({modules}) or words[0].startswith({programs}) or words[:2] == ["-I", "-c"]
ours = ours or words[0].endswith("program.py")
read = {{name for name in os.environ if name.startswith({prefixes}) and not name.startswith({later})}}
if not ours or {{(name, os.environ[name]) for name in read}} - {quiet} != {imported}:
    os.execv("{others}/" + name, ["{others}/" + name, *sys.argv[1:]])
if unbuffered:
    os.environ["PYTHONUNBUFFERED"] = "1"
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    socket.send_fds(connection, [b"-"], [0, 1, 2])
    request = [name, words, os.getcwd(), dict(os.environ), list(os.sched_getaffinity(0))]
    connection.sendall(json.dumps(request).encode() + b"\\n")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
    status = int(connection.recv(9) or b"1")
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


class Zygote:
    """The process, for commands in `binaries` with the variables of `environment`, which imports `libraries`.

    If `others` is given, the folder of another zygote's commands, it is forked from that one, and other commands start
    there. The process runs until `end`, or until the one that has made it is gone.
    """

    def __init__(
        self,
        binaries: Path,
        environment: dict[str, str],
        libraries: Sequence[str] = LIBRARIES,
        others: Path | None = None,
    ):
        self.environment = environment
        self.folder = tempfile.TemporaryDirectory()  # a short path, as addresses of sockets must be
        self.path, address = Path(self.folder.name), f"{self.folder.name}/socket"
        read = READ_BY_IMPORTS if libraries is EARLY else (*READ_BY_IMPORTS, *READ_BY_LATER_IMPORTS)
        names = [name for name in environment if name.startswith(read) and not name.startswith(READ_LATER)]
        imported = {(name, environment[name]) for name in names} - set(QUIET.items())
        texts = {"python": binaries / "python", "others": others or binaries, "address": address}
        texts |= {"modules": MODULES, "programs": PROGRAMS, "later": READ_LATER}
        texts |= {"quiet": set(QUIET.items())}
        for name in COMMANDS:
            (self.path / name).write_text(CLIENT.format(**texts, prefixes=read, imported=imported))
            (self.path / name).chmod(0o755)
        command = [(others or binaries) / "python", __file__, address, *libraries]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=QUIET | self.environment, **pipes)
        assert self.process.stdout.readline() == b"ready\n"

    def end(self) -> None:
        self.process.kill()  # its input may be open in workers of a data loader, which are copies of this process
        self.process.wait()  # and its output in those that it has forked
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()
        self.folder.cleanup()


def forked(server: socket.socket) -> list[str]:
    """Fork for each command. Returns only in the process that runs it: its name and arguments."""
    signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, 0))
    while True:
        if sys.stdin in select.select([server, sys.stdin], [], [])[0]:
            sys.exit()
        connection, _ = server.accept()
        if not os.fork():
            break
        connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as request:
        command, words, folder, environment, cores = json.loads(request.readline())
    if pid := os.fork():
        ended = os.pidfd_open(pid)
        while ended not in select.select([connection, ended], [], [])[0]:
            os.kill(pid, ord(connection.recv(1) or bytes([signal.SIGKILL])))
        with suppress(OSError):  # the command was killed
            connection.sendall(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
        os._exit(0)
    connection.close()
    for number, (name, stream) in enumerate(zip(("stdin", "stdout", "stderr"), streams, strict=True)):
        os.dup2(stream, number)
        os.close(stream)
        mode, errors = "w" if number else "r", getattr(sys, name).errors
        by_lines = name == "stderr" or (number and environment.get("PYTHONUNBUFFERED"))
        opened = open(number, mode, 1 if by_lines else -1, "utf-8", errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    os.sched_setaffinity(0, cores)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return [command, *words]


def spawn(path: bytes, words: list[str], streams: Sequence[int], usual=util.spawnv_passfds) -> int:
    """Start a process for `multiprocessing` as usual, but fork its server, which has the libraries then."""
    if "multiprocessing.forkserver" not in words[-1]:
        return usual(path, words, streams)
    if pid := os.fork():
        return pid
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in streams:
            with suppress(OSError):  # the stream that listed them
                os.close(int(name))
    try:
        exec(words[-1], {})
    finally:  # never back to the command whose copy this is
        os._exit(0)


def main() -> None:
    del sys.path[0]  # the tests
    address, *libraries = sys.argv[1:]
    for name in libraries:
        if name not in EARLY or find_spec(name.split(".")[0]):
            import_module(name)
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    # The only one that knows what to do when its process is copied is Arrow's.
    assert [name for name in threads if name != "jemalloc_bg_thd"] == ["python"], threads
    gc.freeze()  # what is imported stays as it is, in memory that all share
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        name, *words = forked(server)
    isolated = words[:2] == ["-I", "-c"]
    if not isolated:
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    # What it starts is forked too.
    sys.executable = str(Path(address).with_name("python"))
    util.spawnv_passfds = spawn
    if name != "python":
        sys.argv = [name, *words]
        runpy.run_path(f"{sys.prefix}/bin/{name}", run_name="__main__")
    elif isolated:
        sys.argv = ["-c", *words[3:]]
        exec(words[2], {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).parent.absolute()))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
