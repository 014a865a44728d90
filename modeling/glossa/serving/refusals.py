"""Requests that are not answered."""

from collections.abc import Mapping
from types import MappingProxyType


class Refused(Exception):
    """A request that is not answered.

    Args:
        message: For its sender.
        status: HTTP status: 400 for a request that cannot be answered, 403 without permission, 429 if there are too
            many, 500 for a fault of the server.
        headers: Further headers of the answer.
    """

    def __init__(self, message: str, status: int = 400, headers: Mapping[str, str] = MappingProxyType({})):
        super().__init__(message)
        self.status, self.headers = status, dict(headers)


def too_many(why: str) -> Refused:
    return Refused(f"The server is busy: {why} Send the request again later.", 429, {"Retry-After": "1"})
