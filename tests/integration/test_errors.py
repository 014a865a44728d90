"""Errors of libraries and of the machine become one line with the remedy."""

import errno

import pytest

from glossa.cli import run

FULL = [
    OSError(errno.ENOSPC, "No space left on device", "checkpoint-3/model.safetensors"),
    OSError(errno.EDQUOT, "Disk quota exceeded", "runs/x"),
    RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"),
    RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"),
    RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
]
MEMORY = [
    RuntimeError("[enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate memory: you tried to."),
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."), MemoryError("Unable to allocate 7 GiB."),
]  # fmt: skip


@pytest.fixture
def line(capsys):
    def line(error, *arguments):
        def fail(argv):
            raise error

        with pytest.raises(SystemExit) as end:
            run(fail, list(arguments))
        assert "\n" not in end.value.code
        return end.value.code

    return line


REMEDIES = [(error, "The disk is full", "--resume_from_checkpoint true") for error in FULL]
REMEDIES += [(error, "Out of memory", "Halve batch_tokens") for error in MEMORY]


@pytest.mark.parametrize(("error", "cause", "remedy"), REMEDIES, ids=range(len(REMEDIES)))
def test_a_full_disk_and_out_of_memory(line, error, cause, remedy):
    message = line(error)
    assert message.startswith(f"error: {cause}: ") and remedy in message


def test_a_file_that_is_gone_or_cannot_be_written(line):
    gone = line(FileNotFoundError(errno.ENOENT, "No such file or directory", "runs/x/history.json"))
    assert gone.startswith("error: runs/x/history.json: No such file or directory.")
    read_only = line(OSError(errno.EROFS, "Read-only file system", "runs/x/metrics.json"))
    assert read_only.startswith("error: runs/x/metrics.json: Read-only file system.")


def test_any_other_error_names_its_place(line):
    message = line(ValueError("two\nlines"))
    assert message.startswith("error: ValueError: two lines (test_errors.py, line ") and "--debug" in message
    with pytest.raises(ZeroDivisionError):
        run(lambda argv: 1 // 0, ["--debug"])
