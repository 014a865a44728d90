"""What a process says that cannot reach the others."""

from datetime import timedelta

import pytest
from torch.distributed import DistNetworkError, TCPStore

from glossa.cli import _describe


def test_a_process_that_reaches_nobody_says_whom_it_tried(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DistNetworkError) as error:
        TCPStore("127.0.0.1", 1, is_master=False, timeout=timedelta(milliseconds=100))
    message = _describe(error.value)
    assert message.startswith("Process 1 of 2 (numbered from 0) cannot reach another process: ")
    assert "They connect at 127.0.0.1, port 1." in message
