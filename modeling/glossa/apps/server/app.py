"""The ASGI application: routes, page, middleware and error responses."""

import asyncio
import contextlib
import logging
import re
import signal
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match

from ... import __version__
from ...base.errors import GlossaError
from ..web import PAGE
from . import api
from .metrics import MetricsMiddleware
from .refusals import Refused
from .requests import BodyLimitMiddleware
from .service import Service

logger = logging.getLogger(__name__)
FAILED = "The server failed. See its log."

# The page loads nothing from other hosts, and no other page may show it in a frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'self' https://huggingface.co",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Page(StaticFiles):
    """The files of the page. An unknown path gives 404, and a wrong method of a route 405."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            known = any(route.matches(scope)[0] is Match.PARTIAL for route in api.routes.routes)
            raise HTTPException(405 if known else 404) from error

    def file_response(self, *args, **kwargs) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(HEADERS)
        return response


class OriginMiddleware:
    """Middleware that refuses requests from pages of other origins, and requests to unknown host names.

    Browsers send the origin of a request. Without this check, any page that a user visits could write corrections into
    the server on the user's machine, or read its responses under a host name of its own (DNS rebinding).

    Args:
        app: The application.
        origins: Other origins whose pages may use it.
        hosts: Allowed host names, in addition to those in `origins`. Empty allows any.
    """

    def __init__(self, app: Callable, origins: Sequence[str] = (), hosts: Sequence[str] = ()):
        self.app, self.origins = app, {origin.rstrip("/") for origin in origins}
        self.hosts = {*hosts, *(urlsplit(origin).hostname for origin in origins)} if hosts else set()

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        problem = self._problem(scope["method"], Headers(scope=scope)) if scope["type"] == "http" else ""
        if problem:
            await JSONResponse({"error": problem}, 403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _problem(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if self.hosts and re.sub(r":\d+$", "", host) not in self.hosts:
            return f"{host} is not a name of this server. Its administrator can add it: --origin https://{host}."
        origin = headers.get("origin")
        if method in ("GET", "HEAD", "OPTIONS") or origin is None or origin in self.origins:
            return ""
        # A proxy may change the host. Browsers send the first header only over HTTPS and to this machine.
        site = headers.get("sec-fetch-site")
        own = origin.partition("://")[2] == host if site is None else site == "same-origin"
        allow = "Its administrator can allow them: --origin URL."
        return "" if own else f"Pages of {origin} may not use this server. {allow}"


def build_app(service: Service, origins: Sequence[str] = (), hosts: Sequence[str] = ()) -> FastAPI:
    """Build the application.

    Args:
        service: The running server.
        origins: Other origins whose pages may use it.
        hosts: Allowed host names. Empty allows any.
    """
    app = FastAPI(
        title="Glossa", version=__version__, openapi_url="/spec", docs_url=None, redoc_url=None, lifespan=_lifespan
    )
    app.state.service = service
    app.include_router(api.routes)
    app.mount("/", Page(directory=PAGE, html=True))
    app.add_exception_handler(Refused, _refuse)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _refuse_http)  # type: ignore[arg-type]
    app.add_exception_handler(GlossaError, _fail_in_a_line)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _fail)
    app.add_middleware(BodyLimitMiddleware, most=service.limits.body)
    app.add_middleware(OriginMiddleware, origins=origins, hosts=hosts)
    if origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(MetricsMiddleware, metrics=service.metrics)
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    reloads: set[asyncio.Task] = set()  # the loop keeps only weak references to tasks

    def reload() -> None:
        task = asyncio.ensure_future(service.models.reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    # Windows has no SIGHUP, and only the main thread handles signals.
    with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    yield
    await asyncio.to_thread(service.queue.close)
    await asyncio.to_thread(service.readers.close)


async def _refuse(request: Request, error: Refused) -> JSONResponse:
    return JSONResponse({"error": str(error)}, error.status, error.headers)


async def _refuse_http(request: Request, error: HTTPException) -> JSONResponse:
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)


async def _fail_in_a_line(request: Request, error: GlossaError) -> JSONResponse:
    logger.error("%s", error)
    return JSONResponse({"error": FAILED}, 500)


async def _fail(request: Request, error: Exception) -> JSONResponse:
    logger.error("A request failed.", exc_info=error)
    return JSONResponse({"error": FAILED}, 500)
