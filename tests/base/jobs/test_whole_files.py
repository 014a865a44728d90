"""A file is written whole, or stays as it was."""

import os

import pytest

from glossa.base.jobs.whole_files import write_whole


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path, seen = tmp_path / "file.json", []
    write_whole(path, "first\n")
    write_whole(path, "é")
    assert path.read_bytes() == "é".encode() and [file.name for file in tmp_path.iterdir()] == ["file.json"]

    def killed(descriptor):
        seen.append(path.read_bytes())
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "third")
    assert seen == ["é".encode()] and path.read_bytes() == "é".encode()
