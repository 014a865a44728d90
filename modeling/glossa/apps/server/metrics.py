"""Metrics of a server for Prometheus, and its request log. Neither holds texts."""

import json
import logging
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

logger = logging.getLogger("glossa.serve")


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("glossa_requests", "Answered requests.", ["path", "status"], registry=self.registry)
        self.seconds = Histogram(
            "glossa_request_seconds", "Seconds until a request was answered.", ["path"], registry=self.registry
        )
        self.characters = Counter(
            "glossa_characters", "Translated characters.", ["source", "target"], registry=self.registry
        )

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self.registry)


class MetricsMiddleware:
    """Middleware that counts and logs requests: path, status and time, never a query or a text."""

    def __init__(self, app: Callable, metrics: Metrics):
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def send_and_note(message: dict) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")  # unknown paths share one label
            self.metrics.requests.labels(route, status).inc()
            self.metrics.seconds.labels(route).observe(seconds)
            line = {"method": scope["method"], "path": route, "status": status, "ms": round(seconds * 1000, 1)}
            logger.info("%s", json.dumps(line))
