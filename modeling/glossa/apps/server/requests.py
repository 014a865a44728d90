"""Read the fields of a request from JSON, a form or the query string, within limits."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from .reading import MAX_FILE
from .refusals import Refused

T = TypeVar("T")
LEFT = 499  # the status in the log if the client has left, as in nginx; nobody receives it
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class BodyLimitMiddleware:
    """Middleware that stops reading a body after `most` bytes; a body with a file, after `MAX_FILE` bytes."""

    def __init__(self, app: Callable, most: int):
        self.app, self.most = app, most

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = MAX_FILE if scope["path"] == "/translate_file" else self.most
        read = 0

        async def counted() -> dict:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise Refused(f"The request has more than {most:,} bytes.", headers={"Connection": "close"})
            return message

        await self.app(scope, counted, send)


async def read_fields(request: Request) -> dict[str, Any]:
    """The fields of a request. A field that a form or query string has several times is a list."""
    pairs: list[tuple[str, Any]] = list(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in FORMS:
            pairs += (await request.form()).multi_items()
            return _collected(pairs)
        body = await request.body()
    except ClientDisconnect:
        raise Refused("The connection was closed before the request was complete.", LEFT) from None
    if not body.strip():
        return _collected(pairs)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("The body is neither JSON nor a form. Send JSON, with Content-Type: application/json.") from None
    if not isinstance(given, dict):
        raise Refused("The body must be a JSON object of names and values.")
    return _collected(pairs) | given


def _collected(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        before = fields.get(name)
        fields[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return fields


async def cancel_on_disconnect(request: Request, work: Awaitable[T]) -> T:
    """Await `work`, which is canceled if the client closes the connection."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refused("The connection was closed.", LEFT)
        return task.result()
    finally:
        task.cancel()
        leaving.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
