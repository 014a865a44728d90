"""Try a model in a browser: `glossa demo MODEL` is `glossa serve MODEL` on the first free port from 7860.

A model that does not say its languages is given as SOURCE-TARGET=MODEL. Only this machine can reach the page. Ctrl-C
ends it.
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
    """The first free port. Raises `GlossaError` if there is none."""
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise GlossaError(f"The ports {PORTS[0]} to {PORTS[-1]} are taken. `glossa serve` takes a --port.")
