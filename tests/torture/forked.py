"""Work in processes that are forked from this one, which has imported everything, and kills of them."""

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from huggingface_hub.utils import get_session

from glossa.errors import GlossaError

CLIENT = get_session()
PATIENCE = 300  # seconds for a process, also on a busy machine
REFUSED, FAULT = 1, 2  # exit statuses: an error of ours, any other one

Work = Callable[[], object]


def client():
    """The client of huggingface_hub, without reading the certificates of HTTPS, which takes long."""
    return type(CLIENT)(follow_redirects=True, verify=False)


def ends(work: Work) -> bool:
    """Whether `work` ends well; it may be refused in one line, and nothing else may happen."""
    return _status(_start(work)) == 0


def kill_after(work: Work, seconds: float) -> bool:
    """Start `work` and kill it after `seconds`; whether it had not ended before."""
    pid = _start(work)
    time.sleep(seconds)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    return _is_killed(os.waitstatus_to_exitcode(status))


def kill_at(work: Work, line: int, files: tuple[str, ...]) -> bool:
    """Start `work`, which kills itself at the given line that it runs in `files`; whether it had not ended before.

    `files` are parts of their paths.
    """
    return _is_killed(_wait(_start(lambda: (_count(files, line), work()))))


def count_lines(work: Work, files: tuple[str, ...], result: Path) -> int:
    """How many lines `work` runs in `files` until it ends well; `result` is a file to write."""

    def counted() -> None:
        counts = _count(files)
        work()
        result.write_text(str(counts[0]))

    assert ends(counted), "the work that is to be killed does not end well"
    return int(result.read_text())


def _count(files: tuple[str, ...], last: int = 0) -> list[int]:
    """Count the lines that this process runs from now on, and kill it at the `last` one."""
    counts = [0]

    def trace(frame, event, argument):
        if not any(part in frame.f_code.co_filename for part in files):
            return None
        if event == "line":
            counts[0] += 1
            if counts[0] == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    return counts


def _start(work: Work) -> int:
    pid = os.fork()
    if not pid:
        _run(work)
    return pid


def _run(work: Work) -> None:
    """The life of a forked process."""
    status = FAULT
    try:
        signal.alarm(PATIENCE)
        work()
        status = 0
    except GlossaError as error:
        status = REFUSED
        print(error, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _status(pid: int) -> int:
    status = _wait(pid)
    assert status in (0, REFUSED), f"a process ended with {status}"
    return status


def _is_killed(status: int) -> bool:
    assert status in (0, REFUSED, -signal.SIGKILL), f"a process ended with {status}"
    return status == -signal.SIGKILL
