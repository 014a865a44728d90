"""Try a model in a browser: `glossa demo MODEL` is `glossa serve MODEL` on the first free port from 7860.

Give SOURCE-TARGET=MODEL for a model that does not record its languages. The page is available on this machine only.
Ctrl-C stops the server.
"""

import socket

from ..base.errors import GlossaError
from . import new_parser, serve

PORTS = range(7860, 7960)


def main(argv: list[str]) -> None:
    parser = new_parser("demo", __doc__)
    parser.add_argument("model", help="folder of a run or of a saved model, or Hub name")
    serve.main([parser.parse_args(argv).model, "--port", str(free_port())])


def free_port() -> int:
    """Find the first free port. Raises `GlossaError` if there is none."""
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise GlossaError(f"Ports {PORTS[0]} to {PORTS[-1]} are in use. Choose another with `glossa serve --port`.")
