"""Preparing onto a full disk: a line with the remedy, and the same files when there is room."""

import re
import subprocess
from functools import partial

import numpy
import pytest
from small_corpus import content, here

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import in_processes
from glossa.base.jobs.records import lock_output
from glossa.base.jobs.stage import Stage
from glossa.train.data.arguments import DataArguments
from glossa.train.data.preparing import blocks, writing
from glossa.train.data.preparing.prepare import prepare

POOL = partial(in_processes, processes=2, modules=("glossa_command", "glossa.base.jobs.stage"))
FULL = r"The disk is full, so .*out cannot be written: .*\. Finished work is kept. Free some space"


@pytest.fixture
def disk(tmp_path):
    """A folder on a disk of its own, and a function that sets the size of that disk in KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def resize(size, *options):
        found = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join([*options, f"size={size}k"]), "tmpfs", str(folder)],
            capture_output=True, text=True,
        )  # fmt: skip
        if found.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {found.stderr}")

    try:
        resize(64)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    yield folder, lambda size: resize(size, "remount")
    # Files that are read in place keep the disk busy.
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_job_continues_when_there_is_room(tmp_path, disk, monkeypatch):
    monkeypatch.setattr(blocks, "ROWS", 400)
    monkeypatch.setattr(writing, "PAIRS", 500)
    folder, resize = disk
    rows = [f"{a} {b} {c}.\t{c} {b} {a}!\n" for a in "abcdefghij" for b in "klmnopqrst" for c in "uvwxyzABCDEFGHI"]
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    arguments = DataArguments(data_path=[str(tmp_path / "pairs.tsv")], trust_data=["length", "language"])
    prepare(arguments, tmp_path / "whole", here, tmp_path / "parts")
    errors, size = [], 64
    while not (folder / "out").exists():
        try:
            with lock_output(folder / "out"):
                prepare(arguments, folder / "out", here, folder / "parts")
        except GlossaError as error:
            errors.append(str(error))
            assert not (folder / "out").exists()
            resize(size := size + 48)
    assert content(folder / "out") == content(tmp_path / "whole")
    assert len(errors) > 4
    assert all(re.match(FULL, error) and "\n" not in error for error in errors), errors


def save(number, stem):
    numpy.save(f"{stem}.npy", numpy.zeros(number))
    return {"size": number}


def load():
    return save


@pytest.mark.slow
def test_processes_that_find_no_room(disk):
    folder, resize = disk
    stage = Stage("numbers", folder / "parts", load, {"small": 1000, "large": 10_000})
    with pytest.raises(GlossaError, match=FULL), lock_output(folder / "out"):
        stage.run(POOL)
    resize(256)
    with lock_output(folder / "out"):
        assert stage.run(POOL)["large"] == {"size": 10_000}
