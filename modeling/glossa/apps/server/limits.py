"""Limits of requests: texts, characters, and requests per minute."""

import math
from collections import deque
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from .refusals import MAX_BODY, Refused

MINUTE = 60.0  # seconds
JSON_BYTES = 12  # of a character, at most


@dataclass(frozen=True)
class Limits:
    """The limits that options set. The options have LibreTranslate's names.

    Attributes:
        texts: Texts in a request.
        characters: Characters in a request, of all its texts.
        requests: Requests per minute and client; None for no limit.
    """

    texts: int = 1_000
    characters: int = 20_000
    requests: int | None = None

    @property
    def body(self) -> int:
        """Maximum bytes of a request without a file."""
        return max(MAX_BODY, JSON_BYTES * self.characters)

    def check(self, name: str, value: Any) -> None:
        """Raise `Refused` unless the field `name` is a text or a list of texts within the limits."""
        texts = value if isinstance(value, list) else [value]
        if not 1 <= len(texts) <= self.texts or not all(isinstance(text, str) for text in texts):
            raise Refused(f"{name} must be a text or a list of 1 to {self.texts:,} texts.")
        characters = sum(map(len, texts))
        if characters > self.characters:
            raise Refused(f"{name} has {characters:,} characters in total; at most {self.characters:,} are allowed.")
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            raise Refused(f"{name} must be valid Unicode; a text has half of a surrogate pair.")


@dataclass
class Clients:
    """The requests of each client in the last minute.

    Attributes:
        most: Allowed number; None for no limit.
        times: Arrival times by client. The client of the newest request is last.
    """

    most: int | None = None
    times: dict[str, deque[float]] = field(default_factory=dict)

    def count(self, client: str) -> None:
        """Count a request. Raises `Refused` if the client has reached the limit."""
        if self.most is None:
            return
        now = monotonic()
        while self.times and now - next(iter(self.times.values()))[-1] >= MINUTE:
            del self.times[next(iter(self.times))]
        own = self.times.setdefault(client, deque(maxlen=self.most))
        if len(own) == self.most and (wait := MINUTE - (now - own[0])) > 0:
            seconds = math.ceil(wait)
            again = f"Send the request again in {seconds} seconds."
            raise Refused(
                f"Slowdown: {self.most:,} per 1 minute are allowed. {again}", 429, {"Retry-After": str(seconds)}
            )
        own.append(now)
        self.times[client] = self.times.pop(client)
