"""Measurements in a process of their own, so that their memory and threads are theirs alone."""

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from glossa.errors import GlossaError
from glossa.inference.shards import worker_context

from .parent import end_with_parent


def in_process(function: Callable[..., dict], name: str, options: Mapping[str, Any]) -> dict:
    """What `function` returns for `options`, called in a new process.

    Args:
        function: At the top level of a module.
        name: What is measured, for the error message.
        options: Keyword arguments of the function.

    Raises:
        GlossaError: when the function raises an error, or the system ends its process.
    """
    with ProcessPoolExecutor(1, worker_context("glossa.training.run"), end_with_parent) as pool:
        try:
            return pool.submit(function, **options).result()
        except Exception as error:
            raise GlossaError(f"{name} failed in its own process: {error!r}") from error
