"""Corrections of translations, saved in a local file for training."""

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

from ...readers.corrections import append_line, read_corrections, refusal
from .refusals import Refused

logger = logging.getLogger(__name__)

MAX_CORRECTIONS = 10_000  # in a file


class Corrections:
    """The file of a server's corrections, a JSON object per line: source, output, correction, languages and time.

    Args:
        path: The file, which is created with the first correction. Invalid lines stay, with a warning.

    Raises `GlossaError` if the file cannot be read.
    """

    def __init__(self, path: Path):
        self.path = path
        self.lock = threading.Lock()
        found, problems = read_corrections(path) if path.exists() else ({}, {})
        for number, problem in problems.items():
            logger.warning("%s, line %d is not a correction and is ignored: %s", path, number, problem)
        self.known = {_key(row) for row in found.values()}

    def add(self, given: dict[str, Any], again: bool = False) -> None:
        """Add a correction with the fields `source`, `output`, `correction`, `from` and `to`.

        Raises `Refused` for a correction that is useless for training: equal to the source or the output, or much
        shorter or longer than the source; for a known one, unless `again` allows it; and if the file is full.
        """
        if reason := refusal(given["source"], given.get("output"), given["correction"]):
            raise Refused(reason)
        with self.lock:
            if _key(given) in self.known:
                if again:
                    return
                raise Refused("This correction is known already.")
            if len(self.known) >= MAX_CORRECTIONS:
                raise Refused("The file of corrections is full.", 403)
            line = given | {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            append_line(self.path, json.dumps(line, ensure_ascii=False))
            self.known.add(_key(given))


def _key(given: dict[str, Any]) -> tuple[str, ...]:
    return tuple(given.get(name) or "" for name in ("source", "correction", "from", "to"))
