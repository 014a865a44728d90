"""The fields of a request: from JSON, a form or the query string, each checked."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from ..documents.glossary import terms_of_lines
from ..errors import GlossaError
from .refusals import MAX_BODY, MAX_FILE, MAX_GLOSSARY, MAX_TERMS, MAX_TRANSLATIONS, Refused, handler

T = TypeVar("T")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class BoundedBody:
    """An ASGI application that refuses bodies above `MAX_BODY` bytes, with files above `MAX_FILE`, while they come."""

    def __init__(self, app: Callable):
        self.app = app

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = MAX_FILE if scope["path"] == "/translate_file" else MAX_BODY
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
    """The fields of a request. A field of the query string or of a form that is given several times is a list."""
    pairs: list[tuple[str, Any]] = list(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in FORMS:
            pairs += (await request.form()).multi_items()
            return _collected(pairs)
        body = await request.body()
    except ClientDisconnect:
        raise Refused("The connection was closed before the request was complete.") from None
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


def text_or_texts(fields: dict[str, Any], name: str = "q") -> str | list[str]:
    """The field of the text, or of several texts, within the limits."""
    if (value := fields.get(name)) is None:
        raise Refused(f"{name} is missing: the text, or a list of texts.")
    try:
        handler.check_texts(value)
    except handler.BadRequest as error:
        raise Refused(str(error).replace("inputs", name, 1)) from error
    return value


def one_text(fields: dict[str, Any], name: str = "q") -> str:
    """The field of one text, within the limits."""
    if not isinstance(value := text_or_texts(fields, name), str):
        raise Refused(f"{name} must be one text.")
    return value


def word(fields: dict[str, Any], name: str, default: str | None = None) -> str:
    """A field that is a short text, such as a code. Without `default` it must be given."""
    value = fields.get(name, default)
    if value is None:
        raise Refused(f"{name} is missing.")
    if not isinstance(value, str) or not 0 < len(value) <= 100:
        raise Refused(f"{name} must be a text of 1 to 100 characters.")
    return value


def choice(fields: dict[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    """A field with one of the `allowed` values; the first one is the default."""
    value = word(fields, name, allowed[0])
    if value not in allowed:
        raise Refused(f"{name} must be {' or '.join(allowed)}.")
    return value


def flag(fields: dict[str, Any], name: str) -> bool:
    """A field that is true or false; false by default."""
    value = fields.get(name, False)
    found = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise Refused(f"{name} must be true or false.")
    return found


def glossary(fields: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The terms of a request's glossary; none by default."""
    value = fields.get("glossary", "")
    if not isinstance(value, str):
        raise Refused("glossary must be a text whose lines are: term => translation.")
    if len(value) > MAX_GLOSSARY:
        raise Refused(f"glossary has {len(value):,} characters; at most {MAX_GLOSSARY:,} are allowed.")
    try:
        terms = terms_of_lines(value)
    except GlossaError as error:
        raise Refused(str(error)) from error
    if len(terms) > MAX_TERMS:
        raise Refused(f"glossary has {len(terms):,} terms; at most {MAX_TERMS:,} are allowed.")
    return tuple(terms)


def alternatives(fields: dict[str, Any]) -> int:
    """How many translations are asked for in addition to the best one."""
    value = fields.get("alternatives", 0)
    most = MAX_TRANSLATIONS - 1
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 5 else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= most:
        raise Refused(f"alternatives must be a whole number from 0 to {most}.")
    return number


def uploaded(fields: dict[str, Any], name: str = "file") -> UploadFile:
    """The field of a file."""
    if not isinstance(value := fields.get(name), UploadFile) or not value.filename:
        raise Refused(f"{name} is missing: a file, sent as multipart/form-data.")
    return value


async def until_left(request: Request, work: Awaitable[T]) -> T:
    """The result of `work`, which is canceled if the client closes the connection."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refused("The connection was closed.")
        return task.result()
    finally:
        task.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def token_ids(fields: dict[str, Any], name: str) -> list[int]:
    """A field with numbers of tokens; empty by default."""
    value = fields.get(name, [])
    whole = isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 31 for one in value)
    if not whole or len(value) > 512:
        raise Refused(f"{name} must be a list of numbers of tokens.")
    return value
