"""A server in a thread of this process."""

import asyncio
import contextlib
import socket
import threading
import time

import requests


@contextlib.contextmanager
def running(build):
    """The address of a server whose application `build` makes in the thread of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    import uvicorn

    server = None

    async def serve():
        nonlocal server
        server = uvicorn.Server(uvicorn.Config(build(), port=port, log_config=None, access_log=False))
        await server.serve()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        for _ in range(600):
            with contextlib.suppress(requests.ConnectionError):
                if requests.get(f"http://127.0.0.1:{port}/health", timeout=60).ok:
                    break
            assert thread.is_alive()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        if server is not None:
            server.should_exit = True
        thread.join(60)


def ask(url, path="translate", **fields):
    """The answer to a request; from English to French, if `fields` do not say otherwise."""
    return requests.post(f"{url}/{path}", json={"source": "en", "target": "fr"} | fields, timeout=120)


def send(url, name, content, **fields):
    """The answer to a request to translate a document, with the same languages."""
    fields = {"source": "en", "target": "fr"} | fields
    return requests.post(f"{url}/translate_file", files={"file": (name, content)}, data=fields, timeout=120)


def until(condition):
    """Wait for something that happens in the server, for ten seconds at most."""
    assert any(condition() or time.sleep(0.1) for _ in range(100))
