"""Serve models to clients and browsers: `glossa serve MODEL [MODEL ...]`.

The server has a web page, LibreTranslate's HTTP interface, and the Hub's translation request. Give SOURCE-TARGET=MODEL
for a model that does not record its languages. A direction without a model uses two models and a pivot language, if
possible. A model is loaded at its first use, and reloaded on SIGHUP.

The server is available on this machine only, unless --host is given. With --keys, every request needs a key. `glossa
serve --new_key NAME --keys FILE` creates a key, prints it once, and writes its hash into FILE. All requests use the
translation memory of --memory. On Ctrl-C or SIGTERM, the server finishes its requests and stops.
"""

import logging
import signal
import socket
import sys
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import GlossaError
from ..base.values import kept_patterns
from . import whole
from .options import argument, flag, option, read
from .shared_options import EngineOptions, KeepOptions, MemoryOptions

logger = logging.getLogger(__name__)

PORT = 5000  # LibreTranslate's
LOOPBACK = ("127.0.0.1", "::1", "[::1]", "localhost")


@dataclass(frozen=True)
class ServeOptions(EngineOptions, MemoryOptions, KeepOptions):
    """The options of `glossa serve`."""

    models: list[str] = argument(
        "folder of a run, Hub name, or SOURCE-TARGET=MODEL", nargs="*", metavar="MODEL", default=[]
    )
    host: str = option("address to listen on (default: 127.0.0.1, this machine only)", default="127.0.0.1")
    port: int = option(f"default: {PORT}", type=whole(1, 65535), default=PORT)
    max_loaded: int = option("models in memory (default: 4)", default=4)
    keys: Path | None = option("accept only requests with a key in this file", metavar="FILE")
    new_key: str | None = option("add a key to the file of --keys, print it, and exit", metavar="NAME")
    corrections: Path | None = option("save suggested translations in this file", metavar="FILE")
    memories: Path | None = option(
        "save the suggestions of each key in its own translation memory in this folder", metavar="FOLDER"
    )
    memory_writer: list[str] = option(
        "save the suggestions of the key with this name in --memory; may be repeated",
        action="append",
        default=[],
        metavar="NAME",
    )
    show_memory: bool = flag("show the sentences of matches in --memory, not only their scores")
    batch_limit: int = option("maximum texts in a request (default: 1000)", default=1_000)
    char_limit: int = option("maximum characters in a request, of all its texts (default: 20000)", default=20_000)
    req_limit: int | None = option(
        "maximum requests per minute, for each key, or for each address without keys (default: no limit)"
    )
    origin: list[str] = option(
        "let pages of this origin use the server from a browser, such as https://example.org; may be repeated",
        action="append",
        default=[],
        metavar="URL",
    )


def parse(argv: list[str]) -> ServeOptions:
    return read(ServeOptions, "serve", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    serving = import_serving()
    if arguments.new_key is not None:
        if arguments.keys is None:
            raise GlossaError("--new_key needs a file of keys. Give --keys FILE.")
        print(serving.keys.add_key(arguments.keys, arguments.new_key))
        return
    if not arguments.models:
        raise GlossaError("Give the models to serve: glossa serve MODEL [MODEL ...].")
    if arguments.host not in LOOPBACK and arguments.keys is None:
        logger.warning("Anyone who can reach %s can use this server. Require a key with --keys FILE.", arguments.host)
    keys = serving.keys.Keys(arguments.keys) if arguments.keys else None
    kept = kept_patterns(arguments.keep)
    check_address(arguments.host, arguments.port)
    with tempfile.TemporaryDirectory(prefix="glossa-serve-") as folder:
        models = serving.models.Models(arguments.models, arguments.max_loaded, arguments.engine)
        models.kept = kept
        models.memories = memories_of(serving, arguments, models.steps, keys.names.values() if keys else ())
        service = serving.service.Service(
            models,
            keys,
            serving.corrections.Corrections(arguments.corrections) if arguments.corrections else None,
            Path(folder),
            serving.limits.Limits(arguments.batch_limit, arguments.char_limit, arguments.req_limit),
        )
        run(serving, service, arguments)


def check_address(host: str, port: int) -> None:
    """Raise `GlossaError`, before models are loaded, if the server cannot have this address."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = error.strerror or error
        raise GlossaError(f"{host}, port {port}, cannot be used: {reason}. Give another --port or --host.") from error


def memories_of(serving, arguments: ServeOptions, pairs: Iterable[tuple[str, str]], keys: Collection[str]):
    """Open the translation memories. Raises `GlossaError` for options that need others."""
    if (arguments.memories or arguments.memory_writer) and arguments.keys is None:
        name = "memories" if arguments.memories else "memory_writer"
        raise GlossaError(f"--{name} needs keys, which decide who may change a memory. Give --keys FILE.")
    if (arguments.memory_writer or arguments.show_memory) and arguments.memory is None:
        name = "memory_writer" if arguments.memory_writer else "show_memory"
        raise GlossaError(f"--{name} needs a memory. Give --memory FILE.")
    for name in arguments.memory_writer:
        if name not in keys:
            raise GlossaError(
                f"--memory_writer is {name}, but {arguments.keys} has no key of this name. Give one of "
                f"{', '.join(keys)}."
            )
    return serving.memories.Memories.opened(
        arguments.memory, pairs, arguments.memories, arguments.memory_writer, arguments.show_memory
    )


def run(serving, service, arguments: ServeOptions) -> None:
    """Serve until a signal stops the server."""
    import uvicorn

    # uvicorn raises the signal again when it ends. The default handler would leave temporary files behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    for (source, target), step in service.models.steps.items():
        logger.info("%s to %s: %s", source, target, step.model)
    logger.info("http://%s:%d", arguments.host, arguments.port)
    uvicorn.run(
        serving.app.build_app(service, arguments.origin, LOOPBACK if arguments.host in LOOPBACK else ()),
        host=arguments.host,
        port=arguments.port,
        log_config=None,
        log_level="warning",
        access_log=False,  # it would log the texts in query strings
        server_header=False,
        timeout_graceful_shutdown=serving.refusals.MAX_SECONDS,
    )


def import_serving():
    """Import the modules of the server. Raises `GlossaError` if a package is missing."""
    try:
        from ..apps import server as serving
        from ..apps.server import app, corrections, keys, limits, memories, models, refusals, service  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "starlette", "uvicorn", "prometheus_client"):
            raise
        raise GlossaError(f"glossa serve needs {error.name}. Install it: pip install 'glossa-mt[serve]'.") from error
    return serving
