"""The device of these tests: a GPU where there is one, else the CPU, so that they run everywhere."""

import os

import pytest
import torch


@pytest.fixture(scope="session")
def device():
    """`cuda` if it is available, unless GLOSSA_TEST_DEVICE names another."""
    return torch.device(os.environ.get("GLOSSA_TEST_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu"))


@pytest.fixture
def on_device(device):
    """Keyword arguments of the Trainer's settings for this device."""
    return {"use_cpu": device.type == "cpu"}
